//! What the processes of a node exchange with each other and with those of other nodes, superstep by superstep.

mod batches;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bsp::reference::check_receiver;
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::Reception;
use protocol::{Batch, Limits, MessageHeader};

use self::batches::{Last, pack, unpack};
use crate::error::RunError;
use crate::programs::{Content, Executed, Incoming};
use crate::world::Exchange;

/// Where everybody lives, as one node knows it, and what is on its way there.
///
/// A node sends a [`Batch`] to those for whose processes it has messages, and to those who expect one of it: who
/// has sent one that was not empty is expected to send one in the next superstep, too, until a few in a row were
/// empty. What is expected is waited for. Whoever sends a batch that is not expected waits himself, until it has been
/// [taken](protocol::Message::Taken): he arrives at the barrier only then, so that nobody goes on without it. That a
/// process has halted is told to everybody, and has to be taken by everybody, who say so when they have sent what they
/// have for it themselves.
///
/// A superstep is complete here when everybody here has computed, what is expected has come, and what has to be
/// taken has been. What comes when it is complete counts in the next one.
#[derive(Debug)]
pub(super) struct Exchanges {
    own: HostId,
    /// The Set of each host.
    sets: Vec<SetId>,
    /// The host of each process.
    hosts: Vec<HostId>,
    /// The host where each process started, if its messages count for that one's Set for ever.
    starts: Option<Vec<HostId>>,
    /// The superstep in which each process halted.
    halted: Vec<Option<u64>>,
    /// How many have not.
    running: usize,
    /// What processes here receive in the superstep to come, ordered by sender.
    inboxes: BTreeMap<Rank, Vec<Incoming>>,
    /// Nodes that expect a batch of this one in every superstep, and how many in a row were empty.
    awaiting: BTreeMap<HostId, u32>,
    /// Nodes of which this one expects a batch in every superstep in which processes live there.
    expected: BTreeSet<HostId>,
    /// The last superstep that is complete here.
    completed: Option<u64>,
    /// Batches of supersteps that have not begun here.
    early: BTreeMap<HostId, VecDeque<(Batch, Seconds)>>,
    /// Batches that are here, of nodes that wait for being told so.
    untold: Vec<Untold>,
    round: Option<Round>,
    /// Messages that processes here sent, and their bytes.
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// A superstep under way.
#[derive(Debug)]
struct Round {
    superstep: u64,
    /// Processes here that take part.
    residents: BTreeSet<Rank>,
    /// What those sent that have computed: how many messages.
    sent: BTreeMap<Rank, u32>,
    /// Whether what goes to other nodes is on its way.
    has_left: bool,
    /// Nodes whose last batch is still to come.
    waiting: BTreeSet<HostId>,
    /// Nodes that have not taken yet what they have to.
    untaken: BTreeSet<HostId>,
    /// For processes here: to whom, and what.
    incoming: Vec<(Rank, Incoming)>,
    /// For processes elsewhere, by host.
    leaving: BTreeMap<HostId, Vec<(MessageHeader, Content)>>,
    received: BTreeMap<Rank, Received>,
}

/// A batch whose sender waits for being told that it is here.
#[derive(Debug)]
struct Untold {
    host: HostId,
    superstep: u64,
    /// Whether it says who has halted: what is sent from here to those has to be on its way first.
    has_halted: bool,
}

/// What a process received.
#[derive(Debug, Default)]
struct Received {
    count: u32,
    longest: Seconds,
    /// Bytes, and the time they were under way, by Set of the sender.
    by_set: BTreeMap<SetId, (u64, f64)>,
}

impl Exchanges {
    /// Processes live on `hosts`, by rank, whose Sets are `sets`.
    pub(super) fn new(
        own: HostId,
        sets: Vec<SetId>,
        hosts: Vec<HostId>,
        senders_stay: bool,
    ) -> Self {
        let others = || {
            let all = (0..sets.len()).map(HostId::from_index);
            all.filter(move |host| *host != own)
        };
        Self {
            own,
            awaiting: others().map(|host| (host, 0)).collect(),
            expected: others().collect(),
            completed: None,
            sets,
            starts: senders_stay.then(|| hosts.clone()),
            halted: vec![None; hosts.len()],
            running: hosts.len(),
            hosts,
            inboxes: BTreeMap::new(),
            early: BTreeMap::new(),
            untold: Vec::new(),
            round: None,
            messages: 0,
            bytes: 0,
        }
    }

