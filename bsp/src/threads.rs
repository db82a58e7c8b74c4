//! A runner on the threads of this machine.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "threads share a computation and measure times; no output depends on either"
)]

mod barrier;

use std::any::Any;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use crate::ids::Rank;
use crate::note::Notes;
use crate::numbers::{length, position};
use crate::program::{Program, Step};
use crate::reduction::Reductions;
use crate::reference::{
    Error, Limit, Run, check_length, check_receiver, conclude, decode, execute,
};
use crate::snapshot::Snapshot;
use crate::superstep::{Conditions, Envelope, Inbox, Outbox, encoded_len};
use crate::units::{Bytes, Instructions, Seconds};
use barrier::Barrier;

/// A number of threads that run programs.
///
/// It is for programs that need one machine: no cluster, no certificates, no files. Processes are divided among the threads by
/// rank. A thread that has executed its own executes those of others that have not begun, so processes that compute unequally
/// keep all threads busy. Messages are handed over: they are measured, and not encoded.
///
/// Outputs, supersteps, work and errors are those of [`reference::run`](crate::reference::run). There is one difference:
/// [`Superstep::elapsed`](crate::Superstep::elapsed) is the time that the process took in the superstep before on the clock of
/// the machine, so what a program makes of it may differ from run to run. Its outputs must not depend on it
/// ([`Program`]).
///
/// # Examples
///
/// ```
/// use bsp::{BoxError, Program, Step, Superstep, Threads, reference};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Square(u64);
///
/// impl Program for Square {
///     type Message = ();
///     type Output = u64;
///
///     fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
///         Ok(Step::Halt(self.0 * self.0))
///     }
/// }
///
/// let processes = (0..100).map(Square).collect();
/// let run = Threads::available().run(processes, reference::Limit::default()).unwrap();
/// assert_eq!(run.outputs[7], 49);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(NonZeroUsize);

impl Threads {
    /// This number of threads.
    #[must_use]
    pub const fn new(count: NonZeroUsize) -> Self {
        Self(count)
    }

    /// As many threads as this process may use at once; one, if the system does not say.
    #[must_use]
    pub fn available() -> Self {
        Self(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Runs `processes` to the end, process `r` being element `r`.
    ///
    /// The calling thread is one of the threads. There are no more than processes, and no more than the system gives.
    ///
    /// # Errors
    ///
    /// The [`Error`] that [`reference::run`](crate::reference::run) returns.
    ///
    /// # Panics
    ///
    /// If there are 2³² processes or more, or the encoder of a message panics.
    pub fn run<P: Program>(self, processes: Vec<P>, limit: Limit) -> Result<Run<P::Output>, Error> {
        let size = u32::try_from(processes.len()).expect("ranks fit 32 bits");
        let wanted = self.0.get().min(processes.len());
        // Threads wait for what they share until their number is known.
        let shared = OnceLock::new();
        thread::scope(|scope| {
            let mut threads = 1;
            while threads < wanted {
                let builder = thread::Builder::new().stack_size(STACK);
                let shared = &shared;
                let work = move || Shared::<P>::work(shared.wait(), threads);
                if builder.spawn_scoped(scope, work).is_err() {
                    break;
                }
                threads += 1;
            }
            let shared = shared.get_or_init(|| Shared::new(processes, size, threads, limit));
            shared.work(0);
        });
        let shared = shared.into_inner().expect("set before all have ended");
        shared.finish()
    }
}

/// Bytes of the stack of a thread: what a main thread mostly has, on which a program may have been tried.
const STACK: usize = 8 << 20;

/// A computation that threads share.
///
/// A superstep has two parts, and all threads meet at the barrier after each. In the first, processes are executed, and each
/// thread sorts what they send by the thread that has the receivers. In the second, each thread delivers what has been sent to
/// its own processes.
struct Shared<P: Program> {
    /// By rank. In the first part of a superstep a process belongs to the thread that has taken its rank from `Part::next`, in the
    /// second to that of its part: no lock is waited for.
    processes: Vec<Mutex<Process<P>>>,
    size: u32,
    /// The threads, each with its own processes.
    parts: Vec<Part<P>>,
    barrier: Barrier,
    /// The superstep in which each process halted. It changes in the first part of a superstep, and is read in the second.
    halted: RwLock<Vec<Option<u64>>>,
    /// How many processes have not halted; changes as `halted` does.
    living: AtomicUsize,
    /// What processes have contributed in this superstep.
    contributed: Mutex<Reductions>,
    /// The supersteps with notes, and these.
    notes: Mutex<Vec<(u64, Notes)>>,
    /// What processes have written, in any order.
    snapshots: Mutex<Vec<Snapshot>>,
    /// What the superstep before has reduced. It changes in the second part of a superstep, and is read in the first.
    reduced: RwLock<Reductions>,
    failure: Mutex<Option<Failure>>,
    limit: Limit,
}

/// A process, the messages to it, and its output once it has halted.
struct Process<P: Program> {
    program: P,
    inbox: Inbox<P::Message>,
    output: Option<P::Output>,
    elapsed: Seconds,
    work: Instructions,
}

/// The processes of a thread, in cache lines of their own: threads change them at once.
#[repr(align(128))]
struct Part<P: Program> {
    ranks: Range<usize>,
    /// The first of them that no thread has taken in this superstep.
    next: AtomicUsize,
    /// Messages to them, by the thread that executed the sender.
    arriving: Vec<Mutex<Vec<Sent<P::Message>>>>,
}

/// A message to a process that exists.
struct Sent<Message> {
    from: Rank,
    to: Rank,
    /// How many messages its sender had sent before it in the superstep.
    number: u32,
    envelope: Envelope<Message>,
}

/// What a thread keeps from superstep to superstep, to use its memory again.
struct Buffers<P: Program> {
    outbox: Outbox<P::Message>,
    /// What its processes have sent, by the thread that has the receivers.
    leaving: Vec<Vec<Sent<P::Message>>>,
    /// The messages to its own processes, by position among them.
    inboxes: Vec<Inbox<P::Message>>,
    reductions: Reductions,
    /// When the process before ended, if nothing has been done since: one look at the clock for two processes.
    ended: Option<Instant>,
}

/// What ends the run.
struct Failure {
    superstep: u64,
    place: Place,
    fault: Fault,
}

/// Where in a superstep something failed, in the order of the reference runner, which ends with the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The process is executed.
    Execution(Rank),
    /// A check of the message with this number of this process.
    Message(Rank, u32, Check),
    /// All is reduced.
    Reduction,
}

/// What is checked of a message, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Check {
    Receiver,
    Length,
}

