//! What is sent to the client of a job: the record, the outputs of processes, and the end.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::{Address, CallsStatus, Ended, Frame, JobMessage, Message, encode};

use super::record_queue::RecordQueue;
use crate::failure::JobError;

/// What waits to be sent to the client of a job.
pub(super) struct ClientLink {
    own: HostId,
    queue: RecordQueue,
    /// The number of supersteps recorded here, with those before the job begins.
    supersteps: u64,
    /// The calls recorded here, once there has been one.
    calls: Option<CallsStatus>,
    /// The outputs of processes that have halted, until they are sent.
    outputs: BTreeMap<Rank, Bytes>,
    has_ended: bool,
}

impl ClientLink {
    /// Nothing has been sent from `own`, in a job that begins with superstep `first`.
    pub(super) fn new(own: HostId, first: u64) -> Self {
        Self {
            own,
            queue: RecordQueue::default(),
            supersteps: first,
            calls: None,
            outputs: BTreeMap::new(),
            has_ended: false,
        }
    }

    /// Adds `event` to the record.
    pub(super) fn record(&mut self, event: &record::Event) {
        match event {
            record::Event::Superstep(_) => self.supersteps += 1,
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

    /// Whether enough has been recorded for a frame.
    pub(super) fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    /// Whether there are lines to be sent, and the client has taken those before.
    pub(super) fn has_news(&self) -> bool {
        self.queue.has_news()
    }

    /// Whether there are lines to be sent, or on their way.
    pub(super) fn has_lines(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The new part of the record, if the client has taken the one before.
    ///
    /// # Errors
    ///
    /// If too much would have to be kept for the client.
    pub(super) fn next_record(&mut self) -> Result<Option<Frame>, JobError> {
        let lines = self.queue.next_lines()?;
        Ok(lines.map(|lines| self.frame(JobMessage::Recorded(lines))))
    }

    /// The rest of the record, when nothing more is recorded: it follows the part that the client has not taken yet.
    pub(super) fn rest(&mut self) -> Option<Frame> {
        let lines = self.queue.rest();
        lines.map(|lines| self.frame(JobMessage::Recorded(lines)))
    }

    /// The client has taken the last part of the record.
    pub(super) fn record_taken(&mut self) {
        self.queue.taken();
    }

    /// Keeps the output of a process that has halted.
    pub(super) fn add_output(&mut self, rank: Rank, output: Bytes) {
        self.outputs.insert(rank, output);
    }

    /// The output of a process, which is sent now.
    pub(super) fn remove_output(&mut self, rank: Rank) -> Bytes {
        self.outputs.remove(&rank).unwrap_or_default()
    }

    /// All outputs that are kept, which are sent now.
    pub(super) fn remove_outputs(&mut self) -> BTreeMap<Rank, Bytes> {
        std::mem::take(&mut self.outputs)
    }

    /// Whether the end may be sent once the record has been: all outputs are sent, and as many `supersteps` as there are
    /// have been recorded here.
    pub(super) fn may_end(&self, supersteps: Option<u64>) -> bool {
        let has_recorded = supersteps.is_none_or(|supersteps| supersteps == self.supersteps);
        has_recorded && self.outputs.is_empty() && !self.has_ended
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
