//! What moving a process costs, learned from moves.

use std::collections::VecDeque;

use bsp::HostId;

use super::met_links::MetLinks;
use super::{
    CallMove, CostCoefficients, MeasuredMove, ProbedLink, SteadyRate, concurrent_moves, median,
    selection,
};
use crate::bounded::seconds;

/// What a move costs, learned: the [`CostCoefficients`] are medians over the latest moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationModel {
    /// Moves whose bytes take less than the startup, to process and to send.
    short: Window,
    /// The other moves: those that the network held up, and those that packing or unpacking held up.
    sent: Window,
    processed: Window,
    /// What bytes took on each link.
    links: MetLinks,
    /// The recent mean errors of two predictions of what the network adds, as parts of it: by the predicted bandwidth, and
    /// by what earlier moves took whatever was predicted.
    errors: [f64; 2],
    /// The round trip of the latest move, in seconds.
    round_trip: f64,
    coefficients: CostCoefficients,
}

/// A move with what its bytes were to take.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    measured: MeasuredMove,
    /// Seconds per byte that were predicted.
    per_byte: f64,
    /// Seconds that its bytes take at that rate, if the other moves of the same call have their parts of the links.
    alone: f64,
}

type Window = VecDeque<Sample>;

impl Sample {
    /// Bytes that had to cross its busiest link before it was complete, its own and parts of others.
    fn bytes(&self) -> f64 {
        self.alone / self.per_byte
    }

    /// Seconds that its bytes took, with a startup of `startup`.
    fn transfer(&self, startup: f64) -> f64 {
        (self.measured.took.get() - startup).max(0.0)
    }
}

impl MigrationModel {
    /// What has been learned.
    #[must_use]
    pub const fn coefficients(&self) -> CostCoefficients {
        self.coefficients
    }

    /// Seconds per byte between two hosts, as earlier moves between them are to be predicted by; `None`: there were none
    /// that the network held up.
    #[must_use]
    pub fn per_byte(&self, one: HostId, other: HostId) -> Option<f64> {
        Some(self.links.per_byte(one, other)? / self.coefficients.overlap)
    }

    /// The link that has been `probed`, as moves are to be predicted by: as earlier moves met it, if the probe says that it
    /// has not changed.
    #[must_use]
    pub fn confirmed(&self, probed: ProbedLink) -> ProbedLink {
        let overlap = self.coefficients.overlap;
        let taken = overlap * probed.per_byte;
        let confirmed = self.links.confirmed(probed.from, probed.to, taken);
        ProbedLink {
            per_byte: confirmed / overlap,
            ..probed
        }
    }

    /// Learns from the moves of a call, which share links. Values that no move can have are ignored.
    pub fn observe(&mut self, moves: &[CallMove]) {
        let is_sound = |step: &&CallMove| {
            step.measured.is_sound() && (0.0..f64::INFINITY).contains(&step.per_byte)
        };
        let moves: Vec<CallMove> = moves.iter().filter(is_sound).copied().collect();
        for (step, alone) in moves.iter().zip(concurrent_moves::shared(&moves)) {
            let sample = Sample {
                measured: step.measured,
                per_byte: step.per_byte,
                alone,
            };
            if self.add(sample) {
                let startup = self.coefficients.startup.get();
                let per_byte = sample.transfer(startup) / sample.bytes();
                self.links.observe(step.from.0, step.to.0, per_byte);
            }
        }
    }

    /// Learns from a move. Returns whether the network held it up.
    fn add(&mut self, sample: Sample) -> bool {
        let Sample {
            measured, alone, ..
        } = sample;
        if !(measured.is_sound() && 0.0 < alone && alone.is_finite()) {
            return false;
        }
        self.round_trip = measured.round_trip.get();
        self.fit();
        let startup = self.coefficients.startup.get();
        self.judge(&sample, startup);
        let took = sample.transfer(startup);
        let processing = measured.processing.get();
        let is_short = alone.max(processing) < startup;
        let is_processed = HELD_UP * took < processing;
        if is_short {
            remember(&mut self.short, sample);
        } else {
            // Both may hold a move up: the network by what was predicted, and processing by what was measured.
            if is_processed {
                remember(&mut self.processed, sample);
            }
            if !is_processed || (HELD_UP * took..took / HELD_UP).contains(&alone) {
                remember(&mut self.sent, sample);
            }
        }
        // The startup depends on what bytes take, and that on the startup, both a little: two rounds are enough.
        self.fit();
        self.fit();
        !is_short && !is_processed
    }

    /// Learns by how much each prediction of a move that is not short was off.
    fn judge(&mut self, sample: &Sample, startup: f64) {
        let took = sample.transfer(startup);
        if let Some(steady) = self.steady().filter(|_| startup < sample.alone) {
            let predicted = [
                self.coefficients.overlap * sample.alone,
                steady.per_byte * sample.bytes(),
            ];
            let errors = predicted.map(|predicted| ((predicted - took) / took).abs());
            selection::learn(&mut self.errors, errors.map(|error| error.min(ERROR_MAX)));
        }
    }

    /// What a byte has taken in the moves that the network held up.
    fn steady(&self) -> Option<SteadyRate> {
        let startup = self.coefficients.startup.get();
        let taken = |sample: &Sample| sample.transfer(startup) / sample.bytes();
        let predicted = self.sent.iter().map(|sample| sample.per_byte);
        Some(SteadyRate {
            per_byte: median(self.sent.iter().map(taken).collect())?,
            range: (
                predicted.clone().fold(f64::INFINITY, f64::min),
                predicted.fold(0.0, f64::max),
            ),
        })
    }

    fn fit(&mut self) {
        let startup = self.coefficients.startup.get();
        let overlap = |sample: &Sample| sample.transfer(startup) / sample.alone;
        let overlap = median(self.sent.iter().map(overlap).collect());
        let overlap = overlap.map(|overlap| overlap.clamp(1.0 / OVERLAP_MAX, OVERLAP_MAX));
        self.coefficients.overlap = overlap.unwrap_or(1.0);
        // The images of one host are packed at the same time.
        let processing = |sample: &Sample| sample.transfer(startup) / sample.bytes();
        let processing = median(self.processed.iter().map(processing).collect());
        self.coefficients.processing = processing.unwrap_or_default();
        let is_steady = selection::best(&self.errors) == 1;
        self.coefficients.steady = self.steady().filter(|_| is_steady);
        let startup = |sample: &Sample| {
            let per_byte = self.coefficients.transfer_rate(sample.per_byte);
            sample.transfer(sample.bytes() * per_byte)
        };
        let startup = median(self.short.iter().map(startup).collect());
        self.coefficients.startup = seconds(startup.unwrap_or(ROUND_TRIPS * self.round_trip));
    }
}

fn remember(window: &mut Window, sample: Sample) {
    if window.len() == REMEMBERED {
        window.pop_front();
    }
    window.push_back(sample);
}

/// Moves of each kind that are remembered.
const REMEMBERED: usize = 15;

/// The startup of moves of which none has been short, in round trips.
const ROUND_TRIPS: f64 = 2.0;

/// Packing or unpacking held a move up if it took this part of the time of its bytes.
const HELD_UP: f64 = 0.7;

/// A prediction that is off by more counts as off by this.
const ERROR_MAX: f64 = 10.0;

/// Bound of the overlap, and of its inverse.
const OVERLAP_MAX: f64 = 1024.0;

#[cfg(test)]
mod tests;
