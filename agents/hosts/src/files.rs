//! The files that a node writes for jobs.
//!
//! A file gets its name when all of it is on the disk: until then it has the ending `.new-` and the incarnation of the job, so
//! that two incarnations do not write the same one. What is written again replaces what was there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agents::RunError;
use bsp::{HostId, Rank, Snapshot};
use bytes::Bytes;
use checkpoint::{DiskFiles, Files as _};
use machines::JobError;
use machines::node::JobEvent;
use protocol::{JobFolder, Submit, WrittenOutput, is_displayable};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

/// The folder in which a node writes files of jobs, each job in a folder of its own. By default there is none.
///
/// Invariant: the path is absolute, UTF-8 and can be displayed.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    folder: Option<String>,
    /// One for each look at the folder. A file system that does not answer keeps it.
    checks: Arc<Semaphore>,
}

impl Default for OutputFolder {
    fn default() -> Self {
        Self {
            folder: None,
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
        }
    }
}

impl OutputFolder {
    /// The folder at this absolute path, which need not exist now: it is looked for when a job is submitted.
    ///
    /// # Errors
    ///
    /// If the path is not absolute, not UTF-8 or cannot be displayed.
    pub fn at(folder: &Path) -> Result<Self, String> {
        let path = folder.to_str().filter(|path| is_displayable(path));
        match path.filter(|_| folder.is_absolute()) {
            Some(path) => Ok(Self {
                folder: Some(path.to_owned()),
                ..Self::default()
            }),
            None => Err(format!(
                "{} is no absolute path of characters that can be displayed",
                folder.display()
            )),
        }
    }

    /// Its path, if there is one.
    pub(crate) fn path(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Checks that the node `own` can write the files of a job, if it has any. Another thread looks at the folder.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub(crate) async fn check(&self, own: &str, submit: &Submit) -> Result<(), JobError> {
        if submit.files.is_none() {
            return Ok(());
        }
        let Some(folder) = &self.folder else {
            return Err(JobError::input(format!(
                "{own} has no folder for files of jobs: add `outputs = \"FOLDER\"` to its [node], or start it with \
                 --outputs FOLDER"
            )));
        };
        let refused =
            |problem: String| JobError::input(format!("{own} cannot write to {folder}: {problem}"));
        let Ok(permit) = Arc::clone(&self.checks).try_acquire_owned() else {
            return Err(refused("its file system does not answer".to_owned()));
        };
        let (path, own) = (PathBuf::from(folder), own.to_owned());
        let checking = tokio::task::spawn_blocking(move || {
            let checked = probe(&path, &own);
            drop(permit);
            checked
        });
        match tokio::time::timeout(CHECK_LIMIT, checking).await {
            Ok(Ok(checked)) => checked.map_err(|error| refused(error.to_string())),
            Ok(Err(panic)) => Err(refused(panic.to_string())),
            Err(_) => {
                let limit = CHECK_LIMIT.as_secs();
                let problem = format!("its file system does not answer in {limit} s");
                Err(refused(problem))
            }
        }
    }

    /// The files of a job, on the node of `host`; `None` if it has no folder for them.
    pub(crate) fn of_job(
        &self,
        job: JobFolder,
        incarnation: u64,
        host: HostId,
    ) -> Option<JobFiles> {
        self.folder.as_ref().map(|folder| JobFiles {
            folder: PathBuf::from(folder),
            job,
            incarnation,
            host,
        })
    }
}

/// Looks whether the node `own` can write a file in `folder`. Nothing is left there.
fn probe(folder: &Path, own: &str) -> io::Result<()> {
    if !folder.metadata()?.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    // Nodes may share the folder, and two clients may submit jobs at once.
    let thread = thread::current().id();
    let name = format!(".writable-{own}-{thread:?}");
    let mut files = DiskFiles::new(folder);
    files.create(&name)?;
    let written = files
        .write(&name, b"it is")
        .and_then(|()| files.sync(&name));
    let removed = files.remove(&name);
    written.and(removed)
}

/// Folders that are looked at at a time.
const CHECKS_MAX: usize = 4;
/// How long a file system may take to answer.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

/// The files of a job on its node.
#[derive(Clone, Debug)]
pub(crate) struct JobFiles {
    folder: PathBuf,
    job: JobFolder,
    incarnation: u64,
    host: HostId,
}

impl JobFiles {
    /// Writes the output of a process in another thread; `events` receives what follows.
    pub(crate) fn write_output(
        &self,
        rank: Rank,
        output: Bytes,
        events: &UnboundedSender<JobEvent>,
    ) {
        let (this, events) = (self.clone(), events.clone());
        drop(tokio::task::spawn_blocking(move || {
            let path = format!("{}/{}", this.job, JobFolder::output(rank));
            let event = match this.write(&path, &output) {
                Ok(()) => JobEvent::OutputWritten(WrittenOutput {
                    rank,
                    length: u64::try_from(output.len()).expect("lengths fit 64 bits"),
                    sha256: Sha256::digest(&output).into(),
                }),
                Err(error) => {
                    let refused = this.refused("the output".to_owned(), rank, &path, &error);
                    JobEvent::Failed(refused.into())
                }
            };
            // The job may be over.
            drop(events.send(event));
        }));
    }

