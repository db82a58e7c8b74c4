//! The messages of programs on the simulated network.

use bsp::units::{Bytes, Seconds};
use bsp::{Rank, SetId};
use migbsp::{Incoming, Reception};
use smallvec::SmallVec;

use crate::programs::SuperstepPlan;
use crate::setup::Scheduler;
use crate::world::Exchange;

/// No flight.
const NONE: u32 = u32::MAX;

/// What is kept of receptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observing {
    /// Nothing: there is no scheduler.
    Nothing,
    /// Sums by Set of the sender.
    Sets,
    /// These, and the heaviest senders.
    Senders,
}

impl Observing {
    /// What `scheduler` needs.
    pub(super) fn new(scheduler: Option<&Scheduler>) -> Self {
        match scheduler {
            None => Self::Nothing,
            Some(scheduler) if scheduler.policy.memory().forecast => Self::Senders,
            Some(_) => Self::Sets,
        }
    }
}

/// The messages that every process has still to send and to receive in this superstep.
#[derive(Debug)]
pub(super) struct Traffic {
    processes: Vec<Progress>,
    flights: Vec<Flight>,
    /// The first free place in `flights`; they are chained.
    free: u32,
    /// What is kept of receptions.
    observing: Observing,
    /// By receiver, if senders are observed: what each has received.
    incoming: Vec<Vec<Incoming>>,
    pub(super) messages: u64,
    pub(super) bytes: Bytes,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    sends_left: u32,
    receives_left: u32,
    /// Whether the process has computed: it sends, and waits for its messages.
    computed: bool,
    sent: u32,
    received: u32,
    bytes_sent: Bytes,
    bytes_received: Bytes,
    longest: Seconds,
    receptions: SmallVec<[Reception; 1]>,
    /// The first of the messages that wait until this process waits for them, plus one.
    waiting: u32,
    /// The last of them, if there is a first.
    waiting_last: u32,
}

/// A message of a program in transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) bytes: Bytes,
    /// Seconds since the platform was last at rest.
    started: Seconds,
    /// The next in a chain, or [`NONE`].
    next: u32,
}

