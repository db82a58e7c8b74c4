//! The node of the first Manager collects what all nodes have saved.

use bsp::HostId;
use bsp::units::Instant;
use protocol::{CheckpointMessage, Saved};

use super::collection::Collection;
use super::{CheckpointAction, Checkpoints};
use crate::check::check;

impl Checkpoints {
    /// The checkpoint is complete on disk, or cannot be.
    pub(crate) fn handle_finished(
        &mut self,
        superstep: u64,
        finished: Result<(), String>,
        now: Instant,
    ) {
        let collection = self.collection.take_if(|it| it.superstep == superstep);
        if let Some(mut collection) = collection {
            collection.problem = finished.err();
            self.announce(collection, now);
        }
    }

    /// Begins to collect what nodes have saved, unless that has begun: nodes without processes hear of the checkpoint.
    pub(super) fn collect(&mut self, superstep: u64, now: Instant) {
        let newest = self.collection.as_ref().map(|it| it.superstep);
        if self.is_complete(superstep) || newest.is_some_and(|newest| superstep <= newest) {
            return;
        }
        self.collection = Some(Collection::new(superstep, now));
        self.schedule.begin(superstep, now);
        for host in self.parts.others.clone() {
            self.send(host, superstep, CheckpointMessage::Save);
        }
    }

    /// Checks that the report is one of processes that exist.
    pub(super) fn check_saved(&self, host: HostId, saved: &Saved) -> Result<(), String> {
        let size = self.parts.size;
        check(saved.ranks.iter().all(|rank| rank.0 < size), || {
            format!("{host} has saved processes that do not exist")
        })?;
        check(saved.file.is_some() == self.parts.is_on_disk, || {
            format!("{host} has not said whether its pieces are on disk")
        })
    }

    /// Adds what `host` has saved. When that is all, the checkpoint is complete.
    pub(super) fn add_report(&mut self, host: HostId, superstep: u64, saved: Saved, now: Instant) {
        let size = self.parts.size;
        let collection = self.collection.as_mut();
        let Some(collection) = collection.filter(|it| it.superstep == superstep) else {
            return;
        };
        collection.add(host, saved);
        if !collection.is_complete(size) {
            return;
        }
        if self.parts.is_on_disk && collection.problem.is_none() {
            let files = collection.files.clone();
            let finish = CheckpointAction::Finish(self.generation(superstep), files);
            self.actions.push_back(finish);
        } else if let Some(collection) = self.collection.take() {
            self.announce(collection, now);
        }
    }

    /// The checkpoint is complete: all nodes hear of it.
    fn announce(&mut self, collection: Collection, now: Instant) {
        let superstep = collection.superstep;
        let recorded = collection.recorded(now);
        self.schedule.complete(recorded.cost());
        let cost = self.schedule.cost();
        let cost = cost.unwrap_or_else(|| recorded.cost());
        self.complete(superstep);
        for host in self.parts.others.clone() {
            self.send(host, superstep, CheckpointMessage::Complete(cost));
        }
        self.actions.push_back(CheckpointAction::Record(recorded));
    }
}
