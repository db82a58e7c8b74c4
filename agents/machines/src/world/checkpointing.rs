//! The part of a host in checkpoints.

use agents::{Mail, RunError, RunShape};
use bsp::Rank;
use checkpoint::{Generations, WrittenPieces};
use protocol::{Address, CheckpointMessage, NodeMessage};
use record::Names;

use super::HostWorld;
use crate::checkpoints::SavedPiece;
use crate::checkpoints::{CheckpointAction, Checkpoints};
use crate::node::action::JobAction;
use crate::node::event::IncomingPieces;

impl HostWorld {
    /// The pieces here, if there are checkpoints.
    pub(crate) fn generations(&self) -> Option<&Generations> {
        self.checkpoints.as_ref().map(Checkpoints::generations)
    }

    /// Saves the state of `rank` before `superstep`, when that is executed.
    pub(super) fn save(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        let now = self.now();
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        if !checkpoints.has_begun(superstep) {
            let running = self.exchanges.residents();
            let begun = checkpoints.begin(superstep, now, running);
            self.check(begun.map_err(RunError::Peer));
        }
        if let Some(checkpoints) = &self.checkpoints {
            let inbox = self.exchanges.inbox(rank).to_vec();
            let work = self.computation.work(rank);
            let saving = checkpoints.saving((rank, superstep), agent, inbox, work);
            self.computation.save(saving);
        }
        self.go_on_with_checkpoint();
    }

    /// The state of a process has been saved.
    pub(crate) fn handle_saved(&mut self, saved: SavedPiece) {
        if let Some(checkpoints) = &mut self.checkpoints {
            let added = checkpoints.add_saved(saved);
            self.check(added.map_err(RunError::Peer));
        }
        self.go_on_with_checkpoint();
    }

    /// The file of this node is written, or cannot be.
    pub(crate) fn handle_written(&mut self, superstep: u64, file: Result<WrittenPieces, String>) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.handle_written(superstep, file);
        }
        self.go_on_with_checkpoint();
    }

    /// A checkpoint is complete on disk, or cannot be.
    pub(crate) fn handle_checkpoint_finished(
        &mut self,
        superstep: u64,
        finished: Result<(), String>,
    ) {
        let now = self.now();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.handle_finished(superstep, finished, now);
        }
        self.go_on_with_checkpoint();
    }

    /// Pieces of another node have arrived.
    pub(crate) fn handle_pieces(&mut self, pieces: IncomingPieces) {
        let IncomingPieces {
            host,
            ends,
            superstep,
            deltas,
        } = pieces;
        let added = match &mut self.checkpoints {
            Some(checkpoints) if ends == (Address::Node(host), Address::Node(self.own)) => deltas
                .map_err(|error| error.to_string())
                .and_then(|deltas| checkpoints.add_pieces((host, superstep), deltas)),
            Some(_) | None => Err("unexpected pieces of a checkpoint".to_owned()),
        };
        if let Err(problem) = added {
            self.refuse(Address::Node(host), problem);
        }
        self.go_on_with_checkpoint();
    }

    /// Handles a message of the node of a host about the checkpoint before a superstep.
    pub(super) fn handle_checkpoint(
        &mut self,
        from: (bsp::HostId, u64),
        message: CheckpointMessage,
    ) {
        let is_idle = self.computation.is_empty() && self.exchanges.step().is_none();
        let may_start = !is_idle && self.supersteps <= from.1;
        let situation = (self.now(), may_start);
        let shape = RunShape {
            rules: &self.rules,
            superstep_limit: self.superstep_limit,
        };
        let handled = shape
            .superstep(from.1)
            .and_then(|()| match &mut self.checkpoints {
                Some(checkpoints) => checkpoints.handle_message(from, message, situation),
                None => Err("a message about a checkpoint, of which there are none".to_owned()),
            });
        if let Err(problem) = handled {
            self.refuse(Address::Node(from.0), problem);
        }
        self.go_on_with_checkpoint();
    }

    /// A process here starts `superstep`.
    pub(super) fn pass_checkpoint(&mut self, superstep: u64) {
        let now = self.now();
        if let Some(checkpoints) = &mut self.checkpoints {
            let passed = checkpoints.pass(superstep, now);
            self.check(passed.map_err(RunError::Peer));
            self.go_on_with_checkpoint();
        }
    }

    /// A superstep has been recorded here.
    pub(super) fn elapse(&mut self, superstep: &record::Superstep) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.elapse(superstep.ended - superstep.started);
        }
    }

    /// Does what the checkpoint needs now.
    fn go_on_with_checkpoint(&mut self) {
        let now = self.now();
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        checkpoints.report_if_saved(now);
        while let Some(action) = self.checkpoints.as_mut().and_then(|it| it.poll()) {
            match action {
                CheckpointAction::Send(host, superstep, message) => {
                    self.send_to_node(host, NodeMessage::Checkpoint(superstep, message));
                }
                CheckpointAction::SendPieces(host, superstep, deltas) => {
                    self.act(JobAction::SendPieces(host, superstep, deltas));
                }
                CheckpointAction::Write(generation, pieces) => {
                    self.act(JobAction::WritePieces(generation, pieces));
                }
                CheckpointAction::Finish(generation, files) => {
                    self.act(JobAction::FinishCheckpoint(generation, files));
                }
                CheckpointAction::Record(checkpoint) => {
                    self.record(record::Event::Checkpoint(checkpoint));
                }
            }
        }
    }
}
