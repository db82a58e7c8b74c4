//! The record of a run on real hosts, in order: each node records a part of the events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bsp::{Rank, SetId};
use record::{Call, Evaluated, Event, Moved, Observed, Traced};

use crate::input_memory::InputMemory;

/// Puts the events of all nodes into the order of the record.
///
/// The first Manager records supersteps and calls in their order. The observations of a call and its arrivals come from
/// other nodes, earlier or later. A call waits until they are complete, and all later events wait for the call. If
/// processes are traced, a superstep waits for the traces of all of them.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The events of the first Manager, in its order.
    ordered: VecDeque<Waiting<Event>>,
    observed: BTreeMap<(u64, Rank), Waiting<Observed>>,
    evaluated: BTreeMap<(u64, SetId), Waiting<Evaluated>>,
    moved: BTreeMap<(u64, Rank), Waiting<Moved>>,
    /// The number of changes of the placement.
    epoch: u64,
    sets: usize,
    traced: BTreeMap<(u64, Rank), Waiting<Traced>>,
    /// The number of processes that have not halted before the next superstep; 0 if they are not traced.
    running: usize,
}

/// An event that waits for others, with the memory of the input that it is a part of.
#[derive(Debug)]
struct Waiting<T> {
    event: T,
    _memory: Arc<InputMemory>,
}

impl Journal {
    /// The journal of a run on `sets` Sets, in which `traced` processes record their supersteps.
    pub(crate) fn new(sets: usize, traced: usize) -> Self {
        Self {
            sets,
            running: traced,
            ..Self::default()
        }
    }

    /// Adds an event, which is part of an input with `memory`. Returns the events that can be recorded now, in order.
    pub(crate) fn add(&mut self, event: Event, memory: &Arc<InputMemory>) -> Vec<Event> {
        match event {
            Event::Observed(observed) => {
                let key = (observed.superstep, observed.rank);
                self.observed.insert(key, Waiting::new(observed, memory));
            }
            Event::Evaluated(evaluated) => {
                let key = (evaluated.superstep, evaluated.set);
                self.evaluated.insert(key, Waiting::new(evaluated, memory));
            }
            Event::Moved(moved) => {
                let key = (moved.epoch, moved.rank);
                self.moved.insert(key, Waiting::new(moved, memory));
            }
            Event::Traced(traced) => {
                let key = (traced.superstep, traced.rank);
                self.traced.insert(key, Waiting::new(traced, memory));
            }
            event => self.ordered.push_back(Waiting::new(event, memory)),
        }
        self.take_ready(false)
    }

