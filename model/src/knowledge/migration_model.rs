//! What moving a process costs, learned from moves.

use std::collections::{BTreeMap, VecDeque};

use bsp::units::{Bytes, Seconds};
use bsp::{HostId, SetId};
use serde::{Deserialize, Serialize};

use super::forecast::{learn_errors, least_error, median};
use super::migration_schedule::{Transfer, together};
use super::{BandwidthForecast, CostCoefficients, ProbedLink, SteadyRate};

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
    links: MeasuredLinks,
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

    /// The link that has been `probed`, as moves are to be predicted by: as earlier moves found it, if the probe says that it
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
        for (step, alone) in moves.iter().zip(shared(&moves)) {
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
            self.assess(&sample, took);
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
    fn assess(&mut self, sample: &Sample, took: f64) {
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
            learn_errors(&mut self.errors, errors.map(|error| error.min(ERROR_MAX)));
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
        let is_steady = least_error(&self.errors) == 1;
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

/// What bytes took on the links between hosts in earlier moves, in seconds per byte.
///
/// A move measures its link for as long as it takes, a probe only for a part of that. So a probe shows whether a link has
/// changed, and as long as it has not, the moves before know it better.
#[derive(Clone, Debug, Default, PartialEq)]
struct MeasuredLinks(BTreeMap<[HostId; 2], BandwidthForecast>);

impl MeasuredLinks {
    /// Learns from a move between two hosts, in either direction.
    pub(super) fn observe(&mut self, one: HostId, other: HostId, per_byte: f64) {
        let link = self.0.entry(ends(one, other)).or_default();
        link.observe(per_byte.recip());
    }

    /// Predicted seconds per byte; `None`: no move was between these hosts.
    pub(super) fn per_byte(&self, one: HostId, other: HostId) -> Option<f64> {
        let link = self.0.get(&ends(one, other))?;
        Some(link.bandwidth()?.recip())
    }

    /// Seconds per byte of a link that a probe has just found to take `probed`: what was predicted from moves, if that is
    /// near.
    pub(super) fn confirmed(&self, one: HostId, other: HostId, probed: f64) -> f64 {
        let link = self.0.get(&ends(one, other));
        let predictions = link.and_then(BandwidthForecast::predictions);
        let distance = |per_byte: f64| (per_byte / probed).ln().abs();
        let predictions = predictions.into_iter().flatten().map(f64::recip);
        let nearest = predictions.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
        nearest
            .filter(|nearest| distance(*nearest) < CHANGED)
            .unwrap_or(probed)
    }
}

fn ends(one: HostId, other: HostId) -> [HostId; 2] {
    [one.min(other), one.max(other)]
}

/// A link has changed if a probe finds it to take so much more or less: the logarithm of the factor.
const CHANGED: f64 = 0.1;

/// A move of a call, as it was predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallMove {
    /// What was measured.
    pub measured: MeasuredMove,
    /// Seconds per byte that were predicted for it.
    pub per_byte: f64,
    /// The hosts that it left and reached, with their Sets.
    pub from: (HostId, SetId),
    /// Where it went.
    pub to: (HostId, SetId),
}

impl CallMove {
    /// Seconds that its bytes take at the predicted bandwidth, without other moves.
    fn alone(&self) -> f64 {
        self.measured.bytes.as_f64() * self.per_byte
    }

    fn transfer(&self) -> Transfer {
        let alone = self.alone();
        // What all moves between two Sets share together is not measured.
        let shared = if self.from.1 == self.to.1 { 0.0 } else { alone };
        Transfer::new([self.from, self.to], alone, shared)
    }
}

/// Seconds that each of the `moves` of a call takes beside the others.
fn shared(moves: &[CallMove]) -> Vec<f64> {
    let transfers: Vec<Transfer> = moves.iter().map(CallMove::transfer).collect();
    together(transfers.iter())
}

#[cfg(test)]
mod tests {
    mod migration_model;

    use bsp::units::{Bytes, Seconds};

    use super::*;

    const ENDS: (HostId, HostId) = (HostId(3), HostId(1));

    fn after(rates: &[f64]) -> MeasuredLinks {
        let mut links = MeasuredLinks::default();
        for rate in rates {
            links.observe(ENDS.0, ENDS.1, *rate);
        }
        links
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}");
    }

    #[test]
    fn a_link_is_known_in_both_directions_and_no_other_one() {
        let links = after(&[2e-7]);
        close(links.per_byte(ENDS.0, ENDS.1).unwrap(), 2e-7);
        close(links.per_byte(ENDS.1, ENDS.0).unwrap(), 2e-7);
        assert_eq!(links.per_byte(ENDS.1, HostId(2)), None);
        assert_eq!(MeasuredLinks::default().per_byte(ENDS.0, ENDS.1), None);
    }

    #[test]
    fn a_probe_that_is_near_what_moves_found_confirms_it_and_another_one_replaces_it() {
        let links = after(&[2e-7, 2e-7, 5e-7]);
        let confirmed = |probed| links.confirmed(ENDS.0, ENDS.1, probed);
        close(confirmed(5.3e-7), 5e-7);
        close(confirmed(1.9e-7), 2e-7);
        close(confirmed(3e-7), 3e-7);
        close(confirmed(9e-7), 9e-7);
        close(after(&[]).confirmed(ENDS.0, ENDS.1, 3e-7), 3e-7);
        for probed in [0.0, f64::INFINITY, f64::NAN] {
            assert!(confirmed(probed).total_cmp(&probed).is_eq());
        }
    }

    fn step(bytes: u64, from: (u32, u32), to: (u32, u32)) -> CallMove {
        let place = |(host, set)| (HostId(host), SetId(set));
        CallMove {
            measured: MeasuredMove {
                bytes: Bytes(bytes),
                took: Seconds::ZERO,
                processing: Seconds::ZERO,
                round_trip: Seconds::ZERO,
            },
            per_byte: 1.0,
            from: place(from),
            to: place(to),
        }
    }

    #[test]
    fn a_move_without_others_takes_what_its_bytes_take() {
        assert_eq!(shared(&[step(7, (0, 0), (1, 1))]), [7.0]);
        assert!(shared(&[]).is_empty());
    }

    #[test]
    fn moves_on_one_link_share_it() {
        // From one host: 1, 3 and 5 seconds; the last is alone for two seconds.
        let moves = [1, 3, 5].map(|bytes| (bytes, 1));
        let moves: Vec<_> = moves
            .iter()
            .zip(1..)
            .map(|((bytes, set), host)| step(*bytes, (0, 0), (host, *set + host)))
            .collect();
        assert_eq!(shared(&moves), [3.0, 7.0, 9.0]);
    }

    #[test]
    fn moves_between_other_hosts_share_the_links_of_their_sets() {
        let moves = [step(4, (0, 0), (4, 1)), step(4, (1, 0), (5, 1))];
        assert_eq!(shared(&moves), [8.0, 8.0]);
        // Inside a Set they share nothing.
        let moves = [step(4, (0, 0), (1, 0)), step(4, (2, 0), (3, 0))];
        assert_eq!(shared(&moves), [4.0, 4.0]);
        // A host can send and receive at the same time.
        let moves = [step(4, (0, 0), (1, 0)), step(4, (1, 0), (0, 0))];
        assert_eq!(shared(&moves), [4.0, 4.0]);
    }
}