    /// How many processes there are.
    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.hosts.len()).expect("ranks fit 32 bits")
    }

    /// The host of a process, if there is such a one.
    pub(super) fn host_of(&self, rank: Rank) -> Option<HostId> {
        self.hosts.get(rank.index()).copied()
    }

    /// A process lives elsewhere from now on.
    pub(super) fn place(&mut self, rank: Rank, host: HostId) {
        self.hosts[rank.index()] = host;
    }

    /// How many processes live here that have not halted.
    pub(super) fn living_here(&self) -> usize {
        let places = self.hosts.iter().zip(&self.halted);
        places
            .filter(|(host, halted)| **host == self.own && halted.is_none())
            .count()
    }

    /// How many supersteps there were, once all processes have halted.
    pub(super) fn supersteps(&self) -> Option<u64> {
        if 0 < self.running {
            return None;
        }
        self.halted.iter().flatten().max().map(|last| last + 1)
    }

    /// A process has halted, as may be told more than once.
    fn halt(&mut self, rank: Rank, superstep: u64) {
        if self.halted[rank.index()].replace(superstep).is_none() {
            self.running -= 1;
        }
    }

    /// The lowest of the processes that have not halted.
    pub(super) fn first_running(&self) -> Option<Rank> {
        let place = self.halted.iter().position(Option::is_none);
        place.map(Rank::from_index)
    }

    /// What a process receives next; taken when it executes its superstep, or leaves.
    pub(super) fn take_inbox(&mut self, rank: Rank) -> Vec<Incoming> {
        self.inboxes.remove(&rank).unwrap_or_default()
    }

    /// What a process that has come brings with it.
    pub(super) fn put_inbox(&mut self, rank: Rank, inbox: Vec<Incoming>) {
        self.inboxes.insert(rank, inbox);
    }

    /// Superstep `superstep` begins, if it has not.
    pub(super) fn begin(&mut self, superstep: u64) -> Result<(), RunError> {
        if let Some(round) = &self.round {
            assert_eq!(round.superstep, superstep, "one superstep at a time");
            return Ok(());
        }
        let takes_part =
            |rank: &Rank| self.halted[rank.index()].is_none_or(|halted| superstep <= halted);
        let living = || {
            (0..self.hosts.len())
                .map(Rank::from_index)
                .filter(takes_part)
        };
        let own = self.own;
        let mut round = Round {
            superstep,
            residents: living()
                .filter(|rank| self.hosts[rank.index()] == own)
                .collect(),
            sent: BTreeMap::new(),
            has_left: false,
            waiting: living()
                .map(|rank| self.hosts[rank.index()])
                .filter(|host| self.expected.contains(host))
                .collect(),
            untaken: BTreeSet::new(),
            incoming: Vec::new(),
            leaving: BTreeMap::new(),
            received: BTreeMap::new(),
        };
        let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
        for to in &round.residents.clone() {
            for Incoming {
                from,
                content,
                late,
            } in self.inboxes.get(to).into_iter().flatten()
            {
                if let Some(took) = late {
                    let ends = (*from, *to);
                    round.received((&self.sets, hosts), ends, content.len(), *took);
                }
            }
        }
        self.round = Some(round);
        for (host, batches) in std::mem::take(&mut self.early) {
            for (batch, took) in batches {
                if superstep <= batch.superstep {
                    self.check(host, &batch)?;
                    self.put(host, batch, took);
                }
            }
        }
        Ok(())
    }

    /// A process here has computed.
    pub(super) fn computed(&mut self, rank: Rank, executed: Executed) -> Result<(), RunError> {
        let round = self.round.as_ref().expect("it computed in a superstep");
        let superstep = round.superstep;
        if executed.output.is_some() {
            self.halt(rank, superstep);
        }
        let round = self.round.as_mut().expect("looked at above");
        let count = u32::try_from(executed.sends.len()).expect("a process sends fewer messages");
        round.sent.insert(rank, count);
        self.messages += u64::from(count);
        for (to, content) in executed.sends {
            let is_sized = matches!(content, Content::Sized(_));
            check_receiver((rank, to), is_sized, superstep, &self.halted)?;
            let bytes = content.len();
            self.bytes += bytes;
            let host = self.hosts[to.index()];
            if host == self.own {
                round.incoming.push((
                    to,
                    Incoming {
                        from: rank,
                        content,
                        late: None,
                    },
                ));
                let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
                let sets = (&self.sets[..], &hosts[..]);
                round.received(sets, (rank, to), bytes, Seconds::ZERO);
            } else {
                let longest = Limits::default().payload;
                if longest < bytes {
                    let from = rank;
                    return Err(RunError::MessageTooLong {
                        from,
                        to,
                        bytes,
                        longest,
                    });
                }
                let header = MessageHeader {
                    from: rank,
                    to,
                    bytes,
                    is_sized,
                };
                round
                    .leaving
                    .entry(host)
                    .or_default()
                    .push((header, content));
            }
        }
        Ok(())
    }

    /// Whether everybody here has computed.
    pub(super) fn all_computed(&self) -> bool {
        let round = self.round.as_ref();
        round.is_some_and(|round| round.sent.len() == round.residents.len())
    }

    /// What goes to `others` now that everybody here has computed.
    pub(super) fn batches(
        &mut self,
        others: impl Iterator<Item = HostId>,
        now: Seconds,
    ) -> Vec<(HostId, Batch)> {
        let round = self.round.as_mut().expect("everybody has computed");
        round.has_left = true;
        let superstep = round.superstep;
        let has_halted = |rank: &&Rank| self.halted[rank.index()] == Some(superstep);
        let halted: Vec<Rank> = round.residents.iter().filter(has_halted).copied().collect();
        let mut batches = Vec::new();
        for host in others {
            let messages = round.leaving.remove(&host).unwrap_or_default();
            let empty = self.awaiting.remove(&host);
            if messages.is_empty() && halted.is_empty() && empty.is_none() {
                continue;
            }
            // A host without processes waits for nothing, but has to know who has halted before it has some.
            if empty.is_none() || !halted.is_empty() {
                round.untaken.insert(host);
            }
            let empty = match empty {
                _ if !messages.is_empty() => Some(0),
                None => None,
                Some(before) => Some(before + 1).filter(|empty| *empty < PATIENCE),
            };
            self.awaiting.extend(empty.map(|empty| (host, empty)));
            let last = Last {
                is_followed: empty.is_some(),
                halted: halted.clone(),
            };
            batches.extend(pack(superstep, now, messages, last).map(|batch| (host, batch)));
        }
        batches
    }

    /// A batch has come from `host`, after `took`.
    pub(super) fn take(
        &mut self,
        host: HostId,
        batch: Batch,
        took: Seconds,
    ) -> Result<(), RunError> {
        self.check(host, &batch)?;
        for rank in &batch.halted {
            self.halt(*rank, batch.superstep);
        }
        if batch.is_last {
            let was_expected = self.expected.remove(&host);
            let has_halted = !batch.halted.is_empty();
            if !was_expected || has_halted {
                self.untold.push(Untold {
                    host,
                    superstep: batch.superstep,
                    has_halted,
                });
            }
            if batch.is_followed {
                self.expected.insert(host);
            }
        }
        match &mut self.round {
            Some(round) if round.superstep == batch.superstep => self.put(host, batch, took),
            // Nobody lived here then, so that nobody waited for it.
            Some(round) if batch.superstep < round.superstep => {
                if !batch.is_followed {
                    round.waiting.remove(&host);
                }
            }
            None if self.completed == Some(batch.superstep) => self.put_late(batch, took)?,
            Some(_) | None => {
                let early = self.early.entry(host).or_default();
                // No node is more than one superstep ahead of another.
                early.retain(|(other, _)| batch.superstep <= other.superstep.saturating_add(1));
                early.push_back((batch, took));
            }
        }
        Ok(())
    }

    /// Who may be told now that a batch of a superstep has been taken.
    pub(super) fn tell(&mut self) -> Vec<(HostId, u64)> {
        let (round, completed) = (self.round.as_ref(), self.completed);
        let is_empty = self.is_empty();
        let is_due = |untold: &mut Untold| {
            let superstep = untold.superstep;
            let has_left = match round {
                Some(round) if round.superstep == superstep => round.has_left,
                Some(round) if superstep < round.superstep => true,
                Some(_) | None => {
                    is_empty || completed.is_some_and(|completed| superstep <= completed)
                }
            };
            has_left || !untold.has_halted
        };
        let due = self.untold.extract_if(.., is_due);
        due.map(|untold| (untold.host, untold.superstep)).collect()
    }

    /// Whether nobody is going to compute here next: nobody lives here, or has come to.
    fn is_empty(&self) -> bool {
        let has_halted = |rank: &Rank| self.halted[rank.index()].is_some();
        self.living_here() == 0 && self.inboxes.keys().all(has_halted)
    }

    /// `host` has taken what it had to in `superstep`.
    pub(super) fn taken(&mut self, host: HostId, superstep: u64) -> Result<(), RunError> {
        let round = self.round.as_mut();
        let round = round.filter(|round| round.superstep == superstep);
        if round.is_some_and(|round| round.untaken.remove(&host)) {
            return Ok(());
        }
        Err(RunError::Peer(format!(
            "{host} has taken a batch of superstep {superstep} that was not sent"
        )))
    }

    /// What is in a batch of the superstep under way belongs to it.
    fn put(&mut self, host: HostId, batch: Batch, took: Seconds) {
        let round = self.round.as_mut().expect("it is under way");
        if batch.is_last {
            round.waiting.remove(&host);
        }
        for (to, bytes, took_alone, incoming) in unpack(batch, took) {
            let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
            let ends = (incoming.from, to);
            round.received((&self.sets, hosts), ends, bytes, took_alone);
            let received = round.received.entry(to).or_default();
            received.longest = received.longest.max(took);
            round.incoming.push((to, incoming));
        }
    }

    /// What is in a batch of the superstep that is complete here counts in the next.
    fn put_late(&mut self, batch: Batch, took: Seconds) -> Result<(), RunError> {
        let superstep = batch.superstep;
        for (to, _, took_alone, mut incoming) in unpack(batch, took) {
            let is_sized = matches!(incoming.content, Content::Sized(_));
            check_receiver((incoming.from, to), is_sized, superstep, &self.halted)?;
            incoming.late = Some(took_alone);
            let inbox = self.inboxes.entry(to).or_default();
            // Those of one sender come together: behind them are those of higher ranks.
            let place = inbox.partition_point(|other| other.from <= incoming.from);
            inbox.insert(place, incoming);
        }
        Ok(())
    }

    /// Whether the sender of a batch from `host` is to be trusted.
    fn check(&self, host: HostId, batch: &Batch) -> Result<(), RunError> {
        self.stranger(host, batch)
            .map_or(Ok(()), |stranger| Err(RunError::Peer(stranger)))
    }

    /// What is wrong with a batch from `host`, if its sender is not to be trusted.
    fn stranger(&self, host: HostId, batch: &Batch) -> Option<String> {
        let size = self.size();
        let lives = |rank: Rank, on: HostId| rank.0 < size && self.hosts[rank.index()] == on;
        let is_late = self
            .round
            .as_ref()
            .is_some_and(|round| batch.superstep < round.superstep);
        if is_late && !batch.messages.is_empty() {
            let superstep = batch.superstep;
            return Some(format!(
                "{host} sent messages of superstep {superstep}, which is over"
            ));
        }
        // A host that has not heard of the last moves yet keeps what comes early for somebody on his way.
        let is_known = self.round.is_some() || self.completed == Some(batch.superstep);
        let header = batch.messages.iter().find(|header| {
            size <= header.from.0
                || size <= header.to.0
                || (is_known && !(lives(header.from, host) && lives(header.to, self.own)))
        });
        if let Some(MessageHeader { from, to, .. }) = header {
            return Some(format!(
                "{host} sent a message from {from} to {to}, which do not live there and here"
            ));
        }
        let strange = |rank: &&Rank| size <= rank.0 || (is_known && !lives(**rank, host));
        let halted = batch.halted.iter().find(strange);
        halted.map(|rank| format!("{host} says that {rank} has halted, which does not live there"))
    }

    /// Whether `count` processes are all that wait here for what they receive.
    pub(super) fn is_awaited_by(&self, count: usize) -> bool {
        let round = self.round.as_ref();
        round.is_some_and(|round| round.residents.len() == count)
    }

    /// What everybody here exchanged, by rank, once the superstep is complete.
    pub(super) fn complete(&mut self) -> Result<Option<Vec<(Rank, Exchange)>>, RunError> {
        let is_complete = |round: &mut Round| {
            round.waiting.is_empty()
                && round.untaken.is_empty()
                && round.sent.len() == round.residents.len()
        };
        let Some(round) = self.round.take_if(is_complete) else {
            return Ok(None);
        };
        self.completed = Some(round.superstep);
        for (to, incoming) in &round.incoming {
            let is_sized = matches!(incoming.content, Content::Sized(_));
            check_receiver(
                (incoming.from, *to),
                is_sized,
                round.superstep,
                &self.halted,
            )?;
        }
        let mut incoming = round.incoming;
        // Stable: those of one sender stay in the order sent.
        incoming.sort_by_key(|(to, incoming)| (*to, incoming.from));
        for (to, incoming) in incoming {
            self.inboxes.entry(to).or_default().push(incoming);
        }
        let mut received = round.received;
        let exchanged = round.sent.into_iter().map(|(rank, sent)| {
            let received = received.remove(&rank).unwrap_or_default();
            let exchange = Exchange {
                sent,
                received: received.count,
                longest: received.longest,
                receptions: received.receptions().collect(),
            };
            (rank, exchange)
        });
        Ok(Some(exchanged.collect()))
    }
}

impl Round {
    /// A message has come.
    fn received(
        &mut self,
        (sets, hosts): (&[SetId], &[HostId]),
        (from, to): (Rank, Rank),
        bytes: u64,
        took: Seconds,
    ) {
        let received = self.received.entry(to).or_default();
        received.count += 1;
        let set = sets[hosts[from.index()].index()];
        let (all, time) = received.by_set.entry(set).or_default();
        *all += bytes;
        *time += took.get();
    }
}

impl Received {
    fn receptions(&self) -> impl Iterator<Item = Reception> + '_ {
        self.by_set.iter().map(|(set, (bytes, time))| Reception {
            set: *set,
            bytes: Bytes(*bytes),
            time: Seconds::new(*time).expect("a sum of times"),
        })
    }
}

/// Empty batches in a row after which none is expected: sending again costs an answer then.
const PATIENCE: u32 = 8;

#[cfg(test)]
mod tests;
