//! Nodes that exchange batches over links that keep their order and give no other guarantee.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::exchanges::PATIENCE;
use crate::exchanges::tests::*;

/// A superstep: the senders and receivers, the process that halts at its end, and the one that moves afterwards.
type Round = (Vec<(Index, Index)>, Option<Index>, Option<(Index, Index)>);

/// What is under way from one node to another.
enum Frame {
    Batch(Batch),
    Acknowledged(u64),
}

struct Network {
    nodes: Vec<Exchanges>,
    places: Vec<HostId>,
    /// By sender and receiver.
    ways: BTreeMap<(HostId, HostId), VecDeque<Frame>>,
    frames: usize,
}

impl Network {
    fn new(hosts: usize, places: Vec<HostId>) -> Self {
        let sets = vec![SetId(0); hosts];
        let node = |own| {
            let own = HostId::from_index(own);
            Exchanges::new(own, sets.clone(), places.clone(), false, u64::MAX - 1)
        };
        Self {
            nodes: (0..hosts).map(node).collect(),
            places,
            ways: BTreeMap::new(),
            frames: 0,
        }
    }

    fn post(&mut self, from: HostId, to: HostId, frame: Frame) {
        self.frames += 1;
        self.ways.entry((from, to)).or_default().push_back(frame);
    }

    /// Something arrives, if anything is under way.
    fn deliver(&mut self, which: Index) -> bool {
        let ways: Vec<_> = self
            .ways
            .iter_mut()
            .filter(|way| !way.1.is_empty())
            .collect();
        if ways.is_empty() {
            return false;
        }
        let at = which.index(ways.len());
        let (ends, frames) = ways.into_iter().nth(at).unwrap();
        let (&(from, to), frame) = (ends, frames.pop_front().unwrap());
        let node = &mut self.nodes[to.index()];
        match frame {
            Frame::Acknowledged(superstep) => node.acknowledged(from, superstep).unwrap(),
            Frame::Batch(batch) => {
                node.receive(from, batch, seconds(1.0), InputMemory::default())
                    .unwrap();
                self.acknowledge(to);
            }
        }
        true
    }

    /// A node acknowledges the batches that it may.
    fn acknowledge(&mut self, host: HostId) {
        for (to, superstep) in self.nodes[host.index()].acknowledgements() {
            self.post(host, to, Frame::Acknowledged(superstep));
        }
    }

    /// Executes `superstep` on all running processes. Returns what each receives, and the numbers of messages sent and
    /// received.
    fn superstep(
        &mut self,
        (superstep, living): (u64, &[Rank]),
        sends: &[(Rank, Rank)],
        halts: Option<Rank>,
        order: &mut impl Iterator<Item = Index>,
    ) -> (BTreeMap<Rank, Vec<Incoming>>, u32, u32) {
        let mut inboxes = BTreeMap::new();
        let hosts: BTreeSet<HostId> = living
            .iter()
            .map(|rank| self.places[rank.index()])
            .collect();
        for host in &hosts {
            let here = living
                .iter()
                .filter(|rank| self.places[rank.index()] == *host);
            let others = (0..self.nodes.len()).map(HostId::from_index);
            let others = others.filter(|other| other != host);
            let node = &mut self.nodes[host.index()];
            node.begin(superstep).unwrap();
            for rank in here {
                inboxes.insert(*rank, node.remove_inbox(*rank));
                let own = sends.iter().filter(|(from, _)| from == rank);
                let own: Vec<_> = own
                    .map(|(_, to)| (to.0, Content::Sized(superstep)))
                    .collect();
                let executed = executed(&own, halts == Some(*rank));
                node.computed(*rank, executed).unwrap();
            }
            for (to, batch) in node.batches(others, Seconds::ZERO) {
                self.post(*host, to, Frame::Batch(batch));
            }
            self.acknowledge(*host);
            // Some of what is under way arrives before others have begun.
            for which in order.take(2) {
                self.deliver(which);
            }
        }
        let (mut sent, mut received) = (0, 0);
        let mut waiting = hosts;
        while !waiting.is_empty() {
            waiting.retain(|host| {
                let exchanged = self.nodes[host.index()].complete().unwrap();
                for (_, exchange) in exchanged.iter().flatten() {
                    sent += exchange.sent;
                    received += exchange.received;
                }
                exchanged.is_none()
            });
            let which = order.next().unwrap();
            assert!(
                self.deliver(which) || waiting.is_empty(),
                "no process advances"
            );
        }
        (inboxes, sent, received)
    }

