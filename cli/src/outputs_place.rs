//! Where the outputs of a run go.

use std::path::PathBuf;

use agents::Outputs;
use clap::builder::{PathBufValueParser, TypedValueParser};
use experiments::{
    Attributed, Entry, Failure, Finished, Loaded, OutputFile, OutputsFormat, Provenance, Published,
    Registry, RunFailure,
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

    /// Whether [`Self::write`] will be able to write there, asked before the run.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::File(file, _) => check_writable(file),
            Self::Folder(folder) => check_folder(folder),
        }
    }

    /// Writes the outputs of a run of the experiment; a folder gets a file with the `provenance`, too.
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
        let application = &loaded.experiment.application;
        let entry = registry.find(&application.workload, None)?;
        let outputs = &finished.outputs;
        match self {
            Self::File(file, format) => write(file, &encoded(entry, outputs, *format)?),
            Self::Folder(folder) => {
                let made = entry.files(loaded.build_input(), outputs);
                let made = made.map_err(|error| Failure::from(RunFailure::from(error)))?;
                OutputFile::check_names(entry.name(), &made, &[ALL, PROVENANCE])
                    .map_err(Failure::Run)?;
                let json = encoded(entry, outputs, OutputsFormat::Json)?;
                let mut all = vec![OutputFile::new(ALL, json)];
                all.extend(made);
                let report = OutputsReport {
                    workload: &application.workload,
                    processes: application.processes,
                    outputs_sha256: &finished.outputs_digest,
                    files: all.iter().map(OutputFile::name).collect(),
                };
                let report = serde_json::to_vec_pretty(&Attributed::new(&provenance()?, &report));
                let report = OutputFile::new(PROVENANCE, report.map_err(Failure::run)?);
                all.push(report);
                write_into(folder, all)
            }
        }
    }
}

fn encoded(
    entry: &dyn Entry,
    outputs: &Outputs,
    format: OutputsFormat,
) -> Result<Vec<u8>, Failure> {
    let encoded = entry.encode(outputs, format);
    encoded.map_err(|error| Failure::Usage(format!("--outputs: {error}")))
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
