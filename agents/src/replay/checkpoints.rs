//! The checkpoints of a record, held to their interval.

use std::collections::BTreeMap;

use bsp::units::Instant;
use serde::Serialize;

use super::comparison::Comparison;
use crate::checkpointing::{CheckpointSchedule, Checkpointing};
use crate::record::{Checkpoint, Superstep};

/// When checkpoints were due, as the record has it.
///
/// The time at which the first Manager asks is in no record: it lies between the beginning and the end of the superstep.
/// So a checkpoint may not begin before its interval is over, and may not be left out at a barrier whose superstep began
/// later than that.
#[derive(Debug)]
pub(super) struct Checkpoints {
    schedule: CheckpointSchedule,
    /// When supersteps have ended since the last checkpoint began, by the number of those that were over.
    ended: BTreeMap<u64, Instant>,
    /// When the last checkpoint was complete.
    complete: Instant,
    /// The first superstep before which the next one was surely due.
    due: Option<u64>,
}

/// A checkpoint as the record has it, and as it can be.
#[derive(Debug, PartialEq, Serialize)]
struct Claims {
    follows_its_superstep: bool,
    follows_the_one_before: bool,
    ends_after_it_began: bool,
    interval_is_over: bool,
    left_out: Option<u64>,
}

impl Checkpoints {
    /// No checkpoint has been read, of a run on `nodes` hosts.
    pub(super) fn new(checkpointing: &Checkpointing, nodes: usize) -> Self {
        Self {
            schedule: CheckpointSchedule::new(checkpointing, nodes),
            ended: BTreeMap::new(),
            complete: Instant::START,
            due: None,
        }
    }

    /// A superstep has ended.
    pub(super) fn elapse(&mut self, superstep: &Superstep) {
        let completed = superstep.index + 1;
        self.ended.insert(completed, superstep.ended);
        let is_asked_later = self.complete <= superstep.started;
        if self.due.is_none()
            && is_asked_later
            && self.schedule.is_due(completed, superstep.started)
        {
            self.due = Some(completed);
        }
    }

    /// Compares a checkpoint of the record with what can be.
    pub(super) fn compare(&mut self, checkpoint: &Checkpoint, comparison: &mut Comparison<'_>) {
        let Checkpoint { superstep, at, .. } = *checkpoint;
        let before = self.ended.get(&superstep);
        let recorded = Claims {
            follows_its_superstep: before.is_some_and(|ended| *ended <= at),
            follows_the_one_before: self.complete <= at,
            ends_after_it_began: at <= checkpoint.complete,
            interval_is_over: self.schedule.is_due(superstep, at),
            left_out: self.due.filter(|due| *due < superstep),
        };
        let sound = Claims {
            follows_its_superstep: true,
            follows_the_one_before: true,
            ends_after_it_began: true,
            interval_is_over: true,
            left_out: None,
        };
        comparison.compare("checkpoint", &recorded, &sound);
        self.schedule.begin(superstep, at);
        self.schedule.complete(checkpoint.cost());
        self.complete = checkpoint.complete;
        self.ended = self.ended.split_off(&superstep);
        self.due = None;
    }
}
