//! Moves: what one is, what it costs, and probes of links before large ones.

use bsp::units::{Bytes, Seconds};
use bsp::{HostId, MemorySize, Rank};
use serde::{Deserialize, Serialize};

use crate::bounded::non_negative;

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

/// The coefficients of `C = α0 + f · max(1 / r, α1 / b)`, the cost of moving a state of `f` bytes at a bandwidth of `b`.
///
/// Equation `COST` of `docs/model.md` (Du, Sun and Wu 2007, 3-3; the maximum is ours). It has the form of `MEM`, with
/// `Mig = α0` and `T = max(1 / r, α1 / b)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CostCoefficients {
    /// What a move takes whatever its size is, `α0`.
    pub startup: Seconds,
    /// How many times as long as at the predicted bandwidth the bytes of a move take, `α1`.
    pub overlap: f64,
    /// Seconds of packing and unpacking per byte, `1 / r`.
    pub processing: f64,
    /// Seconds per byte that moves took whatever bandwidth was predicted for them, if that has predicted better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRate>,
}

/// Seconds per byte of moves whose predicted bandwidth was in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SteadyRate {
    /// Seconds per byte.
    pub per_byte: f64,
    /// The least and the most seconds per byte that had been predicted for these moves.
    pub range: (f64, f64),
}

impl CostCoefficients {
    /// Whether these can be the coefficients of moves: no number is negative or infinite.
    #[must_use]
    pub fn are_sound(&self) -> bool {
        let steady = self
            .steady
            .map(|steady| [steady.per_byte, steady.range.0, steady.range.1]);
        let all = [self.startup.get(), self.overlap, self.processing];
        let mut all = all.into_iter().chain(steady.into_iter().flatten());
        all.all(|value| (0.0..f64::INFINITY).contains(&value))
    }

    /// Seconds per byte of a move at a bandwidth that takes `per_byte` seconds for a byte: `T(i, j)` of equation `MEM`.
    #[must_use]
    pub fn transfer_rate(&self, per_byte: f64) -> f64 {
        let per_byte = non_negative(per_byte);
        let computed = self.processing.max(self.overlap * per_byte);
        match self.steady {
            None => computed,
            // Other links may take other times.
            Some(steady) if per_byte < steady.range.0 => computed.min(steady.per_byte),
            Some(steady) if steady.range.1 < per_byte => computed.max(steady.per_byte),
            Some(steady) => steady.per_byte,
        }
    }

    /// Predicted time of moving `bytes` at a bandwidth that takes `per_byte` seconds for a byte.
    #[must_use]
    pub fn predict(&self, bytes: Bytes, per_byte: f64) -> Seconds {
        Seconds::bounded(self.startup.get() + bytes.as_f64() * self.transfer_rate(per_byte))
    }
}

impl Default for CostCoefficients {
    /// Bytes take what they take at the predicted bandwidth, and nothing is added.
    fn default() -> Self {
        Self {
            startup: Seconds::ZERO,
            overlap: 1.0,
            processing: 0.0,
            steady: None,
        }
    }
}

/// What moves cost in a call: what is stated, and what has been learned of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoveCost {
    stated: MigrationCost,
    learned: Option<CostCoefficients>,
}

impl MoveCost {
    /// The cost that is `stated`, with `learned` for what it leaves out; `None`: the cost of moves is not learned.
    #[must_use]
    pub const fn new(stated: MigrationCost, learned: Option<CostCoefficients>) -> Self {
        Self { stated, learned }
    }

    /// Equation `MEM`: the time that moving `image` takes, where a byte takes `per_byte` seconds on the network.
    #[must_use]
    pub fn time(&self, image: MemorySize, per_byte: f64) -> Seconds {
        let rate = self.transfer_rate(per_byte);
        let base = self.startup();
        let data = image.data.as_f64() * self.stated.data_rate.unwrap_or(rate);
        let fixed = image.fixed.as_f64() * self.stated.fixed_rate.unwrap_or(rate);
        Seconds::bounded(data + fixed + base.get())
    }

    /// The part of it in which the bytes cross a link that other moves cross, too: neither the startup, nor what hosts pack.
    pub(crate) fn transfer(&self, image: MemorySize, per_byte: f64) -> Seconds {
        let overlap = self.learned.map(|learned| learned.overlap);
        let overlap = self.stated.overlap.or(overlap).map_or(1.0, non_negative);
        let rate = overlap * non_negative(per_byte);
        let data = image.data.as_f64() * self.stated.data_rate.unwrap_or(rate);
        let fixed = image.fixed.as_f64() * self.stated.fixed_rate.unwrap_or(rate);
        Seconds::bounded(data + fixed)
    }

