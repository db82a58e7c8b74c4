//! One move, and how long moves take.

use bsp::units::Seconds;
use bsp::{HostId, Image, Rank};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};

/// One process to another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The process.
    pub rank: Rank,
    /// The host that it leaves.
    pub from: HostId,
    /// The host that it goes to.
    pub to: HostId,
}

/// The cost of a migration, `Mem(i, j)`: `data·data_rate + fixed·fixed_rate + base`; to the own Set
/// it is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MigrationCost {
    /// Seconds per byte of the image's data; `None`: the rate measured to the target Set, `T(i, j)`.
    pub data_rate: Option<f64>,
    /// Seconds per byte of the image's fixed part; `None`: the measured rate, too.
    pub fixed_rate: Option<f64>,
    /// What every migration costs whatever its size, `Mig(i, j)`.
    pub base: Seconds,
}

/// How long the moves of one call take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationTime {
    /// Process images that cross the same link share it: as long as the busiest host, or the busiest connection
    /// of a Set to others, needs for what it sends or receives.
    #[default]
    SharedLinks,
    /// Each migrated process waits for its own image alone: as long as the most expensive move.
    PerProcess,
}

impl MigrationCost {
    /// Equation `MEM`: the time that moving `image` takes, where a byte takes `transfer_rate`
    /// seconds.
    #[must_use]
    pub fn time(&self, image: Image, transfer_rate: f64) -> Seconds {
        let measured = non_negative(transfer_rate);
        let data = image.data.as_f64() * self.data_rate.unwrap_or(measured);
        let fixed = image.fixed.as_f64() * self.fixed_rate.unwrap_or(measured);
        seconds(data + fixed + self.base.get())
    }
}
