//! The exchange of programs' messages between nodes, superstep by superstep.

mod batch_check;
mod batches;
mod census;
mod expectations;
mod inboxes;
mod resumption;
mod round;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agents::mutant::Mutant;
use agents::{Content, Exchange, Executed, Incoming, RunError, check, mutant};
use bsp::reference::{check_length, check_receiver};
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank, SetId};
use protocol::{Batch, MessageHeader, Step};

use self::batches::{Last, pack, unpack};
use self::census::Census;
use self::expectations::Expectations;
use self::inboxes::Inboxes;
use self::round::Round;
use super::input_memory::InputMemory;

/// One node's part in the exchange of programs' messages.
///
/// In every superstep a node sends one [`Batch`] (or several parts of one) to each node that needs one. Three facts
/// about a pair of nodes, sender and receiver, decide:
///
/// | batch of the sender | the receiver expected it | the receiver did not |
/// |---|---|---|
/// | with messages | waits for it; expects the next | acknowledges it; expects the next |
/// | empty, fewer than 8 in a row | waits for it; expects the next | is not sent |
/// | empty, the 8th in a row | waits for it; expects no more | is not sent |
/// | announces halted processes | waits for it, and acknowledges it once its own batches have left | acknowledges it once its own batches have left |
///
/// A sender enters the barrier only when all its acknowledgements have arrived, so no process passes the barrier
/// without a message that was sent to it, and every node knows the halted processes.
///
/// The state of a superstep on a node, and what a batch of that superstep does:
///
/// | state | until | a batch that arrives |
/// |---|---|---|
/// | not begun | a process here starts it | is kept, and received when the superstep begins |
/// | in progress | all processes here have computed, all expected batches and all acknowledgements have arrived | counts in this superstep |
/// | complete | the next superstep begins | counts in the next superstep (it was not expected) |
/// | over | | carries no messages; otherwise its sender is at fault |
#[derive(Debug)]
pub(crate) struct Exchanges {
    census: Census,
    inboxes: Inboxes,
    expectations: Expectations,
    /// The superstep of the newest batch of each host, and whether it was the last of that superstep.
    newest: BTreeMap<HostId, (u64, bool)>,
    /// The last superstep that is complete here.
    completed: Option<u64>,
    /// Whether supersteps have passed without processes here.
    is_behind: bool,
    /// Processes that have left and are not placed elsewhere yet.
    leaving: BTreeSet<Rank>,
    /// The number of supersteps after which a computation counts as endless.
    superstep_limit: u64,
    /// Batches of supersteps that have not begun here.
    early: BTreeMap<HostId, VecDeque<EarlyBatch>>,
    round: Option<Round>,
    /// Messages that processes here sent, and their bytes.
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// A batch of a superstep that has not begun here.
#[derive(Debug)]
struct EarlyBatch {
    batch: Batch,
    took: Seconds,
    /// Its share of the memory for input that waits.
    _memory: InputMemory,
}

impl Exchanges {
    /// All processes run on `hosts`, by rank; the Sets of all hosts are `sets`.
    pub(crate) fn new(
        own: HostId,
        sets: Vec<SetId>,
        hosts: Vec<HostId>,
        senders_stay: bool,
        superstep_limit: u64,
    ) -> Self {
        let all = (0..sets.len()).map(HostId::from_index);
        Self {
            expectations: Expectations::new(all.filter(move |host| *host != own)),
            census: Census::new(own, sets, hosts, senders_stay),
            newest: BTreeMap::new(),
            inboxes: Inboxes::default(),
            completed: None,
            is_behind: false,
            leaving: BTreeSet::new(),
            superstep_limit,
            early: BTreeMap::new(),
            round: None,
            messages: 0,
            bytes: 0,
        }
    }

    /// The number of processes.
    pub(crate) fn size(&self) -> u32 {
        self.census.size()
    }

