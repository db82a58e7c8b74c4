//! What a bench needs of the events of a job.

use bsp::HostId;
use migbsp::{CostCoefficients, ProbedLink};
use record::{Evaluated, Event, Moved};

/// The supersteps and moves of a job with one process.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When each superstep ended, in seconds.
    ended: Vec<f64>,
    /// What the Managers knew in the call that is being held.
    evaluated: Vec<Evaluated>,
    /// The process has arrived, but the call has not ended.
    arrived: Option<Moved>,
    /// The moves, in their order.
    pub(super) moves: Vec<TimedMove>,
    /// What was learned before the last call.
    pub(super) learned: Option<CostCoefficients>,
    /// Speeds of processors, by Set, as the last call knew them, in instructions per second.
    pub(super) speeds: Vec<f64>,
}

/// A move, with what was known before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedMove {
    /// The number of complete supersteps.
    pub(super) superstep: u64,
    pub(super) moved: Moved,
    /// The predicted seconds of the move, by which the call was held.
    pub(super) predicted: f64,
    /// Seconds per byte that were predicted for it.
    pub(super) per_byte: f64,
    /// What a probe found just before it, and the seconds per byte that were predicted without one.
    pub(super) probed: Option<ProbedLink>,
    pub(super) forecast: Option<f64>,
}

impl Timeline {
    /// Takes what is needed from an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => self.ended.push(superstep.ended.get()),
            Event::Evaluated(evaluated) => self.evaluated.push(evaluated.clone()),
            Event::Moved(moved) => self.arrived = Some(*moved),
            Event::Call(call) => {
                self.learned = call.learned;
                let evaluated = std::mem::take(&mut self.evaluated);
                let hosts = evaluated.iter().filter_map(|set| set.hosts.first());
                self.speeds = hosts.map(|hosts| hosts.speed.get()).collect();
                let migration = call.migrations.first();
                let Some((migration, moved)) = migration.zip(self.arrived.take()) else {
                    return;
                };
                let (from, to) = (migration.from, migration.to);
                let is_on_way = |link: (HostId, HostId)| link == (from, to);
                let mut links = evaluated.iter().flat_map(|evaluated| &evaluated.links);
                let mut probed = call.probed.iter();
                self.moves.push(TimedMove {
                    superstep: call.superstep,
                    moved,
                    predicted: migration.cost.get(),
                    per_byte: migration.per_byte.unwrap_or_default(),
                    probed: probed.find(|link| is_on_way((link.from, link.to))).copied(),
                    forecast: links
                        .find(|link| is_on_way((link.from, link.to)))
                        .map(|link| link.per_byte),
                });
            }
            _ => {}
        }
    }

    /// Seconds from the end of the superstep before the call after `completed` supersteps to the end of the superstep
    /// after it.
    pub(super) fn around(&self, completed: u64) -> Option<f64> {
        let after = usize::try_from(completed).ok()?;
        Some(self.ended.get(after)? - self.ended.get(after.checked_sub(1)?)?)
    }
}
