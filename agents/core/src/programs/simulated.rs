//! The programs of a simulated run, executed superstep by superstep without encoding their messages.

use std::ops::Range;

use bsp::numbers::{index, length};
use bsp::reference::{self, check_length, check_receiver};
use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{
    Conditions, Envelope, Inbox, MemorySize, Outbox, Payload, Program, Rank, Reductions, Step,
};

use crate::outcome::RunError;
use crate::programs::{Outputs, SuperstepPlan};
use crate::programs::{decode, encode_into, encoded_len};

/// Programs of a type that the world need not know.
pub trait SimulatedPrograms {
    /// Executes superstep `superstep` of every process that has not halted, in rank order, and writes
    /// to `plan` what they did. They computed for `elapsed` in the superstep before, by rank, those in `standby` are on
    /// standby, and all of them have `reduced` this.
    ///
    /// # Errors
    ///
    /// If a program is at fault.
    fn execute(
        &mut self,
        superstep: u64,
        elapsed: &[Seconds],
        standby: &[Rank],
        reduced: Option<&Reductions>,
        plan: &mut SuperstepPlan,
    ) -> Result<(), RunError>;

    /// The memory that `rank` occupies: what it declares, or its encoded length.
    fn memory(&self, rank: Rank) -> MemorySize;

    /// The most supersteps that `rank` executes after the first `completed`, if its program knows.
    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64>;

    /// The part of the whole computation that has been done, if a program knows.
    fn progress(&self) -> Option<f64>;

    /// Whether `rank` has halted.
    fn has_halted(&self, rank: Rank) -> bool;

    /// The encoded state of `rank`, and the memory that its program declares.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    fn pack(&mut self, rank: Rank) -> Result<(Vec<u8>, Option<Bytes>), RunError>;

    /// Replaces the state of `rank` by the decoded `state`.
    ///
    /// # Errors
    ///
    /// If it cannot be decoded.
    fn unpack(&mut self, rank: Rank, state: &[u8]) -> Result<(), RunError>;

    /// Removes the outputs, once all processes have halted.
    fn outputs(&mut self) -> Outputs;
}

/// Programs of one type.
pub(super) struct TypedPrograms<P: Program> {
    processes: Vec<State<P>>,
    /// The superstep in which each process halted.
    halted: Vec<Option<u64>>,
    /// The progress that the program of the lowest rank knew of those that have halted and knew it.
    progress_halted: Option<(Rank, f64)>,
    limit: u64,
    /// The values of the messages sent in the last superstep, as far as they have any, by their number in its plan.
    values: Vec<Option<P::Message>>,
    /// The numbers of these messages, ordered by (receiver, sender, order sent).
    order: Vec<u32>,
    /// By receiver, where the messages to it end in `order`; they begin where those to the receiver before end.
    ends: Vec<u32>,
    inbox: Inbox<P::Message>,
    /// What the processes have sent so far in the superstep that is being executed.
    outbox: Outbox<P::Message>,
}

/// A process: its program, or what that has left.
enum State<P: Program> {
    Running(P),
    Halted(P::Output),
}

impl<P: Program> TypedPrograms<P> {
    pub(crate) fn new(processes: Vec<P>, limit: u64) -> Self {
        Self {
            halted: vec![None; processes.len()],
            progress_halted: None,
            ends: vec![0; processes.len()],
            processes: processes.into_iter().map(State::Running).collect(),
            limit,
            values: Vec::new(),
            order: Vec::new(),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
        }
    }

    /// Moves the messages at `place` in the order of delivery into the inbox; `plan` still has those of the superstep
    /// before.
    fn fill_inbox(&mut self, place: Range<u32>, plan: &SuperstepPlan) {
        self.inbox.messages.clear();
        self.inbox.sized.clear();
        for number in &self.order[index(place.start)..index(place.end)] {
            let at = index(*number);
            match self.values.get_mut(at).and_then(Option::take) {
                Some(message) => self.inbox.messages.push((plan.senders[at], message)),
                None => self.inbox.sized.push((plan.senders[at], plan.sizes[at])),
            }
        }
    }

