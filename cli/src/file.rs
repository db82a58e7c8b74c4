//! Files that are asked for, and where outputs of programs go.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use agents::Outputs;
use clap::builder::{PathBufValueParser, TypedValueParser};
use experiments::{
    Attributed, Entry, Failure, Finished, Loaded, OutputFile, OutputsError, OutputsFormat,
    Provenance, Published, Registry, RejectedOutputs,
};
use serde::Serialize;

use crate::failure::CommandFailure;

/// Writes a file atomically where files can be replaced: after an error the previous contents remain.
///
/// # Errors
///
/// If the operating system refuses. A reader of a pipe that goes away is no error to report.
pub fn write(file: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), CommandFailure> {
    check_writable(file)?;
    let written = replace_with(file, |output| output.write_all(contents.as_ref()));
    written.map_err(|error| reported(file, error))
}

/// Writes what `fill` writes to a file, as [`write()`] does, without keeping it in memory.
///
/// # Errors
///
/// If `fill` fails, or the operating system refuses.
pub(crate) fn write_with(
    file: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Failure>,
) -> Result<(), CommandFailure> {
    check_writable(file)?;
    let mut failed = None;
    let replaced = replace_with(file, |output| {
        let mut output = Watched {
            output: BufWriter::new(output),
            refused: None,
        };
        let filled = fill(&mut output);
        if let Some(error) = output.refused.take() {
            return Err(error);
        }
        output.flush()?;
        // An error of the system, so that the file stays as it was.
        filled.map_err(|failure| {
            failed = Some(failure);
            io::Error::other("the contents cannot be made")
        })
    });
    match failed {
        Some(failure) => Err(failure.into()),
        None => replaced.map_err(|error| reported(file, error)),
    }
}

/// An output that keeps the error with which it refused.
struct Watched<W> {
    output: W,
    refused: Option<io::Error>,
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        if let Err(error) = &written {
            self.refused = Some(io::Error::new(error.kind(), error.to_string()));
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Writes files into `folder`, which is made if it does not exist, each as [`write()`] does.
///
/// # Errors
///
/// If the operating system refuses.
fn write_into(
    folder: &Path,
    files: impl IntoIterator<Item = OutputFile>,
) -> Result<(), CommandFailure> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    for file in files {
        write(&folder.join(file.name()), file.contents())?;
    }
    Ok(())
}

/// Writes files into `folder`, which is made if it does not exist, all of them or none: they get their names when all
/// are written.
///
/// # Errors
///
/// If the operating system refuses.
pub fn write_new(folder: &Path, files: &[OutputFile]) -> Result<(), CommandFailure> {
    let refused = |error: &io::Error| unwritable(folder, error);
    fs::create_dir_all(folder).map_err(|error| refused(&error))?;
    let hidden = tempfile::Builder::new()
        .prefix(".migbsp-")
        .tempdir_in(folder);
    let hidden = hidden.map_err(|error| refused(&error))?;
    for file in files {
        write(&hidden.path().join(file.name()), file.contents())?;
    }
    for file in files {
        let name = file.name();
        fs::rename(hidden.path().join(name), folder.join(name)).map_err(|error| refused(&error))?;
    }
    Ok(())
}

/// Whether files can be written into `folder`, which may have to be made, asked before the work for them begins;
/// leaves everything as it is.
///
/// # Errors
///
/// If the operating system refuses.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    // Without a separator at its end, so that a file of that name is found.
    let folder: PathBuf = folder.components().collect();
    let mut ancestors = folder.ancestors();
    let there = ancestors.find(|ancestor| ancestor.symlink_metadata().is_ok());
    let there = there.unwrap_or_else(|| Path::new("."));
    let Err(error) = tempfile::tempfile_in(there) else {
        return Ok(());
    };
    if there == folder {
        return Err(unwritable(there, &error));
    }
    let (folder, there) = (folder.display(), there.display());
    Err(Failure::Run(format!(
        "{folder}: cannot be made in `{there}`: {error}"
    )))
}

/// Whether `file` is to have contents of the kind that its name says, asked before the work for it begins, and can be
/// written: its name has an ending, and the second text says for which contents. Devices and pipes have any name.
///
/// # Errors
///
/// If the name ends otherwise, or the operating system refuses.
pub fn check_output(file: &Path, (ending, what): (&str, &str)) -> Result<(), Failure> {
    let is_named = file
        .extension()
        .is_some_and(|named| named.eq_ignore_ascii_case(ending));
    let is_special = file.exists() && !file.is_file() && !file.is_dir();
    if !is_named && !is_special {
        let name = file.display();
        return Err(Failure::Usage(format!(
            "{name}: {what}, so its name has to end with `.{ending}`"
        )));
    }
    check_writable(file)
}

/// What charts and pictures are.
pub const SVG: (&str, &str) = ("svg", "a picture is SVG");

/// What pages are.
pub const HTML: (&str, &str) = ("html", "a page is HTML");