    /// The host of a process, if the process exists.
    pub(crate) fn host_of(&self, rank: Rank) -> Option<HostId> {
        self.census.host_of(rank)
    }

    /// A process leaves: it does not compute here any more, and is not placed elsewhere yet.
    pub(crate) fn leave(&mut self, rank: Rank) -> Vec<Incoming> {
        self.leaving.insert(rank);
        self.inboxes.remove(rank)
    }

    /// Places a process on another host from now on.
    pub(crate) fn place(&mut self, rank: Rank, host: HostId) {
        self.leaving.remove(&rank);
        self.is_behind |= host == self.census.own() && self.census.living_here() == 0;
        self.census.place(rank, host);
    }

    /// Where this host is in the superstep, if one is in progress.
    pub(crate) fn step(&self) -> Option<Step> {
        self.round.as_ref().map(|round| {
            if !round.has_computed() {
                Step::Compute
            } else if !round.awaited.is_empty() {
                Step::Exchange
            } else {
                Step::Acknowledge
            }
        })
    }

    /// The number of processes here that have not halted.
    pub(crate) fn living_here(&self) -> usize {
        self.census.living_here()
    }

    /// The number of supersteps, once all processes have halted.
    pub(crate) fn supersteps(&self) -> Option<u64> {
        self.census.supersteps()
    }

    /// The lowest of the processes that have not halted.
    pub(crate) fn first_running(&self) -> Option<Rank> {
        self.census.first_running()
    }

    /// The messages for a process that is about to execute its superstep.
    pub(crate) fn inbox(&self, rank: Rank) -> &[Incoming] {
        self.inboxes.get(rank)
    }

    /// The processes here that have not halted.
    pub(crate) fn residents(&self) -> BTreeSet<Rank> {
        self.census.residents()
    }

    /// Removes the messages for a process that executes its superstep or leaves.
    pub(crate) fn remove_inbox(&mut self, rank: Rank) -> Vec<Incoming> {
        self.inboxes.remove(rank)
    }

    /// The messages that an arriving process brings along.
    pub(crate) fn insert_inbox(&mut self, rank: Rank, inbox: Vec<Incoming>) {
        self.inboxes.insert(rank, inbox);
    }

    /// Begins superstep `superstep`, unless it is in progress.
    pub(crate) fn begin(&mut self, superstep: u64) -> Result<(), RunError> {
        if let Some(round) = &self.round {
            let current = round.superstep;
            return check(current == superstep, || {
                format!("superstep {superstep} starts while superstep {current} is in progress")
            })
            .map_err(RunError::Peer);
        }
        let next = self.completed.map_or(0, |completed| completed + 1);
        check(next <= superstep, || {
            format!("superstep {superstep} starts, which is over")
        })
        .map_err(RunError::Peer)?;
        self.is_behind = false;
        let own = self.census.own();
        let here = self.census.taking_part(superstep);
        let here = here.filter(|(_, host)| *host == own);
        let hosts = self.census.taking_part(superstep).map(|(_, host)| host);
        let awaited = hosts.filter(|host| self.expectations.expects(*host));
        let residents = here.map(|(rank, _)| rank).collect();
        let mut round = Round::new(superstep, residents, awaited.collect());
        for to in &round.residents.clone() {
            for incoming in self.inboxes.get(*to) {
                if let Some(took) = incoming.late {
                    let set = self.census.set_of_sender(incoming.from);
                    round.count(
                        (incoming.from, set),
                        *to,
                        incoming.content.size(),
                        (took, took),
                    );
                }
            }
        }
        self.round = Some(round);
        for (host, batches) in std::mem::take(&mut self.early) {
            for EarlyBatch { batch, took, .. } in batches {
                if superstep <= batch.superstep {
                    self.check(host, &batch)?;
                    self.receive_in_time(host, batch, took);
                }
            }
        }
        Ok(())
    }