    /// Writes the snapshots of a process in a superstep, and returns what the record says of them. The calling thread waits until
    /// they are on the disk.
    ///
    /// # Errors
    ///
    /// If one of them cannot be written.
    pub(crate) fn write_snapshots(
        &self,
        snapshots: &[Snapshot],
    ) -> Result<Vec<record::Snapshot>, RunError> {
        let written = snapshots.iter().map(|taken| {
            let sha256 = Sha256::digest(&taken.contents).into();
            let written = record::Snapshot::of(taken, self.host, sha256);
            let path = format!("{}/{}", self.job, written.path());
            match self.write(&path, &taken.contents) {
                Ok(()) => Ok(written),
                Err(error) => {
                    let (name, superstep) = (&taken.name, taken.superstep);
                    let what = format!("the snapshot `{name}` in superstep {superstep}");
                    Err(self.refused(what, taken.rank, &path, &error))
                }
            }
        });
        written.collect()
    }

    /// Writes a file whole or not at all: `path` is relative to the folder of the node. A file that is there is replaced.
    fn write(&self, path: &str, contents: &[u8]) -> io::Result<()> {
        let mut files = DiskFiles::new(&self.folder);
        let (folder, _) = path.rsplit_once('/').unwrap_or(("", path));
        let new = format!("{path}.new-{}", self.incarnation);
        files.create_dir(folder)?;
        files.create(&new)?;
        let written = files
            .write(&new, contents)
            .and_then(|()| files.sync(&new))
            .and_then(|()| files.rename(&new, path));
        if let Err(error) = written {
            // The disk may be full, and what has been written of the file is of no use.
            drop(files.remove(&new));
            return Err(error);
        }
        files.sync_dir(folder)
    }

    /// The error of a file of `rank` that the system refuses.
    fn refused(&self, what: String, rank: Rank, path: &str, error: &io::Error) -> RunError {
        RunError::File {
            what,
            rank,
            path: self.folder.join(path).display().to_string(),
            problem: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn submit(files: bool) -> Submit {
        Submit {
            job: 1,
            session: 1,
            host: HostId(0),
            members: Vec::new(),
            experiment: String::new(),
            folder: protocol::InputFolder::default(),
            processes: 1,
            checkpoint: None,
            resumed: None,
            files: files.then_some(protocol::NodeFiles {
                job: JobFolder(7),
                outputs: true,
            }),
            view: None,
            memory: None,
            wait: bsp::units::Seconds::ZERO,
        }
    }

    fn checked(folder: &OutputFolder, submit: &Submit) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let checked = runtime.unwrap().block_on(folder.check("n1", submit));
        checked.map_err(|error| {
            assert_eq!(error.fault, protocol::Fault::Input);
            error.message
        })
    }

    #[test]
    fn a_folder_is_checked_for_jobs_that_have_files_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let there = OutputFolder::at(path).unwrap();
        assert_eq!(checked(&there, &submit(true)), Ok(()));
        assert_eq!(fs::read_dir(path).unwrap().count(), 0);
        let nowhere = OutputFolder::default();
        assert_eq!(checked(&nowhere, &submit(false)), Ok(()));
        let remedy = checked(&nowhere, &submit(true)).unwrap_err();
        assert!(
            remedy.starts_with("n1 has no folder for files of jobs: add `outputs = "),
            "{remedy}"
        );
        fs::write(path.join("file"), "").unwrap();
        for (name, problem) in [
            ("none", "No such file or directory"),
            ("file", "it is no folder"),
        ] {
            let folder = OutputFolder::at(&path.join(name)).unwrap();
            let found = checked(&folder, &submit(true)).unwrap_err();
            let expected = format!(
                "n1 cannot write to {}: {problem}",
                path.join(name).display()
            );
            assert!(found.starts_with(&expected), "{found}");
        }
        assert!(OutputFolder::at(Path::new("relative")).is_err());
        assert!(OutputFolder::at(Path::new("/a\nb")).is_err());
    }

    #[test]
    fn files_are_replaced_whole_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let files = OutputFolder::at(path)
            .unwrap()
            .of_job(JobFolder(7), 3, HostId(0));
        let files = files.unwrap();
        let own = format!("{}/{}", JobFolder(7), JobFolder::output(Rank(0)));
        files.write(&own, b"old").unwrap();
        fs::write(
            path.join(format!("{own}.new-3")),
            "from a run that was killed",
        )
        .unwrap();
        files.write(&own, b"new").unwrap();
        assert_eq!(fs::read(path.join(&own)).unwrap(), b"new");
        let outputs = path.join("0000000000000007/outputs");
        assert_eq!(fs::read_dir(&outputs).unwrap().count(), 1);
        // A job of another folder does not reach this one through a link.
        std::os::unix::fs::symlink(&outputs, path.join("linked")).unwrap();
        let error = files.write("linked/p1.msgpack", b"").unwrap_err();
        assert!(
            error.to_string().contains("links are not followed"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_names_its_process_and_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let files = OutputFolder::at(folder.path()).unwrap();
        let files = files.of_job(JobFolder(7), 0, HostId(0)).unwrap();
        fs::write(folder.path().join("0000000000000007"), "in the way").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (events, mut received) = tokio::sync::mpsc::unbounded_channel();
        let event = runtime.block_on(async {
            files.write_output(Rank(2), Bytes::from_static(b"3"), &events);
            received.recv().await
        });
        let Some(JobEvent::Failed(error)) = event else {
            panic!("{event:?}")
        };
        let path = folder.path().join("0000000000000007/outputs/p3.msgpack");
        let expected = format!("the output of p3 cannot be written to {}: ", path.display());
        assert!(error.message.starts_with(&expected), "{error}");
    }
}
