//! The threads, streams and files of checkpoints.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::{NonZeroU32, NonZeroU64};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc as thread_mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use agents::{ChunkWriter, HostedProgram};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use checkpoint::{
    Delta, DeltaError, DiskFiles, Generation, Piece, Store, SubmittedJob, WrittenPieces,
};
use machines::node::JobEvent;
use machines::{JobError, SavedPiece, Saving, seconds};
use protocol::transport::{JobId, Sender, StatePayload, StreamContent};
use protocol::{Address, Pieces, Submit};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedSender};

use crate::meter::thread_time;
use crate::migration::{self, ChannelSink};
use crate::pace::elapsed;

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
    /// described the job there as it submits it. Another thread opens files. A later view of the job has the folder of the first,
    /// with its description and checkpoints.
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
        if submit.view.as_ref().is_some_and(|view| 1 < view.number) {
            return Ok(());
        }
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

/// The checkpoint folder of a job. What is written to it is written by other threads, one after the other.
#[derive(Clone)]
pub(crate) struct CheckpointFolder {
    job: JobId,
    processes: u32,
    /// How many complete checkpoints stay.
    keep: NonZeroU32,
    store: Arc<Mutex<Store<DiskFiles>>>,
    events: UnboundedSender<JobEvent>,
}

impl CheckpointFolder {
    /// The folder of `job` in `files`, to which the node of `own` writes, and where `keep` complete checkpoints stay; `events` receives
    /// what follows.
    pub(crate) fn new(
        files: DiskFiles,
        (job, processes, keep): (JobId, u32, NonZeroU32),
        own: HostId,
        events: &UnboundedSender<JobEvent>,
    ) -> Self {
        let store = Store::new(files, own);
        Self {
            job,
            processes,
            keep,
            store: Arc::new(Mutex::new(store)),
            events: events.clone(),
        }
    }

    /// Writes the pieces of this node.
    pub(crate) fn write(&self, generation: Generation, pieces: Vec<Piece>) {
        self.work(move |store, job, _| {
            let written = store.write_pieces(job, generation, &pieces);
            let written = written.map_err(|error| error.to_string());
            JobEvent::Written(generation.superstep, written)
        });
    }

    /// Completes a checkpoint, and removes those before it that are not to stay.
    pub(crate) fn finish(&self, generation: Generation, files: BTreeMap<HostId, WrittenPieces>) {
        let keep = self.keep;
        self.work(move |store, job, processes| {
            let finished = store.complete(job, generation, processes, &files);
            let finished = finished.map_err(|error| error.to_string());
            if finished.is_ok()
                && let Err(error) = store.prune(generation, keep)
            {
                tracing::warn!("older checkpoints stay: {error}");
            }
            JobEvent::CheckpointFinished(generation.superstep, finished)
        });
    }

    fn work(
        &self,
        work: impl FnOnce(&mut Store<DiskFiles>, JobId, u32) -> JobEvent + Send + 'static,
    ) {
        let this = self.clone();
        drop(tokio::task::spawn_blocking(move || {
            let mut store = this.store.lock().unwrap_or_else(PoisonError::into_inner);
            let event = work(&mut store, this.job, this.processes);
            // The job may be over.
            drop(this.events.send(event));
        }));
    }
}

/// A thread that encodes forks of programs while the programs go on computing. Clones share it.
#[derive(Clone)]
pub(crate) struct Encoder {
    forks: thread_mpsc::Sender<Fork>,
    events: UnboundedSender<JobEvent>,
}

/// A fork that is to be encoded.
struct Fork {
    saving: Saving,
    program: Box<dyn HostedProgram>,
    /// The time that it took to fork.
    stall: Seconds,
}

impl Encoder {
    /// Begins the thread; `events` receives what it has encoded. It ends when no clone is left.
    pub(crate) fn begin(events: &UnboundedSender<JobEvent>) -> Self {
        let (forks, received) = thread_mpsc::channel::<Fork>();
        let encoded = events.clone();
        let thread = thread::Builder::new().name("checkpoint".to_owned());
        let spawned = thread.spawn(move || {
            for fork in received {
                // The job may be over.
                if encoded.send(encode_fork(fork)).is_err() {
                    return;
                }
            }
        });
        spawned.expect("the system has room for a thread per job");
        Self {
            forks,
            events: events.clone(),
        }
    }

