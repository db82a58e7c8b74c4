//! What a bench needs of the events of a job.

use std::collections::BTreeMap;

use agents::record::{Event, Moved};
use bsp::units::Bytes;
use migbsp::CostCoefficients;

/// The supersteps and moves of a job with one process.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When each superstep ended, in seconds.
    ended: Vec<f64>,
    /// The bytes of the process at the last call.
    image: Bytes,
    /// The process has arrived, but the call has not ended.
    arrived: Option<Moved>,
    /// By the number of complete supersteps.
    pub(super) moves: BTreeMap<u64, TimedMove>,
    /// What was learned before the last call.
    pub(super) learned: Option<CostCoefficients>,
}

/// A move, with what was known before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedMove {
    pub(super) moved: Moved,
    /// Predicted seconds of the move.
    pub(super) predicted: f64,
}

impl Timeline {
    /// Takes what is needed from an event.
    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => self.ended.push(superstep.ended.get()),
            Event::Observed(observed) => self.image = observed.image.total(),
            Event::Moved(moved) => self.arrived = Some(*moved),
            Event::Call(call) => {
                let learned = call.learned.unwrap_or_default();
                self.learned = call.learned;
                let migration = call.migrations.first();
                if let Some((migration, moved)) = migration.zip(self.arrived.take()) {
                    let per_byte = migration.per_byte.unwrap_or_default();
                    let predicted = learned.predict(self.image, per_byte).get();
                    let timed = TimedMove { moved, predicted };
                    self.moves.insert(call.superstep, timed);
                }
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
