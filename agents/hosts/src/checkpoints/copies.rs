//! Sends what has changed of pieces to the buddy of a node, and receives it there.

use std::io::Write;

use agents::ChunkWriter;
use bsp::HostId;
use bytes::Bytes;
use checkpoint::{Delta, DeltaError};
use machines::JobError;
use protocol::transport::{Sender, StatePayload, StreamContent};
use protocol::{Address, Pieces};
use tokio::sync::mpsc;

use crate::chunk_channel;
use crate::chunk_channel::ChannelSink;

/// Sends `changed`, for the checkpoint before `superstep`, from the node of `from` to that of `to`.
///
/// # Errors
///
/// If the connection ends.
pub(crate) async fn send(
    (from, to): (HostId, HostId),
    superstep: u64,
    changed: Vec<Delta>,
    buddy: Sender,
) -> Result<(), JobError> {
    let pieces = Pieces {
        count: u32::try_from(changed.len()).expect("ranks fit 32 bits"),
        payload: Bytes::new(),
    };
    let (sender, chunks) = chunk_channel::channel();
    let writing = tokio::task::spawn_blocking(move || {
        let mut sink = ChannelSink::new(sender);
        let mut writer = ChunkWriter::new(&mut sink);
        for part in Delta::encode_all(&changed) {
            writer.write_all(&part)?;
        }
        writer.finish()
    });
    let ends = (Address::Node(from), Address::Node(to));
    let content = StreamContent::Pieces(superstep, pieces);
    let sent = buddy
        .send_state_chunks(ends.0, ends.1, content, chunks)
        .await;
    // Writing fails only if what is written is not sent.
    drop(writing.await);
    sent?;
    Ok(())
}

/// Reads the deltas that arrive as `payload`. `None`: the connection has ended, or what arrived was refused.
pub(crate) async fn receive(payload: StatePayload) -> Option<Result<Vec<Delta>, DeltaError>> {
    let (sender, mut chunks) = mpsc::channel(CHUNKS_WAITING);
    let (read, arrived) = tokio::join!(payload.read(sender), async {
        let mut arrived = Vec::new();
        while let Some(chunk) = chunks.recv().await {
            arrived.push(chunk);
        }
        arrived
    });
    read.ok()?;
    // It takes time in proportion to the bytes.
    tokio::task::spawn_blocking(move || Delta::decode_all(arrived))
        .await
        .ok()
}

/// Chunks that wait to be put together.
const CHUNKS_WAITING: usize = 16;