/// What failed.
enum Fault {
    Error(Error),
    /// What is called outside of a superstep panicked.
    Panic(Box<dyn Any + Send>),
}

impl<P: Program> Shared<P> {
    fn new(processes: Vec<P>, size: u32, threads: usize, limit: Limit) -> Self {
        let count = processes.len();
        let part = |thread: usize| {
            let ranks = thread * count / threads..(thread + 1) * count / threads;
            Part {
                next: AtomicUsize::new(ranks.start),
                ranks,
                arriving: (0..threads).map(|_| Mutex::default()).collect(),
            }
        };
        Self {
            size,
            parts: (0..threads).map(part).collect(),
            barrier: Barrier::new(threads),
            halted: RwLock::new(vec![None; count]),
            living: AtomicUsize::new(count),
            contributed: Mutex::default(),
            notes: Mutex::default(),
            snapshots: Mutex::default(),
            reduced: RwLock::default(),
            failure: Mutex::new(None),
            limit,
            processes: processes
                .into_iter()
                .map(Process::new)
                .map(Mutex::new)
                .collect(),
        }
    }

    /// What thread `thread` does.
    fn work(&self, thread: usize) {
        let mut buffers = Buffers::new(self.parts.len(), self.parts[thread].ranks.len());
        let mut superstep = 0;
        let mut living = self.processes.len();
        while 0 < living && superstep < self.limit.0 {
            self.execute(thread, superstep, &mut buffers);
            self.barrier.wait();
            // None halts before all threads have read this.
            living = self.living.load(Ordering::Relaxed);
            self.deliver(thread, superstep, &mut buffers);
            self.barrier.wait();
            // Another thread may have failed in the next superstep already: all have to end after the same.
            if self.has_failed(superstep) {
                return;
            }
            superstep += 1;
        }
    }

    /// The first part of a superstep: executes processes of this thread, and then of others.
    fn execute(&self, thread: usize, superstep: u64, buffers: &mut Buffers<P>) {
        let reduced = self.reduced.read().unwrap_or_else(PoisonError::into_inner);
        buffers.ended = None;
        let (before, from_own) = self.parts.split_at(thread);
        for part in from_own.iter().chain(before) {
            while let Some(rank) = part.take() {
                let mut process = lock(&self.processes[rank]);
                if process.output.is_none() {
                    let rank = Rank::from_index(rank);
                    self.superstep(rank, superstep, &reduced, &mut process, buffers);
                }
            }
        }
        if !buffers.reductions.is_empty() {
            lock(&self.contributed).combine(std::mem::take(&mut buffers.reductions));
        }
        for (part, leaving) in self.parts.iter().zip(&mut buffers.leaving) {
            if !leaving.is_empty() {
                std::mem::swap(&mut *lock(&part.arriving[thread]), leaving);
            }
        }
    }