    /// The events that can be recorded although nothing more comes: a superstep is over even if traces of it are missing.
    /// A call is not without what it was decided from, nor is anything after it.
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        self.take_ready(true)
    }

    /// Takes the events whose turn it is, with those that precede them. Traces may be missing if there are `no_more`.
    fn take_ready(&mut self, no_more: bool) -> Vec<Event> {
        let mut ready = Vec::new();
        while let Some(first) = self.ordered.pop_front() {
            match &first.event {
                Event::Call(call) if self.knows_all_of(call) => {
                    self.take_observations(call, &mut ready);
                }
                Event::Superstep(superstep) if no_more || self.knows_traces_of(superstep.index) => {
                    self.take_traces(superstep.index, &mut ready);
                }
                Event::Call(_) | Event::Superstep(_) => {
                    self.ordered.push_front(first);
                    break;
                }
                _ => {}
            }
            ready.push(first.event);
        }
        ready
    }

    /// Whether nothing is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.ordered.is_empty()
    }

    fn knows_all_of(&self, call: &Call) -> bool {
        let of_call = (call.superstep, SetId(0))..(call.superstep + 1, SetId(0));
        let evaluated = self.evaluated.range(of_call);
        let evaluated: Vec<&Evaluated> = evaluated.map(|(_, waiting)| &waiting.event).collect();
        let epoch = self.epoch + 1;
        evaluated.len() == self.sets
            && evaluated.iter().all(|evaluated| {
                let mut ranks = evaluated.processes.iter().map(|process| process.rank);
                ranks.all(|rank| self.observed.contains_key(&(call.superstep, rank)))
            })
            && call
                .migrations
                .iter()
                .all(|m| self.moved.contains_key(&(epoch, m.rank)))
    }

    fn knows_traces_of(&self, superstep: u64) -> bool {
        let of_superstep = (superstep, Rank(0))..(superstep + 1, Rank(0));
        self.running <= self.traced.range(of_superstep).count()
    }

    /// Moves the traces that precede the end of a superstep to `ready`.
    fn take_traces(&mut self, superstep: u64, ready: &mut Vec<Event>) {
        for event in take_before(&mut self.traced, &(superstep + 1, Rank(0))) {
            self.running = self.running.saturating_sub(usize::from(event.halted));
            ready.push(Event::Traced(event));
        }
    }

    /// Moves the events that precede a call to `ready`.
    fn take_observations(&mut self, call: &Call, ready: &mut Vec<Event>) {
        let next = call.superstep + 1;
        let observed = take_before(&mut self.observed, &(next, Rank(0)));
        ready.extend(observed.map(Event::Observed));
        let evaluated = take_before(&mut self.evaluated, &(next, SetId(0)));
        ready.extend(evaluated.map(Event::Evaluated));
        if !call.migrations.is_empty() {
            self.epoch += 1;
            let moved = take_before(&mut self.moved, &(self.epoch + 1, Rank(0)));
            ready.extend(moved.map(Event::Moved));
        }
    }
}

impl<T> Waiting<T> {
    fn new(event: T, memory: &Arc<InputMemory>) -> Self {
        Self {
            event,
            _memory: Arc::clone(memory),
        }
    }
}

/// Takes the events before `end` from a map, in the order of its keys.
fn take_before<K: Ord, T>(
    waiting: &mut BTreeMap<K, Waiting<T>>,
    end: &K,
) -> impl Iterator<Item = T> + use<K, T> {
    let rest = waiting.split_off(end);
    let taken = std::mem::replace(waiting, rest);
    taken.into_values().map(|waiting| waiting.event)
}

#[cfg(test)]
mod tests {
    use bsp::HostId;
    use bsp::units::{Bytes, Instant, Instructions, Seconds};

    use super::*;
    use record::{Evaluation, Migration, Superstep};

    fn superstep(index: u64) -> Event {
        Event::Superstep(Superstep {
            index,
            started: Instant::START,
            ended: Instant::START,
            slowest: Rank(0),
            computation: Seconds::ZERO,
            mean: None,
            took: None,
            messages: 0,
            notes: bsp::Notes::default(),
        })
    }

    fn observed(superstep: u64, rank: u32) -> Event {
        Event::Observed(Observed {
            superstep,
            rank: Rank(rank),
            image: Bytes(1).into(),
            resident: Instructions(1),
            forecast: None,
            finished: None,
            noise: 0.0,
            received: Vec::new(),
            edges: Vec::new(),
            remaining: None,
        })
    }

    /// Process `set` is the only one of its Set.
    fn evaluated(superstep: u64, set: u32) -> Event {
        let found = Evaluation {
            rank: Rank(set),
            host: HostId(set),
            instructions: Instructions(1),
            bytes: Bytes(0),
            target: SetId(set),
            potentials: Vec::new(),
        };
        Event::Evaluated(Evaluated {
            superstep,
            set: SetId(set),
            transfer_rates: Vec::new(),
            links: Vec::new(),
            external: Vec::new(),
            hosts: Vec::new(),
            paths: Vec::new(),
            barrier: None,
            processes: vec![found],
        })
    }

