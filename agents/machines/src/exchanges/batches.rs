//! Messages between two nodes, put together into batches.

use agents::{Content, Incoming};
use bsp::Rank;
use bsp::units::Seconds;
use protocol::{Batch, MessageHeader};

/// The fields that only the last batch to a node has.
pub(super) struct Last {
    pub(super) is_followed: bool,
    pub(super) halted: Vec<Rank>,
}

/// `messages` in batches of bounded length, at least one.
pub(super) fn pack(
    superstep: u64,
    sent: Seconds,
    messages: Vec<(MessageHeader, Content)>,
    last: Last,
) -> impl Iterator<Item = Batch> + use<> {
    let empty = || Batch {
        superstep,
        sent,
        is_last: false,
        is_followed: false,
        halted: Vec::new(),
        messages: Vec::new(),
        payload: bytes::Bytes::new(),
    };
    let mut batches = Vec::new();
    let (mut batch, mut payload) = (empty(), Vec::new());
    for (header, content) in messages {
        let length = usize::try_from(header.bytes).expect("what is sent fits memory");
        let is_full = !payload.is_empty() && BATCH_LEN < payload.len() + length;
        if is_full || batch.messages.len() == MESSAGES_MAX {
            batch.payload = std::mem::take(&mut payload).into();
            batches.push(std::mem::replace(&mut batch, empty()));
        }
        match content {
            Content::Value(bytes) => payload.extend_from_slice(&bytes),
            // Its bytes occupy the network.
            Content::Sized(_) => payload.resize(payload.len() + length, 0),
        }
        batch.messages.push(header);
    }
    batch.payload = payload.into();
    batch.is_last = true;
    batch.is_followed = last.is_followed;
    batch.halted = last.halted;
    batches.push(batch);
    batches.into_iter()
}

/// The messages of a batch that took `took`: receiver, bytes, time of the message alone, and content.
pub(super) fn unpack(
    batch: Batch,
    took: Seconds,
) -> impl Iterator<Item = (Rank, u64, Seconds, Incoming)> {
    let total = u64::try_from(batch.payload.len()).expect("lengths fit 64 bits");
    let mut payload = batch.payload;
    batch.messages.into_iter().map(move |header| {
        let length = usize::try_from(header.bytes).expect("no longer than the batch");
        let bytes = payload.split_to(length);
        let content = if header.is_sized {
            Content::Sized(header.bytes)
        } else {
            Content::Value(bytes)
        };
        let incoming = Incoming {
            from: header.from,
            content,
            late: None,
        };
        // Each message takes a part of the time in proportion to its bytes.
        let part = ratio(header.bytes, total);
        let took_alone = Seconds::new(took.get() * part).expect("a part of a time");
        (header.to, header.bytes, took_alone, incoming)
    })
}

/// The part that `bytes` are of `total`; all of it, if there are none.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a ratio may be rounded"
)]
fn ratio(bytes: u64, total: u64) -> f64 {
    if total == 0 {
        1.0
    } else {
        bytes as f64 / total as f64
    }
}

/// Bytes of messages that are put together into a batch.
pub(super) const BATCH_LEN: usize = 8 << 20;

/// Messages that are put together into a batch: the header of each takes a few bytes, even if the message is empty.
pub(super) const MESSAGES_MAX: usize = 1 << 20;