    /// Executes a superstep of a process.
    fn superstep(
        &self,
        rank: Rank,
        superstep: u64,
        reduced: &Reductions,
        process: &mut Process<P>,
        buffers: &mut Buffers<P>,
    ) {
        let mut place = Place::Execution(rank);
        let fault = attempt(|| {
            let conditions = Conditions {
                index: superstep,
                elapsed: process.elapsed,
                standby: &[],
                reduced: Some(reduced),
            };
            let Process { program, inbox, .. } = process;
            let outbox = &mut buffers.outbox;
            let start = buffers.ended.take().unwrap_or_else(Instant::now);
            let step = execute(program, (rank, self.size), conditions, inbox, outbox)?;
            let end = Instant::now();
            process.elapsed = Seconds::bounded((end - start).as_secs_f64());
            if inbox.messages.is_empty() && outbox.sends.is_empty() && outbox.reductions.is_empty()
            {
                buffers.ended = Some(end);
            }
            process.work += std::mem::take(&mut outbox.work);
            if !outbox.reductions.is_empty() {
                buffers
                    .reductions
                    .combine(std::mem::take(&mut outbox.reductions));
            }
            if !outbox.snapshots.is_empty() {
                lock(&self.snapshots).extend(outbox.snapshots.take());
            }
            inbox.messages.clear();
            inbox.sized.clear();
            if let Step::Halt(output) = step {
                process.output = Some(output);
                let mut halted = self.halted.write().unwrap_or_else(PoisonError::into_inner);
                halted[rank.index()] = Some(superstep);
                self.living.fetch_sub(1, Ordering::Relaxed);
            }
            for (number, (to, envelope)) in (0..).zip(outbox.sends.drain(..)) {
                if self.size <= to.0 {
                    place = Place::Message(rank, number, Check::Receiver);
                    return Err(Error::NoSuchRank {
                        from: rank,
                        to,
                        superstep,
                        size: self.size,
                    });
                }
                place = Place::Message(rank, number, Check::Length);
                let measured = attempt(|| {
                    let length = match &envelope {
                        // What cannot be encoded is an error of runners that encode.
                        Envelope::Value(message) => encoded_len(message).unwrap_or_default(),
                        Envelope::Encoded(encoded) => Bytes(length(encoded.len())),
                        Envelope::Sized(_) => return Ok(()),
                    };
                    check_length((rank, to), length, superstep)
                });
                if let Some(fault) = measured {
                    // The receiver is checked once all have been executed, and an error there comes before this one.
                    self.fail(superstep, place, fault);
                }
                buffers.leaving[self.part_of(to)].push(Sent {
                    from: rank,
                    to,
                    number,
                    envelope,
                });
            }
            Ok(())
        });
        if let Some(fault) = fault {
            self.fail(superstep, place, fault);
        }
    }

    /// The second part of a superstep: delivers the messages to the processes of this thread. The first thread concludes the
    /// reductions.
    fn deliver(&self, thread: usize, superstep: u64, buffers: &mut Buffers<P>) {
        let part = &self.parts[thread];
        part.next.store(part.ranks.start, Ordering::Relaxed);
        if thread == 0 {
            self.conclude(superstep);
        }
        let halted = self.halted.read().unwrap_or_else(PoisonError::into_inner);
        for arriving in &part.arriving {
            for sent in lock(arriving).drain(..) {
                let Sent {
                    from,
                    to,
                    number,
                    envelope,
                } = sent;
                let is_sized = matches!(envelope, Envelope::Sized(_));
                if let Err(error) = check_receiver((from, to), is_sized, superstep, &halted) {
                    let place = Place::Message(from, number, Check::Receiver);
                    self.fail(superstep, place, Fault::Error(error));
                }
                let inbox = &mut buffers.inboxes[to.index() - part.ranks.start];
                match envelope {
                    Envelope::Value(message) => inbox.messages.push((from, message)),
                    Envelope::Encoded(encoded) => match decode((from, to), &encoded, superstep) {
                        Ok(message) => inbox.messages.push((from, message)),
                        Err(error) => {
                            let place = Place::Message(from, number, Check::Length);
                            self.fail(superstep, place, Fault::Error(error));
                        }
                    },
                    Envelope::Sized(bytes) => inbox.sized.push((from, bytes)),
                }
            }
        }
        let processes = &self.processes[part.ranks.clone()];
        for (process, inbox) in processes.iter().zip(&mut buffers.inboxes) {
            if inbox.messages.is_empty() && inbox.sized.is_empty() {
                continue;
            }
            // Each thread has executed senders in rank order, except for those of other threads.
            in_order(&mut inbox.messages);
            in_order(&mut inbox.sized);
            std::mem::swap(inbox, &mut lock(process).inbox);
        }
    }

