//! Where the outputs of a run go.

use std::fs;
use std::path::{Path, PathBuf};

use agents::Outputs;
use clap::builder::{PathBufValueParser, TypedValueParser};
use experiments::{
    Attributed, Entry, Failure, Finished, Loaded, OutputFile, OutputsError, OutputsFormat,
    Provenance, Published, Registry, RejectedOutputs,
};
use serde::Serialize;

use crate::failure::CommandFailure;
use crate::file::{check_folder, check_writable, write, write_into};

/// Where the outputs of a run go, from `--outputs`.
#[derive(Clone, Debug)]
pub(crate) enum OutputsPlace {
    /// A file, in the format that its name ends with.
    File(PathBuf, OutputsFormat),
    /// A folder for the outputs and the files that the workload derives from them.
    Folder(PathBuf),
}

/// What the files of a folder are, for the file beside them that says what made them.
#[derive(Debug, Serialize)]
struct OutputsReport<'a> {
    /// Name of the workload.
    workload: &'a str,
    /// Number of processes.
    processes: u32,
    /// Digest of the outputs, as results have it.
    outputs_sha256: &'a str,
    /// Names of the other files.
    files: Vec<&'a str>,
}

impl Published for OutputsReport<'_> {
    const SCHEMA: &'static str = "migbsp.outputs/1";
}

/// Parses the value of `--outputs`.
pub(crate) fn outputs_place() -> impl TypedValueParser<Value = OutputsPlace> {
    PathBufValueParser::new().try_map(OutputsPlace::new)
}

impl OutputsPlace {
    /// A folder is one that exists, or ends in a separator.
    fn new(path: PathBuf) -> Result<Self, String> {
        let name = path.as_os_str().to_string_lossy();
        if name.ends_with(std::path::is_separator) || path.is_dir() {
            return Ok(Self::Folder(path));
        }
        let format = OutputsFormat::of_file(&path);
        let endings = OutputsFormat::ALL.map(|format| format!("`.{}`", format.ending()));
        let problem = || {
            format!(
                "must end in one of {}, or be a folder and end in `/`",
                endings.join(", ")
            )
        };
        let format = format.ok_or_else(problem)?;
        Ok(Self::File(path, format))
    }

    /// Whether [`Self::write`] will be able to write outputs of `entry` there, asked before the run.
    ///
    /// # Errors
    ///
    /// If the format cannot hold them, or the operating system refuses.
    pub(crate) fn check(&self, entry: &dyn Entry) -> Result<(), Failure> {
        match self {
            Self::File(file, format) => {
                entry
                    .check_format(*format)
                    .map_err(|error| unheld(&error))?;
                check_writable(file)
            }
            Self::Folder(folder) => {
                entry
                    .check_format(OutputsFormat::Json)
                    .map_err(|error| unheld(&error))?;
                check_folder(folder)
            }
        }
    }

    /// Writes the outputs of a run of the experiment; a folder gets a file with the `provenance`, too. What cannot be
    /// written as it should is written otherwise, and the error says where.
    ///
    /// # Errors
    ///
    /// If the format cannot hold them, the workload makes no files of them, or the disk refuses them.
    pub(crate) fn write(
        &self,
        loaded: &Loaded,
        registry: &Registry,
        finished: &Finished,
        provenance: impl Fn() -> Result<Provenance, Failure>,
    ) -> Result<(), CommandFailure> {
        let entry = registry.find(&loaded.experiment.application.workload, None)?;
        let written = match self {
            Self::File(file, format) => write_file(file, entry, &finished.outputs, *format),
            Self::Folder(folder) => write_folder(folder, (entry, loaded), finished, provenance),
        };
        written.map_err(|failure| match failure {
            CommandFailure::Failure(failure) => {
                self.keep(entry, &finished.outputs, failure, "").into()
            }
            // A reader of a pipe that goes away wants no more.
            failure => failure,
        })
    }

    /// Writes outputs that were rejected because of `failure` to another file than those that are a result.
    pub(crate) fn keep_rejected(&self, entry: &dyn Entry, rejected: RejectedOutputs) -> Failure {
        let RejectedOutputs { failure, outputs } = rejected;
        self.keep(entry, &outputs, failure, ".rejected")
    }

