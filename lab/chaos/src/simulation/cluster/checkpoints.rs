//! What must hold of the checkpoints of a job, and their folder, which all nodes share.

use std::collections::BTreeMap;
use std::time::Duration;

use agents::HostedProgram;
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use checkpoint::{
    DiskFault, Generation, Generations, JobDescription, Piece, SimulatedFiles, Store, WrittenPieces,
};
use machines::node::JobEvent;
use machines::seconds;
use machines::{SavedPiece, Saving, members};
use protocol::transport::JobId;

use crate::simulation::cluster::{Cluster, Happening, Owner};
use crate::simulation::random::Random;

impl Cluster<'_> {
    /// Saves a process before its superstep; its piece is there after some time.
    pub(super) fn save(&mut self, place: usize, saving: Saving, program: &dyn HostedProgram) {
        let fork = program.fork();
        let encoded = saving.encode(fork.as_deref().unwrap_or(program));
        let after = self.random.duration(10_000, 50_000_000);
        let event = encoded.map_or_else(
            |error| JobEvent::Failed(error.into()),
            |piece| {
                JobEvent::Saved(Box::new(SavedPiece {
                    piece,
                    stall: Seconds::ZERO,
                    encoding: seconds(Duration::from_nanos(after)),
                }))
            },
        );
        self.later(place, after, event);
    }

    /// Begins a change of the checkpoint folder by a node.
    pub(super) fn change_folder(&mut self, place: usize, change: Change) {
        let owner = self.owner(place);
        let Some(job) = self.job(place) else {
            return;
        };
        let processes = self.scenario.request.setup.placement.len();
        let work = DiskWork {
            owner,
            number: job.number,
            job: job.id,
            processes: u32::try_from(processes).expect("few processes"),
            change,
        };
        let (number, took) = self.disk.begin(work);
        self.queue.add(self.now + took, Happening::Disk(number));
    }

    /// A change of the folder is made.
    pub(super) fn folder_changed(&mut self, number: u64) {
        if let Some((owner, job, event)) = self.disk.end(number) {
            let local = Happening::Local(owner, job, Box::new(event));
            self.queue.add(self.now, local);
        }
    }

    /// Checks the checkpoints of a node after what it has done.
    pub(super) fn check_checkpoints(&mut self, place: usize) {
        let Some(node) = &self.nodes[place] else {
            return;
        };
        let Some(job) = node.job.as_ref().map(|job| job.id) else {
            return;
        };
        let machine = &node.machine;
        let complete = machine.with_generations(Generations::complete_generation);
        let Some(complete) = complete.flatten() else {
            return;
        };
        let before = self.complete.insert(place, (job, complete));
        if before == Some((job, complete)) {
            return;
        }
        let name = &self.scenario.request.members[place].name;
        let mut problems = Vec::new();
        if before.is_some_and(|(of, before)| of == job && complete < before) {
            problems.push(format!("{name} has forgotten a complete checkpoint"));
        }
        let kept = machine.with_generations(|generations| generations.inventory().len());
        if kept.is_some_and(|kept| 2 < kept) {
            problems.push(format!("{name} has more than two checkpoints"));
        }
        let collector = members::rules(&self.scenario.request.setup).first_host();
        if place == collector.index() {
            problems.extend(self.missing_piece(job, complete));
        } else {
            let announced = self.complete.get(&collector.index());
            let is_known = announced.is_some_and(|(of, at)| *of == job && complete <= *at);
            // What the node that collects knew is gone with its part in the job.
            let collecting = self.job(collector.index());
            if !is_known && collecting.is_some_and(|of| of.id == job) {
                let problem = format!("{name} takes {complete} for complete, which it is not");
                problems.push(problem);
            }
        }
        for problem in problems {
            self.violate(problem);
        }
    }

    /// A process that has too few pieces in a complete checkpoint, if all nodes are in the job.
    fn missing_piece(&self, job: JobId, complete: Generation) -> Option<String> {
        let setup = &self.scenario.request.setup;
        let nodes = self.nodes.iter().flatten();
        let nodes: Vec<_> = nodes
            .filter(|node| node.job.as_ref().is_some_and(|of| of.id == job))
            .collect();
        if nodes.len() < self.nodes.len() {
            return None;
        }
        let copies = setup.checkpointing.as_ref().is_some_and(|it| it.copies);
        let expected = if copies && 1 < nodes.len() { 2 } else { 1 };
        for rank in (0..setup.placement.len()).map(Rank::from_index) {
            let has_piece = |generations: &Generations| generations.piece(complete, rank).is_some();
            let holders = nodes
                .iter()
                .filter(|node| node.machine.with_generations(has_piece) == Some(true));
            let found = holders.count();
            if found < expected {
                return Some(format!(
                    "{complete} is complete, and {rank} is on {found} nodes, expected {expected}"
                ));
            }
        }
        None
    }
}

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
struct DiskWork {
    owner: Owner,
    /// Which of the jobs of the node.
    number: u64,
    job: JobId,
    processes: u32,
    change: Change,
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
    fn begin(&mut self, work: DiskWork) -> (u64, u64) {
        self.begun += 1;
        self.work.insert(self.begun, work);
        (self.begun, self.random.duration(10_000, 100_000_000))
    }

    /// A change is made: the node it is of, and its event there.
    fn end(&mut self, number: u64) -> Option<(Owner, u64, JobEvent)> {
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
