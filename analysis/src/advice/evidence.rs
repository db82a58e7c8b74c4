//! What the events of a run say about its speed.

use std::collections::{BTreeMap, BTreeSet};

use bsp::Rank;
use bsp::units::Seconds;
use record::Event;

/// What the events of a run say about its speed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The makespan; 0 until the run has ended.
    pub seconds: f64,
    /// The number of supersteps.
    pub supersteps: u64,
    /// Computation that the best mapping of every superstep would have saved, in seconds, if it is known.
    pub attainable_seconds: Option<f64>,
    /// Number of calls.
    pub calls: usize,
    /// Time for which calls delayed the processes, in seconds.
    pub call_seconds: f64,
    /// Supersteps that were over at the last call, if calls come when they are due and not by an interval.
    pub called_when_due: Option<u64>,
    /// The number of supersteps in which a process had the longest computation, by process; one of equals counts.
    pub slowest: BTreeMap<Rank, u64>,
    /// Processes that have moved.
    pub moved: BTreeSet<Rank>,
}

impl Evidence {
    /// Adds the next event of the run.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                *self.slowest.entry(superstep.slowest).or_default() += 1;
            }
            Event::Call(call) => {
                self.calls += 1;
                self.called_when_due = call.interval.is_none().then_some(call.superstep);
                self.call_seconds += call.cost.get();
                self.moved
                    .extend(call.migrations.iter().map(|migration| migration.rank));
            }
            Event::End(end) => {
                self.seconds = end.seconds.get();
                self.supersteps = end.supersteps;
                self.attainable_seconds = end.attainable.map(Seconds::get);
            }
            Event::Run(_)
            | Event::Traced(_)
            | Event::Observed(_)
            | Event::Evaluated(_)
            | Event::Moved(_)
            | Event::Join(_)
            | Event::Checkpoint(_)
            | Event::Interaction(_) => {}
        }
    }
}
