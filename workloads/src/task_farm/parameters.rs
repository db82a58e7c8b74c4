//! How many tasks there are, and what they take.

use bsp::farm::Dealing;
use bsp::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::dealing::DealingParameters;
use crate::parameters::{AMOUNT_MAX, Error, within};

/// How many tasks there are, and what they take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// The number of tasks, at most 10⁸.
    pub tasks: u64,
    /// Instructions of a task in the mean.
    pub instructions: f64,
    /// By which part of the mean the instructions of a task are below or above it at most, from 0 to 1.
    pub variation: f64,
    /// Bytes that all workers share, at most 1 GiB.
    pub shared: Bytes,
    /// Bytes of a task, at most 1 GiB.
    pub task: Bytes,
    /// Bytes of an outcome, at most 1 GiB.
    pub outcome: Bytes,
    /// How tasks are dealt.
    pub dealing: DealingParameters,
}

/// The same, checked.
pub(super) struct Checked {
    pub(super) tasks: u64,
    pub(super) instructions: f64,
    pub(super) variation: f64,
    pub(super) shared: usize,
    pub(super) task: usize,
    pub(super) outcome: usize,
    pub(super) dealing: Dealing,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            tasks: 1000,
            instructions: 1e7,
            variation: 0.0,
            shared: Bytes(0),
            task: Bytes(1000),
            outcome: Bytes(1000),
            dealing: DealingParameters::default(),
        }
    }
}

impl Parameters {
    pub(super) fn checked(&self) -> Result<Checked, Error> {
        let bytes = |key: &'static str, bytes: Bytes| {
            let bytes = within((key, bytes.as_f64()), 0.0, BYTES_MAX, "at most 1 GiB")?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is in its range"
            )]
            Ok::<usize, Error>(bytes as usize)
        };
        let tasks = self.tasks as f64;
        within(("tasks", tasks), 0.0, TASKS_MAX, "at most 10^8")?;
        Ok(Checked {
            tasks: self.tasks,
            instructions: within(
                ("instructions", self.instructions),
                0.0,
                AMOUNT_MAX / 2.0,
                "a number from 0 to 2^62",
            )?,
            variation: within(
                ("variation", self.variation),
                0.0,
                1.0,
                "a number from 0 to 1",
            )?,
            shared: bytes("shared", self.shared)?,
            task: bytes("task", self.task)?,
            outcome: bytes("outcome", self.outcome)?,
            dealing: self.dealing.dealing()?,
        })
    }
}

/// The most tasks of a farm.
pub const TASKS_MAX: f64 = 1e8;

const BYTES_MAX: f64 = 1_073_741_824.0;
