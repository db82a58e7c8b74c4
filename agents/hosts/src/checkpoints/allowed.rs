//! The folders to which a node may write checkpoints.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checkpoint::{DiskFiles, Store, SubmittedJob};
use machines::JobError;
use protocol::Submit;
use protocol::transport::JobId;
use tokio::sync::Semaphore;

/// The folders to which a node may write checkpoints. By default there are none: a client names the folder of its job, and
/// files are opened with the rights of the node.
#[derive(Clone, Debug)]
pub struct CheckpointFolders {
    /// `None`: any.
    allowed: Option<Vec<PathBuf>>,
    /// One for each folder that may be checked now. A file system that does not answer keeps it.
    checks: Arc<Semaphore>,
}

impl Default for CheckpointFolders {
    fn default() -> Self {
        Self::below(Vec::new())
    }
}

impl CheckpointFolders {
    /// These, and all that are in them.
    #[must_use]
    pub fn below(folders: Vec<PathBuf>) -> Self {
        Self {
            allowed: Some(folders),
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
        }
    }

    /// Any that the user of the node may write to, for a node whose clients are the same user.
    #[must_use]
    pub fn any() -> Self {
        Self {
            allowed: None,
            ..Self::default()
        }
    }

    /// The files of `folder`, if the node may write there.
    pub(crate) fn files(&self, folder: &Path) -> Option<DiskFiles> {
        let Some(allowed) = &self.allowed else {
            return Some(DiskFiles::new(folder));
        };
        let mut allowed = allowed.iter();
        allowed.find_map(|allowed| DiskFiles::below(allowed, folder))
    }

    /// Checks that the node `own` may write to the checkpoint folder of a job, if it has one, and that the client has
    /// described the job there as it submits it. Another thread opens files.
    ///
    /// # Errors
    ///
    /// If it may not, or has not.
    pub(crate) async fn check(&self, own: &str, submit: &Submit) -> Result<(), JobError> {
        let (Some(folder), Some(job)) = (&submit.checkpoint, NonZeroU64::new(submit.job)) else {
            return Ok(());
        };
        let refused = |problem: &str| {
            JobError::input(format!(
                "{own} cannot write checkpoints to {folder}: {problem}"
            ))
        };
        let Some(files) = self.files(Path::new(folder)) else {
            return Err(refused(&self.remedy(folder)));
        };
        let Ok(permit) = Arc::clone(&self.checks).try_acquire_owned() else {
            return Err(refused("other folders of jobs do not answer"));
        };
        let (host, incarnation) = (submit.host, submit.resumed.as_ref());
        let incarnation = incarnation.map_or(0, |resumed| resumed.incarnation);
        let (processes, experiment) = (submit.processes, submit.experiment.clone());
        let checking = tokio::task::spawn_blocking(move || {
            let submitted = SubmittedJob {
                job: JobId(job),
                incarnation,
                processes,
                experiment: &experiment,
            };
            let checked = Store::new(files, host).check(&submitted);
            drop(permit);
            checked
        });
        match tokio::time::timeout(CHECK_LIMIT, checking).await {
            Ok(Ok(checked)) => checked.map_err(|problem| refused(&problem.to_string())),
            Ok(Err(panic)) => Err(refused(&panic.to_string())),
            Err(_) => {
                let limit = CHECK_LIMIT.as_secs();
                Err(refused(&format!(
                    "its file system does not answer in {limit} s"
                )))
            }
        }
    }

    /// Why `folder` is none of them, and what to do.
    fn remedy(&self, folder: &str) -> String {
        let allowed = self.allowed.iter().flatten();
        let allowed: Vec<String> = allowed.map(|path| path.display().to_string()).collect();
        let allows = match &allowed[..] {
            [] => "no folder".to_owned(),
            allowed => allowed.join(", "),
        };
        format!(
            "its configuration allows {allows}; add `checkpoints = [{folder:?}]`, or a folder above it, to its [node]"
        )
    }
}

