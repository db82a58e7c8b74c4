//! What must hold of the checkpoints of a job, and their folder, which all nodes share.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use agents::HostedProgram;
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use checkpoint::{
    Condition, DiskFault, Generation, Generations, JobDescription, Piece, SimulatedFiles, Store,
    WrittenPieces,
};
use machines::node::JobEvent;
use machines::seconds;
use machines::{SavedPiece, Saving};
use protocol::Step;
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
                self.note_saved(&piece);
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
            host: job.own,
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

    /// Notes what a process has saved.
    fn note_saved(&mut self, piece: &Piece) {
        let head = &piece.head;
        let saved = (head.job, head.generation, head.rank);
        self.saved.insert(saved, checksum(piece));
    }

    /// Checks the pieces with which processes start at a node: all are of the checkpoint with which its view begins, and what was saved.
    pub(super) fn check_restored(&mut self, place: usize, pieces: &[Piece]) {
        let Some(job) = self.job(place).map(|job| job.id) else {
            return;
        };
        let begins_with = self.session_at(place).and_then(|facts| facts.begins_with);
        let name = &self.scenario.request.members[place].name;
        let mut problems = Vec::new();
        for piece in pieces {
            let head = &piece.head;
            if head.job != job || Some(head.generation) != begins_with {
                problems.push(format!(
                    "{name} restores {} from {}, but its view begins with another checkpoint",
                    head.rank, head.generation
                ));
            }
            let saved = self.saved.get(&(job, head.generation, head.rank));
            if head.condition == Condition::Running && saved != Some(&checksum(piece)) {
                problems.push(format!("{name} restores {} as it was not saved", head.rank));
            }
        }
        for problem in problems {
            self.violate(problem);
        }
    }

    /// Checks the checkpoints of a node after what it has done.
    pub(super) fn check_checkpoints(&mut self, place: usize) {
        let Some(node) = &self.nodes[place] else {
            return;
        };
        let Some(session) = node.job.as_ref().map(|job| job.session) else {
            return;
        };
        let Some(facts) = self.sessions.get(&session) else {
            return;
        };
        let machine = &node.machine;
        if [Step::Gather, Step::Restore].contains(&machine.step()) {
            // Until all members have accepted the view, another one may begin with another checkpoint of the view before.
            return;
        }
        let complete = machine.with_generations(Generations::complete_generation);
        let Some(complete) = complete.flatten() else {
            return;
        };
        let before = self.complete.insert(place, (session, complete));
        if before == Some((session, complete)) {
            return;
        }
        let name = &self.scenario.request.members[place].name;
        let mut problems = Vec::new();
        if before.is_some_and(|(of, before)| of == session && complete < before) {
            problems.push(format!("{name} has forgotten a complete checkpoint"));
        }
        let kept = machine.with_generations(|generations| generations.inventory().len());
        if kept.is_some_and(|kept| 2 < kept) {
            problems.push(format!("{name} has more than two checkpoints"));
        }
        let collector = facts.collector;
        if complete.incarnation < facts.incarnation {
            // It was taken in a view before.
            if facts.begins_with != Some(complete) {
                let problem =
                    format!("{name} keeps {complete}, with which its view does not begin");
                problems.push(problem);
            }
        } else if place == collector {
            problems.extend(self.missing_piece(session, complete));
        } else {
            let announced = self.complete.get(&collector);
            let is_known = announced.is_some_and(|(of, at)| *of == session && complete <= *at);
            // What the node that collects knew is gone with its part in the session.
            let collecting = self.job(collector);
            if !is_known && collecting.is_some_and(|of| of.session == session) {
                let problem = format!("{name} takes {complete} for complete, which it is not");
                problems.push(problem);
            }
        }
        for problem in problems {
            self.violate(problem);
        }
    }

    /// A process that has too few pieces in a complete checkpoint, if all nodes are in the session.
    fn missing_piece(&self, session: JobId, complete: Generation) -> Option<String> {
        let setup = &self.scenario.request.setup;
        let places = &self.sessions.get(&session)?.places;
        let nodes = places
            .iter()
            .filter_map(|place| self.nodes[*place].as_ref());
        let nodes: Vec<_> = nodes
            .filter(|node| node.job.as_ref().is_some_and(|of| of.session == session))
            .collect();
        if nodes.len() < places.len() {
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

    /// Whether the nodes at `places` have all pieces of a checkpoint of the job that runs.
    pub(super) fn have_checkpoint(&self, places: &BTreeSet<usize>) -> bool {
        let nodes = places
            .iter()
            .filter_map(|place| self.nodes[*place].as_ref());
        let inventories = nodes.filter_map(|node| {
            let machine = &node.machine;
            machine.with_generations(Generations::inventory)
        });
        let mut found: BTreeMap<Generation, BTreeSet<Rank>> = BTreeMap::new();
        for (generation, pieces) in inventories.flatten() {
            let ranks = pieces.iter().map(|piece| piece.rank);
            found.entry(generation).or_default().extend(ranks);
        }
        let size = self.scenario.request.setup.placement.len();
        found.values().any(|ranks| ranks.len() == size)
    }
}

/// A number that follows from the content of a piece.
fn checksum(piece: &Piece) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for chunk in piece.content.chunks() {
        hasher.update(chunk.bytes());
    }
    hasher.finalize()
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
    /// The host of the node in its job.
    host: HostId,
    /// Which of the sessions of the node.
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
            host,
            job,
            processes,
            change,
            ..
        } = work;
        let mut store = Store::new(&mut self.files, host);
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
                    drop(store.prune(generation, NonZeroU32::MIN));
                }
                let finished = finished.map_err(|error| error.to_string());
                JobEvent::CheckpointFinished(generation.superstep, finished)
            }
        }
    }
}
