//! The single-threaded reference runner: its result is what every other runner has to produce.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::{error, iter};

use crate::ids::Rank;
use crate::note::Notes;
use crate::numbers::length;
use crate::program::{Payload, Program, Step};
use crate::reduction::{Concluded, Reductions};
use crate::snapshot::Snapshot;
use crate::superstep::{Conditions, Envelope, Inbox, MESSAGE_MAX, Outbox, Superstep, encoded_len};
use crate::units::{Bytes, Instructions, InstructionsPerSecond, Seconds};

/// Runs `processes` to the end, process `r` being element `r`. Each executes 10⁹ of the instructions that it charges in a
/// second ([`Superstep::elapsed`](crate::Superstep::elapsed)).
///
/// # Errors
///
/// Any [`Error`]; the run ends with the first.
///
/// # Panics
///
/// If there are 2³² processes or more.
pub fn run<P: Program>(processes: Vec<P>, limit: Limit) -> Result<Run<P::Output>, Error> {
    let mut computation = Computation::new(processes, limit);
    while computation.is_running() {
        computation.superstep()?;
    }
    Ok(computation.finish())
}

/// Instructions per second of all processes.
const SPEED: f64 = 1e9;

/// What a computation produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<Output> {
    /// Outputs in rank order.
    pub outputs: Vec<Output>,
    /// How many supersteps were executed, the one in which the last process halted included.
    pub supersteps: u64,
    /// Computation charged by all processes together.
    pub work: Instructions,
    /// The supersteps in which processes noted something, with their notes.
    pub notes: Vec<(u64, Notes)>,
    /// What processes wrote while they ran, ordered by (superstep, rank, order written).
    pub snapshots: Vec<Snapshot>,
}

/// How many supersteps a computation may take before it counts as one that never halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub u64);

impl Default for Limit {
    /// A million supersteps.
    fn default() -> Self {
        Self(1_000_000)
    }
}

/// All processes, the messages to them, and the outputs of those that have halted, by rank.
#[derive(Debug)]
pub(crate) struct Computation<P: Program> {
    pub(crate) processes: Vec<P>,
    pub(crate) inboxes: Vec<Inbox<P::Message>>,
    pub(crate) outputs: Vec<Option<P::Output>>,
    /// What each charged in the superstep that is over.
    pub(crate) charged: Vec<Instructions>,
    /// How long each computed in the superstep that is over, as the next superstep says.
    pub(crate) elapsed: Vec<Seconds>,
    /// The processes on standby in the next superstep, in rank order.
    pub(crate) standby: Vec<Rank>,
    /// What the superstep that is over has reduced.
    pub(crate) reduced: Reductions,
    /// The supersteps with notes, and these.
    notes: Vec<(u64, Notes)>,
    /// What processes have written.
    pub(crate) snapshots: Vec<Snapshot>,
    /// The speed of all processes, for these times.
    speed: InstructionsPerSecond,
    halted: Vec<Option<u64>>,
    work: Instructions,
    superstep: u64,
    limit: Limit,
}

impl<P: Program> Computation<P> {
    /// A computation before its first superstep.
    pub(crate) fn new(processes: Vec<P>, limit: Limit) -> Self {
        let count = processes.len();
        Self {
            processes,
            inboxes: (0..count).map(|_| Inbox::default()).collect(),
            outputs: (0..count).map(|_| None).collect(),
            charged: vec![Instructions::ZERO; count],
            elapsed: vec![Seconds::ZERO; count],
            standby: Vec::new(),
            reduced: Reductions::default(),
            notes: Vec::new(),
            snapshots: Vec::new(),
            speed: InstructionsPerSecond::new(SPEED).expect("above zero"),
            halted: vec![None; count],
            work: Instructions::ZERO,
            superstep: 0,
            limit,
        }
    }