    fn place(&mut self, rank: Rank, host: HostId) {
        let from = std::mem::replace(&mut self.places[rank.index()], host);
        if from != host {
            let inbox = self.nodes[from.index()].remove_inbox(rank);
            self.nodes[host.index()].insert_inbox(rank, inbox);
        }
        for node in 0..self.nodes.len() {
            self.nodes[node].place(rank, host);
            self.acknowledge(HostId::from_index(node));
        }
    }
}

proptest! {
    #[test]
    fn everybody_receives_what_was_sent_in_order_and_every_message_counts_once(
        hosts in 2_usize..5,
        places in prop::collection::vec(any::<Index>(), 1..7),
        rounds in prop::collection::vec(any::<Round>(), 1..40),
        silence in 0_usize..20,
        order in prop::collection::vec(any::<Index>(), 64),
    ) {
        let mut order = order.into_iter().cycle();
        let places: Vec<_> = places.iter().map(|place| HostId::from_index(place.index(hosts))).collect();
        let mut living: Vec<Rank> = (0..places.len()).map(Rank::from_index).collect();
        let mut network = Network::new(hosts, places);
        let mut expect: BTreeMap<Rank, Vec<(Rank, u64)>> = BTreeMap::new();
        let (mut unreceived, mut last) = (0, 0);
        let idle = (Vec::new(), None, None);
        let silent = iter::repeat_n(idle, silence);
        let rounds: Vec<Round> = rounds.iter().cloned().chain(silent).chain(rounds.clone()).collect();
        for (superstep, (sends, halts, moves)) in (0..).zip(rounds) {
            let halts = halts.map(|of| living[of.index(living.len())]);
            let halts = halts.filter(|_| 1 < living.len() && superstep % 7 == 0);
            let pick = |of: &Index| living[of.index(living.len())];
            let mut sends: Vec<_> = sends.iter().map(|(from, to)| (pick(from), pick(to))).collect();
            let (inboxes, sent, received) =
                network.superstep((superstep, &living), &sends, halts, &mut order);
            for (rank, inbox) in inboxes {
                let inbox: Vec<_> = inbox.iter().map(|of| (of.from, of.content.size())).collect();
                prop_assert_eq!(inbox, expect.remove(&rank).unwrap_or_default());
            }
            prop_assert_eq!(usize::try_from(sent).unwrap(), sends.len());
            prop_assert!(received <= unreceived + sent && unreceived <= received);
            unreceived = unreceived + sent - received;
            last = superstep;
            sends.sort_by_key(|(from, to)| (*to, *from));
            for (from, to) in sends {
                expect.entry(to).or_default().push((from, superstep));
            }
            living.retain(|rank| Some(*rank) != halts);
            if let Some((who, place)) = moves {
                network.place(living[who.index(living.len())], HostId::from_index(place.index(hosts)));
            }
        }
        let before = network.frames;
        for superstep in last + 1..=last + 1 + u64::from(PATIENCE) {
            network.superstep((superstep, &living), &[], None, &mut order);
        }
        let (_, _, received) = network.superstep((last + 50, &living), &[], None, &mut order);
        prop_assert_eq!(received, 0);
        // Hosts without messages stop sending batches.
        let most = usize::try_from(PATIENCE).unwrap() * hosts * (hosts - 1);
        prop_assert!(network.frames - before <= most);
    }
}
