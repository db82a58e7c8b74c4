//! The messages of programs on the simulated network.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use agents::{Exchange, Setup, SuperstepPlan};
use bsp::numbers::index;
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank, SetId};
use model::{Incoming, Reception};
use smallvec::SmallVec;

/// What is kept of receptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observing {
    /// Nothing: there is neither a scheduler nor a trace.
    Nothing,
    /// Sums: there is a trace.
    Sums,
    /// Sums by Set of the sender.
    Sets,
    /// These, and the heaviest senders.
    Senders,
}

impl Observing {
    /// What the scheduler and the trace of `setup` need.
    pub(super) fn new(setup: &Setup) -> Self {
        match &setup.scheduler {
            None if setup.traced => Self::Sums,
            None => Self::Nothing,
            Some(scheduler) if scheduler.policy.memory().forecast => Self::Senders,
            Some(_) => Self::Sets,
        }
    }
}

/// The messages that every process has still to send and to receive in this superstep. Each message has the number that
/// it has in the plan of the superstep.
#[derive(Debug)]
pub(super) struct Traffic {
    processes: Vec<Progress>,
    /// What is kept of receptions.
    observing: Observing,
    /// By receiver, if it is observed, what each has received.
    received: Vec<Received>,
    /// By number, if receptions are observed, when each message started: seconds since the platform was last at rest.
    started: Vec<Seconds>,
    held: Held,
    /// What has become of each broadcast, by its first message, on each host that it goes to.
    broadcasts: BTreeMap<(u32, HostId), Broadcast>,
    pub(super) messages: u64,
    pub(super) bytes: Bytes,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    sends_left: u32,
    receives_left: u32,
    /// Whether the process has computed: it sends, and waits for its messages.
    computed: bool,
}

/// A value on its way to several processes of a host, which travels once.
#[derive(Debug)]
enum Broadcast {
    /// These messages arrive with the one that travels.
    Travelling(Vec<u32>),
    Arrived,
}

/// How a message gets to the host of its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Travels,
    /// It is part of a broadcast, another message of which travels there.
    Follows,
    /// The same, and that one has arrived.
    IsThere,
}

/// What a process has received in this superstep.
#[derive(Clone, Debug, Default)]
struct Received {
    bytes: Bytes,
    longest: Seconds,
    receptions: SmallVec<[Reception; 1]>,
    /// By sender, if senders are observed.
    incoming: Vec<Incoming>,
}

/// The messages that wait until their receivers wait for them, in the order in which they came. Empty until one waits.
#[derive(Debug, Default)]
struct Held {
    /// By receiver, the first of its messages and the last one, if there are any.
    of: Vec<Option<(u32, u32)>>,
    /// By number, the next message for the same receiver.
    next: Vec<Option<u32>>,
}

impl Traffic {
    pub(super) fn new(size: usize, observing: Observing) -> Self {
        let observed = if observing == Observing::Nothing {
            0
        } else {
            size
        };
        Self {
            processes: vec![Progress::default(); size],
            observing,
            received: vec![Received::default(); observed],
            started: Vec::new(),
            held: Held::default(),
            broadcasts: BTreeMap::new(),
            messages: 0,
            bytes: Bytes::ZERO,
        }
    }

    /// Begins a superstep with the messages of `plan`.
    pub(super) fn begin(&mut self, plan: &SuperstepPlan) {
        for (process, expected) in self.processes.iter_mut().zip(&plan.expected) {
            assert_eq!(
                process.receives_left, 0,
                "a superstep began before the last one ended"
            );
            process.receives_left = *expected;
            process.computed = false;
        }
        if self.observing != Observing::Nothing {
            self.started.resize(plan.receivers.len(), Seconds::ZERO);
        }
        self.broadcasts.clear();
        self.count(plan);
    }

    /// Everything in `plan` is sent and received, as it was in an earlier superstep.
    pub(super) fn repeat(&mut self, plan: &SuperstepPlan) {
        self.count(plan);
    }

    fn count(&mut self, plan: &SuperstepPlan) {
        self.messages += u64::try_from(plan.sizes.len()).expect("lengths fit 64 bits");
        self.bytes += plan.sizes.iter().copied().sum::<Bytes>();
    }

