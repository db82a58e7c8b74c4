//! What is sent to the client of a job: the record, the outputs of processes, and the end.

use std::collections::{BTreeMap, BTreeSet};

use agents::mutant::{self, Mutant};
use bsp::units::{Instructions, Seconds};
use bsp::{HostId, Notes, Rank};
use bytes::Bytes;
use protocol::{Address, CallsStatus, Ended, Frame, JobMessage, Message, WrittenOutput, encode};

use crate::between;
use crate::job_error::JobError;
use crate::node::JobAction;
use crate::node::world::HostWorld;

/// What waits to be sent to the client of a job.
pub(super) struct ClientLink {
    own: HostId,
    queue: RecordQueue,
    /// The number of supersteps recorded here, with those before the job begins.
    supersteps: u64,
    /// The calls recorded here, once there has been one.
    calls: Option<CallsStatus>,
    /// What processes noted in the last superstep recorded here in which they did.
    notes: Notes,
    /// The outputs of processes that have halted, until they are sent or written.
    outputs: BTreeMap<Rank, Bytes>,
    /// Whether outputs are written to files of this node. Otherwise the client receives them.
    are_written: bool,
    /// The processes whose outputs are being written.
    writing: BTreeSet<Rank>,
    has_ended: bool,
}

impl ClientLink {
    /// Nothing has been sent from `own`, in a job that begins with superstep `first`. If outputs `are_written`, they are to
    /// files of this node.
    pub(super) fn new(own: HostId, first: u64, are_written: bool) -> Self {
        Self {
            own,
            queue: RecordQueue::default(),
            supersteps: first,
            calls: None,
            notes: Notes::default(),
            outputs: BTreeMap::new(),
            are_written,
            writing: BTreeSet::new(),
            has_ended: false,
        }
    }

    /// Adds `event` to the record.
    pub(super) fn record(&mut self, event: &record::Event) {
        match event {
            record::Event::Superstep(superstep) => {
                self.supersteps += 1;
                if !superstep.notes.is_empty() {
                    self.notes.clone_from(&superstep.notes);
                }
            }
            record::Event::Call(call) => self.count(call),
            _ => {}
        }
        match serde_json::to_string(event) {
            Ok(line) => self.queue.push(&line),
            Err(error) => unreachable!("events are plain numbers and names: {error}"),
        }
    }

    fn count(&mut self, call: &record::Call) {
        let last_moves = u64::try_from(call.migrations.len()).unwrap_or(u64::MAX);
        let (count, moves) = self
            .calls
            .map_or((0, 0), |before| (before.count, before.moves));
        self.calls = Some(CallsStatus {
            count: count + 1,
            moves: moves.saturating_add(last_moves),
            last: call.superstep,
            last_moves,
        });
    }

    /// The calls recorded here, once there has been one.
    pub(super) const fn calls(&self) -> Option<CallsStatus> {
        self.calls
    }

    /// What processes noted in the last superstep recorded here in which they did.
    pub(super) const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Whether enough has been recorded for a frame.
    pub(super) fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    /// Whether there are lines to be sent, and the client has taken those before.
    pub(super) fn has_news(&self) -> bool {
        self.queue.has_news()
    }

