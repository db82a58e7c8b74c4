//! The connection to the client of a job: the record, the outputs of processes, and the end.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::transport::Sender;
use protocol::{Address, Ended, JobMessage, Message, ProcessImage, encode};
use tokio::sync::mpsc;

use super::record_queue::RecordQueue;
use crate::hosts::failure::JobError;
use crate::hosts::local_event::LocalEvent;
use crate::record;

/// The connection to the client of a job, and what waits to be sent to it.
pub(super) struct ClientLink {
    own: HostId,
    client: Sender,
    queue: RecordQueue,
    /// The number of supersteps recorded here.
    supersteps: u64,
    /// The outputs of processes that have halted, until they are sent.
    outputs: BTreeMap<Rank, Bytes>,
    has_ended: bool,
    events: mpsc::UnboundedSender<LocalEvent>,
}

impl ClientLink {
    /// The connection of `own` to `client`; `events` receives the errors of outputs.
    pub(super) fn new(
        own: HostId,
        client: Sender,
        events: mpsc::UnboundedSender<LocalEvent>,
    ) -> Self {
        Self {
            own,
            client,
            queue: RecordQueue::default(),
            supersteps: 0,
            outputs: BTreeMap::new(),
            has_ended: false,
            events,
        }
    }

    /// Adds `event` to the record.
    pub(super) fn record(&mut self, event: &record::Event) {
        self.supersteps += u64::from(matches!(event, record::Event::Superstep(_)));
        match serde_json::to_string(event) {
            Ok(line) => self.queue.push(&line),
            Err(error) => unreachable!("events are plain numbers and names: {error}"),
        }
    }

    /// Whether enough has been recorded for a frame.
    pub(super) fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    /// Sends the new part of the record, as far as the client accepts it. Returns whether it has accepted all of it.
    pub(super) fn send_record(&mut self) -> Result<bool, JobError> {
        let (own, client) = (self.own, &self.client);
        self.queue.send(
            |lines| {
                let message = Message::Job(Box::new(JobMessage::Recorded(lines)));
                encode(Address::Node(own), Address::Client, &message)
            },
            |frame| client.try_send(frame),
        )
    }

    /// Keeps the output of a process that has halted.
    pub(super) fn add_output(&mut self, rank: Rank, output: Bytes) {
        self.outputs.insert(rank, output);
    }

    /// Sends the output of a process.
    pub(super) fn send_output(&mut self, rank: Rank) {
        let payload = self.outputs.remove(&rank).unwrap_or_default();
        let state = ProcessImage {
            rank,
            epoch: 0,
            agent: 0,
            declared: None,
            payload,
        };
        let (client, events, own) = (self.client.clone(), self.events.clone(), self.own);
        drop(tokio::spawn(async move {
            let sent = client
                .send_state(Address::Node(own), Address::Client, state)
                .await;
            if let Err(error) = sent {
                // The job may be over.
                drop(events.send(LocalEvent::Failed(error.into())));
            }
        }));
    }

    /// Sends `ended` after everything else: when all outputs have been sent, and the whole record, with as many
    /// `supersteps` as are recorded here.
    pub(super) fn end(&mut self, supersteps: Option<u64>, ended: Ended) -> Result<(), JobError> {
        let has_recorded = supersteps.is_none_or(|supersteps| supersteps == self.supersteps);
        let is_complete = has_recorded && self.outputs.is_empty();
        if !is_complete || self.has_ended || !self.send_record()? {
            return Ok(());
        }
        self.has_ended = true;
        let message = Message::Job(Box::new(JobMessage::Ended(ended)));
        let frame = encode(Address::Node(self.own), Address::Client, &message);
        Ok(self.client.push(frame)?)
    }

    /// Whether the end has been sent.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }
}
