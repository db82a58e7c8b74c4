//! What the processes of a farm send each other.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::tasks::Tasks;
use crate::ids::Rank;
use crate::units::Seconds;

/// A message of a farm.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum FarmMessage<T: Tasks> {
    /// A part of the encoding of what workers share. A worker that has it from the master passes it on to the others.
    Part {
        /// Which part, from 0.
        number: u32,
        /// The worker that has each part from the master.
        workers: Vec<Rank>,
        /// The part.
        bytes: Bytes,
    },
    /// From the master: tasks to execute.
    Tasks {
        /// The number of the first one.
        first: u64,
        /// The tasks, which follow each other.
        tasks: Vec<T::Task>,
    },
    /// From the master: no tasks follow.
    End,
    /// From a worker: the outcomes of its tasks, in their order.
    Outcomes(Vec<T::Outcome>),
    /// From a worker: how long it executed them.
    Took(Seconds),
}

impl<T: Tasks> fmt::Debug for FarmMessage<T> {
    /// What kind of message it is; its values need not be printable.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { number, bytes, .. } => {
                write!(
                    formatter,
                    "part {number} of what is shared, {} bytes",
                    bytes.len()
                )
            }
            Self::Tasks { first, tasks } => {
                write!(formatter, "{} tasks from {first} on", tasks.len())
            }
            Self::End => formatter.write_str("end"),
            Self::Outcomes(outcomes) => write!(formatter, "{} outcomes", outcomes.len()),
            Self::Took(took) => write!(formatter, "took {took}"),
        }
    }
}
