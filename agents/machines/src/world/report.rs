//! Reports to the client of the job.

use agents::mutant::{self, Mutant};
use bsp::Rank;
use bsp::units::{Instructions, Seconds};
use bytes::Bytes;
use protocol::{Ended, Frame};

use super::HostWorld;
use crate::node::action::JobAction;
use crate::time::between;

impl HostWorld {
    /// How long the run has lasted.
    pub(crate) fn lasted(&self) -> Seconds {
        between(self.began, self.clock)
    }

    /// Whether the client is to be sent a new part of the record.
    pub(crate) fn has_news(&self) -> bool {
        self.client.has_news()
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

    /// Sends the client the outputs of the processes that have halted before the job begins, which it does now.
    pub(crate) fn send_halted(&mut self) {
        let outputs = self.client.remove_outputs().into_iter();
        let send = |(rank, output)| JobAction::SendOutput(rank, output);
        self.actions.extend(outputs.map(send));
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
