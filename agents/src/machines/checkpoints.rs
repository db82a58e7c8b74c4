//! The checkpoints of a job, on one node.

mod collecting;
mod collection;
mod copying;
mod of_job;
mod part;
mod parts;
pub(crate) mod saving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bsp::units::{Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::{CheckpointMessage, PiecesFile, Step, variant};

use crate::check::check;
use crate::checkpoint::{
    Condition, Content, Delta, Generation, Generations, Piece, PieceHead, WrittenPieces,
};
use crate::checkpointing::CheckpointSchedule;
use crate::mutant::{self, Mutant};
use crate::programs::Incoming;
use crate::record;
use collection::Collection;
use part::Part;
use parts::CheckpointParts;
use saving::{SavedPiece, Saving};

/// The checkpoints of a job, as one node takes part in them.
///
/// A checkpoint goes through these steps; the node of the first Manager is the collector:
///
/// | | |
/// |---|---|
/// | a process starts the superstep | its node has it saved: copied in memory, and encoded while it computes |
/// | all processes of a node are encoded | the node sends its buddy what has changed, and writes all to disk |
/// | both are done | the node reports to the collector |
/// | all processes are reported | the collector completes the checkpoint on disk, and tells all nodes |
///
/// No checkpoint begins before the one before is complete. So whatever a node hears of a checkpoint, those before it are
/// complete, even if it has not heard so: messages of different nodes overtake each other. An order to save outputs that
/// arrives
///
/// | | |
/// |---|---|
/// | before a process here starts the superstep, or a later one | waits for that: only then it is known which process saves them |
/// | when the checkpoint has begun here | has no effect |
/// | when it is complete | has no effect |
pub(crate) struct Checkpoints {
    parts: CheckpointParts,
    schedule: CheckpointSchedule,
    /// The pieces of processes here, and of those for whose node this one is the buddy.
    generations: Generations,
    /// The processes that halted here: when, what they computed last, and their outputs.
    halted: BTreeMap<Rank, HaltedProcess>,
    /// The checkpoint of which the buddy has a piece of a process.
    copied: BTreeMap<Rank, Generation>,
    current: Option<Part>,
    /// The checkpoint for which outputs are to be saved, unless a process here starts its superstep.
    ordered: Option<u64>,
    /// On the collector.
    collection: Option<Collection>,
    actions: VecDeque<CheckpointAction>,
}

/// A process that has halted here.
struct HaltedProcess {
    superstep: u64,
    work: Instructions,
    output: Bytes,
}

/// What is to be done for a checkpoint.
pub(crate) enum CheckpointAction {
    /// Send a message about the checkpoint before this superstep.
    Send(HostId, u64, CheckpointMessage),
    /// Send what has changed to the buddy.
    SendPieces(HostId, u64, Vec<Delta>),
    /// Write the pieces of this node.
    Write(Generation, Vec<Piece>),
    /// Complete the checkpoint on disk, and remove those before it.
    Finish(Generation, BTreeMap<HostId, WrittenPieces>),
    /// Add it to the record.
    Record(record::Checkpoint),
}

impl Checkpoints {
    /// No checkpoint has begun.
    fn new(parts: CheckpointParts, schedule: CheckpointSchedule) -> Self {
        Self {
            parts,
            schedule,
            generations: Generations::default(),
            halted: BTreeMap::new(),
            copied: BTreeMap::new(),
            current: None,
            ordered: None,
            collection: None,
            actions: VecDeque::new(),
        }
    }

    /// Where this node is in the checkpoint that is taken, if one is.
    pub(crate) fn step(&self) -> Option<Step> {
        match &self.current {
            Some(part) if !part.waiting.is_empty() => Some(Step::Save),
            Some(part) if !part.is_copied => Some(Step::Copy),
            Some(part) if part.file.is_none() => Some(Step::Write),
            Some(_) | None => self.collection.is_some().then_some(Step::Collect),
        }
    }

    /// The pieces here.
    pub(crate) const fn generations(&self) -> &Generations {
        &self.generations
    }

