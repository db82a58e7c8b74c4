//! What moving a process costs, learned from moves.

use std::collections::VecDeque;

use bsp::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

use super::median;
use crate::bounded::{non_negative, seconds};

/// What a move costs: `C = α0 + f · max(1 / r, α1 / b)` for a state of `f` bytes and a bandwidth of `b`.
///
/// Equation `COST` of `docs/model.md` (Du, Sun and Wu 2007, 3-3; the maximum is ours). The startup `α0`, the overlap
/// `α1` and the rate `r` at which states are packed and unpacked are medians over the latest moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationModel {
    /// Moves whose bytes take less than the startup, to process and to send.
    short: Window,
    /// The other moves: those that the network held up, and those that packing or unpacking held up.
    sent: Window,
    processed: Window,
    /// Seconds; `None`: no short move has been measured.
    startup: Option<f64>,
    overlap: Option<f64>,
    /// Seconds per byte of packing and unpacking.
    processing: f64,
    /// The round trip of the latest move, in seconds.
    round_trip: f64,
}

/// A move as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredMove {
    /// The whole state, with messages and agent.
    pub bytes: Bytes,
    /// The bandwidth that was predicted for it, in bytes per second.
    pub bandwidth: f64,
    /// From the beginning of packing until the process was installed.
    pub took: Seconds,
    /// Packing or unpacking, whichever took longer.
    pub processing: Seconds,
    /// The round trip between the hosts.
    pub round_trip: Seconds,
}

type Window = VecDeque<MeasuredMove>;

impl MeasuredMove {
    /// Seconds that its bytes take at the predicted bandwidth.
    fn alone(&self) -> f64 {
        self.bytes.as_f64() / self.bandwidth
    }

    /// Seconds that its bytes took, with a startup of `startup`.
    fn transfer(&self, startup: f64) -> f64 {
        (self.took.get() - startup).max(0.0)
    }

    /// Whether these can be the values of a move.
    fn is_sound(&self) -> bool {
        let alone = self.alone();
        let times = [self.processing.get(), self.round_trip.get()];
        0.0 < alone && alone.is_finite() && 0.0 < self.took.get() && times.iter().all(|t| 0.0 <= *t)
    }
}

impl MigrationModel {
    /// Learns from a move. Values that no move can have are ignored.
    pub fn observe(&mut self, measured: MeasuredMove) {
        if !measured.is_sound() {
            return;
        }
        self.round_trip = measured.round_trip.get();
        let startup = self.startup();
        let window = if measured.alone().max(measured.processing.get()) < startup {
            &mut self.short
        } else if HELD_UP * measured.transfer(startup) < measured.processing.get() {
            &mut self.processed
        } else {
            &mut self.sent
        };
        if window.len() == REMEMBERED {
            window.pop_front();
        }
        window.push_back(measured);
        // The startup depends on what bytes take, and that on the startup, both a little: two rounds are enough.
        self.fit();
        self.fit();
    }

    /// Seconds that a move takes whatever its size is, `α0`; before a short move has been measured, two round trips.
    #[must_use]
    pub fn startup(&self) -> f64 {
        self.startup.unwrap_or(ROUND_TRIPS * self.round_trip)
    }

    /// How many times as long as at the predicted bandwidth the bytes of a move take, `α1`; 1 before a move has been
    /// measured that the network held up.
    #[must_use]
    pub fn overlap(&self) -> f64 {
        self.overlap.unwrap_or(1.0)
    }

    /// Seconds of packing and unpacking per byte, `1 / r`; zero before a move has been measured that they held up.
    #[must_use]
    pub const fn processing(&self) -> f64 {
        self.processing
    }

    /// Seconds per byte of a move at a bandwidth that takes `per_byte` seconds for a byte: `T(i, j)` of equation `MEM`.
    #[must_use]
    pub fn transfer_rate(&self, per_byte: f64) -> f64 {
        self.processing.max(self.overlap() * non_negative(per_byte))
    }

    /// Predicted time of moving `bytes` at a bandwidth that takes `per_byte` seconds for a byte.
    #[must_use]
    pub fn predict(&self, bytes: Bytes, per_byte: f64) -> Seconds {
        seconds(self.startup() + bytes.as_f64() * self.transfer_rate(per_byte))
    }

    fn fit(&mut self) {
        let startup = self.startup();
        let overlap = |measured: &MeasuredMove| measured.transfer(startup) / measured.alone();
        let overlap = median(self.sent.iter().map(overlap).collect());
        self.overlap = overlap.map(|overlap| overlap.clamp(1.0 / OVERLAP_MAX, OVERLAP_MAX));
        let processing =
            |measured: &MeasuredMove| measured.transfer(startup) / measured.bytes.as_f64();
        let processing = median(self.processed.iter().map(processing).collect());
        self.processing = processing.unwrap_or_default();
        let startup = |measured: &MeasuredMove| {
            let per_byte = self.transfer_rate(1.0 / measured.bandwidth);
            measured.transfer(measured.bytes.as_f64() * per_byte)
        };
        self.startup = median(self.short.iter().map(startup).collect());
    }
}

/// Moves of each kind that are remembered.
const REMEMBERED: usize = 15;

/// The startup of moves of which none has been short, in round trips.
const ROUND_TRIPS: f64 = 2.0;

/// Packing or unpacking held a move up if it took this part of the time of its bytes.
const HELD_UP: f64 = 0.7;

/// Bound of the overlap, and of its inverse.
const OVERLAP_MAX: f64 = 1024.0;

#[cfg(test)]
mod tests;