    fn call(superstep: u64, moves: &[u32]) -> Event {
        let migration = |rank: &u32| Migration {
            rank: Rank(*rank),
            from: HostId(0),
            to: HostId(1),
            potential: None,
            t1: Seconds::ZERO,
            t2: Seconds::ZERO,
            cost: Seconds::ZERO,
            per_byte: None,
        };
        Event::Call(Box::new(Call {
            superstep,
            at: Instant::START,
            cost: Seconds::ZERO,
            interval: None,
            tolerance: None,
            balanced: None,
            judged: Vec::new(),
            threshold: None,
            list: Vec::new(),
            passed_over: Vec::new(),
            considered: Vec::new(),
            assessment: None,
            learned: None,
            probed: Vec::new(),
            migrations: moves.iter().map(migration).collect(),
            remaining: None,
        }))
    }

    fn moved(epoch: u64, rank: u32) -> Event {
        Event::Moved(Moved {
            at: Instant::START,
            rank: Rank(rank),
            host: HostId(1),
            epoch,
            bytes: Bytes(0),
            took: Seconds::ZERO,
            times: None,
            parts: None,
            declared: None,
        })
    }

    fn add(journal: &mut Journal, event: Event) -> Vec<Event> {
        journal.add(event, &Arc::default())
    }

    #[test]
    fn a_call_waits_for_what_it_was_decided_from_and_all_else_for_the_call() {
        let mut journal = Journal::new(2, 0);
        assert_eq!(add(&mut journal, superstep(0)), [superstep(0)]);
        // Of the call after this one, too early.
        let orders = [
            observed(2, 1),
            evaluated(1, 1),
            call(1, &[0]),
            superstep(1),
            moved(1, 0),
            observed(1, 0),
            evaluated(2, 1),
            evaluated(1, 0),
        ];
        for event in orders {
            assert_eq!(add(&mut journal, event), []);
            assert!(journal.ordered.is_empty() || !journal.is_empty());
        }
        let expected = [
            observed(1, 0),
            observed(1, 1),
            evaluated(1, 0),
            evaluated(1, 1),
            moved(1, 0),
            call(1, &[0]),
            superstep(1),
        ];
        assert_eq!(add(&mut journal, observed(1, 1)), expected);
        assert!(journal.is_empty());
        assert_eq!(add(&mut journal, call(2, &[])), []);
        assert_eq!(add(&mut journal, evaluated(2, 0)), []);
        let rest = add(&mut journal, observed(2, 0));
        assert_eq!(rest.len(), 5, "{rest:?}");
    }

    fn traced(superstep: u64, rank: u32, halted: bool) -> Event {
        Event::Traced(Traced {
            superstep,
            rank: Rank(rank),
            host: HostId(0),
            started: Instant::START,
            computation: Seconds::ZERO,
            exchange: Seconds::ZERO,
            sent: Bytes(0),
            received: Bytes(0),
            halted,
        })
    }

    #[test]
    fn a_superstep_waits_for_the_traces_of_all_processes_that_have_not_halted() {
        let mut journal = Journal::new(1, 2);
        assert_eq!(add(&mut journal, superstep(0)), []);
        assert_eq!(add(&mut journal, traced(0, 1, true)), []);
        // Of the next superstep, too early.
        assert_eq!(add(&mut journal, traced(1, 0, false)), []);
        let expected = [traced(0, 0, false), traced(0, 1, true), superstep(0)];
        assert_eq!(add(&mut journal, traced(0, 0, false)), expected);
        let expected = [traced(1, 0, false), superstep(1)];
        assert_eq!(add(&mut journal, superstep(1)), expected);
        assert!(journal.is_empty());
    }

    #[test]
    fn what_is_over_is_recorded_in_the_end_up_to_a_call_that_is_not_known() {
        let mut journal = Journal::new(1, 2);
        for event in [
            superstep(0),
            traced(0, 1, false),
            superstep(1),
            call(2, &[]),
            superstep(2),
        ] {
            assert_eq!(add(&mut journal, event), []);
        }
        let expected = [traced(0, 1, false), superstep(0), superstep(1)];
        assert_eq!(journal.rest(), expected);
    }
}