    /// The program of a process that has not halted.
    fn program(&self, rank: Rank) -> &P {
        match &self.processes[rank.index()] {
            State::Running(program) => program,
            State::Halted(_) => unreachable!("{rank} has halted"),
        }
    }

    /// Executes one process.
    fn execute_one(
        &mut self,
        rank: Rank,
        conditions: Conditions<'_>,
        plan: &mut SuperstepPlan,
    ) -> Result<(), RunError> {
        let size = u32::try_from(self.processes.len()).expect("ranks fit 32 bits");
        let State::Running(program) = &mut self.processes[rank.index()] else {
            unreachable!("{rank} has halted")
        };
        self.outbox.work = Instructions::ZERO;
        let (inbox, outbox) = (&mut self.inbox, &mut self.outbox);
        let step = reference::execute(program, (rank, size), conditions, inbox, outbox)?;
        plan.work[rank.index()] = self.outbox.work;
        if let Step::Halt(output) = step {
            let known = program.progress().map(|progress| (rank, progress));
            let lowest = self.progress_halted.filter(|(lower, _)| *lower < rank);
            self.progress_halted = lowest.or(known).or(self.progress_halted);
            self.processes[rank.index()] = State::Halted(output);
            self.halted[rank.index()] = Some(conditions.index);
            plan.halts[rank.index()] = true;
        }
        if !self.outbox.snapshots.is_empty() {
            plan.snapshots.extend(self.outbox.snapshots.take());
        }
        if !self.outbox.reductions.is_empty() {
            plan.reductions
                .resize_with(self.processes.len(), Reductions::default);
            plan.reductions[rank.index()] = std::mem::take(&mut self.outbox.reductions);
        }
        Ok(())
    }

    /// Puts what all processes have sent in `superstep` on its way.
    fn post(&mut self, superstep: u64, plan: &mut SuperstepPlan) -> Result<(), RunError> {
        let sends = std::mem::take(&mut self.outbox.sends);
        plan.begin_messages(sends.len());
        let (mut has_values, mut has_broadcasts) = (false, false);
        for ((to, envelope), from) in sends.iter().zip(&plan.senders) {
            let is_sized = matches!(envelope, Envelope::Sized(_));
            check_receiver((*from, *to), is_sized, superstep, &self.halted)?;
            let size = size_of(envelope);
            // A size without a value is as long as a model says.
            if !is_sized {
                has_values = true;
                has_broadcasts |= matches!(envelope, Envelope::Encoded(_));
                check_length((*from, *to), size, superstep)?;
            }
            plan.expected[to.index()] += 1;
            plan.sizes.push(size);
        }
        plan.receivers.extend(sends.iter().map(|(to, _)| *to));
        plan.broadcasts.clear();
        if has_broadcasts {
            plan.broadcasts = broadcasts(&sends, &plan.senders);
        }
        self.values.clear();
        if has_values {
            for ((to, envelope), from) in sends.into_iter().zip(&plan.senders) {
                self.values.push(match envelope {
                    Envelope::Value(message) => Some(message),
                    Envelope::Encoded(encoded) => {
                        Some(reference::decode((*from, to), &encoded, superstep)?)
                    }
                    Envelope::Sized(_) => None,
                });
            }
        }
        let mut begin = 0;
        for (end, expected) in self.ends.iter_mut().zip(&plan.expected) {
            *end = begin;
            begin += expected;
        }
        self.order.resize(plan.receivers.len(), 0);
        for (number, to) in (0..).zip(&plan.receivers) {
            let place = &mut self.ends[to.index()];
            self.order[index(*place)] = number;
            *place += 1;
        }
        Ok(())
    }
}

