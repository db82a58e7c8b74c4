//! A superstep, as Managers judged its balance.

use bsp::units::Seconds;
use migbsp::Digest;
use serde::{Deserialize, Serialize};

/// A superstep, as Managers judged its balance; written as a list of the digest's fields and the other one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub struct BalanceCheck {
    /// What it took, over all processes.
    pub digest: Digest,
    /// The time for which the barrier kept its master busy.
    pub barrier_busy: Seconds,
}

/// Its fields, in their order: there is one per superstep.
#[derive(Serialize, Deserialize)]
struct Row(
    u32,
    u32,
    Seconds,
    Seconds,
    Seconds,
    Seconds,
    Option<Seconds>,
    Seconds,
);

impl From<Row> for BalanceCheck {
    fn from(row: Row) -> Self {
        Self {
            digest: Digest {
                counted: row.0,
                computed: row.1,
                slowest: row.2,
                fastest: row.3,
                computation: row.4,
                reception: row.5,
                wait: row.6,
            },
            barrier_busy: row.7,
        }
    }
}

impl From<BalanceCheck> for Row {
    fn from(judged: BalanceCheck) -> Self {
        let digest = judged.digest;
        Self(
            digest.counted,
            digest.computed,
            digest.slowest,
            digest.fastest,
            digest.computation,
            digest.reception,
            digest.wait,
            judged.barrier_busy,
        )
    }
}