    /// Executes the next superstep of all processes that have not halted.
    ///
    /// # Errors
    ///
    /// Any [`Error`]; the computation cannot go on then.
    pub(crate) fn superstep(&mut self) -> Result<(), Error> {
        let superstep = self.superstep;
        let limit = self.limit.0;
        if let Some((rank, _)) = self.running().next()
            && limit <= superstep
        {
            return Err(Error::NeverHalts { rank, limit });
        }
        let size = u32::try_from(self.processes.len()).expect("ranks fit 32 bits");
        let mut sends = Vec::new();
        let mut reductions = Reductions::default();
        for (index, program) in self.processes.iter_mut().enumerate() {
            self.charged[index] = Instructions::ZERO;
            if self.halted[index].is_some() {
                continue;
            }
            let rank = Rank::from_index(index);
            let mut inbox = std::mem::take(&mut self.inboxes[index]);
            let mut outbox = Outbox::default();
            let conditions = Conditions {
                index: superstep,
                elapsed: self.elapsed[index],
                standby: &self.standby,
                reduced: Some(&self.reduced),
            };
            match execute(program, (rank, size), conditions, &mut inbox, &mut outbox)? {
                Step::Continue => {}
                Step::Halt(output) => {
                    self.outputs[index] = Some(output);
                    self.halted[index] = Some(superstep);
                }
            }
            self.charged[index] = outbox.work;
            self.elapsed[index] = outbox.work / self.speed;
            self.work += outbox.work;
            reductions.combine(outbox.reductions);
            self.snapshots.extend(outbox.snapshots.take());
            let sent = outbox.sends.into_iter();
            sends.extend(sent.map(|(to, envelope)| (rank, to, envelope)));
        }
        // Senders are visited in rank order, so inboxes come out ordered.
        for (from, to, envelope) in sends {
            let is_sized = matches!(envelope, Envelope::Sized(_));
            check_receiver((from, to), is_sized, superstep, &self.halted)?;
            let inbox = &mut self.inboxes[to.index()];
            match envelope {
                Envelope::Encoded(encoded) => {
                    check_length((from, to), Bytes(length(encoded.len())), superstep)?;
                    inbox
                        .messages
                        .push((from, decode((from, to), &encoded, superstep)?));
                }
                Envelope::Value(message) => {
                    // What cannot be encoded is an error of runners that encode.
                    let length = encoded_len(&message).unwrap_or_default();
                    check_length((from, to), length, superstep)?;
                    inbox.messages.push((from, message));
                }
                Envelope::Sized(bytes) => inbox.sized.push((from, bytes)),
            }
        }
        let Concluded { reduced, notes } = conclude(reductions, superstep)?;
        self.reduced = reduced;
        if !notes.is_empty() {
            self.notes.push((superstep, notes));
        }
        self.superstep += 1;
        Ok(())
    }

    /// The result.
    ///
    /// # Panics
    ///
    /// If a process has not halted.
    pub(crate) fn finish(self) -> Run<P::Output> {
        let outputs = self.outputs.into_iter();
        Run {
            outputs: outputs.map(|output| output.expect("all halted")).collect(),
            supersteps: self.superstep,
            work: self.work,
            notes: self.notes,
            snapshots: self.snapshots,
        }
    }

    /// Whether a process has not halted.
    pub(crate) fn is_running(&self) -> bool {
        self.running().next().is_some()
    }

    /// The processes that have not halted.
    pub(crate) fn running(&self) -> impl Iterator<Item = (Rank, &P)> {
        let all = self.processes.iter().zip(&self.halted).enumerate();
        let running = all.filter(|(_, (_, halted))| halted.is_none());
        running.map(|(index, (process, _))| (Rank::from_index(index), process))
    }
}