    /// `rank` has computed and sends `sends` messages.
    pub(super) fn computed(&mut self, rank: Rank, sends: u32) {
        let process = &mut self.processes[rank.index()];
        process.computed = true;
        process.sends_left = sends;
    }

    /// Whether `rank` waits for the messages of this superstep.
    pub(super) fn is_waiting(&self, rank: Rank) -> bool {
        self.processes[rank.index()].computed
    }

    /// Queues a message until its receiver waits for it.
    pub(super) fn hold(&mut self, to: Rank, number: u32) {
        let Held { of, next } = &mut self.held;
        if of.is_empty() {
            of.resize(self.processes.len(), None);
        }
        if next.len() <= index(number) {
            next.resize(index(number) + 1, None);
        }
        next[index(number)] = None;
        let place = &mut of[to.index()];
        *place = match *place {
            None => Some((number, number)),
            Some((first, last)) => {
                next[index(last)] = Some(number);
                Some((first, number))
            }
        };
    }

    /// Removes the first message that is queued for `rank`.
    pub(super) fn pop_held(&mut self, rank: Rank) -> Option<u32> {
        let place = self.held.of.get_mut(rank.index())?;
        let (first, last) = place.take()?;
        *place = self.held.next[index(first)].map(|next| (next, last));
        Some(first)
    }

    /// Starts the transfer of a message of `plan` to `host`.
    #[inline]
    pub(super) fn start(
        &mut self,
        plan: &SuperstepPlan,
        number: u32,
        host: HostId,
        now: Seconds,
    ) -> Passage {
        if let Some(started) = self.started.get_mut(index(number)) {
            *started = now;
        }
        match plan.broadcast_of(number) {
            Some(first) => self.start_broadcast(first, host, number),
            None => Passage::Travels,
        }
    }

    /// Starts the transfer of a message of the broadcast that begins with message `first`.
    fn start_broadcast(&mut self, first: u32, host: HostId, number: u32) -> Passage {
        match self.broadcasts.entry((first, host)) {
            Entry::Vacant(place) => {
                place.insert(Broadcast::Travelling(Vec::new()));
                Passage::Travels
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Broadcast::Travelling(following) => {
                    following.push(number);
                    Passage::Follows
                }
                Broadcast::Arrived => Passage::IsThere,
            },
        }
    }

    /// A message of `plan` that travelled to `host` has arrived. Returns those that arrive with it.
    #[inline]
    pub(super) fn arrive(&mut self, plan: &SuperstepPlan, number: u32, host: HostId) -> Vec<u32> {
        match plan.broadcast_of(number) {
            Some(first) => self.broadcast_arrived(first, host),
            None => Vec::new(),
        }
    }

    /// A message of the broadcast that begins with message `first` has arrived on `host`. Returns those that arrive with it.
    fn broadcast_arrived(&mut self, first: u32, host: HostId) -> Vec<u32> {
        let place = self.broadcasts.get_mut(&(first, host));
        match place.map(|place| std::mem::replace(place, Broadcast::Arrived)) {
            Some(Broadcast::Travelling(following)) => following,
            Some(Broadcast::Arrived) | None => Vec::new(),
        }
    }

    /// Receives a message of `plan`, which was sent from `set`. Returns its sender and its receiver.
    pub(super) fn end(
        &mut self,
        plan: &SuperstepPlan,
        number: u32,
        now: Seconds,
        set: impl Fn(Rank) -> SetId,
    ) -> (Rank, Rank) {
        let (from, to, bytes) = plan.message(number);
        self.processes[from.index()].sends_left -= 1;
        self.processes[to.index()].receives_left -= 1;
        if let Some(received) = self.received.get_mut(to.index()) {
            received.bytes += bytes;
            if self.observing != Observing::Sums {
                let time = now - self.started[index(number)];
                received.observe(set(from), bytes, time);
                if self.observing == Observing::Senders {
                    received.observe_sender(from, bytes, time);
                }
            }
        }
        (from, to)
    }

    /// Whether `rank` has computed and all its messages have been sent and received: true once.
    pub(super) fn completes(&mut self, rank: Rank) -> bool {
        let process = &mut self.processes[rank.index()];
        let is_complete = process.sends_left == 0 && process.receives_left == 0;
        is_complete && std::mem::take(&mut process.computed)
    }