impl<P: Program> SimulatedPrograms for TypedPrograms<P> {
    fn execute(
        &mut self,
        superstep: u64,
        elapsed: &[Seconds],
        standby: &[Rank],
        reduced: Option<&Reductions>,
        plan: &mut SuperstepPlan,
    ) -> Result<(), RunError> {
        let size = self.processes.len();
        if self.limit <= superstep {
            let rank = self
                .halted
                .iter()
                .position(Option::is_none)
                .expect("a process has started the superstep");
            let rank = Rank::from_index(rank);
            return Err(reference::Error::NeverHalts {
                rank,
                limit: self.limit,
            }
            .into());
        }
        plan.begin(size);
        plan.reduced = reduced.map_or(Bytes::ZERO, Reductions::charged_len);
        // As many messages as in the superstep before. Their places are not held between two supersteps.
        self.outbox.sends.reserve_exact(plan.receivers.len());
        let mut begin = 0;
        for rank in (0..size).map(Rank::from_index) {
            plan.first_send.push(number(self.outbox.sends.len()));
            let end = self.ends[rank.index()];
            let received = std::mem::replace(&mut begin, end)..end;
            if self.halted[rank.index()].is_some() {
                // Only messages without content can still come; they are dropped.
                continue;
            }
            self.fill_inbox(received, plan);
            let conditions = Conditions {
                index: superstep,
                elapsed: elapsed[rank.index()],
                standby,
                reduced,
            };
            self.execute_one(rank, conditions, plan)?;
        }
        plan.first_send.push(number(self.outbox.sends.len()));
        self.post(superstep, plan)
    }

    fn memory(&self, rank: Rank) -> MemorySize {
        let program = self.program(rank);
        program
            .memory()
            .unwrap_or_else(|| encoded_len(program).into())
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.program(rank).remaining(completed)
    }

    fn progress(&self) -> Option<f64> {
        let of_running = (0..)
            .map(Rank)
            .zip(&self.processes)
            .find_map(|(rank, process)| match process {
                State::Running(program) => Some((rank, program.progress()?)),
                State::Halted(_) => None,
            });
        let known = [self.progress_halted, of_running].into_iter().flatten();
        known
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, progress)| progress)
    }

    fn has_halted(&self, rank: Rank) -> bool {
        self.halted[rank.index()].is_some()
    }

    fn pack(&mut self, rank: Rank) -> Result<(Vec<u8>, Option<Bytes>), RunError> {
        let program = self.program(rank);
        let mut state = Vec::new();
        encode_into(&mut state, "the state of", rank, program)?;
        Ok((state, program.memory().map(MemorySize::total)))
    }

    fn unpack(&mut self, rank: Rank, state: &[u8]) -> Result<(), RunError> {
        self.processes[rank.index()] = State::Running(decode("the state of", rank, state)?);
        Ok(())
    }

    fn outputs(&mut self) -> Outputs {
        let processes = std::mem::take(&mut self.processes).into_iter();
        let outputs = processes.map(|process| match process {
            State::Halted(output) => output,
            State::Running(_) => unreachable!("all processes have halted"),
        });
        Outputs::new::<P>(outputs.collect())
    }
}

/// The number of the next message after `sent` others.
fn number(sent: usize) -> u32 {
    u32::try_from(sent).expect("fewer than 2^32 messages are sent")
}

/// The runs of messages of one sender that are one value.
fn broadcasts<Message>(sends: &[(Rank, Envelope<Message>)], senders: &[Rank]) -> Vec<Range<u32>> {
    let value = |at: usize| match &sends[at].1 {
        Envelope::Encoded(encoded) => Some((senders[at], encoded.as_ptr())),
        Envelope::Value(_) | Envelope::Sized(_) => None,
    };
    let mut all: Vec<Range<u32>> = Vec::new();
    for at in (0..sends.len()).filter(|at| value(*at).is_some()) {
        let next = number(at)..number(at + 1);
        match all.last_mut() {
            Some(last) if last.end == next.start && value(at - 1) == value(at) => {
                last.end = next.end;
            }
            _ => all.push(next),
        }
    }
    all
}

fn size_of<Message: Payload>(envelope: &Envelope<Message>) -> Bytes {
    match envelope {
        Envelope::Value(message) => encoded_len(message),
        Envelope::Encoded(bytes) => Bytes(length(bytes.len())),
        Envelope::Sized(bytes) => *bytes,
    }
}

#[cfg(test)]
mod tests {
    use bsp::{BoxError, Superstep};
    use serde::{Deserialize, Serialize};

    use super::*;

    /// Sends its rank to all other processes, twice, until superstep 2; its output is all ranks that it received.
    #[derive(Debug, Serialize, Deserialize)]
    struct Gossip(Vec<u32>);

    impl Program for Gossip {
        type Message = u32;
        type Output = Vec<u32>;

