//! What must hold of the checkpoints of a job, and the changes of their folder.

use std::time::Duration;

use agents::HostedProgram;
use bsp::Rank;
use bsp::units::Seconds;
use bytes::Bytes;
use checkpoint::{Delta, Generation, Generations};
use machines::node::{JobAction, JobEvent};
use machines::{SavedPiece, Saving, members, seconds};
use protocol::Address;
use protocol::transport::JobId;

use super::Cluster;
use crate::simulation::disk::{Change, DiskWork};
use crate::simulation::happening::Happening;

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

    /// Performs what a node decides about checkpoints. Returns the event that follows from it immediately.
    pub(super) fn perform_for_checkpoint(
        &mut self,
        place: usize,
        action: JobAction,
    ) -> Option<JobEvent> {
        match action {
            JobAction::SendPieces(host, superstep, changed) => {
                let node = self.nodes[place].as_ref()?;
                let job = node.job.as_ref()?;
                let (at, epoch) = (*job.peers.get(&host)?, node.session.state().epoch);
                let ends = (Address::Node(job.own), Address::Node(host));
                let parts: Vec<Bytes> = Delta::encode_all(&changed).collect();
                let sent = self.send_pieces(at, epoch, ends, (superstep, parts.concat().into()));
                return sent.err().map(|error| JobEvent::Failed(error.into()));
            }
            JobAction::WritePieces(generation, pieces) => {
                self.change_folder(place, Change::Write(generation, pieces));
            }
            JobAction::FinishCheckpoint(generation, files) => {
                self.change_folder(place, Change::Finish(generation, files));
            }
            _ => unreachable!("performed elsewhere"),
        }
        None
    }

    /// Begins a change of the checkpoint folder by a node.
    fn change_folder(&mut self, place: usize, change: Change) {
        let owner = self.owner(place);
        let Some(job) = self.nodes[place]
            .as_ref()
            .and_then(|node| node.job.as_ref())
        else {
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
        let before = self.watch.complete.insert(place, (job, complete));
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
            let announced = self.watch.complete.get(&collector.index());
            let is_known = announced.is_some_and(|(of, at)| *of == job && complete <= *at);
            // What the node that collects knew is gone with its part in the job.
            let collecting = self.nodes[collector.index()].as_ref();
            let collecting = collecting.and_then(|node| node.job.as_ref());
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