    /// What a move takes whatever its size is, `Mig`.
    #[must_use]
    pub fn startup(&self) -> Seconds {
        let startup = self.learned.map(|learned| learned.startup);
        self.stated.base.or(startup).unwrap_or_default()
    }

    /// Seconds per byte of a move, unless they are stated, where a byte takes `per_byte` seconds on the network.
    pub(crate) fn transfer_rate(&self, per_byte: f64) -> f64 {
        let overlap = self.stated.overlap;
        match (overlap, self.learned) {
            (None, Some(learned)) => learned.transfer_rate(per_byte),
            (Some(overlap), _) => non_negative(overlap) * non_negative(per_byte),
            (None, None) => non_negative(per_byte),
        }
    }

    /// The cost of a move that was predicted to cost `cost` where a byte takes `predicted` seconds on the network, if it
    /// takes `probed` seconds instead.
    #[must_use]
    pub fn repriced(&self, cost: Seconds, predicted: f64, probed: f64) -> Seconds {
        let startup = self.startup().get();
        let bytes = (cost.get() - startup) / self.transfer_rate(predicted);
        if !bytes.is_finite() {
            return cost;
        }
        Seconds::bounded(startup + bytes * self.transfer_rate(probed))
    }

    /// Whether the cost of moves is learned and depends on bandwidth, because the cost of a byte is not stated.
    #[must_use]
    pub const fn depends_on_bandwidth(&self) -> bool {
        let MigrationCost {
            data_rate,
            fixed_rate,
            ..
        } = self.stated;
        self.learned.is_some() && data_rate.is_none() && fixed_rate.is_none()
    }

    /// Whether the cost of moves is learned.
    #[must_use]
    pub const fn is_learned(&self) -> bool {
        self.learned.is_some()
    }
}

impl From<MigrationCost> for MoveCost {
    /// Nothing has been learned.
    fn from(stated: MigrationCost) -> Self {
        Self::new(stated, None)
    }
}

/// A probe of the link between two hosts, before a large image crosses it.
///
/// A bandwidth that was measured some time ago is the largest error of predictions of moves. A probe costs little
/// compared with a large move, and is paid for by those that it prevents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkProbe {
    /// The host that probes.
    pub from: HostId,
    /// The host that answers.
    pub to: HostId,
    /// How long its messages with content may take together: they grow as long as the next one fits.
    pub budget: Seconds,
}

/// A link as a probe has found it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProbedLink {
    /// The host that probed.
    pub from: HostId,
    /// The host that answered.
    pub to: HostId,
    /// Seconds per byte.
    pub per_byte: f64,
    /// How long the probe took.
    pub took: Seconds,
}

/// A move with its predicted cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PricedMove {
    /// The host that the process leaves.
    pub from: HostId,
    /// The host that it goes to.
    pub to: HostId,
    /// The predicted cost of the move.
    pub cost: Seconds,
    /// Seconds per byte that were predicted for it.
    pub per_byte: f64,
}

impl LinkProbe {
    /// The probes that are worth their time before these moves, the most expensive move first.
    ///
    /// A probe takes at most a twentieth of the move, and is worth that if this is a millisecond and several startups. Without a bandwidth in the
    /// cost of moves there are none.
    #[must_use]
    pub fn before(moves: impl Iterator<Item = PricedMove>, cost: &MoveCost) -> Vec<Self> {
        let mut moves: Vec<PricedMove> = moves.filter(|_| cost.depends_on_bandwidth()).collect();
        moves.sort_by(|one, other| other.cost.get().total_cmp(&one.cost.get()));
        let mut probes: Vec<Self> = Vec::new();
        for probe in moves.iter().filter_map(|step| Self::of(step, cost)) {
            let is_new = |other: &Self| (other.from, other.to) != (probe.from, probe.to);
            if probes.len() < PROBES_MAX && probes.iter().all(is_new) {
                probes.push(probe);
            }
        }
        probes
    }

    fn of(step: &PricedMove, cost: &MoveCost) -> Option<Self> {
        let budget = step.cost.get() * PART;
        let least = LEAST.max(STARTUPS * cost.startup().get());
        (least < budget).then(|| Self {
            from: step.from,
            to: step.to,
            budget: Seconds::bounded(budget),
        })
    }
}

