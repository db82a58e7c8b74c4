//! The record of a run on real hosts, in order: nodes tell what happened to each of them.

use std::collections::BTreeMap;

use bsp::{Rank, SetId};

use crate::record::{Call, Evaluated, Event, Moved, Observed};

/// Puts what the nodes of a cluster tell into the order of the record.
///
/// The first Manager records supersteps and calls in their order. The observations of a call and its arrivals come from
/// other nodes, earlier or later. A call waits until they are complete, and all later events wait for the call.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// From the first Manager, in its order.
    spine: std::collections::VecDeque<Event>,
    observed: BTreeMap<(u64, Rank), Observed>,
    evaluated: BTreeMap<(u64, SetId), Evaluated>,
    moved: BTreeMap<(u64, Rank), Moved>,
    /// How often the placement has changed.
    epoch: u64,
    sets: usize,
}

impl Journal {
    /// The journal of a run on `sets` Sets.
    pub(super) fn new(sets: usize) -> Self {
        Self {
            sets,
            ..Self::default()
        }
    }

    /// Something has been told; what can be recorded now, in order.
    pub(super) fn add(&mut self, event: Event) -> Vec<Event> {
        match event {
            Event::Observed(observed) => {
                self.observed
                    .insert((observed.superstep, observed.rank), observed);
            }
            Event::Evaluated(evaluated) => {
                self.evaluated
                    .insert((evaluated.superstep, evaluated.set), evaluated);
            }
            Event::Moved(moved) => {
                self.moved.insert((moved.epoch, moved.rank), moved);
            }
            event => self.spine.push_back(event),
        }
        let mut ready = Vec::new();
        while let Some(event) = self.spine.pop_front() {
            if let Event::Call(call) = &event {
                if !self.knows_all_of(call) {
                    self.spine.push_front(event);
                    break;
                }
                self.recall(call, &mut ready);
            }
            ready.push(event);
        }
        ready
    }

    /// Whether nothing is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.spine.is_empty()
    }

    fn knows_all_of(&self, call: &Call) -> bool {
        let of_call = (call.superstep, SetId(0))..(call.superstep + 1, SetId(0));
        let evaluated: Vec<&Evaluated> = self.evaluated.range(of_call).map(|(_, e)| e).collect();
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

    /// What belongs before a call.
    fn recall(&mut self, call: &Call, ready: &mut Vec<Event>) {
        let rest = self.observed.split_off(&(call.superstep + 1, Rank(0)));
        let observed = std::mem::replace(&mut self.observed, rest);
        ready.extend(observed.into_values().map(Event::Observed));
        let rest = self.evaluated.split_off(&(call.superstep + 1, SetId(0)));
        let evaluated = std::mem::replace(&mut self.evaluated, rest);
        ready.extend(evaluated.into_values().map(Event::Evaluated));
        if !call.migrations.is_empty() {
            self.epoch += 1;
            let rest = self.moved.split_off(&(self.epoch + 1, Rank(0)));
            let moved = std::mem::replace(&mut self.moved, rest);
            ready.extend(moved.into_values().map(Event::Moved));
        }
    }
}

#[cfg(test)]
mod tests {
    use bsp::HostId;
    use bsp::units::{Bytes, Instant, Instructions, Seconds};

    use super::*;
    use crate::record::{Evaluation, Migration, Superstep};

    fn superstep(index: u64) -> Event {
        Event::Superstep(Superstep {
            index,
            started: Instant::START,
            ended: Instant::START,
            slowest: Rank(0),
            computation: Seconds::ZERO,
            mean: None,
            messages: 0,
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
            received: Vec::new(),
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
            hosts: Vec::new(),
            barrier_delay: None,
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
        };
        Event::Call(Call {
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
            migrations: moves.iter().map(migration).collect(),
        })
    }

    fn moved(epoch: u64, rank: u32) -> Event {
        Event::Moved(Moved {
            at: Instant::START,
            rank: Rank(rank),
            host: HostId(1),
            epoch,
            bytes: Bytes(0),
            took: Seconds::ZERO,
        })
    }

    #[test]
    fn a_call_waits_for_what_it_was_decided_from_and_all_else_for_the_call() {
        let mut journal = Journal::new(2);
        assert_eq!(journal.add(superstep(0)), [superstep(0)]);
        // Of the call after this one, too early.
        let tells = [
            observed(2, 1),
            evaluated(1, 1),
            call(1, &[0]),
            superstep(1),
            moved(1, 0),
            observed(1, 0),
            evaluated(2, 1),
            evaluated(1, 0),
        ];
        for event in tells {
            assert_eq!(journal.add(event), []);
            assert!(journal.spine.is_empty() || !journal.is_empty());
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
        assert_eq!(journal.add(observed(1, 1)), expected);
        assert!(journal.is_empty());
        assert_eq!(journal.add(call(2, &[])), []);
        assert_eq!(journal.add(evaluated(2, 0)), []);
        let rest = journal.add(observed(2, 0));
        assert_eq!(rest.len(), 5, "{rest:?}");
    }
}
