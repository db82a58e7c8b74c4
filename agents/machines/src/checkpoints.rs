//! The checkpoints of a job, on one node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;

use agents::mutant::Mutant;
use agents::{
    CheckpointSchedule, HostedProgram, Incoming, Rules, RunError, Setup, buddies, check, mutant,
    process_state,
};
use bsp::units::{self, Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use bytes::Bytes;
use checkpoint::{
    Condition, Content, Delta, Generation, Generations, Piece, PieceHead, WrittenPieces,
};
use protocol::transport::JobId;
use protocol::{CheckpointMessage, PiecesFile, Saved, Step, variant};

/// The checkpoints of a job, as one node takes part in them.
///
/// A checkpoint goes through these steps; the node of the first Manager is the collector:
///
/// | | |
/// |---|---|
/// | a process starts the superstep | its node has it saved: copied in memory, and encoded while it computes |
/// | all processes of a node are encoded | the node sends its buddy what has changed, and writes all to disk |
/// | both are done | the node reports to the collector |
/// | all processes are reported | the collector completes the checkpoint on disk, and informs all nodes |
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
///
/// The thread that is about to execute a process copies it (`Program::fork`), and another thread encodes the copy. What
/// has changed is sent on a stream of its own, as states are. A node without processes saves the outputs of those that
/// have halted there. A disk that refuses ends no run: the record says why the checkpoint is in memory alone.
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

/// What the checkpoints of a job on one node are made of.
struct CheckpointParts {
    own: HostId,
    /// The node of the first Manager.
    collector: HostId,
    /// The other nodes.
    others: Vec<HostId>,
    job: JobId,
    incarnation: u64,
    /// The number of processes.
    size: u32,
    /// The number of processors here.
    processors: u32,
    /// Where the pieces of this node are copied, if they are.
    buddy: Option<HostId>,
    /// The nodes whose pieces are copied here.
    wards: BTreeSet<HostId>,
    /// Whether checkpoints are written to disk.
    is_on_disk: bool,
}

/// What a process is to save before it executes a superstep, without its program.
#[derive(Debug)]
pub struct Saving {
    /// What the piece is of.
    pub head: PieceHead,
    /// The encoded agent.
    pub agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub inbox: Vec<Incoming>,
    /// The piece before, which shares with the new one what has not changed.
    pub(crate) previous: Option<Piece>,
}

/// A process that has been saved.
#[derive(Debug)]
pub struct SavedPiece {
    /// What was saved.
    pub piece: Piece,
    /// The time for which the process stood still.
    pub stall: Seconds,
    /// The processor time of encoding while it computed.
    pub encoding: Seconds,
}

impl Checkpoints {
    /// The checkpoints of `job` on the node of `own`, which has these `processors`, and the pieces that it has `kept` from the view
    /// before. `None`: there are none.
    pub(crate) fn of_job(
        job: JobId,
        own: HostId,
        setup: &Setup,
        rules: &Rules,
        processors: NonZeroU32,
        is_on_disk: bool,
        kept: Generations,
    ) -> Option<Self> {
        let checkpointing = setup.checkpointing.as_ref()?;
        let buddies: BTreeMap<HostId, HostId> = if checkpointing.copies {
            let all = buddies(&rules.sets, &rules.absent).into_iter().enumerate();
            let some = all.filter_map(|(host, buddy)| Some((HostId::from_index(host), buddy?)));
            some.collect()
        } else {
            BTreeMap::new()
        };
        let wards = buddies.iter().filter(|(_, buddy)| **buddy == own);
        let hosts = (0..rules.sets.len()).map(HostId::from_index);
        let started: BTreeSet<HostId> = setup.placement.iter().copied().collect();
        let parts = CheckpointParts {
            own,
            collector: rules.first_host(),
            others: hosts.filter(|host| *host != own).collect(),
            job,
            incarnation: setup.incarnation(),
            size: u32::try_from(setup.placement.len()).expect("ranks fit 32 bits"),
            processors: processors.get(),
            buddy: buddies.get(&own).copied(),
            wards: wards.map(|(ward, _)| *ward).collect(),
            is_on_disk,
        };
        let schedule = CheckpointSchedule::new(checkpointing, started.len());
        let schedule = schedule.from_superstep(rules.first_superstep());
        Some(Self {
            generations: kept,
            ..Self::new(parts, schedule)
        })
    }

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

    /// Takes the pieces here away.
    pub(crate) fn take_generations(&mut self) -> Generations {
        std::mem::take(&mut self.generations)
    }

    /// The next thing to do.
    pub(crate) fn poll(&mut self) -> Option<CheckpointAction> {
        self.actions.pop_front()
    }

    /// Whether a checkpoint is due after `completed` supersteps, at `now`: if one `is_ordered`, as soon as none is under way. If so, it
    /// begins.
    pub(crate) fn decide(&mut self, completed: u64, now: Instant, is_ordered: bool) -> bool {
        let is_due =
            self.schedule.is_due(completed, now) || (is_ordered && !self.schedule.is_under_way());
        if is_due {
            self.schedule.begin(completed, now);
        }
        is_due
    }

    /// The job goes on with `superstep`, before which there is a checkpoint: until it is complete, no other one is due.
    pub(crate) fn begin_at_start(&mut self, superstep: u64, now: Instant) {
        self.schedule.begin(superstep, now);
    }

    /// A Manager here starts `superstep` with a checkpoint, at `now`: the Manager that decides about the next may be this one.
    pub(crate) fn note(&mut self, superstep: u64, now: Instant) {
        self.schedule.note(superstep, now);
    }

    /// `superstep` has taken `time`, as the first Manager recorded it.
    pub(crate) fn elapse(&mut self, superstep: u64, time: Seconds) {
        self.schedule.elapse(superstep, time);
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
        let generation = self.generation(superstep);
        let halted = self.halted_before(superstep).map(|(rank, process)| Piece {
            head: PieceHead {
                job: self.parts.job,
                generation,
                rank,
                condition: Condition::Halted {
                    superstep: process.superstep,
                },
                work: process.work,
            },
            content: Content::new(process.output.clone()),
        });
        let halted: Vec<Piece> = halted.collect();
        let ranks = running.iter().copied();
        let ranks = ranks.chain(halted.iter().map(|piece| piece.head.rank));
        self.current = Some(Part::new(superstep, ranks.collect(), running));
        for piece in halted {
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

    /// The processes here are held before the superstep of the checkpoint that has begun.
    pub(crate) const fn hold(&mut self) {
        if let Some(part) = &mut self.current {
            part.is_held = true;
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
                self.complete(self.generation(superstep));
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

    /// Adds what has changed of the pieces of `host` for the checkpoint before `superstep`.
    ///
    /// # Errors
    ///
    /// If this node is not the buddy of `host`, or the pieces do not fit those that it has.
    pub(crate) fn add_pieces(
        &mut self,
        (host, superstep): (HostId, u64),
        deltas: Vec<Delta>,
    ) -> Result<(), String> {
        check(self.parts.wards.contains(&host), || {
            format!("pieces, but this node is not the buddy of {host}")
        })?;
        self.catch_up(superstep)?;
        let generation = self.generation(superstep);
        for delta in deltas {
            let head = delta.head();
            let is_of_checkpoint = (head.job, head.generation) == (self.parts.job, generation);
            check(is_of_checkpoint && head.rank.0 < self.parts.size, || {
                format!("a piece of {} that is not of this checkpoint", head.rank)
            })?;
            let added = self.generations.insert_delta(delta);
            added.map_err(|error| error.to_string())?;
        }
        self.send(host, superstep, CheckpointMessage::Copied);
        Ok(())
    }

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
    pub(crate) fn bytes_held(&self) -> units::Bytes {
        self.generations.bytes_held()
    }

    /// Notes that all checkpoints before `superstep` are complete.
    ///
    /// # Errors
    ///
    /// If there is a newer one, or this node has not saved its part of one before.
    fn catch_up(&mut self, superstep: u64) -> Result<(), String> {
        if mutant::is(Mutant::ForgetGeneration) {
            self.generations
                .complete(self.generation(superstep.saturating_sub(1)));
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
        if let Some(newest) = newest.filter(|newest| *newest < self.generation(superstep)) {
            self.complete(newest);
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

    /// What has changed of a piece since the one that the buddy has.
    fn delta(&self, piece: &Piece) -> Delta {
        let rank = piece.head.rank;
        let before = self.copied.get(&rank);
        piece.delta_from(before.and_then(|before| self.generations.piece(*before, rank)))
    }

    fn handle_copied(&mut self, superstep: u64) {
        let generation = self.generation(superstep);
        let current = self.current.as_mut();
        if let Some(part) = current.filter(|part| part.superstep == superstep) {
            part.is_copied = true;
            let here = part.ranks.difference(&part.left);
            self.copied = here.map(|rank| (*rank, generation)).collect();
        }
    }

    /// Begins to collect what nodes have saved, unless that has begun: nodes without processes hear of the checkpoint.
    fn collect(&mut self, superstep: u64, now: Instant) {
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
    fn check_saved(&self, host: HostId, saved: &Saved) -> Result<(), String> {
        let size = self.parts.size;
        check(saved.ranks.iter().all(|rank| rank.0 < size), || {
            format!("{host} has saved processes that do not exist")
        })?;
        check(saved.file.is_some() == self.parts.is_on_disk, || {
            format!("{host} has not said whether its pieces are on disk")
        })
    }

    /// Adds what `host` has saved. When that is all, the checkpoint is complete.
    fn add_report(&mut self, host: HostId, superstep: u64, saved: Saved, now: Instant) {
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
        self.complete(self.generation(superstep));
        for host in self.parts.others.clone() {
            self.send(host, superstep, CheckpointMessage::Complete(cost));
        }
        self.actions.push_back(CheckpointAction::Record(recorded));
    }

    /// Whether this node knows that the checkpoint before `superstep` is complete.
    fn is_complete(&self, superstep: u64) -> bool {
        let complete = self.generations.complete_generation();
        if mutant::is(Mutant::CompleteBySuperstep) {
            return complete.is_some_and(|complete| superstep <= complete.superstep);
        }
        complete.is_some_and(|complete| self.generation(superstep) <= complete)
    }

    /// The processes that had halted here before `superstep`: an order to save their outputs may arrive much later.
    fn halted_before(&self, superstep: u64) -> impl Iterator<Item = (Rank, &HaltedProcess)> {
        let halted = self.halted.iter().map(|(rank, process)| (*rank, process));
        halted.filter(move |(_, process)| process.superstep < superstep)
    }

    fn complete(&mut self, generation: Generation) {
        self.generations.complete(generation);
        let is_present = generation.incarnation == self.parts.incarnation;
        self.current
            .take_if(|part| is_present && part.superstep <= generation.superstep);
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

impl Saving {
    /// The piece of the process, whose program is `program`.
    ///
    /// # Errors
    ///
    /// If the program or a message cannot be encoded.
    pub fn encode(self, program: &dyn HostedProgram) -> Result<Piece, RunError> {
        let rank = self.head.rank;
        Piece::encode(self.head, self.previous.as_ref(), |writer| {
            process_state::encode(rank, program, &self.agent, &self.inbox, writer, |_| None)
        })
    }
}

/// What one node saves for the checkpoint before a superstep.
#[derive(Debug)]
struct Part {
    superstep: u64,
    /// Its processes, those that have halted included.
    ranks: BTreeSet<Rank>,
    /// The processes that are not encoded.
    waiting: BTreeSet<Rank>,
    /// The processes that have left since.
    left: BTreeSet<Rank>,
    stall: Seconds,
    encoding: Seconds,
    bytes: u64,
    sent: u64,
    /// Whether the buddy has all pieces, or there is none.
    is_copied: bool,
    /// The file, once it is written, or cannot be; `None` inside: there is to be none.
    file: Option<Option<Result<PiecesFile, String>>>,
    is_reported: bool,
    /// Whether its processes are held.
    is_held: bool,
}

impl Part {
    /// Nothing of `ranks` is saved, of which `waiting` are to be encoded.
    const fn new(superstep: u64, ranks: BTreeSet<Rank>, waiting: BTreeSet<Rank>) -> Self {
        Self {
            superstep,
            ranks,
            waiting,
            left: BTreeSet::new(),
            stall: Seconds::ZERO,
            encoding: Seconds::ZERO,
            bytes: 0,
            sent: 0,
            is_copied: false,
            file: None,
            is_reported: false,
            is_held: false,
        }
    }

    /// The report, if everything is saved and it has not been made.
    fn report(&mut self) -> Option<Saved> {
        if self.is_reported || !self.is_copied || !self.waiting.is_empty() {
            return None;
        }
        let file = self.file.clone()?;
        self.is_reported = true;
        Some(Saved {
            ranks: self.ranks.iter().copied().collect(),
            stall: self.stall,
            encoding: self.encoding,
            bytes: self.bytes,
            sent: self.sent,
            file,
            held: self.is_held,
        })
    }
}

/// What all nodes have saved for the checkpoint before a superstep, as the node of the first Manager knows it.
#[derive(Debug)]
struct Collection {
    superstep: u64,
    /// When the first process began to save its state, as far as this node knows.
    at: Instant,
    ranks: BTreeSet<Rank>,
    stall: Seconds,
    encoding: Seconds,
    bytes: u64,
    sent: u64,
    files: BTreeMap<HostId, WrittenPieces>,
    /// Why the checkpoint is not on disk, although it should be.
    problem: Option<String>,
    /// Whether the processes of a node are held.
    is_held: bool,
}

impl Collection {
    /// Nothing is saved.
    const fn new(superstep: u64, at: Instant) -> Self {
        Self {
            superstep,
            at,
            ranks: BTreeSet::new(),
            stall: Seconds::ZERO,
            encoding: Seconds::ZERO,
            bytes: 0,
            sent: 0,
            files: BTreeMap::new(),
            problem: None,
            is_held: false,
        }
    }

    /// Adds what `host` has saved.
    fn add(&mut self, host: HostId, saved: Saved) {
        self.stall = self.stall.max(saved.stall);
        self.encoding = self.encoding.max(saved.encoding);
        self.bytes = self.bytes.saturating_add(saved.bytes);
        self.sent = self.sent.saturating_add(saved.sent);
        self.is_held |= saved.held;
        match saved.file {
            Some(Ok(file)) => {
                let written = WrittenPieces {
                    length: file.length,
                    sha256: file.sha256,
                    ranks: saved.ranks.clone(),
                };
                self.files.insert(host, written);
            }
            Some(Err(problem)) => {
                self.problem.get_or_insert(problem);
            }
            None => {}
        }
        self.ranks.extend(saved.ranks);
    }

    /// Whether all of `size` processes are saved.
    fn is_complete(&self, size: u32) -> bool {
        let missing = u32::from(mutant::is(Mutant::CompleteEarly));
        u32::try_from(self.ranks.len()).is_ok_and(|saved| size <= saved + missing)
    }

    /// What the record says of it, complete at `complete`.
    fn recorded(self, complete: Instant) -> record::Checkpoint {
        record::Checkpoint {
            superstep: self.superstep,
            at: self.at,
            stall: self.stall,
            encoding: self.encoding,
            bytes: units::Bytes(self.bytes),
            sent: units::Bytes(self.sent),
            complete,
            problem: self.problem,
            held: self.is_held,
        }
    }
}

#[cfg(test)]
mod tests;
