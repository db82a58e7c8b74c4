//! The files that the processes of a run have left: the index of them beside its record.

use serde::Serialize;

use crate::failure::Failure;
use crate::prepared::Finished;
use crate::provenance::{Attributed, CsvTable, Provenance, Published};

/// A file that a process has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRow {
    /// What it holds: `output`.
    pub kind: &'static str,
    /// The process, as `p21`.
    pub process: String,
    /// Its rank, from 0.
    pub rank: u32,
    /// The node that has the file.
    pub node: String,
    /// Where it is there: an absolute path.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// How its value is encoded: `msgpack`, structs as lists of their fields.
    pub encoding: &'static str,
}

/// All files that the processes of a run have left.
#[derive(Debug, Serialize)]
struct FilesReport<'a> {
    /// In the order of kind and rank.
    files: &'a [FileRow],
}

impl Published for FilesReport<'_> {
    const SCHEMA: &'static str = "migbsp.files/1";
}

/// The files with the outputs of a run that has written them on its nodes; none if they have been sent to the client.
#[must_use]
pub fn output_files(finished: &Finished) -> Vec<FileRow> {
    let Some(outputs) = finished.outputs.files() else {
        return Vec::new();
    };
    let rows = outputs.files.iter().zip(&finished.nodes);
    rows.map(|(file, node)| {
        let folder = finished.folders.get(node).map_or("", String::as_str);
        FileRow {
            kind: "output",
            process: file.rank.to_string(),
            rank: file.rank.0,
            node: node.clone(),
            path: format!(
                "{}/{}",
                folder.trim_end_matches('/'),
                outputs.job.output(file.rank)
            ),
            bytes: file.length,
            sha256: hex::encode(file.sha256),
            encoding: ENCODING,
        }
    })
    .collect()
}

/// The index of `files`, as JSON and as a table: a name of a file of the record and the contents, for each.
///
/// # Errors
///
/// If the rows cannot be encoded.
pub(crate) fn index(
    provenance: &Provenance,
    files: &[FileRow],
) -> Result<[(&'static str, Vec<u8>); 2], Failure> {
    let report = FilesReport { files };
    let json = serde_json::to_vec_pretty(&Attributed::new(provenance, &report));
    let mut json = json.map_err(Failure::run)?;
    json.push(b'\n');
    let mut table = CsvTable::new(FilesReport::SCHEMA, provenance);
    for file in files {
        table.push(file)?;
    }
    let [json_name, table_name] = record::FILES;
    Ok([(json_name, json), (table_name, table.text()?.into_bytes())])
}

/// How outputs in files are encoded.
const ENCODING: &str = "msgpack";
