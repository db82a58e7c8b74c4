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

use bytes::Bytes;
use protocol::Frame;

/// The whole frame in one buffer.
fn joined(frame: &Frame) -> Bytes {
    [&frame.head[..], &frame.payload[..]].concat().into()
}
