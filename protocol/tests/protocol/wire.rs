//! Frames on the wire.
//!
//! | file | what it asserts |
//! |---|---|
//! | `pinned.rs` | the bytes of every message are those of this wire version |
//! | `codec.rs` | messages are decoded as encoded, without copies, and lengths are computed correctly |
//! | `hostile.rs` | other bytes are refused with a reason, quickly and without a panic |

mod arbitrary;
mod codec;
mod hostile;
mod pinned;

use bsp::SetId;
use bytes::Bytes;
use migbsp::Inventory;
use protocol::{CallMessage, Frame, Message, SetReport};

/// The whole frame in one buffer.
fn joined(frame: &Frame) -> Bytes {
    [&frame.head[..], &frame.payload[..]].concat().into()
}

/// What the Manager of `set` reports if plans name processors.
pub(crate) fn report_for_plans(superstep: u64, set: SetId, inventory: Inventory) -> Message {
    Message::Call(CallMessage::SetReport(Box::new(SetReport {
        superstep,
        set,
        interval: None,
        tolerance: None,
        entries: Vec::new(),
        digests: Vec::new(),
        barrier_busy: Vec::new(),
        inventory: Some(inventory),
        remaining: None,
    })))
}