impl Traffic {
    pub(super) fn new(size: usize, observing: Observing) -> Self {
        let observed = if observing == Observing::Senders {
            size
        } else {
            0
        };
        Self {
            processes: vec![Progress::default(); size],
            flights: Vec::new(),
            free: NONE,
            observing,
            incoming: vec![Vec::new(); observed],
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
    }

    /// Everything in `plan` is sent and received, as it was in an earlier superstep.
    pub(super) fn repeat(&mut self, plan: &SuperstepPlan) {
        self.messages += u64::try_from(plan.sends.len()).expect("lengths fit 64 bits");
        self.bytes += plan.sends.iter().map(|(_, bytes)| *bytes).sum::<Bytes>();
    }

    /// `rank` has computed and sends `sends` messages.
    pub(super) fn computed(&mut self, rank: Rank, sends: u32) {
        let process = &mut self.processes[rank.index()];
        process.computed = true;
        process.sends_left = sends;
        process.sent = sends;
    }

    /// Whether `rank` waits for the messages of this superstep.
    pub(super) fn is_waiting(&self, rank: Rank) -> bool {
        self.processes[rank.index()].computed
    }

    /// Keeps a message that is about to be sent, and returns its number.
    pub(super) fn add(&mut self, from: Rank, to: Rank, bytes: Bytes) -> u32 {
        self.messages += 1;
        self.bytes += bytes;
        self.processes[from.index()].bytes_sent += bytes;
        let flight = Flight {
            from,
            to,
            bytes,
            started: Seconds::ZERO,
            next: NONE,
        };
        if self.free == NONE {
            self.flights.push(flight);
            u32::try_from(self.flights.len() - 1).expect("fewer messages than that are under way")
        } else {
            let number = self.free;
            self.free = std::mem::replace(&mut self.flights[at(number)], flight).next;
            number
        }
    }

    /// Queues a message until its receiver waits for it.
    pub(super) fn hold(&mut self, number: u32) {
        let receiver = &mut self.processes[self.flights[at(number)].to.index()];
        let last = std::mem::replace(&mut receiver.waiting_last, number);
        if receiver.waiting == 0 {
            receiver.waiting = number + 1;
        } else {
            self.flights[at(last)].next = number;
        }
    }

    /// Removes the first message that is queued for `rank`.
    pub(super) fn pop_held(&mut self, rank: Rank) -> Option<u32> {
        let number = self.processes[rank.index()].waiting.checked_sub(1)?;
        self.processes[rank.index()].waiting = self.flights[at(number)].next.wrapping_add(1);
        Some(number)
    }

    /// Starts the transfer of a message.
    pub(super) fn start(&mut self, number: u32, now: Seconds) -> Flight {
        self.flights[at(number)].started = now;
        self.flights[at(number)]
    }

    /// Receives a message that was sent from `set`. Returns its sender and its receiver.
    pub(super) fn end(
        &mut self,
        number: u32,
        now: Seconds,
        set: impl Fn(Rank) -> SetId,
    ) -> (Rank, Rank) {
        let flight = self.flights[at(number)];
        self.flights[at(number)].next = self.free;
        self.free = number;
        self.processes[flight.from.index()].sends_left -= 1;
        let receiver = &mut self.processes[flight.to.index()];
        receiver.receives_left -= 1;
        receiver.received += 1;
        receiver.bytes_received += flight.bytes;
        if self.observing != Observing::Nothing {
            let time = now - flight.started;
            receiver.longest = receiver.longest.max(time);
            let set = set(flight.from);
            match receiver
                .receptions
                .iter_mut()
                .find(|reception| reception.set == set)
            {
                Some(reception) => {
                    reception.bytes += flight.bytes;
                    reception.time += time;
                }
                None => receiver.receptions.push(Reception {
                    set,
                    bytes: flight.bytes,
                    time,
                }),
            }
            self.observe_sender(flight, time);
        }
        (flight.from, flight.to)
    }

    /// Keeps what a process has received, by sender, if that is observed.
    fn observe_sender(&mut self, flight: Flight, time: Seconds) {
        let Some(incoming) = self.incoming.get_mut(flight.to.index()) else {
            return;
        };
        if incoming.len() == Incoming::COMBINED_AT {
            Incoming::combine(incoming);
        }
        incoming.push(Incoming {
            from: flight.from,
            messages: 1,
            bytes: flight.bytes,
            time,
        });
    }

    /// The exchange of `rank`, once, if it has computed and all its messages have been sent and received.
    pub(super) fn completed(&mut self, rank: Rank) -> Option<Exchange> {
        let process = &mut self.processes[rank.index()];
        if !process.computed || process.sends_left != 0 || process.receives_left != 0 {
            return None;
        }
        process.computed = false;
        let mut receptions = std::mem::take(&mut process.receptions);
        receptions.sort_unstable_by_key(|reception| reception.set);
        let incoming = self.incoming.get_mut(rank.index());
        let mut incoming = incoming.map(std::mem::take).unwrap_or_default();
        Incoming::combine(&mut incoming);
        Some(Exchange {
            sent: std::mem::take(&mut process.sent),
            received: std::mem::take(&mut process.received),
            bytes_sent: std::mem::take(&mut process.bytes_sent),
            bytes_received: std::mem::take(&mut process.bytes_received),
            longest: std::mem::take(&mut process.longest),
            receptions,
            incoming,
        })
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}

#[cfg(test)]
mod tests {
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
        for from in 0..size {
            plan.first_send.push(plan.sends.len());
            for (_, to, bytes) in sends.iter().filter(|send| send.0 == from) {
                plan.sends.push((Rank::from_index(*to), Bytes(*bytes)));
                plan.expected[*to] += 1;
            }
        }
        plan.first_send.push(plan.sends.len());
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
            for (to, bytes) in &plan.sends {
                assert!(!traffic.is_waiting(*to));
                let number = traffic.add(Rank(0), *to, *bytes);
                traffic.hold(number);
            }
            traffic.computed(Rank(1), 0);
            let mut left = Vec::new();
            while let Some(number) = traffic.pop_held(Rank(1)) {
                left.push(traffic.start(number, instant(round)).bytes);
                traffic.end(number, instant(round), |_| SetId(0));
            }
            assert_eq!(left, [Bytes(1), Bytes(2), Bytes(3)]);
            assert_eq!(
                traffic.completed(Rank(0)).map(|exchange| exchange.sent),
                Some(3)
            );
            assert_eq!(
                traffic.completed(Rank(1)).map(|exchange| exchange.received),
                Some(3)
            );
        }
        assert_eq!((traffic.messages, traffic.bytes), (6, Bytes(12)));
    }

