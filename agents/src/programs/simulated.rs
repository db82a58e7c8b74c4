//! The programs of a simulated run, executed superstep by superstep without encoding their messages.

use std::ops::Range;

use bsp::reference::{self, check_receiver};
use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{Conditions, Envelope, Image, Inbox, Interaction, Outbox, Payload, Program, Rank, Step};

use super::outputs::Outputs;
use crate::encoding::{decode, encode_into, encoded_len};
use crate::error::RunError;

/// Programs of a type that the world need not know.
pub(crate) trait SimulatedPrograms {
    /// Executes superstep `superstep` of every process that has not halted, in rank order, and writes
    /// to `plan` what they did. They computed for `elapsed` in the superstep before, by rank, and those in `standby` are on
    /// standby.
    fn execute(
        &mut self,
        superstep: u64,
        elapsed: &[Seconds],
        standby: &[Rank],
        plan: &mut SuperstepPlan,
    ) -> Result<(), RunError>;

    /// The memory that `rank` occupies: what it declares, or its encoded length.
    fn image(&self, rank: Rank) -> Image;

    /// The most supersteps that `rank` executes after the first `completed`, if its program knows.
    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64>;

    /// The part of the whole computation that has been done, if a program knows.
    fn progress(&self) -> Option<f64>;

    /// Whether `rank` has halted.
    fn has_halted(&self, rank: Rank) -> bool;

    /// The encoded state of `rank`, and the memory that its program declares.
    fn pack(&mut self, rank: Rank) -> Result<(Vec<u8>, Option<Bytes>), RunError>;

    /// Replaces the state of `rank` by the decoded `state`.
    fn unpack(&mut self, rank: Rank, state: &[u8]) -> Result<(), RunError>;

    /// Removes the outputs, once all processes have halted.
    fn outputs(&mut self) -> Outputs;
}

/// What the processes did in a superstep, by rank: known before simulated time passes for it, because
/// when the first process starts a superstep, all inboxes are complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuperstepPlan {
    /// Computation charged.
    pub(crate) work: Vec<Instructions>,
    /// Whether it was the last superstep of the process.
    pub(crate) halts: Vec<bool>,
    /// How many messages are addressed to the process.
    pub(crate) expected: Vec<u32>,
    /// Messages in the order sent, by sender: to whom, how large.
    pub(crate) sends: Vec<(Rank, Bytes)>,
    /// Where the messages of each process begin in `sends`, and where the last one's end.
    pub(crate) first_send: Vec<usize>,
    /// The interaction of a task farm that is complete.
    pub(crate) interaction: Option<Interaction>,
}

/// Programs of one type.
pub(super) struct TypedPrograms<P: Program> {
    processes: Vec<P>,
    outputs: Vec<Option<P::Output>>,
    /// The superstep in which each process halted.
    halted: Vec<Option<u64>>,
    limit: u64,
    /// Messages sent in the last superstep, in the order sent, by sender: to whom, and what.
    under_way: Vec<(Rank, Envelope<P::Message>)>,
    /// The sender of each of them.
    senders: Vec<Rank>,
    /// Where each of them is in `under_way`, ordered by (receiver, sender, order sent).
    order: Vec<u32>,
    /// By receiver, where the messages to it end in `order`; they begin where those to the receiver before end.
    ends: Vec<u32>,
    inbox: Inbox<P::Message>,
    /// What the processes have sent so far in the superstep that is being executed.
    outbox: Outbox<P::Message>,
}

impl<P: Program> TypedPrograms<P> {
    pub(crate) fn new(processes: Vec<P>, limit: u64) -> Self {
        Self {
            outputs: processes.iter().map(|_| None).collect(),
            halted: vec![None; processes.len()],
            ends: vec![0; processes.len()],
            processes,
            limit,
            under_way: Vec::new(),
            senders: Vec::new(),
            order: Vec::new(),
            inbox: Inbox::default(),
            outbox: Outbox::default(),
        }
    }