/// Whether [`write()`] will be able to write `file`, asked before the work for it begins; leaves it as it is.
///
/// # Errors
///
/// If the operating system refuses.
pub fn check_writable(file: &Path) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let checked = match created {
        Ok(_) => fs::remove_file(file),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if file.is_file() || file.is_dir() => {
            OpenOptions::new().append(true).open(file).map(drop)
        }
        // A reader of a pipe would see its end, and a link to nothing would become a file.
        Err(_) => Ok(()),
    };
    checked.map_err(|error| unwritable(file, &error))
}

fn replace_with(file: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    // A device or a pipe cannot be replaced. A link to nothing stays, and the file is made where it leads.
    if !file.is_file() && file.symlink_metadata().is_ok() {
        return fill(&mut File::create(file)?);
    }
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut whole = tempfile::Builder::new();
    #[cfg(unix)]
    whole.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let Ok(mut whole) = whole.tempfile_in(folder.unwrap_or_else(|| Path::new("."))) else {
        // A file may be writable in a folder that is not.
        return fill(&mut File::create(&file)?);
    };
    if let Ok(before) = file.metadata() {
        whole.as_file().set_permissions(before.permissions())?;
    }
    fill(whole.as_file_mut())?;
    // A loss of power leaves the file before, or all of this one.
    whole.as_file().sync_all()?;
    // Some files may be written but not replaced: those of others, in a folder for all, and those mounted alone.
    match whole.persist(&file) {
        Ok(_) => {
            // Not all systems open folders.
            if let Some(folder) = folder.and_then(|folder| File::open(folder).ok()) {
                drop(folder.sync_all());
            }
            Ok(())
        }
        Err(error) => {
            let mut whole = error.file;
            whole.rewind()?;
            io::copy(&mut whole, &mut File::create(&file)?).map(drop)
        }
    }
}

/// The error of a file that the system refuses. A reader of a pipe that goes away is none to report.
fn reported(file: &Path, error: io::Error) -> CommandFailure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => CommandFailure::Output(error),
        _ => unwritable(file, &error).into(),
    }
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: cannot be written: {error}", file.display()))
}

/// Where the outputs of a run go, from `--outputs`.
#[derive(Clone, Debug)]
pub(crate) enum OutputsPlace {
    /// A file, in the format that its name ends with.
    File(PathBuf, OutputsFormat),
    /// A folder for the outputs and the files that the workload derives from them.
    Folder(PathBuf),
}

/// Where the outputs of a run on real hosts stay or go, from `--outputs`.
#[derive(Clone, Debug)]
pub(crate) enum LiveOutputs {
    /// In files of the nodes on which processes end.
    Nodes,
    /// With the client.
    Client(OutputsPlace),
}

impl LiveOutputs {
    /// Where they go with the client, if they do.
    pub(crate) const fn place(&self) -> Option<&OutputsPlace> {
        match self {
            Self::Nodes => None,
            Self::Client(place) => Some(place),
        }
    }
}

/// Parses the value of `--outputs` of a run on real hosts.
pub(crate) fn live_outputs() -> impl TypedValueParser<Value = LiveOutputs> {
    PathBufValueParser::new().try_map(|path| {
        if path.as_os_str() == ON_NODES {
            return Ok(LiveOutputs::Nodes);
        }
        OutputsPlace::new(path).map(LiveOutputs::Client)
    })
}

/// The value of `--outputs` for outputs that stay on the nodes. A folder of that name is `./nodes`.
const ON_NODES: &str = "nodes";

/// What the files of a folder are, for the file beside them that says what made them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct OutputsReport<'a> {
    /// Name of the workload.
    workload: &'a str,
    /// Number of processes.
    processes: u32,
    /// Digest of the outputs, as results have it.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
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
    fn a_file_is_replaced_whole_and_checking_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        write(&file, "old").unwrap();
        check_writable(&file).unwrap();
        let old = File::open(&file).unwrap();
        write(&file, "new").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "old");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        check_writable(&other).unwrap();
        assert!(!other.exists());
        assert!(check_writable(folder.path()).is_err());
        assert!(check_writable(&folder.path().join("none/c.svg")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_checked_before_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        for name in ["", "new", "new/", "new/er"] {
            assert!(check_folder(&at(name)).is_ok(), "{name}");
        }
        for name in ["file", "file/", "file/new"] {
            assert!(check_folder(&at(name)).is_err(), "{name}");
        }
        let new = check_folder(&at("file/new")).unwrap_err().to_string();
        let named = format!("{}: cannot be made in `", at("file/new").display());
        assert!(new.starts_with(&named), "{new}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_says_what_a_file_has() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, kind| check_output(&folder.path().join(name), kind);
        check("a.svg", SVG).unwrap();
        check("a.HTML", HTML).unwrap();
        for (name, kind) in [("a.png", SVG), ("a.svg", HTML), ("a", HTML), ("svg", SVG)] {
            let problem = check(name, kind).unwrap_err().to_string();
            assert!(
                problem.contains("so its name has to end with `."),
                "{problem}"
            );
        }
        check_output(Path::new("/dev/null"), SVG).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_links_to_nothing_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        write(Path::new("/dev/null"), "lost").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_writable(&link).unwrap();
        assert!(!file.exists());
        write(&link, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        write(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn the_target_of_a_link_is_replaced_and_not_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
    }

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
