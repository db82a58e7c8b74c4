//! A computation between two supersteps, its limit and its result.

use super::error::Error;
use super::execution::{check_length, check_receiver, execute};
use crate::encoding::encoded_len;
use crate::ids::Rank;
use crate::program::{Program, Step};
use crate::superstep::{Conditions, Envelope, Inbox, Outbox};
use crate::units::{Instructions, InstructionsPerSecond, Seconds};

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
        if let Some(running) = self.halted.iter().position(Option::is_none)
            && self.limit.0 <= superstep
        {
            return Err(Error::NeverHalts {
                rank: Rank::from_index(running),
                limit: self.limit.0,
            });
        }
        let size = u32::try_from(self.processes.len()).expect("ranks fit 32 bits");
        let mut sends = Vec::new();
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
            let sent = outbox.sends.into_iter();
            sends.extend(sent.map(|(to, envelope)| (rank, to, envelope)));
        }
        // Senders are visited in rank order, so inboxes come out ordered.
        for (from, to, envelope) in sends {
            let is_sized = matches!(envelope, Envelope::Sized(_));
            check_receiver((from, to), is_sized, superstep, &self.halted)?;
            let inbox = &mut self.inboxes[to.index()];
            match envelope {
                Envelope::Value(message) => {
                    // What cannot be encoded is an error of runners that encode.
                    let length = encoded_len(&message).unwrap_or_default();
                    check_length((from, to), length, superstep)?;
                    inbox.messages.push((from, message));
                }
                Envelope::Sized(bytes) => inbox.sized.push((from, bytes)),
            }
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
        }
    }

    /// Whether a process has not halted.
    pub(crate) fn is_running(&self) -> bool {
        self.halted.iter().any(Option::is_none)
    }
}