/// Checks that the message `from` → `to` can be received: `to` exists and will read it.
///
/// `halted` says in which superstep a process halted. A message that is only a size may go to a
/// process that halts in the same superstep: it is traffic, and nothing in it is lost.
///
/// # Errors
///
/// [`Error::NoSuchRank`] and [`Error::Halted`].
///
/// # Panics
///
/// If there are 2³² processes or more.
#[inline]
pub fn check_receiver(
    (from, to): (Rank, Rank),
    is_sized: bool,
    superstep: u64,
    halted: &[Option<u64>],
) -> Result<(), Error> {
    match halted.get(to.index()) {
        None => {
            let size = u32::try_from(halted.len()).expect("ranks fit 32 bits");
            Err(Error::NoSuchRank {
                from,
                to,
                superstep,
                size,
            })
        }
        Some(&Some(halted)) if halted < superstep || !is_sized => Err(Error::Halted {
            from,
            to,
            superstep,
            halted,
        }),
        Some(_) => Ok(()),
    }
}

/// Checks that the message `from` → `to` of `length`, sent in `superstep`, is not longer than a message may be.
///
/// # Errors
///
/// [`Error::TooLong`].
#[inline]
pub const fn check_length(
    (from, to): (Rank, Rank),
    length: Bytes,
    superstep: u64,
) -> Result<(), Error> {
    if length.0 <= MESSAGE_MAX.0 {
        return Ok(());
    }
    Err(Error::TooLong {
        from,
        to,
        superstep,
        length,
    })
}

/// The results of the reductions of all processes in `superstep`, and their notes.
///
/// # Errors
///
/// [`Error::Reduction`].
pub fn conclude(reductions: Reductions, superstep: u64) -> Result<Concluded, Error> {
    let concluded = reductions.conclude();
    concluded.map_err(|problem| Error::Reduction { superstep, problem })
}

/// The message `from` → `to`, sent in `superstep`, that is encoded so.
///
/// # Errors
///
/// [`Error::Failed`], of the receiver.
pub fn decode<Message: Payload>(
    (from, to): (Rank, Rank),
    encoded: &[u8],
    superstep: u64,
) -> Result<Message, Error> {
    rmp_serde::from_slice(encoded).map_err(|error| Error::Failed {
        rank: to,
        superstep,
        message: format!("the message of {from} cannot be decoded: {error}"),
    })
}

/// Executes one superstep of one process, and says in errors whose it was.
///
/// # Errors
///
/// [`Error::Failed`] and [`Error::Panicked`].
pub fn execute<P: Program>(
    program: &mut P,
    (rank, size): (Rank, u32),
    conditions: Conditions<'_>,
    inbox: &mut Inbox<P::Message>,
    outbox: &mut Outbox<P::Message>,
) -> Result<Step<P::Output>, Error> {
    let superstep = conditions.index;
    let mut context = Superstep::new((rank, size), conditions, inbox, outbox);
    match contain(|| program.superstep(&mut context)) {
        Ok(Ok(step)) => Ok(step),
        Ok(Err(error)) => Err(Error::Failed {
            rank,
            superstep,
            message: chain(&*error),
        }),
        Err(message) => Err(Error::Panicked {
            rank,
            superstep,
            message,
        }),
    }
}

/// What an error says, and what its sources say, one after the other.
#[must_use]
pub fn chain(error: &(dyn error::Error + 'static)) -> String {
    let messages = iter::successors(Some(error), |error| error.source());
    let messages: Vec<String> = messages.map(ToString::to_string).collect();
    messages.join(": ")
}

/// The result of `action`, or what a panic in it says, and where it is in the source.
///
/// # Errors
///
/// If `action` panics. What it has changed may be in any state.
#[inline]
pub fn contain<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    watch_panics();
    panic::catch_unwind(AssertUnwindSafe(action)).map_err(|panic| contained(&*panic))
}

/// From here on, a panic of this thread is noticed.
fn watch_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            HAS_PANICKED.set(true);
            PANICKED_AT.set(panic.location().map(ToString::to_string));
            before(panic);
        }));
    });
    HAS_PANICKED.set(false);
}

