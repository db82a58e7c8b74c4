//! A host and our processes on it, as its Set Manager knows them.

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::SetLoad;
use crate::bounded::seconds;

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

    /// What a core adds to the capacity of its Set, in instructions per second.
    fn capacity(&self, set_load: SetLoad) -> f64 {
        match set_load {
            SetLoad::Subtracted => self.rate(),
            // A load that is not a number counts as none.
            SetLoad::Multiplied if 0.0 < self.load => self.speed.get() * self.load.min(1.0),
            SetLoad::Multiplied => 0.0,
        }
    }

    /// Equation `TIME` of `docs/model.md`: how long the host takes for its residents and `extra` work.
    ///
    /// One core executes everything one after the other. Several share the sum, but a single process
    /// cannot use more than one of them.
    pub(crate) fn time(&self, extra: Instructions) -> Seconds {
        let works = self.residents.iter().map(|(_, work)| *work);
        let sum: Instructions = works.clone().sum::<Instructions>() + extra;
        let longest = works.max().unwrap_or_default().max(extra);
        let shared = sum.as_f64() / (self.width() * self.rate());
        seconds(shared.max(longest.as_f64() / self.rate()))
    }

    /// The number of cores, as a measure to divide by.
    pub(crate) fn width(&self) -> f64 {
        f64::from(self.cores.max(1))
    }
}

/// `capacity(j)`: the mean over the cores of a Set of `(1 − load(p))·cpu(p)`, or as `set_load` says, in instructions
/// per second; zero without processors.
///
/// Implements equation `CAPACITY` of `docs/model.md`.
#[must_use]
pub fn capacity(set_load: SetLoad, processors: &[Processor]) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for processor in processors {
        sum += processor.width() * processor.capacity(set_load);
        number += processor.width();
    }
    if 0.0 < number { sum / number } else { 0.0 }
}

/// However loaded, a host keeps this share for our processes, so that its times stay finite.
const SHARE_MIN: f64 = 1e-6;
