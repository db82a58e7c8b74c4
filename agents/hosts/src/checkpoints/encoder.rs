//! Encodes the states of processes for checkpoints.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use agents::HostedProgram;
use bsp::Rank;
use bsp::units::Seconds;
use machines::node::event::JobEvent;
use machines::time::seconds;
use machines::{JobError, SavedPiece, Saving};
use tokio::sync::mpsc::UnboundedSender;

use crate::meter::thread_time;
use crate::time::elapsed;

/// A thread that encodes forks of programs while the programs go on computing. Clones share it.
#[derive(Clone)]
pub(crate) struct Encoder {
    forks: mpsc::Sender<Fork>,
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
        let (forks, received) = mpsc::channel::<Fork>();
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