    /// Moves the messages at `place` in the order of delivery into the inbox.
    fn fill_inbox(&mut self, place: Range<u32>) {
        self.inbox.messages.clear();
        self.inbox.sized.clear();
        for at in &self.order[index(place.start)..index(place.end)] {
            let from = self.senders[index(*at)];
            let (_, envelope) = &mut self.under_way[index(*at)];
            match std::mem::replace(envelope, Envelope::Sized(Bytes::ZERO)) {
                Envelope::Value(message) => self.inbox.messages.push((from, message)),
                Envelope::Sized(bytes) => self.inbox.sized.push((from, bytes)),
            }
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
        let program = &mut self.processes[rank.index()];
        self.outbox.work = Instructions::ZERO;
        let (inbox, outbox) = (&mut self.inbox, &mut self.outbox);
        let step = reference::execute(program, (rank, size), conditions, inbox, outbox)?;
        plan.work[rank.index()] = self.outbox.work;
        if let Step::Halt(output) = step {
            self.outputs[rank.index()] = Some(output);
            self.halted[rank.index()] = Some(conditions.index);
            plan.halts[rank.index()] = true;
        }
        if let Some(interaction) = self.outbox.interaction.take() {
            plan.interaction = Some(interaction);
        }
        Ok(())
    }

    /// Puts what all processes have sent in `superstep` on its way.
    fn post(&mut self, superstep: u64, plan: &mut SuperstepPlan) -> Result<(), RunError> {
        self.under_way.clear();
        std::mem::swap(&mut self.under_way, &mut self.outbox.sends);
        self.senders.clear();
        for (from, end) in (0..self.processes.len()).zip(&plan.first_send[1..]) {
            self.senders.resize(*end, Rank::from_index(from));
        }
        for ((to, envelope), from) in self.under_way.iter().zip(&self.senders) {
            let is_sized = matches!(envelope, Envelope::Sized(_));
            check_receiver((*from, *to), is_sized, superstep, &self.halted)?;
            plan.expected[to.index()] += 1;
            plan.sends.push((*to, size_of(envelope)));
        }
        let mut begin = 0;
        for (end, expected) in self.ends.iter_mut().zip(&plan.expected) {
            *end = begin;
            begin += expected;
        }
        self.order.resize(plan.sends.len(), 0);
        for (at, (to, _)) in plan.sends.iter().enumerate() {
            let place = &mut self.ends[to.index()];
            self.order[index(*place)] =
                u32::try_from(at).expect("fewer than 2^32 messages are sent");
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
        plan.clear(size);
        let mut begin = 0;
        for rank in (0..size).map(Rank::from_index) {
            plan.first_send.push(self.outbox.sends.len());
            let end = self.ends[rank.index()];
            let received = std::mem::replace(&mut begin, end)..end;
            if self.halted[rank.index()].is_some() {
                // Only messages without content can still come; they are dropped.
                continue;
            }
            self.fill_inbox(received);
            let conditions = Conditions {
                index: superstep,
                elapsed: elapsed[rank.index()],
                standby,
            };
            self.execute_one(rank, conditions, plan)?;
        }
        plan.first_send.push(self.outbox.sends.len());
        self.post(superstep, plan)
    }

    fn image(&self, rank: Rank) -> Image {
        let program = &self.processes[rank.index()];
        program
            .memory()
            .unwrap_or_else(|| encoded_len(program).into())
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.processes[rank.index()].remaining(completed)
    }

    fn progress(&self) -> Option<f64> {
        self.processes.iter().find_map(Program::progress)
    }

    fn has_halted(&self, rank: Rank) -> bool {
        self.halted[rank.index()].is_some()
    }

    fn pack(&mut self, rank: Rank) -> Result<(Vec<u8>, Option<Bytes>), RunError> {
        let program = &self.processes[rank.index()];
        let mut state = Vec::new();
        encode_into(&mut state, "the state of", rank, program)?;
        Ok((state, program.memory().map(Image::total)))
    }

    fn unpack(&mut self, rank: Rank, state: &[u8]) -> Result<(), RunError> {
        self.processes[rank.index()] = decode("the state of", rank, state)?;
        Ok(())
    }

    fn outputs(&mut self) -> Outputs {
        let outputs = self.outputs.iter_mut();
        let outputs = outputs.map(|output| output.take().expect("all processes have halted"));
        Outputs::new::<P>(outputs.collect())
    }
}

impl SuperstepPlan {
    /// Whether the processes do in another superstep what they do in this one.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        self.work == other.work
            && self.sends == other.sends
            && self.first_send == other.first_send
            && self.halts == other.halts
    }

    /// Whether it is the last superstep of a process.
    pub(crate) fn has_halts(&self) -> bool {
        self.halts.contains(&true)
    }

    fn clear(&mut self, size: usize) {
        self.work.clear();
        self.work.resize(size, Instructions::ZERO);
        self.halts.clear();
        self.halts.resize(size, false);
        self.expected.clear();
        self.expected.resize(size, 0);
        self.sends.clear();
        self.first_send.clear();
        self.interaction = None;
    }
}

fn index(place: u32) -> usize {
    usize::try_from(place).expect("u32 fits usize")
}

fn size_of<Message: Payload>(envelope: &Envelope<Message>) -> Bytes {
    match envelope {
        Envelope::Value(message) => encoded_len(message),
        Envelope::Sized(bytes) => *bytes,
    }
}

#[cfg(test)]
mod tests {
    use bsp::Superstep;
    use serde::{Deserialize, Serialize};