    /// A process here has computed.
    pub(crate) fn computed(&mut self, rank: Rank, executed: Executed) -> Result<(), RunError> {
        let round = self.round.as_mut().expect("it computed in a superstep");
        let superstep = round.superstep;
        if executed.output.is_some() {
            self.census.halt(rank, superstep);
        }
        let count = u32::try_from(executed.sends.len()).expect("a process sends fewer messages");
        let bytes = executed.sends.iter();
        let bytes = bytes.map(|(_, content)| Bytes(content.size())).sum();
        round.sent.insert(rank, (count, bytes));
        self.messages += u64::from(count);
        for (to, content) in executed.sends {
            let is_sized = matches!(content, Content::Sized(_));
            check_receiver((rank, to), is_sized, superstep, self.census.halted())?;
            let bytes = content.size();
            // Here as elsewhere: the receiver may move.
            check_length((rank, to), Bytes(bytes), superstep)?;
            self.bytes = self.bytes.saturating_add(bytes);
            let host = self.census.host_of(to).expect("a receiver exists");
            if host == self.census.own() {
                let incoming = Incoming {
                    from: rank,
                    content,
                    late: None,
                };
                round.incoming.push((to, incoming));
                let sender = (rank, self.census.set_of_sender(rank));
                round.count(sender, to, bytes, (Seconds::ZERO, Seconds::ZERO));
                continue;
            }
            let header = MessageHeader {
                from: rank,
                to,
                bytes,
                is_sized,
            };
            let outgoing = round.outgoing.entry(host).or_default();
            outgoing.push((header, content));
        }
        Ok(())
    }

    /// Whether all processes here have computed.
    pub(crate) fn all_computed(&self) -> bool {
        self.round.as_ref().is_some_and(Round::has_computed)
    }

    /// The batches for `others`, once all processes here have computed.
    pub(crate) fn batches(
        &mut self,
        others: impl Iterator<Item = HostId>,
        now: Seconds,
    ) -> Vec<(HostId, Batch)> {
        let round = self.round.as_mut().expect("all processes have computed");
        round.has_left = true;
        let superstep = round.superstep;
        let has_halted = |rank: &&Rank| self.census.halted()[rank.index()] == Some(superstep);
        let halted: Vec<Rank> = round.residents.iter().filter(has_halted).copied().collect();
        let mut batches = Vec::new();
        for host in others {
            let messages = round.outgoing.remove(&host).unwrap_or_default();
            let (has_messages, has_halted) = (!messages.is_empty(), !halted.is_empty());
            let Some(sending) = self.expectations.send(host, has_messages, has_halted) else {
                continue;
            };
            if sending.is_acknowledged {
                round.unacknowledged.insert(host);
            }
            let last = Last {
                is_followed: sending.is_followed,
                halted: if mutant::is(Mutant::ForgetHalted) {
                    Vec::new()
                } else {
                    halted.clone()
                },
            };
            batches.extend(pack(superstep, now, messages, last).map(|batch| (host, batch)));
        }
        batches
    }

    /// Receives a batch from `host`, which arrived after `took`. `memory` is held while the batch waits.
    pub(crate) fn receive(
        &mut self,
        host: HostId,
        batch: Batch,
        took: Seconds,
        memory: InputMemory,
    ) -> Result<(), RunError> {
        self.check(host, &batch)?;
        self.check_order(host, &batch)?;
        for rank in &batch.halted {
            self.census.halt(*rank, batch.superstep);
        }
        if batch.is_last {
            self.expectations.receive(host, &batch);
        }
        match &mut self.round {
            Some(round)
                if round.superstep == batch.superstep || mutant::is(Mutant::TakeOtherSuperstep) =>
            {
                self.receive_in_time(host, batch, took);
            }
            // This host had no processes then, so none waited for it.
            Some(round) if batch.superstep < round.superstep => {
                if !batch.is_followed {
                    round.awaited.remove(&host);
                }
            }
            None if self.completed == Some(batch.superstep)
                || mutant::is(Mutant::TakeOtherSuperstep) =>
            {
                self.receive_late(batch, took)?;
            }
            Some(_) | None => {
                let early = self.early.entry(host).or_default();
                // No node is more than one superstep ahead of another.
                early.retain(|other| batch.superstep <= other.batch.superstep.saturating_add(1));
                early.push_back(EarlyBatch {
                    batch,
                    took,
                    _memory: memory,
                });
            }
        }
        Ok(())
    }