    proptest! {
        /// Processes compute in any order, messages arrive in any order, for two supersteps: eagerly,
        /// or when their receivers wait for them.
        #[test]
        fn what_is_sent_is_received_once(
            size in 1_usize..6,
            sends in prop::collection::vec((0_usize..6, 0_usize..6, 0_u64..100), 0..30),
            (eager, observing) in (any::<bool>(), any::<bool>()),
            order in prop::collection::vec(any::<usize>(), 1..50),
        ) {
            let sends: Vec<_> = sends
                .into_iter()
                .map(|(from, to, bytes)| (from % size, to % size, bytes))
                .collect();
            let plan = plan(size, &sends);
            let kept = if observing { Observing::Senders } else { Observing::Nothing };
            let mut traffic = Traffic::new(size, kept);
            let mut order = order.into_iter().cycle();
            let set = |rank: Rank| SetId(rank.0 % 2);
            let mut tick = 0;
            for _ in 0..2 {
                traffic.begin(&plan);
                let mut idle: Vec<usize> = (0..size).collect();
                let mut flights = Vec::new();
                let mut told: Vec<Option<Exchange>> = vec![None; size];
                while !idle.is_empty() || !flights.is_empty() {
                    tick += 1;
                    let next = order.next().unwrap() % (idle.len() + flights.len());
                    let mut done = Vec::new();
                    if next < idle.len() {
                        let rank = Rank::from_index(idle.swap_remove(next));
                        let own = plan.first_send[rank.index()]..plan.first_send[rank.index() + 1];
                        traffic.computed(rank, u32::try_from(own.len()).unwrap());
                        for (to, bytes) in &plan.sends[own] {
                            let number = traffic.add(rank, *to, *bytes);
                            if eager || traffic.is_waiting(*to) {
                                flights.push(number);
                                traffic.start(number, instant(tick));
                            } else {
                                traffic.hold(number);
                            }
                        }
                        while let Some(number) = traffic.pop_held(rank) {
                            flights.push(number);
                            traffic.start(number, instant(tick));
                        }
                        done.push(rank);
                    } else {
                        let number = flights.swap_remove(next - idle.len());
                        let (from, to) = traffic.end(number, instant(tick), set);
                        done.extend([from, to]);
                    }
                    for rank in done {
                        if let Some(exchange) = traffic.completed(rank) {
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
                    let received = to_here.clone().map(|send| Bytes(send.2));
                    prop_assert_eq!(exchange.bytes_received, received.sum::<Bytes>());
                    let bytes: Bytes = exchange.receptions.iter().map(|reception| reception.bytes).sum();
                    let expected = if observing { to_here.map(|send| Bytes(send.2)).sum() } else { Bytes::ZERO };
                    prop_assert_eq!(bytes, expected);
                }
            }
            prop_assert_eq!(traffic.messages, 2 * sends.len() as u64);
            prop_assert!(traffic.flights.len() <= sends.len(), "places are used again");
        }
    }
}
