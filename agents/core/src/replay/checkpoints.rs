//! The checkpoints of a record, held to their interval.

use bsp::units::Instant;
use record::{Checkpoint, Superstep};
use serde::Serialize;

use super::comparison::Comparison;
use crate::checkpointing::{CheckpointSchedule, Checkpointing};

/// When checkpoints were due, as the record has it.
///
/// The record does not say when the first Manager asked whether one was due: between the beginning and the end of a
/// superstep. So a checkpoint may not begin before its interval is over, and may not be left out at a barrier whose
/// superstep began later than that.
#[derive(Debug)]
pub(super) struct Checkpoints {
    schedule: CheckpointSchedule,
    /// The supersteps since the last checkpoint was complete. A checkpoint is recorded when it is complete, so only then is
    /// it known which of them were before it.
    supersteps: Vec<Superstep>,
    /// When the last checkpoint was complete.
    complete: Instant,
}

/// What holds of every checkpoint.
#[derive(Debug, PartialEq, Serialize)]
struct Claims {
    follows_its_superstep: bool,
    follows_the_one_before: bool,
    ends_after_it_began: bool,
    interval_is_over: bool,
    /// The first superstep before which one was due and is missing.
    left_out: Option<u64>,
}

impl Checkpoints {
    /// No checkpoint has been read, of a run on `nodes` hosts that begins with superstep `first`.
    pub(super) fn new(checkpointing: &Checkpointing, nodes: usize, first: u64) -> Self {
        Self {
            schedule: CheckpointSchedule::new(checkpointing, nodes).from_superstep(first),
            supersteps: Vec::new(),
            complete: Instant::START,
        }
    }

    /// A superstep has ended.
    pub(super) fn elapse(&mut self, superstep: &Superstep) {
        self.supersteps.push(*superstep);
    }

    /// Compares a checkpoint of the record with what has to hold.
    pub(super) fn compare(&mut self, checkpoint: &Checkpoint, comparison: &mut Comparison<'_>) {
        let (superstep, at) = (checkpoint.superstep, checkpoint.at);
        let all = std::mem::take(&mut self.supersteps);
        let (before, during): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|ended| ended.index < superstep);
        let mut left_out = None;
        let mut interval_is_over = self.schedule.is_due(superstep, at);
        for ended in &before {
            let completed = ended.index + 1;
            let is_asked_later = self.complete <= ended.started;
            let is_due = is_asked_later && self.schedule.is_due(completed, ended.started);
            if is_due && completed < superstep {
                left_out = left_out.or(Some(completed));
            }
            // What the last superstep tells about costs was not known when it was asked.
            interval_is_over = self.schedule.is_due(superstep, at);
            self.schedule.elapse(ended.ended - ended.started);
        }
        let recorded = Claims {
            follows_its_superstep: before
                .last()
                .is_some_and(|last| last.index + 1 == superstep && last.ended <= at),
            follows_the_one_before: self.complete <= at,
            ends_after_it_began: at <= checkpoint.complete,
            interval_is_over,
            left_out,
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
        for ended in &during {
            self.schedule.elapse(ended.ended - ended.started);
        }
        self.schedule.complete(checkpoint.cost());
        self.complete = checkpoint.complete;
    }
}
