//! Frames on the wire.
//!
//! | file | what it asserts |
//! |---|---|
//! | `pinned.rs` | the bytes of every message are those of this wire version |
//! | `codec.rs` | messages are decoded as encoded, without copies, and lengths are computed correctly |
//! | `examples.rs` | an example of every message, and messages like them |
//! | `hostile.rs` | other bytes are refused with a reason, quickly and without a panic |

mod arbitrary;
mod codec;
pub(crate) mod examples;
mod hostile;
mod pinned;

use std::sync::Arc;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use model::{ExternalLoad, Inventory};
use protocol::{
    Abandoned, Address, AgentMessage, BusyProcess, Frame, JobMessage, JobStatus, LedJob, Message,
    SetReport, Status, encode,
};

/// The whole frame in one buffer.
fn joined(frame: &Frame) -> Bytes {
    [&frame.head[..], &frame.payload[..]].concat().into()
}

/// Bytes of the frame of a message.
fn frame_len(message: &Message, from: Address, to: Address) -> u64 {
    let frame = encode(from, to, message);
    u64::try_from(frame.head.len() + frame.payload.len()).unwrap()
}

/// What the Manager of `set` reports if plans name processors.
pub(crate) fn report_for_plans(superstep: u64, set: SetId, inventory: Inventory) -> Message {
    Message::Agent(AgentMessage::SetReport(Box::new(SetReport {
        superstep,
        set,
        interval: None,
        tolerance: None,
        entries: Arc::default(),
        digests: Vec::new(),
        barrier_busy: Vec::new(),
        inventory: Some(inventory),
        remaining: None,
    })))
}

/// The external load of a host.
fn external() -> ExternalLoad {
    let age = |value| Seconds::new(value).unwrap();
    ExternalLoad {
        host: HostId(7),
        utilisation: 0.375,
        since: 0.4375,
        arrivals: 0.03125,
        present: 0.75,
        ages: vec![age(90.5), age(2.5)],
    }
}

/// What a node with `job` says, on whose machine `others` are busy.
fn status(job: Option<JobStatus>, others: Vec<BusyProcess>) -> JobMessage {
    let seconds = |value| Seconds::new(value).unwrap();
    JobMessage::Status(Box::new(Status {
        workloads: vec!["heat".to_owned()],
        abandoned: Some(Abandoned {
            rank: Rank(3),
            superstep: 12,
            since: seconds(35.0),
        }),
        up: seconds(3600.0),
        speed: 1e9,
        processors: 2,
        load: (0.25, 0.5),
        job,
        jobs: 3,
        refused: 0,
        memory: Some(35 << 20),
        led: vec![LedJob {
            job: 7,
            owner: "alice".to_owned(),
            ended: Some(seconds(60.0)),
            is_complete: true,
        }],
        others,
    }))
}
