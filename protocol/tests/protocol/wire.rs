//! Frames on the wire.
//!
//! | file | what it asserts |
//! |---|---|
//! | `pinned.rs` | the bytes of every message are those of this wire version |
//! | `codec.rs` | what is encoded is decoded, without copying, and as long as computed |
//! | `hostile.rs` | whatever else arrives is refused with a reason, quickly and without a panic |

mod arbitrary;
mod codec;
mod hostile;
mod pinned;

use bytes::Bytes;
use protocol::Frame;

/// The frame in one piece, as a stream delivers it.
fn joined(frame: &Frame) -> Bytes {
    [&frame.head[..], &frame.payload[..]].concat().into()
}