/// The part of a move that its probe takes at most.
const PART: f64 = 1.0 / 20.0;
/// The least time of a probe, in seconds: shorter ones say more about the schedulers of the hosts than about a link.
const LEAST: f64 = 1e-3;
/// The same, in startups of moves, which are longer than round trips.
const STARTUPS: f64 = 4.0;
/// Links are probed one after the other, so that probes do not share them. No more are probed in one call.
const PROBES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use bsp::units::Bytes;

    use super::*;
    use crate::{CostCoefficients, MigrationCost};

    const IMAGE: MemorySize = MemorySize {
        data: Bytes(1000),
        fixed: Bytes(100),
    };

    fn seconds_of(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn what_is_stated_wins_over_what_is_learned() {
        let learned = Some(CostCoefficients {
            startup: seconds_of(0.5),
            overlap: 2.0,
            processing: 0.0,
            steady: None,
        });
        let time = |stated| MoveCost::new(stated, learned).time(IMAGE, 1e-3).get();
        let nothing = MigrationCost::default();
        assert!((time(nothing) - 2.7).abs() < 1e-12);
        let base = Some(seconds_of(0.25));
        assert!((time(MigrationCost { base, ..nothing }) - 2.45).abs() < 1e-12);
        let overlap = Some(3.0);
        assert!((time(MigrationCost { overlap, ..nothing }) - 3.8).abs() < 1e-12);
        let data_rate = Some(0.0);
        let data = MigrationCost {
            data_rate,
            ..nothing
        };
        assert!((time(data) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_move_is_priced_again_at_another_bandwidth() {
        let learned = Some(CostCoefficients {
            startup: seconds_of(0.5),
            overlap: 2.0,
            processing: 4e-4,
            steady: None,
        });
        let cost = MoveCost::new(MigrationCost::default(), learned);
        let before = cost.time(IMAGE, 1e-3);
        for probed in [1e-2, 1e-3, 1e-4] {
            let again = cost.repriced(before, 1e-3, probed).get();
            assert!((again - cost.time(IMAGE, probed).get()).abs() < 1e-12);
        }
        let free = MoveCost::default();
        assert_eq!(free.repriced(before, 0.0, 1e-3), before);
    }

    #[test]
    fn without_coefficients_bytes_take_what_the_network_takes() {
        let time = MoveCost::from(MigrationCost::default()).time(IMAGE, 1e-3);
        assert!((time.get() - 1.1).abs() < 1e-12);
        assert_eq!(MoveCost::default().time(IMAGE, f64::NAN), Seconds::ZERO);
    }

    fn learned(startup: f64) -> MoveCost {
        let startup = Seconds::new(startup).unwrap();
        let coefficients = CostCoefficients {
            startup,
            ..CostCoefficients::default()
        };
        MoveCost::new(MigrationCost::default(), Some(coefficients))
    }

    fn step(to: u32, bytes: f64, cost: &MoveCost) -> PricedMove {
        let per_byte = 1e-7;
        PricedMove {
            from: HostId(0),
            to: HostId(to),
            cost: Seconds::new(cost.startup().get() + bytes * per_byte).unwrap(),
            per_byte,
        }
    }

    #[test]
    fn large_moves_are_probed_for_a_part_of_their_time() {
        let cost = learned(1e-3);
        let moves = [
            step(1, 2e7, &cost),
            step(2, 1e9, &cost),
            step(3, 1e5, &cost),
        ];
        let probes = LinkProbe::before(moves.into_iter(), &cost);
        let found: Vec<_> = probes.iter().map(|probe| probe.to).collect();
        assert_eq!(found, [HostId(2), HostId(1)]);
        assert!((probes[1].budget.get() - 0.1).abs() < 1e-3, "{probes:?}");
    }

    #[test]
    fn a_link_is_probed_once_and_a_stated_cost_needs_no_probe() {
        let cost = learned(0.0);
        let moves = || [step(1, 1e7, &cost); 3].into_iter();
        assert_eq!(LinkProbe::before(moves(), &cost).len(), 1);
        let many = (1..40).map(|to| step(to, 1e7, &cost));
        assert_eq!(LinkProbe::before(many, &cost).len(), PROBES_MAX);
        let stated = MigrationCost {
            data_rate: Some(1e-7),
            ..MigrationCost::default()
        };
        for cost in [
            MoveCost::from(MigrationCost::default()),
            MoveCost::new(stated, Some(CostCoefficients::default())),
        ] {
            assert!(LinkProbe::before(moves(), &cost).is_empty());
        }
    }
}