    /// The next thing to do.
    pub(crate) fn poll(&mut self) -> Option<CheckpointAction> {
        self.actions.pop_front()
    }

    /// Whether a checkpoint is due after `completed` supersteps, at `now`. If so, it begins.
    pub(crate) fn decide(&mut self, completed: u64, now: Instant) -> bool {
        let is_due = self.schedule.is_due(completed, now);
        if is_due {
            self.schedule.begin(completed, now);
        }
        is_due
    }

    /// A Manager here starts `superstep` with a checkpoint, at `now`: the Manager that decides about the next may be this one.
    pub(crate) fn note(&mut self, superstep: u64, now: Instant) {
        self.schedule.note(superstep, now);
    }

    /// A superstep has taken `time`, as the first Manager recorded it.
    pub(crate) fn elapse(&mut self, time: Seconds) {
        self.schedule.elapse(time);
    }

    /// A process has halted here in `superstep`, after `work`, with this output.
    pub(crate) fn halt(
        &mut self,
        rank: Rank,
        (superstep, work): (u64, Instructions),
        output: Bytes,
    ) {
        let halted = HaltedProcess {
            superstep,
            work,
            output,
        };
        self.halted.insert(rank, halted);
    }

    /// Whether this node takes part in the checkpoint before `superstep` already.
    pub(crate) fn has_begun(&self, superstep: u64) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|part| part.superstep == superstep)
    }

    /// The checkpoint before `superstep` begins here at `now`, with `running` processes.
    ///
    /// # Errors
    ///
    /// If it is older than another, or the one before is not saved here.
    pub(crate) fn begin(
        &mut self,
        superstep: u64,
        now: Instant,
        running: BTreeSet<Rank>,
    ) -> Result<(), String> {
        self.catch_up(superstep)?;
        self.ordered.take_if(|ordered| *ordered <= superstep);
        let ranks = running.iter().copied().chain(self.halted_before(superstep));
        let ranks = ranks.collect();
        self.current = Some(Part::new(superstep, ranks, running));
        let generation = self.generation(superstep);
        let halted = self.halted.iter();
        let halted = halted.filter(|(_, process)| process.superstep < superstep);
        let halted = halted.map(|(rank, process)| Piece {
            head: PieceHead {
                job: self.parts.job,
                generation,
                rank: *rank,
                condition: Condition::Halted {
                    superstep: process.superstep,
                },
                work: process.work,
            },
            content: Content::new(process.output.clone()),
        });
        for piece in halted.collect::<Vec<_>>() {
            self.insert(piece)?;
        }
        if self.parts.own == self.parts.collector {
            self.collect(superstep, now);
        }
        self.send_if_encoded();
        Ok(())
    }

    /// What `rank` is to save for the checkpoint before `superstep`, which has begun. It computed `work` in its last
    /// superstep.
    pub(crate) fn saving(
        &self,
        (rank, superstep): (Rank, u64),
        agent: Vec<u8>,
        inbox: Vec<Incoming>,
        work: Instructions,
    ) -> Saving {
        Saving {
            head: PieceHead {
                job: self.parts.job,
                generation: self.generation(superstep),
                rank,
                condition: Condition::Running,
                work,
            },
            agent,
            inbox: if mutant::is(Mutant::SaveWithoutInbox) {
                Vec::new()
            } else {
                inbox
            },
            previous: self.generations.newest(rank).cloned(),
        }
    }

    /// A process has been saved. One of a checkpoint that is over has no effect.
    ///
    /// # Errors
    ///
    /// If its piece does not fit the others.
    pub(crate) fn add_saved(&mut self, saved: SavedPiece) -> Result<(), String> {
        let SavedPiece {
            piece,
            stall,
            encoding,
        } = saved;
        let superstep = piece.head.generation.superstep;
        let current = self.current.as_mut();
        let Some(part) = current.filter(|part| part.superstep == superstep) else {
            return Ok(());
        };
        part.waiting.remove(&piece.head.rank);
        part.stall = part.stall.max(stall);
        let processors = f64::from(self.parts.processors.max(1));
        part.encoding += encoding * (1.0 / processors);
        self.insert(piece)?;
        self.send_if_encoded();
        Ok(())
    }

    /// A process here is about to start `superstep`, and has been saved if there is a checkpoint before it: outputs are
    /// saved for an earlier one that no process here has begun.
    ///
    /// # Errors
    ///
    /// As [`Self::begin`].
    pub(crate) fn pass(&mut self, superstep: u64, now: Instant) -> Result<(), String> {
        match self.ordered.take_if(|ordered| *ordered < superstep) {
            Some(ordered) => self.save_outputs(ordered, (now, false)),
            None => Ok(()),
        }
    }

    /// A process leaves. Its buddy is sent all of it when it is back: if there is a checkpoint meanwhile, the buddy forgets
    /// the piece that it has, and this node may not have heard of that checkpoint.
    pub(crate) fn leave(&mut self, rank: Rank) {
        self.copied.remove(&rank);
        if let Some(part) = &mut self.current {
            part.left.insert(rank);
        }
    }

    /// Handles a message of the node of `host` about the checkpoint before `superstep`. `may_start`: a process here may be
    /// about to start that superstep.
    ///
    /// # Errors
    ///
    /// If the message contradicts the state here.
    pub(crate) fn handle_message(
        &mut self,
        (host, superstep): (HostId, u64),
        message: CheckpointMessage,
        (now, may_start): (Instant, bool),
    ) -> Result<(), String> {
        match message {
            CheckpointMessage::Save if host == self.parts.collector => {
                self.save_outputs(superstep, (now, may_start))
            }
            CheckpointMessage::Copied if Some(host) == self.parts.buddy => {
                self.handle_copied(superstep);
                Ok(())
            }
            CheckpointMessage::Saved(saved) if self.parts.own == self.parts.collector => {
                self.check_saved(host, &saved)?;
                self.collect(superstep, now);
                self.save_outputs(superstep, (now, may_start))?;
                self.add_report(host, superstep, *saved, now);
                Ok(())
            }
            CheckpointMessage::Complete(cost) if host == self.parts.collector => {
                self.complete(superstep);
                self.schedule.adopt(superstep, cost);
                Ok(())
            }
            CheckpointMessage::Save
            | CheckpointMessage::Copied
            | CheckpointMessage::Saved(_)
            | CheckpointMessage::Complete(_)
            | CheckpointMessage::Pieces(_) => {
                let name = variant(&message);
                Err(format!("{name}, which {host} does not send here"))
            }
        }
    }

    /// The file of this node is written, or cannot be.
    pub(crate) fn handle_written(&mut self, superstep: u64, file: Result<WrittenPieces, String>) {
        let current = self.current.as_mut();
        if let Some(part) = current.filter(|part| part.superstep == superstep) {
            part.file = Some(Some(file.map(|written| PiecesFile {
                length: written.length,
                sha256: written.sha256,
            })));
        }
    }

    /// Reports to the collector, once everything is saved here.
    pub(crate) fn report_if_saved(&mut self, now: Instant) {
        let Some(part) = &mut self.current else {
            return;
        };
        let superstep = part.superstep;
        let Some(saved) = part.report() else { return };
        if self.parts.own == self.parts.collector {
            self.collect(superstep, now);
            self.add_report(self.parts.own, superstep, saved, now);
        } else {
            let message = CheckpointMessage::Saved(Box::new(saved));
            self.send(self.parts.collector, superstep, message);
        }
    }

    /// The memory that pieces occupy.
    #[cfg(test)]
    pub(crate) fn bytes_held(&self) -> bsp::units::Bytes {
        self.generations.bytes_held()
    }

    /// Notes that all checkpoints before `superstep` are complete.
    ///
    /// # Errors
    ///
    /// If there is a newer one, or this node has not saved its part of one before.
    fn catch_up(&mut self, superstep: u64) -> Result<(), String> {
        if mutant::is(Mutant::ForgetGeneration) {
            self.generations.complete(self.generation(superstep - 1));
        }
        if let Some(part) = &self.current {
            let before = part.superstep;
            check(before <= superstep, || {
                format!("a checkpoint before superstep {superstep}, after one before {before}")
            })?;
            check(before == superstep || part.is_reported, || {
                format!(
                    "a checkpoint before superstep {superstep}, and that before {before} is not complete"
                )
            })?;
        }
        let newest = self.generations.newest_generation();
        if let Some(newest) = newest.filter(|newest| newest.superstep < superstep) {
            self.complete(newest.superstep);
        }
        Ok(())
    }

    /// Saves the outputs of the processes that have halted here, unless a process starts the superstep here, which does.
    fn save_outputs(
        &mut self,
        superstep: u64,
        (now, may_start): (Instant, bool),
    ) -> Result<(), String> {
        let has_outputs = self.halted_before(superstep).next().is_some();
        let is_over = self.is_complete(superstep) && !mutant::is(Mutant::SaveCompleted);
        if is_over || self.has_begun(superstep) || !has_outputs {
            return Ok(());
        }
        if may_start {
            self.ordered = Some(superstep);
            return Ok(());
        }
        self.begin(superstep, now, BTreeSet::new())
    }

    /// Whether this node knows that the checkpoint before `superstep` is complete.
    fn is_complete(&self, superstep: u64) -> bool {
        let complete = self.generations.complete_generation();
        complete.is_some_and(|complete| superstep <= complete.superstep)
    }

    /// The processes that had halted here before `superstep`: an order to save their outputs may arrive much later.
    fn halted_before(&self, superstep: u64) -> impl Iterator<Item = Rank> {
        let halted = self.halted.iter();
        let before = halted.filter(move |(_, process)| process.superstep < superstep);
        before.map(|(rank, _)| *rank)
    }

    fn complete(&mut self, superstep: u64) {
        let generation = self.generation(superstep);
        self.generations.complete(generation);
        self.current.take_if(|part| part.superstep <= superstep);
    }

    fn insert(&mut self, piece: Piece) -> Result<(), String> {
        let bytes = piece.len().0;
        let inserted = self.generations.insert(piece);
        inserted.map_err(|error| error.to_string())?;
        if let Some(part) = &mut self.current {
            part.bytes += bytes;
        }
        Ok(())
    }

    /// Copies and writes the pieces of this node, once all of them are encoded.
    fn send_if_encoded(&mut self) {
        let Some(part) = self.current.as_mut().filter(|part| part.waiting.is_empty()) else {
            return;
        };
        let superstep = part.superstep;
        let generation = Generation {
            incarnation: self.parts.incarnation,
            superstep,
        };
        let ranks = part.ranks.iter();
        let pieces = ranks.filter_map(|rank| self.generations.piece(generation, *rank));
        let pieces: Vec<Piece> = pieces.cloned().collect();
        match self.parts.buddy {
            Some(buddy) => {
                let deltas: Vec<Delta> = pieces.iter().map(|piece| self.delta(piece)).collect();
                if let Some(part) = &mut self.current {
                    part.sent = deltas.iter().map(Delta::encoded_len).sum();
                }
                let action = CheckpointAction::SendPieces(buddy, superstep, deltas);
                self.actions.push_back(action);
            }
            None => part.is_copied = true,
        }
        if let Some(part) = &mut self.current {
            if mutant::is(Mutant::ReportUncopied) {
                part.is_copied = true;
            }
            if self.parts.is_on_disk {
                let write = CheckpointAction::Write(generation, pieces);
                self.actions.push_back(write);
            } else {
                part.file = Some(None);
            }
        }
    }

    fn send(&mut self, host: HostId, superstep: u64, message: CheckpointMessage) {
        let action = CheckpointAction::Send(host, superstep, message);
        self.actions.push_back(action);
    }

    const fn generation(&self, superstep: u64) -> Generation {
        Generation {
            incarnation: self.parts.incarnation,
            superstep,
        }
    }
}

#[cfg(test)]
mod tests;