/// What a panic that has been caught says, and where it is in the source.
fn contained(panic: &(dyn Any + Send)) -> String {
    let message = panic_message(panic);
    match PANICKED_AT.take() {
        Some(place) if HAS_PANICKED.get() => format!("{message}, at {place}"),
        _ => message,
    }
}

thread_local! {
    /// Whether this thread has panicked since an action was contained last. A panic that is resumed does not count.
    static HAS_PANICKED: Cell<bool> = const { Cell::new(false) };

    /// Where in the source this thread has panicked last.
    static PANICKED_AT: Cell<Option<String>> = const { Cell::new(None) };
}

/// What a panic says.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

/// An error of the program, which ends the computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message to a rank that does not exist.
    #[error("{from} sent to {to} in superstep {superstep}, but there are only {size} processes")]
    NoSuchRank {
        /// The sender.
        from: Rank,
        /// The rank that does not exist.
        to: Rank,
        /// The superstep.
        superstep: u64,
        /// How many processes there are.
        size: u32,
    },
    /// A message that its receiver can never read.
    #[error("{from} sent to {to} in superstep {superstep}, which had halted by superstep {halted}")]
    Halted {
        /// The sender.
        from: Rank,
        /// The process that had halted.
        to: Rank,
        /// The superstep.
        superstep: u64,
        /// The superstep in which the receiver halted.
        halted: u64,
    },
    /// A message that is longer than any may be.
    #[error(
        "{from} sent {to} a message of {} B in superstep {superstep}; a message may have {} B, wherever its receiver is: \
         send it in parts",
        .length.0,
        MESSAGE_MAX.0
    )]
    TooLong {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// The superstep.
        superstep: u64,
        /// Its length.
        length: Bytes,
    },
    /// The program panicked.
    #[error("{rank} panicked in superstep {superstep}: {message}")]
    Panicked {
        /// The process.
        rank: Rank,
        /// The superstep.
        superstep: u64,
        /// The panic message, and where in the source it panicked.
        message: String,
    },
    /// The program returned an error.
    #[error("{rank} failed in superstep {superstep}: {message}")]
    Failed {
        /// The process.
        rank: Rank,
        /// The superstep.
        superstep: u64,
        /// What the error and its sources say.
        message: String,
    },
    /// Processes disagree about a reduction, or reductions are too long.
    #[error("superstep {superstep}: {problem}")]
    Reduction {
        /// The superstep.
        superstep: u64,
        /// Which, and why.
        problem: String,
    },
    /// The limit was reached.
    #[error(
        "{rank} had not halted after {limit} supersteps; if it needs more, raise the limit (in experiments `run.superstep_limit`)"
    )]
    NeverHalts {
        /// The lowest rank still running.
        rank: Rank,
        /// The limit.
        limit: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message of a panic in `action`.
    fn message_of(action: impl FnOnce()) -> String {
        contain(action).unwrap_err()
    }

    #[test]
    fn a_contained_panic_says_where_it_is() {
        let message = message_of(|| panic!("it is too large"));
        let begin = concat!("it is too large, at ", file!(), ":");
        assert!(message.starts_with(begin), "{message}");
        assert_eq!(contain(|| 1), Ok(1));
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a panic of another thread is resumed here"
    )]
    fn a_resumed_panic_has_no_place_of_an_earlier_one() {
        let caught = || panic::catch_unwind(|| panic!("caught")).unwrap_err();
        let resumed = |panic| message_of(|| panic::resume_unwind(panic));
        assert_eq!(contain(|| 1), Ok(1));
        assert_eq!(resumed(caught()), "caught");
        let other = std::thread::spawn(|| panic!("of another thread"));
        let other = other.join().unwrap_err();
        message_of(|| panic!("contained"));
        drop(caught());
        assert_eq!(resumed(other), "of another thread");
        let nested = || {
            let inner = contain(|| panic!("within"));
            assert!(inner.unwrap_err().starts_with("within, at "));
            panic::resume_unwind(Box::new("without"));
        };
        assert_eq!(message_of(nested), "without");
    }
}
