//! What the client is told: what happens, what processes leave behind, and that all is over.

use bsp::Rank;
use protocol::{Address, Ended, JobMessage, Message, ProcessImage, encode};

use super::{HostWorld, Local, seconds};

impl HostWorld {
    /// Tells the client what has been recorded since the last time, as far as it takes it; whether it has all of it.
    pub(in super::super) fn report(&mut self) -> bool {
        let (own, client) = (self.own, &self.client);
        let told = self.recorded.tell(
            |lines| {
                let message = Message::Job(Box::new(JobMessage::Recorded(lines)));
                encode(Address::Node(own), Address::Client, &message)
            },
            |frame| client.try_send(frame),
        );
        told.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            false
        })
    }

    /// Whether so much has been recorded that the client should be told.
    pub(in super::super) fn is_full(&self) -> bool {
        self.recorded.is_full()
    }

    /// How far the job has come here.
    pub(in super::super) fn progress(&self) -> (u64, usize) {
        (self.totals.supersteps, self.exchanges.living_here())
    }

    /// Tells the client that all is over here, once it is.
    pub(in super::super) fn end_if_over(&mut self) {
        let Some(supersteps) = self.exchanges.supersteps() else {
            return;
        };
        // The first Manager knows later than batches tell that the last superstep is over.
        let is_told = self.own != self.rules.first_host() || self.totals.recorded == supersteps;
        if is_told && self.outputs.is_empty() && !self.totals.has_ended && self.report() {
            self.totals.has_ended = true;
            let ended = Ended {
                seconds: seconds(self.began.elapsed()),
                supersteps: self.totals.supersteps,
                messages: self.exchanges.messages,
                bytes: self.exchanges.bytes,
                moved: self.totals.moved,
            };
            self.send_to_client(JobMessage::Ended(ended));
        }
    }

    /// Whether the client has been told so.
    pub(in super::super) const fn has_ended(&self) -> bool {
        self.totals.has_ended
    }

    fn send_to_client(&mut self, message: JobMessage) {
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Node(self.own), Address::Client, &message);
        if let Err(error) = self.client.push(frame) {
            self.error.get_or_insert_with(|| error.into());
        }
    }

    /// A process knows that it is done: the client is sent what it left behind.
    pub(super) fn hand_over(&mut self, rank: Rank) {
        let payload = self.outputs.remove(&rank).unwrap_or_default();
        self.departed.push(rank);
        let state = ProcessImage {
            rank,
            epoch: 0,
            agent: 0,
            declared: None,
            payload,
        };
        let (client, tasks, own) = (self.client.clone(), self.tasks.clone(), self.own);
        drop(tokio::spawn(async move {
            let sent = client
                .send_state(Address::Node(own), Address::Client, state)
                .await;
            if let Err(error) = sent {
                // The job may be over.
                drop(tasks.send(Local::Failed(error.into())));
            }
        }));
    }
}