    /// Saves a process before its superstep: copies it in memory and has the copy encoded, or encodes it now if it
    /// cannot be copied.
    pub(crate) fn save(&self, saving: Saving, program: &dyn HostedProgram) {
        let rank = saving.head.rank;
        let began = Instant::now();
        let forked = guarded(rank, || Ok(program.fork()));
        let event = match forked {
            Ok(Some(program)) => {
                let stall = elapsed(began);
                let fork = Fork {
                    saving,
                    program,
                    stall,
                };
                // The thread ends with the job.
                drop(self.forks.send(fork));
                return;
            }
            Ok(None) => guarded(rank, || Ok(saving.encode(program)?)).map(|piece| SavedPiece {
                piece,
                stall: elapsed(began),
                encoding: Seconds::ZERO,
            }),
            Err(error) => Err(error),
        };
        // The job may be over.
        drop(self.events.send(event.map_or_else(JobEvent::Failed, saved)));
    }
}

fn encode_fork(fork: Fork) -> JobEvent {
    let Fork {
        saving,
        program,
        stall,
    } = fork;
    let before = thread_time();
    let piece = guarded(saving.head.rank, || Ok(saving.encode(&*program)?));
    let encoding = seconds(thread_time().saturating_sub(before));
    piece.map_or_else(JobEvent::Failed, |piece| {
        saved(SavedPiece {
            piece,
            stall,
            encoding,
        })
    })
}

fn saved(piece: SavedPiece) -> JobEvent {
    JobEvent::Saved(Box::new(piece))
}

/// What a program's own code does: a panic in it is an error of the program.
fn guarded<T>(rank: Rank, work: impl FnOnce() -> Result<T, JobError>) -> Result<T, JobError> {
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| {
        Err(JobError::program(format!(
            "{rank} panicked while it was copied for a checkpoint; see the log of its node"
        )))
    })
}

/// Sends `changed`, for the checkpoint before `superstep`, from the node of `from` to that of `to`.
///
/// # Errors
///
/// If the connection ends.
pub(crate) async fn send_deltas(
    (from, to): (HostId, HostId),
    superstep: u64,
    changed: Vec<Delta>,
    buddy: Sender,
) -> Result<(), JobError> {
    let pieces = Pieces {
        count: u32::try_from(changed.len()).expect("ranks fit 32 bits"),
        payload: Bytes::new(),
    };
    let (sender, chunks) = migration::channel();
    let writing = tokio::task::spawn_blocking(move || {
        let mut sink = ChannelSink::new(sender);
        let mut writer = ChunkWriter::new(&mut sink);
        for part in Delta::encode_all(&changed) {
            writer.write_all(&part)?;
        }
        writer.finish()
    });
    let ends = (Address::Node(from), Address::Node(to));
    let content = StreamContent::Pieces(superstep, pieces);
    let sent = buddy
        .send_state_chunks(ends.0, ends.1, content, chunks)
        .await;
    // Writing fails only if what is written is not sent.
    drop(writing.await);
    sent?;
    Ok(())
}

/// Reads the deltas that arrive as `payload`. `None`: the connection has ended, or what arrived was refused.
pub(crate) async fn receive_deltas(
    payload: StatePayload,
) -> Option<Result<Vec<Delta>, DeltaError>> {
    let (sender, mut chunks) = mpsc::channel(CHUNKS_WAITING);
    let (read, arrived) = tokio::join!(payload.read(sender), async {
        let mut arrived = Vec::new();
        while let Some(chunk) = chunks.recv().await {
            arrived.push(chunk);
        }
        arrived
    });
    read.ok()?;
    // It takes time in proportion to the bytes.
    tokio::task::spawn_blocking(move || Delta::decode_all(arrived))
        .await
        .ok()
}

/// Chunks that wait to be put together.
const CHUNKS_WAITING: usize = 16;

#[cfg(test)]
mod tests {
    use checkpoint::JobDescription;

    use super::*;

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
            files: None,
        };
        let mut store = Store::new(DiskFiles::new(folder), HostId(0));
        store.begin(&job).unwrap();
        job
    }

    fn submitted(folder: &Path) -> Submit {
        Submit {
            job: JOB.0.get(),
            session: 1,
            host: HostId(1),
            members: Vec::new(),
            experiment: "the experiment".to_owned(),
            folder: protocol::InputFolder::default(),
            processes: 4,
            checkpoint: Some(folder.to_str().unwrap().to_owned()),
            resumed: Some(protocol::ResumedJob {
                incarnation: 2,
                superstep: 5,
                placement: Vec::new(),
                halted: Vec::new(),
            }),
            files: None,
            view: None,
            memory: None,
            wait: Seconds::ZERO,
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
