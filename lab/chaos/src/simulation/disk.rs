//! The checkpoint folder of a fault simulation, which all nodes share.

use std::collections::BTreeMap;

use bsp::HostId;
use checkpoint::{
    DiskFault, Generation, JobDescription, Piece, SimulatedFiles, Store, WrittenPieces,
};
use machines::node::JobEvent;
use protocol::transport::JobId;

use super::happening::Owner;
use super::random::Random;

/// The disk with the checkpoint folder.
pub(super) struct Disk {
    pub(super) files: SimulatedFiles,
    random: Random,
    /// What is under way.
    work: BTreeMap<u64, DiskWork>,
    begun: u64,
    /// The newest checkpoint whose completion has succeeded.
    pub(super) complete: Option<Generation>,
}

/// A change of the folder that is under way.
pub(super) struct DiskWork {
    pub(super) owner: Owner,
    /// Which of the jobs of the node.
    pub(super) number: u64,
    pub(super) job: JobId,
    pub(super) processes: u32,
    pub(super) change: Change,
}

/// A change of the folder.
pub(super) enum Change {
    /// A node writes its pieces.
    Write(Generation, Vec<Piece>),
    /// A checkpoint is completed, and those before it are removed.
    Finish(Generation, BTreeMap<HostId, WrittenPieces>),
}

impl Disk {
    pub(super) fn new(files: SimulatedFiles, random: Random) -> Self {
        Self {
            files,
            random,
            work: BTreeMap::new(),
            begun: 0,
            complete: None,
        }
    }

    /// A client describes its job.
    pub(super) fn describe(&mut self, job: &JobDescription) -> Result<(), String> {
        let begun = Store::new(&mut self.files, HostId(0)).begin(job);
        begun.map_err(|error| error.to_string())
    }

    /// Begins a change. Returns its number, and how long it takes.
    pub(super) fn begin(&mut self, work: DiskWork) -> (u64, u64) {
        self.begun += 1;
        self.work.insert(self.begun, work);
        (self.begun, self.random.duration(10_000, 100_000_000))
    }

    /// A change is made: the node it is of, and its event there.
    pub(super) fn end(&mut self, number: u64) -> Option<(Owner, u64, JobEvent)> {
        let work = self.work.remove(&number)?;
        let (owner, number) = (work.owner, work.number);
        let generation = match &work.change {
            Change::Write(generation, _) | Change::Finish(generation, _) => *generation,
        };
        let event = self.perform(work);
        if matches!(event, JobEvent::CheckpointFinished(_, Ok(()))) {
            self.complete = self.complete.max(Some(generation));
        }
        Some((owner, number, event))
    }

    /// An operation fails, after some others.
    pub(super) fn fail_soon(&mut self, others: u64) {
        let at = self.files.operations() + others % 20;
        self.files.fail_at(at, DiskFault::Error);
    }

    /// A node dies in the middle of its changes, or all do.
    pub(super) fn interrupt(&mut self, place: Option<usize>) {
        let is_interrupted =
            |_: &u64, work: &mut DiskWork| place.is_none_or(|place| work.owner.place == place);
        let interrupted: Vec<DiskWork> = self
            .work
            .extract_if(.., is_interrupted)
            .map(|(_, work)| work)
            .collect();
        for work in interrupted {
            let at = self.files.operations() + self.random.between(0, 25);
            self.files.fail_at(at, DiskFault::Stop);
            drop(self.perform(work));
            if place.is_some() {
                self.files.repair();
            }
        }
    }

    /// All changes stop in the middle, and what has not reached the disk is lost in part.
    pub(super) fn lose_power(&mut self) {
        self.interrupt(None);
        let random = &mut self.random;
        self.files
            .power_loss(&mut |below| random.between(0, below.max(1) - 1));
    }

    fn perform(&mut self, work: DiskWork) -> JobEvent {
        let DiskWork {
            owner,
            job,
            processes,
            change,
            ..
        } = work;
        let mut store = Store::new(&mut self.files, HostId::from_index(owner.place));
        match change {
            Change::Write(generation, pieces) => {
                let written = store.write_pieces(job, generation, &pieces);
                let written = written.map_err(|error| error.to_string());
                JobEvent::Written(generation.superstep, written)
            }
            Change::Finish(generation, files) => {
                let finished = store.complete(job, generation, processes, &files);
                if finished.is_ok() {
                    // Those that stay are removed later.
                    drop(store.prune(generation));
                }
                let finished = finished.map_err(|error| error.to_string());
                JobEvent::CheckpointFinished(generation.superstep, finished)
            }
        }
    }
}
