//! One move, and how long moves take.

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

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

/// What a configuration states of the cost of a migration, `Mem(i, j)`: `data·data_rate + fixed·fixed_rate + base`; to
/// the own Set it is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MigrationCost {
    /// Where the values come from that are not stated.
    pub source: CostSource,
    /// Seconds per byte of the image's data; `None`: `T(i, j)`, by the rate measured to the target Set.
    pub data_rate: Option<f64>,
    /// Seconds per byte of the image's fixed part; `None`: the same.
    pub fixed_rate: Option<f64>,
    /// How many times as long as on the network the bytes of a migration take, `α1`; `None`: what has been learned, or
    /// once.
    pub overlap: Option<f64>,
    /// What every migration costs whatever its size, `Mig(i, j)`; `None`: what has been learned, or nothing.
    pub base: Option<Seconds>,
}

/// Where the cost of moves comes from, as far as it is not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostSource {
    /// Bytes take what they take at the measured rates; nothing is added.
    #[default]
    Stated,
    /// From the moves of the run, by a [`MigrationModel`](crate::MigrationModel).
    #[serde(rename = "learnt")]
    Learned,
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