        fn superstep(&mut self, ctx: &mut Superstep<'_, u32>) -> Result<Step<Vec<u32>>, BoxError> {
            self.0
                .extend(ctx.receive().map(|(from, said)| from.0 * 100 + said));
            ctx.charge(Instructions(u64::from(ctx.rank().0) + 1));
            if ctx.index() == 2 {
                return Ok(Step::Halt(std::mem::take(&mut self.0)));
            }
            let own = ctx.rank();
            for to in (0..ctx.size()).map(Rank).filter(|to| *to != own) {
                ctx.send(to, 1);
                ctx.send_sized(to, Bytes(1000));
                ctx.send(to, 2);
            }
            Ok(Step::Continue)
        }
    }

    #[test]
    fn a_plan_says_who_sends_what_to_whom() {
        let mut programs = TypedPrograms::new((0..3).map(|_| Gossip(Vec::new())).collect(), 10);
        let mut plan = SuperstepPlan::default();
        for superstep in 0..3 {
            programs
                .execute(superstep, &[Seconds::ZERO; 3], &[], None, &mut plan)
                .unwrap();
            let is_last = superstep == 2;
            assert_eq!(plan.work, [1, 2, 3].map(Instructions));
            assert_eq!(plan.halts, [is_last; 3]);
            let sends = if is_last { 0 } else { 6 };
            assert_eq!(plan.expected, [sends; 3]);
            assert_eq!(plan.first_send, [0, sends, 2 * sends, 3 * sends]);
            let sends = index(sends);
            if !is_last {
                assert_eq!(plan.receivers.len(), 3 * sends);
                let second: Vec<_> = (6..12).map(|number| plan.message(number)).collect();
                let to = |to| [1, 1000, 1].map(|bytes| (Rank(1), Rank(to), Bytes(bytes)));
                assert_eq!(second, [to(0), to(2)].concat());
            }
        }
        let told = |others: [u32; 2]| {
            let once = others.map(|from| [from * 100 + 1, from * 100 + 2]).concat();
            [once.clone(), once].concat()
        };
        assert_eq!(
            programs.outputs().typed::<Gossip>(),
            [told([1, 2]), told([0, 2]), told([0, 1])]
        );
    }

    /// Sends itself a text, and halts.
    #[derive(Debug, Serialize, Deserialize)]
    struct Writer(usize);

    impl Program for Writer {
        type Message = String;
        type Output = ();

        fn superstep(&mut self, ctx: &mut Superstep<'_, String>) -> Result<Step<()>, BoxError> {
            ctx.send_sized(Rank(0), Bytes(1 << 40));
            if 0 < ctx.index() {
                return Ok(Step::Halt(()));
            }
            ctx.send(Rank(0), "a".repeat(self.0));
            Ok(Step::Continue)
        }
    }

    #[test]
    fn a_message_is_as_long_as_in_the_reference_runner_at_most() {
        for length in [(64 << 20) - 5, (64 << 20) - 4] {
            let mut programs = TypedPrograms::new(vec![Writer(length)], 10);
            let mut plan = SuperstepPlan::default();
            let found = programs.execute(0, &[Seconds::ZERO], &[], None, &mut plan);
            let expected = reference::run(vec![Writer(length)], reference::Limit(10)).map(drop);
            assert_eq!(found, expected.map_err(RunError::Program), "{length}");
        }
    }

    #[test]
    fn a_state_is_packed_and_unpacked_and_weighs_what_its_encoding_does() {
        let mut programs = TypedPrograms::new(vec![Gossip(vec![1, 300, 70_000])], 10);
        let (state, declared) = programs.pack(Rank(0)).unwrap();
        assert_eq!(declared, None);
        let length = u64::try_from(state.len()).unwrap();
        assert_eq!(programs.memory(Rank(0)), MemorySize::from(Bytes(length)));
        programs.processes[0] = State::Running(Gossip(Vec::new()));
        programs.unpack(Rank(0), &state).unwrap();
        assert_eq!(programs.program(Rank(0)).0, [1, 300, 70_000]);
        let error = programs.unpack(Rank(0), b"\xc1").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the state of p1 cannot be decoded: "),
            "{error}"
        );
    }
}