    /// The acknowledgements to be sent now: to which host, of which superstep.
    pub(crate) fn acknowledgements(&mut self) -> Vec<(HostId, u64)> {
        let (round, completed) = (self.round.as_ref(), self.completed);
        let is_empty = self.is_empty();
        self.expectations.acknowledge(|superstep| match round {
            Some(round) if round.superstep == superstep => round.has_left,
            Some(round) if superstep < round.superstep => true,
            Some(_) | None => is_empty || completed.is_some_and(|completed| superstep <= completed),
        })
    }

    /// Whether no process computes here next: none runs here or has arrived.
    fn is_empty(&self) -> bool {
        let mut receivers = self.inboxes.ranks();
        self.census.living_here() == 0 && receivers.all(|rank| self.census.has_halted(rank))
    }

    /// `host` has acknowledged its batch of `superstep`.
    pub(crate) fn acknowledged(&mut self, host: HostId, superstep: u64) -> Result<(), RunError> {
        let round = self.round.as_mut();
        let round = round.filter(|round| round.superstep == superstep);
        if round.is_some_and(|round| round.unacknowledged.remove(&host)) {
            return Ok(());
        }
        Err(RunError::Peer(format!(
            "{host} has acknowledged a batch of superstep {superstep} that was not sent"
        )))
    }

    /// Receives a batch of the superstep in progress.
    fn receive_in_time(&mut self, host: HostId, batch: Batch, took: Seconds) {
        let round = self.round.as_mut().expect("it is in progress");
        if batch.is_last {
            round.awaited.remove(&host);
        }
        for (to, bytes, took_alone, incoming) in unpack(batch, took) {
            let set = self.census.set_of_sender(incoming.from);
            round.count((incoming.from, set), to, bytes, (took_alone, took));
            round.lengthen(to, took);
            round.incoming.push((to, incoming));
        }
    }

    /// Receives a batch of the superstep that is complete here: it counts in the next.
    fn receive_late(&mut self, batch: Batch, took: Seconds) -> Result<(), RunError> {
        let superstep = batch.superstep;
        for (to, _, took_alone, mut incoming) in unpack(batch, took) {
            let is_sized = matches!(incoming.content, Content::Sized(_));
            let ends = (incoming.from, to);
            check_receiver(ends, is_sized, superstep, self.census.halted())?;
            incoming.late = Some(took_alone);
            self.inboxes.insert_late(to, incoming);
        }
        Ok(())
    }

    /// Whether the processes that take part here are `count`.
    pub(crate) fn is_awaited_by(&self, count: usize) -> bool {
        let round = self.round.as_ref();
        round.is_some_and(|round| round.residents.len() == count)
    }

    /// What each process here exchanged, by rank, once the superstep is complete.
    pub(crate) fn complete(&mut self) -> Result<Option<Vec<(Rank, Exchange)>>, RunError> {
        let Some(mut round) = self.round.take_if(|round| round.is_complete()) else {
            return Ok(None);
        };
        self.completed = Some(round.superstep);
        for (to, incoming) in &round.incoming {
            let is_sized = matches!(incoming.content, Content::Sized(_));
            let ends = (incoming.from, *to);
            check_receiver(ends, is_sized, round.superstep, self.census.halted())?;
        }
        self.inboxes.extend(std::mem::take(&mut round.incoming));
        Ok(Some(round.exchanges()))
    }
}

#[cfg(test)]
mod tests;
