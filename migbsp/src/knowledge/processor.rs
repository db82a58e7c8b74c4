//! A host and our processes on it, as its Set Manager knows them.

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

/// A host and our processes on it, as its Set Manager knows them at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// The host.
    pub host: HostId,
    /// Speed of one core, `cpu(p)`.
    pub speed: InstructionsPerSecond,
    /// How many processes can compute at the same time; at least 1.
    pub cores: u32,
    /// The part of its cores that other programs use, `load(p)`, in `[0, 1]`.
    pub load: f64,
    /// Our processes on it, each with what it adds to the host's time.
    pub residents: Vec<(Rank, Instructions)>,
}

impl Processor {
    /// What other programs leave of one core, `(1 − load(p))·cpu(p)`, in instructions per second.
    pub(crate) fn rate(&self) -> f64 {
        let share = 1.0 - self.load;
        // Not `clamp`: a load that is not a number counts as a full one.
        let share = if SHARE_MIN < share {
            share.min(1.0)
        } else {
            SHARE_MIN
        };
        self.speed.get() * share
    }

    /// Equation `TIME` of `docs/model.md`: how long the host takes for its residents.
    ///
    /// One core executes everything one after the other. Several share the sum, but a single process
    /// cannot use more than one of them.
    pub(crate) fn time(&self) -> Seconds {
        let works = self.residents.iter().map(|(_, work)| *work);
        let sum: Instructions = works.clone().sum::<Instructions>();
        let longest = works.max().unwrap_or_default();
        let shared = sum.as_f64() / (self.width() * self.rate());
        Seconds::bounded(shared.max(longest.as_f64() / self.rate()))
    }

    /// The number of cores, as a measure to divide by.
    pub(crate) fn width(&self) -> f64 {
        f64::from(self.cores.max(1))
    }
}

/// `capacity(j)`: the mean over the cores of a Set of `(1 − load(p))·cpu(p)`, in instructions per second; zero without
/// processors.
///
/// Implements equation `CAPACITY` of `docs/model.md`.
#[must_use]
pub fn capacity(processors: &[Processor]) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for processor in processors {
        sum += processor.width() * processor.rate();
        number += processor.width();
    }
    if 0.0 < number { sum / number } else { 0.0 }
}

/// However loaded, a host keeps this share for our processes, so that its times stay finite.
const SHARE_MIN: f64 = 1e-6;