    /// What `rank` has exchanged in the superstep of `plan`, once.
    pub(super) fn exchange(&mut self, plan: &SuperstepPlan, rank: Rank) -> Exchange {
        let received = self.received.get_mut(rank.index());
        let mut received = received.map(std::mem::take).unwrap_or_default();
        received
            .receptions
            .sort_unstable_by_key(|reception| reception.set);
        Incoming::combine(&mut received.incoming);
        let sent = plan.sends_of(rank);
        Exchange {
            sent: sent.end - sent.start,
            received: plan.expected[rank.index()],
            bytes_sent: plan.bytes_sent(rank),
            bytes_received: received.bytes,
            longest: received.longest,
            receptions: received.receptions,
            incoming: received.incoming,
        }
    }
}

impl Received {
    /// Adds a message from `set` that was in transfer for `time`.
    fn observe(&mut self, set: SetId, bytes: Bytes, time: Seconds) {
        self.longest = self.longest.max(time);
        let mut receptions = self.receptions.iter_mut();
        match receptions.find(|reception| reception.set == set) {
            Some(reception) => {
                reception.bytes += bytes;
                reception.time += time;
            }
            None => self.receptions.push(Reception { set, bytes, time }),
        }
    }

    /// Adds a message to those of its sender.
    fn observe_sender(&mut self, from: Rank, bytes: Bytes, time: Seconds) {
        if self.incoming.len() == Incoming::COMBINED_AT {
            Incoming::combine(&mut self.incoming);
        }
        self.incoming.push(Incoming {
            from,
            messages: 1,
            bytes,
            time,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bsp::units::Instructions;
    use proptest::prelude::*;

    use super::*;

    fn plan(size: usize, sends: &[(usize, usize, u64)]) -> SuperstepPlan {
        let mut plan = SuperstepPlan {
            work: vec![Instructions::ZERO; size],
            halts: vec![false; size],
            expected: vec![0; size],
            ..SuperstepPlan::default()
        };
        let number = |plan: &SuperstepPlan| u32::try_from(plan.sizes.len()).unwrap();
        for from in 0..size {
            plan.first_send.push(number(&plan));
            for (_, to, bytes) in sends.iter().filter(|send| send.0 == from) {
                plan.senders.push(Rank::from_index(from));
                plan.receivers.push(Rank::from_index(*to));
                plan.sizes.push(Bytes(*bytes));
                plan.expected[*to] += 1;
            }
        }
        plan.first_send.push(number(&plan));
        plan
    }

    fn instant(tick: u32) -> Seconds {
        Seconds::new(f64::from(tick)).unwrap()
    }

    #[test]
    fn messages_that_wait_leave_in_the_order_in_which_they_came() {
        let mut traffic = Traffic::new(2, Observing::Nothing);
        let plan = plan(2, &[(0, 1, 1), (0, 1, 2), (0, 1, 3)]);
        for round in 0..2 {
            traffic.begin(&plan);
            traffic.computed(Rank(0), 3);
            for number in plan.sends_of(Rank(0)) {
                assert!(!traffic.is_waiting(Rank(1)));
                traffic.hold(Rank(1), number);
            }
            traffic.computed(Rank(1), 0);
            let mut left = Vec::new();
            while let Some(number) = traffic.pop_held(Rank(1)) {
                traffic.start(&plan, number, HostId(1), instant(round));
                left.push(number);
                traffic.end(&plan, number, instant(round), |_| SetId(0));
            }
            assert_eq!(left, [0, 1, 2]);
            assert!(traffic.completes(Rank(0)) && traffic.completes(Rank(1)));
            assert_eq!(traffic.exchange(&plan, Rank(0)).sent, 3);
            assert_eq!(traffic.exchange(&plan, Rank(1)).received, 3);
        }
        assert_eq!((traffic.messages, traffic.bytes), (6, Bytes(12)));
    }

    proptest! {
        /// Processes compute in any order, messages arrive in any order, for two supersteps: eagerly,
        /// or when their receivers wait for them; neighbouring messages of equal length may be one value.
        #[test]
        fn what_is_sent_is_received_once(
            size in 1_usize..6,
            sends in prop::collection::vec((0_usize..6, 0_usize..6, 0_u64..100), 0..30),
            (eager, observing, shared) in (any::<bool>(), any::<bool>(), any::<bool>()),
            order in prop::collection::vec(any::<usize>(), 1..50),
        ) {
            let sends: Vec<_> = sends
                .into_iter()
                .map(|(from, to, bytes)| (from % size, to % size, bytes))
                .collect();
            let mut plan = plan(size, &sends);
            if shared {
                let numbers: Vec<u32> = (0..).take(plan.sizes.len()).collect();
                let is_one = |one: &u32, next: &u32| {
                    let [one, next] = [plan.message(*one), plan.message(*next)];
                    (one.0, one.2) == (next.0, next.2)
                };
                let runs = numbers.chunk_by(is_one);
                let ranges = runs.map(|run| run[0]..run[run.len() - 1] + 1);
                let broadcasts = ranges.collect();
                plan.broadcasts = broadcasts;
            }
            let host = |rank: Rank| HostId(rank.0 % 3);
            let kept = if observing { Observing::Senders } else { Observing::Nothing };
            let mut traffic = Traffic::new(size, kept);
            let mut order = order.into_iter().cycle();
            let set = |rank: Rank| SetId(rank.0 % 2);
            let mut tick = 0;
            for _ in 0..2 {
                traffic.begin(&plan);
                let mut idle: Vec<usize> = (0..size).collect();
                let mut flights = Vec::new();
                let mut travelled = BTreeSet::new();
                let mut told: Vec<Option<Exchange>> = vec![None; size];
                while !idle.is_empty() || !flights.is_empty() {
                    tick += 1;
                    let next = order.next().unwrap() % (idle.len() + flights.len());
                    let (mut starting, mut ending, mut done) = (Vec::new(), Vec::new(), Vec::new());
                    if next < idle.len() {
                        let rank = Rank::from_index(idle.swap_remove(next));
                        let own = plan.sends_of(rank);
                        traffic.computed(rank, u32::try_from(own.len()).unwrap());
                        for number in own {
                            let (_, to, _) = plan.message(number);
                            if eager || traffic.is_waiting(to) {
                                starting.push(number);
                            } else {
                                traffic.hold(to, number);
                            }
                        }
                        while let Some(number) = traffic.pop_held(rank) {
                            starting.push(number);
                        }
                        done.push(rank);
                    } else {
                        let number = flights.swap_remove(next - idle.len());
                        ending.push(number);
                        let to = host(plan.message(number).1);
                        ending.extend(traffic.arrive(&plan, number, to));
                    }
                    for number in starting {
                        let to = host(plan.message(number).1);
                        match traffic.start(&plan, number, to, instant(tick)) {
                            Passage::Travels => {
                                flights.push(number);
                                let value = plan.broadcast_of(number);
                                prop_assert!(value.is_none() || travelled.insert((value, to)));
                            }
                            Passage::Follows => {}
                            Passage::IsThere => ending.push(number),
                        }
                    }
                    for number in ending {
                        let (from, to) = traffic.end(&plan, number, instant(tick), set);
                        done.extend([from, to]);
                    }
                    for rank in done {
                        if traffic.completes(rank) {
                            let exchange = traffic.exchange(&plan, rank);
                            prop_assert!(told[rank.index()].replace(exchange).is_none(), "told twice");
                        }
                    }
                }
                for (rank, exchange) in told.into_iter().enumerate() {
                    let exchange = exchange.expect("all exchanges are complete");
                    let to_here = sends.iter().filter(|send| send.1 == rank);
                    let from_here = sends.iter().filter(|send| send.0 == rank).count();
                    prop_assert_eq!(usize::try_from(exchange.sent).unwrap(), from_here);
                    prop_assert_eq!(usize::try_from(exchange.received).unwrap(), to_here.clone().count());
                    prop_assert!(exchange.receptions.is_sorted_by_key(|reception| reception.set));
                    let sent = sends.iter().filter(|send| send.0 == rank).map(|send| Bytes(send.2));
                    prop_assert_eq!(exchange.bytes_sent, sent.sum::<Bytes>());
                    let bytes: Bytes = exchange.receptions.iter().map(|reception| reception.bytes).sum();
                    let expected = if observing { to_here.map(|send| Bytes(send.2)).sum() } else { Bytes::ZERO };
                    prop_assert_eq!((bytes, exchange.bytes_received), (expected, expected));
                }
            }
            prop_assert_eq!(traffic.messages, 2 * sends.len() as u64);
        }
    }
}