    fn conclude(&self, superstep: u64) {
        let contributed = std::mem::take(&mut *lock(&self.contributed));
        let mut reduced = self.reduced.write().unwrap_or_else(PoisonError::into_inner);
        match conclude(contributed, superstep) {
            Ok(concluded) => {
                *reduced = concluded.reduced;
                if !concluded.notes.is_empty() {
                    lock(&self.notes).push((superstep, concluded.notes));
                }
            }
            Err(error) => self.fail(superstep, Place::Reduction, Fault::Error(error)),
        }
    }

    fn fail(&self, superstep: u64, place: Place, fault: Fault) {
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|first| place < first.place) {
            *failure = Some(Failure {
                superstep,
                place,
                fault,
            });
        }
    }

    /// Whether `superstep` has failed.
    fn has_failed(&self, superstep: u64) -> bool {
        let failure = lock(&self.failure);
        failure
            .as_ref()
            .is_some_and(|failure| failure.superstep == superstep)
    }

    /// The thread that has the process.
    fn part_of(&self, rank: Rank) -> usize {
        let parts = length(self.parts.len());
        position((u64::from(rank.0) + 1) * parts - 1) / self.processes.len()
    }

    /// The result, once all threads have ended.
    fn finish(self) -> Result<Run<P::Output>, Error> {
        let failure = self
            .failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match failure.map(|failure| failure.fault) {
            Some(Fault::Error(error)) => return Err(error),
            Some(Fault::Panic(panic)) => panic::resume_unwind(panic),
            None => {}
        }
        let halted = self
            .halted
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = halted.iter().position(Option::is_none) {
            return Err(Error::NeverHalts {
                rank: Rank::from_index(running),
                limit: self.limit.0,
            });
        }
        let snapshots = self.snapshots.into_inner();
        let mut snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        // Those of one process in a superstep have been added together.
        snapshots.sort_by_key(|snapshot| (snapshot.superstep, snapshot.rank));
        let mut run = Run {
            outputs: Vec::with_capacity(halted.len()),
            supersteps: halted
                .into_iter()
                .flatten()
                .max()
                .map_or(0, |last| last + 1),
            work: Instructions::ZERO,
            notes: self
                .notes
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
            snapshots,
        };
        for process in self.processes {
            let process = process.into_inner().unwrap_or_else(PoisonError::into_inner);
            run.outputs.push(process.output.expect("all halted"));
            run.work += process.work;
        }
        Ok(run)
    }
}

impl<P: Program> Process<P> {
    fn new(program: P) -> Self {
        Self {
            program,
            inbox: Inbox::default(),
            output: None,
            elapsed: Seconds::ZERO,
            work: Instructions::ZERO,
        }
    }
}

impl<P: Program> Part<P> {
    /// Takes the next process.
    fn take(&self) -> Option<usize> {
        let rank = self.next.fetch_add(1, Ordering::Relaxed);
        (rank < self.ranks.end).then_some(rank)
    }
}

impl<P: Program> Buffers<P> {
    fn new(threads: usize, processes: usize) -> Self {
        Self {
            outbox: Outbox::default(),
            leaving: (0..threads).map(|_| Vec::new()).collect(),
            inboxes: (0..processes).map(|_| Inbox::default()).collect(),
            reductions: Reductions::default(),
            ended: None,
        }
    }
}

/// Performs an action; how it failed, if it did.
fn attempt(action: impl FnOnce() -> Result<(), Error>) -> Option<Fault> {
    match panic::catch_unwind(AssertUnwindSafe(action)) {
        Ok(result) => result.err().map(Fault::Error),
        Err(panic) => Some(Fault::Panic(panic)),
    }
}

/// Orders messages by sender; those of one sender stay in the order sent.
fn in_order<T>(messages: &mut [(Rank, T)]) {
    if !messages.is_sorted_by_key(|(from, _)| *from) {
        messages.sort_by_key(|(from, _)| *from);
    }
}

/// The value of a lock. What a thread that panicked left in it is not used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