    /// Whether there are lines to be sent, or on their way.
    fn has_lines(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The new part of the record, if the client has taken the one before.
    ///
    /// # Errors
    ///
    /// If too much would have to be kept for the client.
    fn next_record(&mut self) -> Result<Option<Frame>, JobError> {
        let lines = self.queue.next_lines()?;
        Ok(lines.map(|lines| self.frame(JobMessage::Recorded(lines))))
    }

    /// The rest of the record, when nothing more is recorded: it follows the part that the client has not taken yet.
    pub(super) fn rest(&mut self) -> Option<Frame> {
        let lines = self.queue.rest();
        lines.map(|lines| self.frame(JobMessage::Recorded(lines)))
    }

    /// The client has taken the last part of the record.
    fn record_taken(&mut self) {
        self.queue.taken();
    }

    /// Keeps the output of a process that has halted.
    pub(super) fn add_output(&mut self, rank: Rank, output: Bytes) {
        self.outputs.insert(rank, output);
    }

    /// What brings the output of a process to its place: to the client, or to a file.
    pub(super) fn deliver_output(&mut self, rank: Rank) -> JobAction {
        let output = self.outputs.remove(&rank).unwrap_or_default();
        if self.are_written {
            self.writing.insert(rank);
            JobAction::WriteOutput(rank, output)
        } else {
            JobAction::SendOutput(rank, output)
        }
    }

    /// The same for all outputs that are kept.
    fn deliver_outputs(&mut self) -> Vec<JobAction> {
        let ranks: Vec<Rank> = self.outputs.keys().copied().collect();
        let deliver = |rank| self.deliver_output(rank);
        ranks.into_iter().map(deliver).collect()
    }

    /// The output of a process is in a file: what the client is sent of it.
    fn output_written(&mut self, output: WrittenOutput) -> Frame {
        self.writing.remove(&output.rank);
        self.frame(JobMessage::OutputWritten(output))
    }

    /// Whether the end may be sent once the record has been: all outputs are sent or written, and as many `supersteps` as there
    /// are have been recorded here.
    fn may_end(&self, supersteps: Option<u64>) -> bool {
        let has_recorded = supersteps.is_none_or(|supersteps| supersteps == self.supersteps);
        let has_outputs = !self.outputs.is_empty() || !self.writing.is_empty();
        has_recorded && !has_outputs && !self.has_ended
    }

    /// The end, after everything else.
    pub(super) fn end(&mut self, ended: Ended) -> Frame {
        self.has_ended = true;
        self.frame(JobMessage::Ended(ended))
    }

    fn frame(&self, message: JobMessage) -> Frame {
        let message = Message::Job(Box::new(message));
        encode(Address::Node(self.own), Address::Client, &message)
    }

    /// Whether the end has been sent.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }
}

/// What has been recorded here, for a client that may be slower than the run.
#[derive(Debug, Default)]
struct RecordQueue {
    /// One event each.
    lines: String,
    /// Whether the client has still to take the part before.
    is_waiting: bool,
}

impl RecordQueue {
    /// An event has been recorded.
    pub(super) fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Whether there is enough for a frame, and the client has taken the last one; or too much to be kept.
    pub(super) fn is_full(&self) -> bool {
        let enough = if self.is_waiting {
            LINES_MAX + 1
        } else {
            LINES_ENOUGH
        };
        enough <= self.lines.len()
    }

    /// Whether there are lines that may be sent.
    pub(super) fn has_news(&self) -> bool {
        !self.lines.is_empty() && !self.is_waiting
    }

    /// Whether the client has taken everything.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.is_waiting
    }

    /// Removes the lines that are sent next, if the client has taken those before.
    ///
    /// # Errors
    ///
    /// If the client is so slow that too much would have to be kept for it.
    fn next_lines(&mut self) -> Result<Option<String>, JobError> {
        if self.is_waiting {
            if LINES_MAX < self.lines.len() {
                return Err(JobError::cluster(format!(
                    "the client takes the record slower than it is made: {} MiB wait for it",
                    LINES_MAX >> 20
                )));
            }
            return Ok(None);
        }
        if self.lines.is_empty() {
            return Ok(None);
        }
        self.is_waiting = true;
        Ok(Some(std::mem::take(&mut self.lines)))
    }

    /// Removes all lines that have not been sent.
    pub(super) fn rest(&mut self) -> Option<String> {
        let lines = std::mem::take(&mut self.lines);
        Some(lines).filter(|lines| !lines.is_empty())
    }

    /// The client has taken the lines that were sent.
    pub(super) fn taken(&mut self) {
        self.is_waiting = false;
    }
}

/// Bytes of lines that are worth a frame.
const LINES_ENOUGH: usize = 32 << 10;

/// Bytes of lines that are kept for a client that is busy: less than a frame may have.
const LINES_MAX: usize = 32 << 20;

impl HostWorld {
    /// How long the run has lasted.
    pub(crate) fn lasted(&self) -> Seconds {
        between(self.began, self.clock)
    }

    /// Whether the client is to be sent a new part of the record.
    pub(crate) fn has_news(&self) -> bool {
        self.client.has_news()
    }

    /// Whether the client is to be told how much of the job is done.
    pub(crate) const fn has_progressed(&self) -> bool {
        matches!(self.progress, Some(Some(_)))
    }

    /// Tells the client how much of the job is done.
    pub(crate) fn send_progress(&mut self) {
        let progress = self.progress.as_mut().and_then(Option::take);
        let frame = progress.map(|it| self.client.frame(JobMessage::Progressed(it)));
        self.actions.extend(frame.map(JobAction::SendToClient));
    }

