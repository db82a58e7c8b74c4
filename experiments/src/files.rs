//! The files that the processes of a run have left: the index of them beside its record.

use std::collections::BTreeMap;

use bsp::SnapshotEncoding;
use protocol::JobFolder;
use record::Snapshot;
use serde::Serialize;

use crate::failure::Failure;
use crate::prepared::Finished;
use crate::provenance::{Attributed, CsvTable, Provenance, Published};

/// A file that a process has left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct FileRow {
    /// What it holds.
    kind: FileKind,
    /// The superstep in which it was written, of a snapshot.
    superstep: Option<u64>,
    /// The rank of its process, from 0.
    rank: u32,
    /// The process, as `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    process: String,
    /// Its name, of a snapshot.
    name: Option<String>,
    /// The node that has the file; in a simulation, the host on which the process was.
    node: String,
    /// Where it is on the node: an absolute path; in a simulation, relative to the folder of the record.
    path: String,
    /// Its length.
    bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    sha256: String,
    /// How its value is encoded.
    encoding: SnapshotEncoding,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum FileKind {
    /// The output of a process.
    Output,
    /// What a process wrote while it ran.
    Snapshot,
}

/// `files.json` of a record: the files that processes have left.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct FilesReport<'a> {
    /// In the order of kind, superstep, rank and name.
    files: &'a [FileRow],
}

impl Published for FilesReport<'_> {
    const SCHEMA: &'static str = "migbsp.files/1";
}

/// All files that the processes of a run have left.
#[derive(Debug, Default)]
pub(crate) struct FilesIndex {
    /// The folder of the run on each node, by name; none in a simulation.
    folders: BTreeMap<String, String>,
    rows: Vec<FileRow>,
}

impl FilesIndex {
    /// The nodes write files into these folders, by their names.
    pub(crate) fn set_folders(&mut self, folders: BTreeMap<String, String>) {
        self.folders = folders;
    }

    /// Adds what a process has written on the host `node`.
    pub(crate) fn add_snapshot(&mut self, snapshot: &Snapshot, node: &str) {
        self.rows.push(FileRow {
            kind: FileKind::Snapshot,
            superstep: Some(snapshot.superstep),
            rank: snapshot.rank.0,
            process: snapshot.rank.to_string(),
            name: Some(snapshot.name.to_string()),
            node: node.to_owned(),
            path: self.path(node, &snapshot.path()),
            bytes: snapshot.bytes.0,
            sha256: snapshot.sha256.to_string(),
            encoding: snapshot.encoding,
        });
    }

    /// Adds the outputs of a run that are on its nodes, if they are.
    pub(crate) fn add_outputs(&mut self, finished: &Finished) {
        let files = finished.outputs.files().map(|outputs| &outputs.files[..]);
        for (file, node) in files.unwrap_or_default().iter().zip(&finished.nodes) {
            self.rows.push(FileRow {
                kind: FileKind::Output,
                superstep: None,
                rank: file.rank.0,
                process: file.rank.to_string(),
                name: None,
                node: node.clone(),
                path: self.path(node, &JobFolder::output(file.rank)),
                bytes: file.length,
                sha256: hex::encode(file.sha256),
                encoding: SnapshotEncoding::MessagePack,
            });
        }
    }

    /// The index, as JSON and as a table: a name of a file of the record and the contents, for each. Nothing if there are no files.
    ///
    /// # Errors
    ///
    /// If the rows cannot be encoded.
    pub(crate) fn contents(
        &mut self,
        provenance: &Provenance,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
        if self.rows.is_empty() {
            return Ok(Vec::new());
        }
        self.rows.sort();
        let report = FilesReport { files: &self.rows };
        let json = serde_json::to_vec_pretty(&Attributed::new(provenance, &report));
        let mut json = json.map_err(Failure::run)?;
        json.push(b'\n');
        let mut table = CsvTable::new(FilesReport::SCHEMA, provenance);
        for row in &self.rows {
            table.push(row)?;
        }
        let contents = [json, table.text()?.into_bytes()];
        Ok(record::FILES.into_iter().zip(contents).collect())
    }

    /// Where a file is on a node.
    fn path(&self, node: &str, in_run: &str) -> String {
        match self.folders.get(node) {
            Some(folder) => format!("{folder}/{in_run}"),
            None => in_run.to_owned(),
        }
    }
}
