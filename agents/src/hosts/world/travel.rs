//! Processes that leave for another host, and those that come.

use std::sync::Arc;
use std::time::Instant as Clock;

use bsp::Rank;
use bsp::units::Seconds;
use bytes::Bytes;
use protocol::transport::Sender;
use protocol::{Address, AgentMessage, Migrate, ProcessImage};

use super::super::failure::JobError;
use super::super::migration::image::{self, OutgoingImage, Unpacked};
use super::{HostWorld, Local, seconds};
use crate::chunks::{self, ChunkReader, ChunkWriter};
use crate::error::RunError;
use crate::programs::{HostedProgram, Incoming};
use crate::record;
use crate::world::{Event, Moved, World};

/// A process that has come to this node.
pub(in super::super) struct ReceivedProcess {
    rank: Rank,
    epoch: u64,
    bytes: u64,
    took: Seconds,
    unpacked: Unpacked,
}

/// A state that is on its way to this node.
pub(in super::super) struct IncomingMigration {
    pub(in super::super) began: Clock,
    pub(in super::super) chunks: ChunkReader,
}

impl HostWorld {
    /// Sends a process and its agent to the host that it moves to.
    pub(super) fn send_off(&mut self, order: Migrate, agent: Vec<u8>) {
        let Migrate { rank, to, .. } = order;
        let program = self.programs.remove(&rank);
        let (Some(program), Some(peer)) = (program, self.peers.get(&to).cloned()) else {
            return self.fail(RunError::Peer(format!(
                "{rank} is to move to {to}, but cannot"
            )));
        };
        self.departed.push(rank);
        let inbox = self.exchanges.remove_inbox(rank);
        let (tasks, packers) = (self.tasks.clone(), Arc::clone(&self.packers));
        drop(tokio::spawn(async move {
            let _place = packers.acquire().await;
            let told = leave(order, (agent, inbox, program), peer).await;
            // The job may be over.
            drop(tasks.send(told.unwrap_or_else(Local::Failed)));
        }));
    }

    /// The state of a process begins to come for `to`.
    pub(in super::super) fn handle_image(
        &mut self,
        (from, to): (Address, Address),
        state: ProcessImage,
        coming: IncomingMigration,
    ) {
        self.arriving.insert(state.rank, coming);
        let message = AgentMessage::ProcessImage(Box::new(state));
        self.deliver(to, Event::Message { from, message });
    }

    /// Decodes a process while it comes.
    pub(super) fn unpack(&self, state: &ProcessImage, coming: IncomingMigration) {
        let ProcessImage {
            rank, epoch, agent, ..
        } = *state;
        let (program_type, tasks) = (self.program_type, self.tasks.clone());
        let IncomingMigration { began, mut chunks } = coming;
        // Decoding takes as long as its state is large; meanwhile others have their messages carried.
        let unpacking = tokio::task::spawn_blocking(move || {
            let bytes = chunks.len();
            let unpacked = image::unpack(program_type, rank, agent, &mut chunks);
            if chunks.is_truncated() {
                // Its sender is lost, which is told where it is listened to.
                return Ok(None);
            }
            Ok::<_, JobError>(Some(ReceivedProcess {
                rank,
                epoch,
                bytes,
                took: seconds(began.elapsed()),
                unpacked: unpacked?,
            }))
        });
        drop(tokio::spawn(async move {
            let unpacked = unpacking.await;
            let unpacked = unpacked.unwrap_or_else(|panic| {
                Err(JobError::program(format!("decoding a process: {panic}")))
            });
            let told = match unpacked {
                Ok(None) => return,
                Ok(Some(arrival)) => Local::Arrived(Box::new(arrival)),
                Err(error) => Local::Failed(error),
            };
            // The job may be over.
            drop(tasks.send(told));
        }));
    }

    /// A process lives here now, or will when the placement is that of its epoch.
    pub(super) fn admit(&mut self, arrival: ReceivedProcess) {
        let ReceivedProcess {
            rank,
            epoch,
            bytes,
            took,
            unpacked,
        } = arrival;
        self.programs.insert(rank, unpacked.program);
        self.exchanges.insert_inbox(rank, unpacked.inbox);
        self.record(record::Event::Moved(record::Moved {
            at: self.now(),
            rank,
            host: self.own,
            epoch,
            bytes: bsp::units::Bytes(bytes),
            took,
        }));
        let moved = Moved {
            agent: unpacked.agent,
            host: self.own,
            epoch,
        };
        self.deliver(Address::Process(rank), Event::Moved(Box::new(moved)));
    }
}

/// Sends a process to the host that it moves to.
async fn leave(
    order: Migrate,
    (agent, inbox, program): (Vec<u8>, Vec<Incoming>, Box<dyn HostedProgram>),
    peer: Sender,
) -> Result<Local, JobError> {
    let Migrate {
        rank,
        from,
        to,
        epoch,
        ..
    } = order;
    let began = Clock::now();
    let length_of_agent = u32::try_from(agent.len()).expect("an agent's state is small");
    // Encoding takes as long as its state is large; meanwhile others have their messages carried.
    let weighing = tokio::task::spawn_blocking(move || {
        let image = OutgoingImage::new(rank, agent, inbox, program)?;
        Ok::<_, RunError>((image.len(), image))
    });
    let broken = |error: tokio::task::JoinError| JobError::program(error.to_string());
    let (bytes, image) = weighing.await.map_err(broken)??;
    let (sender, chunks) = chunks::channel();
    let packing = tokio::task::spawn_blocking(move || image.pack(ChunkWriter::new(sender)));
    let state = ProcessImage {
        rank,
        epoch,
        agent: length_of_agent,
        declared: None,
        payload: Bytes::new(),
    };
    let (from, target) = (Address::Node(from), Address::Node(to));
    let sent = peer
        .send_state_chunks(from, target, state, (bytes, chunks))
        .await;
    match packing.await.map_err(broken)? {
        // If nobody takes the chunks any more, that is what is wrong.
        Err(error) if sent.is_ok() || !peer.is_lost() => return Err(error.into()),
        Ok(()) | Err(_) => sent?,
    }
    Ok(Local::Sent(to, bytes, seconds(began.elapsed())))
}

/// How many processes are packed at once. Each takes a thread until its state is through, and there are
/// some hundreds: enough have to be left for those that come, or two nodes would wait for each other.
pub(super) const PACKERS: usize = 8;