    /// Sends the new part of the record to the client, if it has taken the one before.
    pub(crate) fn send_record(&mut self) {
        match self.client.next_record() {
            Ok(frame) => self.actions.extend(frame.map(JobAction::SendRecord)),
            Err(error) => self.check(Err::<(), _>(error)),
        }
    }

    /// The rest of the record, of a job that is over here.
    pub(crate) fn rest_of_record(&mut self) -> Option<Frame> {
        self.client.rest()
    }

    /// The client has taken the last part of the record.
    pub(crate) fn handle_record_taken(&mut self) {
        self.client.record_taken();
    }

    /// Keeps the output of a process that has halted before the job begins, for the client and for checkpoints.
    pub(crate) fn insert_halted(&mut self, rank: Rank, output: Bytes) {
        let resumed = self.rules.resumed.as_ref();
        let halted = resumed.and_then(|resumed| *resumed.halted.get(rank.index())?);
        if let (Some(superstep), Some(checkpoints)) = (halted, &mut self.checkpoints) {
            checkpoints.halt(rank, (superstep, Instructions::ZERO), output.clone());
        }
        self.client.add_output(rank, output);
    }

    /// Sends the client the outputs of the processes that have halted before the job begins, which it does now, or has them
    /// written.
    pub(crate) fn deliver_halted(&mut self) {
        let outputs = self.client.deliver_outputs();
        self.actions.extend(outputs);
    }

    /// The output of a process here is in a file.
    pub(crate) fn handle_output_written(&mut self, output: WrittenOutput) {
        let frame = self.client.output_written(output);
        self.act(JobAction::SendToClient(frame));
    }

    /// Reports the end of the job to the client, once all processes have halted and all else has been sent.
    ///
    /// From then on the loss of another node does not concern this one, so no other node may need it: its Manager, if a
    /// barrier passes through it, has sent its Set the end.
    pub(crate) fn end_if_complete(&mut self) {
        let Some(supersteps) = self.exchanges.supersteps() else {
            return;
        };
        // The batches of the last superstep say that all have halted before the Managers have told each other.
        if self.has_barrier && !mutant::is(Mutant::EndBeforeBarrier) {
            return;
        }
        // Batches may show that the last superstep is over before the first Manager records it.
        let recorded_here = (self.own == self.rules.first_host()).then_some(supersteps);
        if !self.client.may_end(recorded_here) {
            return;
        }
        if self.client.has_lines() {
            return self.send_record();
        }
        let ended = Ended {
            seconds: self.lasted(),
            supersteps: self.supersteps,
            messages: self.exchanges.messages,
            bytes: self.exchanges.bytes,
            moved: self.moved,
        };
        let frame = self.client.end(ended);
        self.act(JobAction::SendToClient(frame));
    }

    /// Whether the end has been reported.
    pub(crate) const fn has_ended(&self) -> bool {
        self.client.has_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_client_receives_every_line_once_and_in_order() {
        let (mut recorded, mut received) = (RecordQueue::default(), String::new());
        for (number, is_taken) in [true, false, false, true, false, true]
            .into_iter()
            .enumerate()
        {
            recorded.push(&format!("{number}"));
            received.extend(recorded.next_lines().unwrap());
            assert!(!recorded.is_empty());
            if is_taken {
                recorded.taken();
            }
        }
        received.extend(recorded.next_lines().unwrap());
        recorded.taken();
        assert!(recorded.is_empty());
        assert_eq!(received, "0\n1\n2\n3\n4\n5\n");
    }

    #[test]
    fn a_slow_client_is_an_error() {
        let mut recorded = RecordQueue::default();
        let line = "x".repeat(LINES_ENOUGH);
        let mut pushed = 0;
        let error = loop {
            assert!(
                pushed <= LINES_MAX / LINES_ENOUGH + 2,
                "lines are not limited"
            );
            recorded.push(&line);
            pushed += 1;
            if pushed == 1 {
                assert!(recorded.next_lines().unwrap().is_some());
            } else if recorded.is_full() {
                break recorded.next_lines().unwrap_err();
            }
        };
        assert!(recorded.is_full());
        assert_eq!(
            error.message,
            "the client takes the record slower than it is made: 32 MiB wait for it"
        );
    }
}
