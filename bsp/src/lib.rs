//! Bulk-synchronous parallel programs as values.
//!
//! A [`Program`] is one process of a bulk-synchronous parallel (BSP) computation. Its fields are its
//! whole state; [`Program::superstep`] is one round of computing, receiving and sending. Between two
//! rounds the value may be encoded, moved to another host and continued there.
//!
//! | to | use |
//! |---|---|
//! | run a program on all processors of this machine, from `main`, without a cluster | [`Threads`] |
//! | run it on one thread: the oracle for every other runner | [`reference::run`] |
//! | hold it to its laws in a test | `testing::check`, with the feature `testing` |
//! | have sums, minima and the like of all processes without a superstep of their own | [`Superstep::reduce`], [`reduction`] |
//! | have many numbers in a state or a message | [`Array`], which is copied where a `Vec` is encoded number by number |
//! | write files while the program runs | [`Superstep::snapshot`] |
//! | execute a bag of tasks | [`farm`] |

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod array;
pub mod farm;
mod ids;
mod name;
mod note;
pub mod numbers;
mod program;
pub mod reduction;
pub mod reference;
mod snapshot;
mod superstep;
#[cfg(feature = "testing")]
pub mod testing;
mod threads;
pub mod units;

pub use array::{Array, Number};
pub use ids::{HostId, Rank, SetId};
pub use name::{NameError, check_name};
pub use note::{Note, Notes, check_name as check_note_name};
pub use program::{BoxError, MemorySize, Payload, Program, Round, Step};
pub use reduction::{And, Max, Min, Or, ReductionError, Reductions, Sum};
pub use snapshot::{
    SNAPSHOT_BYTES_MAX, SNAPSHOTS_MAX, Snapshot, SnapshotEncoding, SnapshotError, SnapshotName,
    Snapshots,
};
pub use superstep::{Conditions, Envelope, Inbox, MESSAGE_MAX, Outbox, Superstep, encoded_len};
pub use threads::Threads;