    use super::*;

    /// Sends its rank to all other processes, twice, until superstep 2; its output is all ranks that it received.
    #[derive(Debug, Serialize, Deserialize)]
    struct Gossip(Vec<u32>);

    impl Program for Gossip {
        type Message = u32;
        type Output = Vec<u32>;

        fn superstep(&mut self, ctx: &mut Superstep<'_, u32>) -> Step<Vec<u32>> {
            self.0
                .extend(ctx.receive().map(|(from, said)| from.0 * 100 + said));
            ctx.charge(Instructions(u64::from(ctx.rank().0) + 1));
            if ctx.index() == 2 {
                return Step::Halt(std::mem::take(&mut self.0));
            }
            let own = ctx.rank();
            for to in (0..ctx.size()).map(Rank).filter(|to| *to != own) {
                ctx.send(to, 1);
                ctx.send_sized(to, Bytes(1000));
                ctx.send(to, 2);
            }
            Step::Continue
        }
    }

    #[test]
    fn a_plan_says_who_sends_what_to_whom() {
        let mut programs = TypedPrograms::new((0..3).map(|_| Gossip(Vec::new())).collect(), 10);
        let mut plan = SuperstepPlan::default();
        for superstep in 0..3 {
            programs
                .execute(superstep, &[Seconds::ZERO; 3], &[], &mut plan)
                .unwrap();
            let is_last = superstep == 2;
            assert_eq!(plan.work, [1, 2, 3].map(Instructions));
            assert_eq!(plan.halts, [is_last; 3]);
            let sends = if is_last { 0 } else { 6 };
            assert_eq!(plan.expected, [sends; 3]);
            let sends = usize::try_from(sends).unwrap();
            assert_eq!(plan.first_send, [0, sends, 2 * sends, 3 * sends]);
            if !is_last {
                let second: Vec<_> = plan.sends[6..12].to_vec();
                let to = |to| [1, 1000, 1].map(|bytes| (Rank(to), Bytes(bytes)));
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

    #[test]
    fn a_state_is_packed_and_unpacked_and_weighs_what_its_encoding_does() {
        let mut programs = TypedPrograms::new(vec![Gossip(vec![1, 300, 70_000])], 10);
        let (state, declared) = programs.pack(Rank(0)).unwrap();
        assert_eq!(declared, None);
        let length = u64::try_from(state.len()).unwrap();
        assert_eq!(programs.image(Rank(0)), Image::from(Bytes(length)));
        programs.processes[0].0.clear();
        programs.unpack(Rank(0), &state).unwrap();
        assert_eq!(programs.processes[0].0, [1, 300, 70_000]);
        let error = programs.unpack(Rank(0), b"\xc1").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the state of p1 cannot be decoded: "),
            "{error}"
        );
    }
}
