//! What moving a process costs, learned from moves.

use std::collections::VecDeque;

use bsp::HostId;
use bsp::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

use super::met_links::MetLinks;
use super::{CallMove, CostCoefficients, ProbedLink, SteadyRate, concurrent_moves, selection};
use crate::median::median;

/// What a move costs, learned: the [`CostCoefficients`] are medians over the latest moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MigrationModel {
    /// Moves whose bytes take less than the startup, to process and to send.
    short: Window,
    /// The other moves with their causes, those of them that the network held up, and those that packing or unpacking held
    /// up.
    long: VecDeque<(Sample, Cause)>,
    sent: Window,
    processed: Window,
    /// What bytes took on each link.
    links: MetLinks,
    /// The recent mean errors of two predictions of what bytes take, as parts of it: by the predicted bandwidth, and by what
    /// earlier moves took whatever was predicted.
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

/// What held a move up that is not short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The network.
    Network,
    /// Packing or unpacking.
    Processing,
    /// Either.
    Both,
    /// Neither: it took much longer than both.
    Unknown,
}

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
        let took = sample.transfer(startup);
        let processing = measured.processing.get();
        let is_short = alone.max(processing) < startup;
        if !is_short {
            self.judge(&sample, took);
        }
        let cause = Cause::of(took, alone, processing);
        if is_short {
            remember(&mut self.short, sample);
        } else {
            remember(&mut self.long, (sample, cause));
            if matches!(cause, Cause::Processing | Cause::Both) {
                remember(&mut self.processed, sample);
            }
            if matches!(cause, Cause::Network | Cause::Both) {
                remember(&mut self.sent, sample);
            }
        }
        // The startup depends on what bytes take, and that on the startup, both a little: two rounds are enough.
        self.fit();
        self.fit();
        !is_short && matches!(cause, Cause::Network | Cause::Unknown)
    }

    /// Learns by how much each prediction of a move that is not short was off; its bytes took `took` seconds.
    fn judge(&mut self, sample: &Sample, took: f64) {
        if let Some(steady) = self.steady() {
            let computed = CostCoefficients {
                steady: None,
                ..self.coefficients
            };
            let predicted = [
                computed.transfer_rate(sample.per_byte) * sample.bytes(),
                steady.per_byte * sample.bytes(),
            ];
            let errors = predicted.map(|predicted| ((predicted - took) / took).abs());
            selection::learn(&mut self.errors, errors.map(|error| error.min(ERROR_MAX)));
        }
    }

    /// What a byte has taken in moves that are not short.
    fn steady(&self) -> Option<SteadyRate> {
        let startup = self.coefficients.startup.get();
        let taken = |(sample, _): &(Sample, _)| sample.transfer(startup) / sample.bytes();
        let predicted = self.long.iter().map(|(sample, _)| sample.per_byte);
        Some(SteadyRate {
            per_byte: median(self.long.iter().map(taken).collect())?,
            range: (
                predicted.clone().fold(f64::INFINITY, f64::min),
                predicted.fold(0.0, f64::max),
            ),
        })
    }

    /// Seconds per byte of moves that the network did not hold up, whatever did. The images of one host are packed at the
    /// same time. Moves without a known cause count if most are like that: single ones are outliers.
    fn processing(&self, startup: f64) -> Option<f64> {
        let unknown = self.long.iter();
        let unknown = unknown.filter(|(_, cause)| *cause == Cause::Unknown);
        let are_most = self.long.len() < 2 * unknown.clone().count();
        let unknown = unknown.map(|(sample, _)| sample).filter(|_| are_most);
        let taken = |sample: &Sample| sample.transfer(startup) / sample.bytes();
        median(self.processed.iter().chain(unknown).map(taken).collect())
    }

    fn fit(&mut self) {
        let startup = self.coefficients.startup.get();
        let overlap = |sample: &Sample| sample.transfer(startup) / sample.alone;
        let overlap = median(self.sent.iter().map(overlap).collect());
        let overlap = overlap.map(|overlap| overlap.clamp(1.0 / OVERLAP_MAX, OVERLAP_MAX));
        self.coefficients.overlap = overlap.unwrap_or(1.0);
        self.coefficients.processing = self.processing(startup).unwrap_or_default();
        let is_steady = selection::best(&self.errors) == 1;
        self.coefficients.steady = self.steady().filter(|_| is_steady);
        let startup = |sample: &Sample| {
            let per_byte = self.coefficients.transfer_rate(sample.per_byte);
            sample.transfer(sample.bytes() * per_byte)
        };
        let startup = median(self.short.iter().map(startup).collect());
        self.coefficients.startup =
            Seconds::bounded(startup.unwrap_or(ROUND_TRIPS * self.round_trip));
    }
}

impl Cause {
    /// What held up a move whose bytes took `took` seconds, if they were to take `alone` on the network, and packing or
    /// unpacking took `processing`.
    fn of(took: f64, alone: f64, processing: f64) -> Self {
        let is_processed = HELD_UP * took < processing;
        let is_sent = (HELD_UP * took..took / HELD_UP).contains(&alone);
        match (is_processed, is_sent) {
            (true, true) => Self::Both,
            (true, false) => Self::Processing,
            (false, _) if alone * EXPLAINED < took => Self::Unknown,
            (false, _) => Self::Network,
        }
    }
}

fn remember<T>(window: &mut VecDeque<T>, sample: T) {
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

/// The network did not hold a move up whose bytes took longer than this, as a multiple of what they were to take there.
const EXPLAINED: f64 = 4.0;

/// A prediction that is off by more counts as off by this.
const ERROR_MAX: f64 = 10.0;

/// Bound of the overlap, and of its inverse.
const OVERLAP_MAX: f64 = 1024.0;

/// A move as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredMove {
    /// The bytes by which moves are priced: the memory that the program declares, or the whole image, with messages and
    /// agent.
    pub bytes: Bytes,
    /// From the beginning of packing until the process was installed.
    pub took: Seconds,
    /// Packing or unpacking, whichever took longer.
    pub processing: Seconds,
    /// The round trip between the hosts.
    pub round_trip: Seconds,
}

impl MeasuredMove {
    /// Whether a move can be priced by this number of bytes: there are some, and not more than any memory has.
    #[must_use]
    pub fn is_possible_size(bytes: &Bytes) -> bool {
        (Bytes(1)..=BYTES_MAX).contains(bytes)
    }

    /// Whether these can be the values of a move: it has bytes, not more than any memory, it took time, and no part of
    /// it took longer, or less than no time.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let took = self.took.get();
        Self::is_possible_size(&self.bytes)
            && 0.0 < took
            && (0.0..=took).contains(&self.processing.get())
            && 0.0 <= self.round_trip.get()
    }
}

/// More than any memory: 2 to the power of 53, up to which numbers of bytes are exact.
const BYTES_MAX: Bytes = Bytes(1 << 53);

#[cfg(test)]
mod tests;