    /// Writes outputs in the format that holds all, beside where they should be or else with temporary files. Returns the
    /// `failure` because of which that is done, with the name of the file.
    fn keep(&self, entry: &dyn Entry, outputs: &Outputs, failure: Failure, mark: &str) -> Failure {
        let encoded = match entry.encode(outputs, OutputsFormat::MessagePack) {
            Ok(encoded) => encoded,
            Err(error) => return failure.followed_by(error),
        };
        let ending = OutputsFormat::MessagePack.ending();
        let beside = match self {
            Self::File(file, _) => {
                let mut name = file.as_os_str().to_owned();
                name.push(format!("{mark}.{ending}"));
                PathBuf::from(name)
            }
            Self::Folder(folder) => folder.join(format!("outputs{mark}.{ending}")),
        };
        let temporary =
            std::env::temp_dir().join(format!("outputs-{}{mark}.{ending}", std::process::id()));
        for place in [beside, temporary] {
            if let Some(folder) = place.parent() {
                // The error is that of the file.
                drop(fs::create_dir_all(folder));
            }
            if write(&place, &encoded).is_ok() {
                let place = place.display();
                return failure.followed_by(format!("the outputs are in {place}"));
            }
        }
        failure.followed_by(
            "the outputs are lost: nothing can be written beside them, nor with temporary files",
        )
    }
}

fn write_file(
    file: &Path,
    entry: &dyn Entry,
    outputs: &Outputs,
    format: OutputsFormat,
) -> Result<(), CommandFailure> {
    write(
        file,
        &entry
            .encode(outputs, format)
            .map_err(|error| unheld(&error))?,
    )
}

/// Writes the outputs, the files that the workload derives from them, and what made them.
fn write_folder(
    folder: &Path,
    (entry, loaded): (&dyn Entry, &Loaded),
    finished: &Finished,
    provenance: impl Fn() -> Result<Provenance, Failure>,
) -> Result<(), CommandFailure> {
    let outputs = &finished.outputs;
    let made = entry.files(loaded.build_input(), outputs);
    let made = made.map_err(Failure::from)?;
    OutputFile::check_names(entry.name(), &made, &[ALL, PROVENANCE]).map_err(Failure::Run)?;
    let json = entry
        .encode(outputs, OutputsFormat::Json)
        .map_err(|error| unheld(&error))?;
    let mut all = vec![OutputFile::new(ALL, json)];
    all.extend(made);
    let report = OutputsReport {
        workload: entry.name(),
        processes: loaded.experiment.application.processes,
        outputs_sha256: &finished.outputs_digest,
        files: all.iter().map(OutputFile::name).collect(),
    };
    let report = serde_json::to_vec_pretty(&Attributed::new(&provenance()?, &report));
    let report = OutputFile::new(PROVENANCE, report.map_err(Failure::run)?);
    all.push(report);
    write_into(folder, all)
}

/// A format cannot hold outputs.
fn unheld(error: &OutputsError) -> Failure {
    Failure::Usage(format!("--outputs: {error}"))
}

/// The outputs themselves, in a folder.
const ALL: &str = "outputs.json";

/// What made the files of a folder.
const PROVENANCE: &str = "provenance.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_with_a_known_ending_or_a_folder() {
        let place = |path: &str| OutputsPlace::new(path.into());
        for (path, format) in [
            ("a.json", OutputsFormat::Json),
            ("none/b.csv", OutputsFormat::Csv),
            ("c.MSGPACK", OutputsFormat::MessagePack),
            ("d.npy", OutputsFormat::Npy),
        ] {
            let found = place(path).unwrap();
            assert!(matches!(found, OutputsPlace::File(_, known) if known == format));
        }
        for path in ["none/", "out.json/", "."] {
            assert!(matches!(place(path), Ok(OutputsPlace::Folder(_))), "{path}");
        }
        for path in ["out", "out.txt", "-", "/dev/null"] {
            assert_eq!(
                place(path).unwrap_err(),
                "must end in one of `.json`, `.csv`, `.msgpack`, `.npy`, or be a folder and end in `/`"
            );
        }
    }
}
