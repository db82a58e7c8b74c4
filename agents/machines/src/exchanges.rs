//! The exchange of programs' messages between nodes, superstep by superstep.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;

use agents::mutant::{self, Mutant};
use agents::{Content, Exchange, Executed, Incoming, Resumed, RunError, check};
use bsp::numbers::{length, position, real};
use bsp::reference::{check_length, check_receiver};
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, MESSAGE_MAX, Rank, SetId};
use model::Reception;
use protocol::{Batch, MessageHeader, Step};

use crate::input_memory::InputMemory;

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
    /// The messages of which a part has arrived, by host.
    open: BTreeMap<HostId, MessageHeader>,
    /// Such messages, as far as their batches count.
    partial: BTreeMap<HostId, Partial>,
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

/// A message of which a part has arrived.
#[derive(Debug, Default)]
struct Partial {
    parts: Vec<bytes::Bytes>,
    bytes: u64,
    /// The seconds that these parts took alone.
    took_alone: f64,
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
            open: BTreeMap::new(),
            partial: BTreeMap::new(),
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
                rest: 0,
                also: Vec::new(),
            };
            let outgoing = round.outgoing.entry(host).or_default();
            add(outgoing, header, content);
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
                self.receive_late(host, batch, took)?;
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
        let partial = self.partial.entry(host).or_default();
        for (to, bytes, took_alone, incoming) in unpack(batch, took, partial) {
            let set = self.census.set_of_sender(incoming.from);
            round.count((incoming.from, set), to, bytes, (took_alone, took));
            round.lengthen(to, took);
            round.incoming.push((to, incoming));
        }
    }

    /// Receives a batch of the superstep that is complete here: it counts in the next.
    fn receive_late(&mut self, host: HostId, batch: Batch, took: Seconds) -> Result<(), RunError> {
        let superstep = batch.superstep;
        let partial = self.partial.entry(host).or_default();
        for (to, _, took_alone, mut incoming) in unpack(batch, took, partial) {
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

impl Exchanges {
    /// Checks that a batch from `host` is what such a host may send.
    fn check(&self, host: HostId, batch: &Batch) -> Result<(), RunError> {
        self.problem(host, batch)
            .map_or(Ok(()), |problem| Err(RunError::Peer(problem)))
    }

    /// Checks that a batch from `host` follows the one before it: a sender sends the batches of a superstep together, and
    /// nothing after the last of them.
    fn check_order(&mut self, host: HostId, batch: &Batch) -> Result<(), RunError> {
        let (superstep, is_last) = (batch.superstep, batch.is_last);
        let before = self.newest.insert(host, (superstep, is_last));
        let follows = before.is_none_or(|(newest, was_last)| {
            newest < superstep || (newest == superstep && !was_last)
        });
        check(follows, || {
            let newest = before.map_or(0, |(newest, _)| newest);
            format!("{host} sent a batch of superstep {superstep} after one of {newest}")
        })
        .map_err(RunError::Peer)?;
        self.check_parts(host, batch).map_err(RunError::Peer)
    }

    /// Checks that a message that is divided is complete before anything else comes from `host`.
    fn check_parts(&mut self, host: HostId, batch: &Batch) -> Result<(), String> {
        let mut open = self.open.remove(&host);
        for header in &batch.messages {
            let all = header.bytes.saturating_add(header.rest);
            let is_possible = match &open {
                Some(open) => {
                    let expected = MessageHeader {
                        bytes: header.bytes,
                        rest: header.rest,
                        ..open.clone()
                    };
                    all == open.rest && *header == expected
                }
                None => all <= MESSAGE_MAX.0,
            };
            check(
                is_possible && (header.rest == 0 || 0 < header.bytes),
                || format!("{host} sent a part of a message where none can be"),
            )?;
            open = (0 < header.rest).then(|| header.clone());
        }
        let Some(open) = open else { return Ok(()) };
        check(!batch.is_last, || {
            format!("{host} has not sent all of a message from {}", open.from)
        })?;
        self.open.insert(host, open);
        Ok(())
    }

    /// Why `host` may not send this batch.
    fn problem(&self, host: HostId, batch: &Batch) -> Option<String> {
        let (census, size) = (&self.census, self.census.size());
        let round = self.round.as_ref();
        let latest = self.latest_superstep();
        if latest < batch.superstep {
            let superstep = batch.superstep;
            return Some(format!(
                "{host} sent a batch of superstep {superstep}, but none can be later than {latest}"
            ));
        }
        let is_late = round.is_some_and(|round| batch.superstep < round.superstep);
        if is_late && !batch.messages.is_empty() {
            let superstep = batch.superstep;
            return Some(format!(
                "{host} sent messages of superstep {superstep}, which is over"
            ));
        }
        // A host that does not know the last moves yet keeps early messages for arriving processes.
        let is_known = self.round.is_some() || self.completed == Some(batch.superstep);
        let ends = batch.messages.iter().flat_map(|header| {
            let receivers = iter::once(header.to).chain(header.also.iter().copied());
            receivers.map(|to| (header.from, to))
        });
        let mut strange = ends.filter(|(from, to)| {
            size <= from.0
                || size <= to.0
                || (is_known && !(census.lives(*from, host) && census.lives(*to, census.own())))
        });
        if let Some((from, to)) = strange.next() {
            return Some(format!(
                "{host} sent a message from {from} to {to}, which do not live there and here"
            ));
        }
        let is_wrong = |rank: &&Rank| size <= rank.0 || (is_known && !census.lives(**rank, host));
        let halted = batch.halted.iter().find(is_wrong);
        halted.map(|rank| format!("{host} says that {rank} has halted, which does not live there"))
    }

    /// The latest superstep of which another node can send a batch: with processes here, no other passes the next barrier.
    ///
    /// If all have left, others may go on before this node learns of the placement.
    fn latest_superstep(&self) -> u64 {
        let have_left = match self.census.living_here() {
            0 => true,
            living => living <= self.leaving.len() && !mutant::is(Mutant::RefuseWhenLeft),
        };
        if self.is_behind || have_left {
            return self.superstep_limit;
        }
        let next = self.completed.map_or(0, |completed| completed + 1);
        self.round.as_ref().map_or(next, |round| round.superstep) + 1
    }
}

/// The fields that only the last batch to a node has.
struct Last {
    is_followed: bool,
    halted: Vec<Rank>,
}

/// Adds a message to those for a host, or its receiver to the one before if that has the same value of the same process.
fn add(outgoing: &mut Vec<(MessageHeader, Content)>, header: MessageHeader, content: Content) {
    if let (Some((before, Content::Value(value))), Content::Value(own)) =
        (outgoing.last_mut(), &content)
        && before.from == header.from
        && !own.is_empty()
        && (value.as_ptr(), value.len()) == (own.as_ptr(), own.len())
    {
        before.also.push(header.to);
    } else {
        outgoing.push((header, content));
    }
}

/// `messages` in batches of bounded length, at least one. A message that is longer is divided.
fn pack(
    superstep: u64,
    sent: Seconds,
    messages: Vec<(MessageHeader, Content)>,
    last: Last,
) -> impl Iterator<Item = Batch> + use<> {
    let empty = || Batch {
        superstep,
        sent,
        is_last: false,
        is_followed: false,
        halted: Vec::new(),
        messages: Vec::new(),
        payload: bytes::Bytes::new(),
    };
    let mut batches = Vec::new();
    let (mut batch, mut payload) = (empty(), Vec::new());
    for (mut header, mut content) in messages {
        header.rest = header.bytes;
        loop {
            let part = position(header.rest).min(BATCH_LEN);
            let is_full = !payload.is_empty() && BATCH_LEN < payload.len() + part;
            if is_full || batch.messages.len() == MESSAGES_MAX {
                batch.payload = std::mem::take(&mut payload).into();
                batches.push(std::mem::replace(&mut batch, empty()));
            }
            match &mut content {
                Content::Value(bytes) => payload.extend_from_slice(&bytes.split_to(part)),
                // Its bytes occupy the network.
                Content::Sized(_) => payload.resize(payload.len() + part, 0),
            }
            header.bytes = length(part);
            header.rest -= header.bytes;
            batch.messages.push(header.clone());
            if header.rest == 0 {
                break;
            }
        }
    }
    batch.payload = payload.into();
    batch.is_last = true;
    batch.is_followed = last.is_followed;
    batch.halted = last.halted;
    batches.push(batch);
    batches.into_iter()
}

/// The messages of a batch that took `took`, with what of the first one has come before, which is in `partial`: receiver, bytes,
/// time of the message alone, and content.
fn unpack(
    batch: Batch,
    took: Seconds,
    partial: &mut Partial,
) -> impl Iterator<Item = (Rank, u64, Seconds, Incoming)> {
    let total = length(batch.payload.len());
    let mut payload = batch.payload;
    batch.messages.into_iter().flat_map(move |header| {
        let value = payload.split_to(position(header.bytes));
        // Each message takes a part of the time in proportion to its bytes.
        let took_alone = took.get() * ratio(header.bytes, total);
        let complete = partial.add(&header, value, took_alone);
        let receivers = iter::once(header.to).chain(header.also);
        let received = complete.map(|(content, took_alone)| {
            receivers.map(move |to| {
                let incoming = Incoming {
                    from: header.from,
                    content: content.clone(),
                    late: None,
                };
                (to, content.size(), took_alone, incoming)
            })
        });
        received.into_iter().flatten()
    })
}

impl Partial {
    /// Adds what `header` announces, which took so many seconds alone. Returns the message and its time once it is complete.
    fn add(
        &mut self,
        header: &MessageHeader,
        value: bytes::Bytes,
        took_alone: f64,
    ) -> Option<(Content, Seconds)> {
        self.took_alone += took_alone;
        self.bytes += header.bytes;
        if 0 < header.rest || !self.parts.is_empty() {
            self.parts.push(value);
            if 0 < header.rest {
                return None;
            }
            return Some(std::mem::take(self).complete(header));
        }
        let content = if header.is_sized {
            Content::Sized(header.bytes)
        } else {
            Content::Value(value)
        };
        let took_alone = std::mem::take(self).took_alone;
        Some((content, Seconds::new(took_alone).expect("a time")))
    }

    fn complete(self, header: &MessageHeader) -> (Content, Seconds) {
        let content = if header.is_sized {
            Content::Sized(self.bytes)
        } else {
            Content::Value(self.parts.concat().into())
        };
        let took_alone = Seconds::new(self.took_alone);
        (content, took_alone.expect("a sum of times"))
    }
}

/// The part that `bytes` are of `total`; all of it, if there are none.
fn ratio(bytes: u64, total: u64) -> f64 {
    if total == 0 {
        1.0
    } else {
        real(bytes) / real(total)
    }
}

/// Bytes of messages that are put together into a batch.
const BATCH_LEN: usize = 8 << 20;

/// Messages that are put together into a batch: the header of each takes a few bytes, even if the message is empty.
const MESSAGES_MAX: usize = 1 << 20;

/// The hosts of all processes, and the processes that have halted, as one node knows them.
#[derive(Debug)]
struct Census {
    own: HostId,
    /// The Set of each host.
    sets: Vec<SetId>,
    /// The host of each process.
    hosts: Vec<HostId>,
    /// The host where each process started, if its messages count for the Set of that host throughout.
    starts: Option<Vec<HostId>>,
    /// The superstep in which each process halted.
    halted: Vec<Option<u64>>,
    /// The number of processes that have not halted.
    running: usize,
}

impl Census {
    /// All processes run on `hosts`, by rank; the Sets of all hosts are `sets`.
    fn new(own: HostId, sets: Vec<SetId>, hosts: Vec<HostId>, senders_stay: bool) -> Self {
        Self {
            own,
            sets,
            starts: senders_stay.then(|| hosts.clone()),
            halted: vec![None; hosts.len()],
            running: hosts.len(),
            hosts,
        }
    }

    /// The same when the job begins in the state of another one.
    fn resume(self, resumed: &Resumed) -> Self {
        let halted = resumed.halted.clone();
        Self {
            running: halted.iter().filter(|halted| halted.is_none()).count(),
            halted,
            ..self
        }
    }

    fn place(&mut self, rank: Rank, host: HostId) {
        self.hosts[rank.index()] = host;
    }

    /// Notes that a process has halted; a repeated note changes nothing.
    fn halt(&mut self, rank: Rank, superstep: u64) {
        if self.halted[rank.index()].replace(superstep).is_none() {
            self.running -= 1;
        }
    }

    const fn own(&self) -> HostId {
        self.own
    }

    /// The number of processes.
    fn size(&self) -> u32 {
        u32::try_from(self.hosts.len()).expect("ranks fit 32 bits")
    }

    /// The host of a process, if the process exists.
    fn host_of(&self, rank: Rank) -> Option<HostId> {
        self.hosts.get(rank.index()).copied()
    }

    /// Whether `rank` exists and runs on `host`.
    fn lives(&self, rank: Rank, host: HostId) -> bool {
        self.host_of(rank) == Some(host)
    }

    /// The Set that the messages of `sender` count for.
    fn set_of_sender(&self, sender: Rank) -> SetId {
        let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
        self.sets[hosts[sender.index()].index()]
    }

    /// The superstep in which each process halted, by rank.
    fn halted(&self) -> &[Option<u64>] {
        &self.halted
    }

    fn has_halted(&self, rank: Rank) -> bool {
        self.halted[rank.index()].is_some()
    }

    /// The processes that take part in `superstep`, with their hosts.
    fn taking_part(&self, superstep: u64) -> impl Iterator<Item = (Rank, HostId)> {
        let places = self.hosts.iter().zip(&self.halted).enumerate();
        let taking_part =
            places.filter(move |(_, (_, halted))| halted.is_none_or(|last| superstep <= last));
        taking_part.map(|(index, (host, _))| (Rank::from_index(index), *host))
    }

    /// The processes on this host that have not halted.
    fn residents(&self) -> BTreeSet<Rank> {
        let places = self.hosts.iter().zip(&self.halted).enumerate();
        let here = places.filter(|(_, (host, halted))| **host == self.own && halted.is_none());
        here.map(|(index, _)| Rank::from_index(index)).collect()
    }

    /// The number of processes on this host that have not halted.
    fn living_here(&self) -> usize {
        let places = self.hosts.iter().zip(&self.halted);
        places
            .filter(|(host, halted)| **host == self.own && halted.is_none())
            .count()
    }

    /// The number of supersteps, once all processes have halted.
    fn supersteps(&self) -> Option<u64> {
        if 0 < self.running {
            return None;
        }
        self.halted.iter().flatten().max().map(|last| last + 1)
    }

    /// The lowest of the processes that have not halted.
    fn first_running(&self) -> Option<Rank> {
        let place = self.halted.iter().position(Option::is_none);
        place.map(Rank::from_index)
    }
}

/// Which nodes expect a batch of this one, of which nodes this one expects a batch, and the batches that it has not
/// acknowledged yet.
#[derive(Debug)]
struct Expectations {
    /// Nodes that expect a batch of this one in every superstep, and the number of the last ones in a row that were
    /// empty.
    by_others: BTreeMap<HostId, u32>,
    /// Nodes of which this one expects a batch in every superstep in which processes run there.
    of_others: BTreeSet<HostId>,
    /// Received batches whose senders wait for an acknowledgement.
    unacknowledged: Vec<Unacknowledged>,
}

/// A received batch whose sender waits for an acknowledgement.
#[derive(Debug)]
struct Unacknowledged {
    host: HostId,
    superstep: u64,
    /// Whether it announces halted processes: this node sends them its own messages first.
    has_halted: bool,
}

/// The attributes of a batch that is sent.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Whether the receiver is to acknowledge it.
    is_acknowledged: bool,
    /// Whether the receiver is to expect one in the next superstep.
    is_followed: bool,
}

impl Expectations {
    /// At the start, every node of `others` expects a batch, and one is expected of it.
    fn new(others: impl Iterator<Item = HostId> + Clone) -> Self {
        Self {
            by_others: others.clone().map(|host| (host, 0)).collect(),
            of_others: others.collect(),
            unacknowledged: Vec::new(),
        }
    }

    /// Decides whether a batch is sent to `host`: it has messages, announces halted processes, or is expected there.
    fn send(&mut self, host: HostId, has_messages: bool, has_halted: bool) -> Option<Sending> {
        let empty = self.by_others.remove(&host);
        if !has_messages && !has_halted && empty.is_none() {
            return None;
        }
        // A host without processes waits for no batch, but must know the halted processes before processes arrive.
        let is_acknowledged = empty.is_none() || has_halted;
        let empty = match empty {
            _ if has_messages => Some(0),
            None => None,
            Some(before) => Some(before + 1).filter(|empty| *empty < PATIENCE),
        };
        self.by_others.extend(empty.map(|empty| (host, empty)));
        Some(Sending {
            is_acknowledged,
            is_followed: empty.is_some(),
        })
    }

    /// Notes the last batch of a superstep from `host`.
    fn receive(&mut self, host: HostId, batch: &Batch) {
        let was_expected = self.of_others.remove(&host);
        let has_halted = !batch.halted.is_empty();
        if !was_expected || has_halted {
            self.unacknowledged.push(Unacknowledged {
                host,
                superstep: batch.superstep,
                has_halted,
            });
        }
        if batch.is_followed {
            self.of_others.insert(host);
        }
    }

    /// Removes the batches that can be acknowledged: those that announce halted processes only if `has_left` says that
    /// what this node sends in their superstep has left.
    fn acknowledge(&mut self, has_left: impl Fn(u64) -> bool) -> Vec<(HostId, u64)> {
        let is_due = |batch: &mut Unacknowledged| !batch.has_halted || has_left(batch.superstep);
        let due = self.unacknowledged.extract_if(.., is_due);
        due.map(|batch| (batch.host, batch.superstep)).collect()
    }

    /// Whether a batch of `host` is expected in every superstep.
    fn expects(&self, host: HostId) -> bool {
        self.of_others.contains(&host)
    }
}

/// Empty batches in a row after which none is expected: the next one that is sent costs an acknowledgement.
const PATIENCE: u32 = 8;

/// The messages that processes of a node receive in the next superstep, ordered by sender.
#[derive(Debug, Default)]
struct Inboxes(BTreeMap<Rank, Vec<Incoming>>);

impl Inboxes {
    /// Removes the messages for `rank`, which executes its superstep or leaves.
    fn remove(&mut self, rank: Rank) -> Vec<Incoming> {
        self.0.remove(&rank).unwrap_or_default()
    }

    /// The messages that a process brings along.
    fn insert(&mut self, rank: Rank, inbox: Vec<Incoming>) {
        self.0.insert(rank, inbox);
    }

    /// Adds the messages of a complete superstep, each with its receiver; those of one sender are in the order sent.
    fn extend(&mut self, mut incoming: Vec<(Rank, Incoming)>) {
        // Stable: the messages of one sender keep their order.
        incoming.sort_by_key(|(to, incoming)| (*to, incoming.from));
        for (to, incoming) in incoming {
            self.0.entry(to).or_default().push(incoming);
        }
    }

    /// Adds a message that arrived after its superstep was complete.
    fn insert_late(&mut self, to: Rank, incoming: Incoming) {
        let inbox = self.0.entry(to).or_default();
        // The messages of one sender stay together: those of higher ranks follow.
        let place = inbox.partition_point(|other| other.from <= incoming.from);
        inbox.insert(place, incoming);
    }

    /// The messages for `rank`.
    fn get(&self, rank: Rank) -> &[Incoming] {
        self.0.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// The processes that have messages.
    fn ranks(&self) -> impl Iterator<Item = Rank> {
        self.0.keys().copied()
    }
}

impl Exchanges {
    /// The same when the job begins in the state of another one.
    pub(crate) fn resume(self, resumed: &Resumed) -> Self {
        Self {
            completed: resumed.superstep.checked_sub(1),
            census: self.census.resume(resumed),
            ..self
        }
    }

    /// The messages that a process has not received when the job begins. The late ones among them count no more: they
    /// were counted as sent in the other job, and nothing counts them as received any more.
    pub(crate) fn restore_inbox(&mut self, rank: Rank, mut inbox: Vec<Incoming>) {
        for incoming in &mut inbox {
            incoming.late = None;
        }
        self.inboxes.insert(rank, inbox);
    }
}

/// A superstep in progress on a node.
#[derive(Debug)]
struct Round {
    superstep: u64,
    /// Processes here that take part.
    residents: BTreeSet<Rank>,
    /// The messages sent by each process that has computed, and their bytes.
    sent: BTreeMap<Rank, (u32, Bytes)>,
    /// Whether the batches for other nodes have been sent.
    has_left: bool,
    /// Nodes whose last batch is still to arrive.
    awaited: BTreeSet<HostId>,
    /// Nodes that have a batch to acknowledge.
    unacknowledged: BTreeSet<HostId>,
    /// Messages for processes here, with their receivers.
    incoming: Vec<(Rank, Incoming)>,
    /// Messages for processes elsewhere, by host.
    outgoing: BTreeMap<HostId, Vec<(MessageHeader, Content)>>,
    received: BTreeMap<Rank, Received>,
}

/// The messages that a process received, counted.
#[derive(Debug, Default)]
struct Received {
    count: u32,
    longest: Seconds,
    /// Bytes and times in transfer, by Set of the sender.
    by_set: BTreeMap<SetId, (u64, f64)>,
    /// By sender.
    by_sender: Vec<model::Incoming>,
}

impl Round {
    /// `superstep`, in which `residents` take part here and batches of `awaited` are expected.
    const fn new(superstep: u64, residents: BTreeSet<Rank>, awaited: BTreeSet<HostId>) -> Self {
        Self {
            superstep,
            residents,
            sent: BTreeMap::new(),
            has_left: false,
            awaited,
            unacknowledged: BTreeSet::new(),
            incoming: Vec::new(),
            outgoing: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    /// Counts a message of `bytes` bytes from the process `from`, which counts for `set`, to `to`. Of the time of its batch,
    /// which `arrival` is, `part` counts for this message.
    fn count(
        &mut self,
        (from, set): (Rank, SetId),
        to: Rank,
        bytes: u64,
        (part, arrival): (Seconds, Seconds),
    ) {
        let received = self.received.entry(to).or_default();
        received.count = received.count.saturating_add(1);
        let (all, time) = received.by_set.entry(set).or_default();
        // A message without a value may be of any length.
        *all = all.saturating_add(bytes);
        *time += part.get();
        if received.by_sender.len() == model::Incoming::COMBINED_AT {
            model::Incoming::combine(&mut received.by_sender);
        }
        received.by_sender.push(model::Incoming {
            from,
            messages: 1,
            bytes: Bytes(bytes),
            time: arrival,
        });
    }

    /// Notes the time that a batch with a message to `to` took.
    fn lengthen(&mut self, to: Rank, took: Seconds) {
        let received = self.received.entry(to).or_default();
        received.longest = received.longest.max(took);
    }

    /// Whether all processes here have computed.
    fn has_computed(&self) -> bool {
        self.sent.len() == self.residents.len()
    }

    /// Whether the processes here may pass the barrier.
    fn is_complete(&self) -> bool {
        let is_acknowledged =
            self.unacknowledged.is_empty() || mutant::is(Mutant::ArriveUnacknowledged);
        self.awaited.is_empty() && is_acknowledged && self.has_computed()
    }

    /// What each process here exchanged, by rank.
    fn exchanges(self) -> Vec<(Rank, Exchange)> {
        let mut received = self.received;
        let exchanged = self.sent.into_iter().map(|(rank, (sent, bytes_sent))| {
            let mut received = received.remove(&rank).unwrap_or_default();
            model::Incoming::combine(&mut received.by_sender);
            let exchange = Exchange {
                sent,
                received: received.count,
                bytes_sent,
                bytes_received: received.bytes(),
                longest: received.longest,
                receptions: received.receptions().collect(),
                incoming: received.by_sender,
            };
            (rank, exchange)
        });
        exchanged.collect()
    }
}

impl Received {
    fn bytes(&self) -> Bytes {
        self.by_set.values().map(|(bytes, _)| Bytes(*bytes)).sum()
    }

    fn receptions(&self) -> impl Iterator<Item = Reception> + '_ {
        self.by_set.iter().map(|(set, (bytes, time))| Reception {
            set: *set,
            bytes: Bytes(*bytes),
            time: Seconds::new(*time).expect("a sum of times"),
        })
    }
}

#[cfg(test)]
mod tests;