/// Folders that are checked at a time.
const CHECKS_MAX: usize = 4;
/// How long a file system may take to answer.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use bsp::HostId;

    use super::*;
    use checkpoint::{Generation, JobDescription, Piece};

    const JOB: JobId = JobId(NonZeroU64::new(0xa1).expect("not 0"));

    fn described(folder: &Path) -> JobDescription {
        let job = JobDescription {
            job: JOB,
            incarnation: 2,
            workload: "heat".to_owned(),
            processes: 4,
            program: "migbsp".to_owned(),
            version: "0.1.0".to_owned(),
            build: "00".repeat(32),
            experiment: "the experiment".to_owned(),
        };
        let mut store = Store::new(DiskFiles::new(folder), HostId(0));
        store.begin(&job).unwrap();
        job
    }

    fn submitted(folder: &Path) -> Submit {
        Submit {
            job: JOB.0.get(),
            host: HostId(1),
            members: Vec::new(),
            experiment: "the experiment".to_owned(),
            processes: 4,
            checkpoint: Some(folder.to_str().unwrap().to_owned()),
            resumed: Some(protocol::ResumedJob {
                incarnation: 2,
                superstep: 5,
                placement: Vec::new(),
                halted: Vec::new(),
            }),
        }
    }

    fn check(folders: &CheckpointFolders, submit: &Submit) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let checked = runtime.unwrap().block_on(folders.check("n1", submit));
        checked.map_err(|error| error.message)
    }

    #[test]
    fn a_node_writes_only_to_folders_that_its_owner_allows() {
        let folder = tempfile::tempdir().unwrap();
        let saved = folder.path().join("a/saved");
        described(&saved);
        let submit = submitted(&saved);
        for allowed in [folder.path(), &folder.path().join("a"), &saved] {
            let folders = CheckpointFolders::below(vec![allowed.to_owned()]);
            assert_eq!(check(&folders, &submit), Ok(()), "{allowed:?}");
        }
        assert_eq!(check(&CheckpointFolders::any(), &submit), Ok(()));
        for (folders, allows) in [
            (CheckpointFolders::default(), "allows no folder;"),
            (
                CheckpointFolders::below(vec!["/srv/a".into(), "/b".into()]),
                "allows /srv/a, /b;",
            ),
        ] {
            let error = check(&folders, &submit).unwrap_err();
            let remedy = format!("add `checkpoints = [\"{}\"]`", saved.display());
            assert!(error.contains(allows) && error.contains(&remedy), "{error}");
        }
        let folders = CheckpointFolders::below(vec![folder.path().join("a")]);
        let escaping = submitted(&folder.path().join("a/../b"));
        assert!(check(&folders, &escaping).is_err());
        let without = Submit {
            checkpoint: None,
            ..submit
        };
        assert_eq!(check(&CheckpointFolders::default(), &without), Ok(()));
    }

    #[test]
    fn a_node_writes_to_no_folder_of_another_job() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let folders = CheckpointFolders::below(vec![path.to_owned()]);
        let error = check(&folders, &submitted(path)).unwrap_err();
        assert!(error.contains("the file is missing; all nodes"), "{error}");
        let job = described(path);
        let good = submitted(path);
        assert_eq!(check(&folders, &good), Ok(()));
        let others = [
            Submit {
                processes: 6,
                ..good.clone()
            },
            Submit {
                experiment: "another".to_owned(),
                ..good.clone()
            },
            Submit {
                resumed: None,
                ..good.clone()
            },
        ];
        let found = [
            "number of processes 4, expected 6",
            "found experiment ",
            "incarnation 2, expected 0",
        ];
        for (other, found) in others.iter().zip(found) {
            let error = check(&folders, other).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
        // A job that has not begun has no checkpoint, whatever another client has learned of its number.
        let mut store = Store::new(DiskFiles::new(path), HostId(0));
        let generation = Generation {
            incarnation: 2,
            superstep: 7,
        };
        let none: [&Piece; 0] = [];
        store.write_pieces(JOB, generation, none).unwrap();
        let error = check(&folders, &good).unwrap_err();
        assert!(
            error.contains("it has checkpoint 2-7 of the job"),
            "{error}"
        );
        assert_eq!(job.processes, 4);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_links_in_a_folder_block_no_node_and_change_no_file() {
        use std::os::unix::fs::symlink;
        use std::process::Command;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved");
        described(&path);
        let job = path.join(format!("{:016x}", JOB.0));
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        symlink(&victim, job.join("check.1.new")).unwrap();
        let folders = CheckpointFolders::below(vec![folder.path().to_owned()]);
        assert_eq!(check(&folders, &submitted(&path)), Ok(()));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
        std::fs::remove_file(job.join("job.json")).unwrap();
        let made = Command::new("mkfifo").arg(job.join("job.json")).status();
        assert!(made.unwrap().success());
        let error = check(&folders, &submitted(&path)).unwrap_err();
        assert!(error.contains("pipes and devices are not read"), "{error}");
    }
}
