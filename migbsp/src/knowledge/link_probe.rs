//! Probes of links before large moves.

use bsp::HostId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use super::MoveCost;

/// A probe of the link between two hosts, before a large image crosses it.
///
/// A bandwidth that was measured some time ago is the largest error of predictions of moves. A probe costs little
/// compared with a large move, and is paid for by those that it prevents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkProbe {
    /// The host that probes.
    pub from: HostId,
    /// The host that answers.
    pub to: HostId,
    /// Bytes of each message with content.
    pub bytes: u32,
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
    /// A probe is worth its time if it is predicted to take a tenth of the move at most. Without a bandwidth in the cost of
    /// moves there are none.
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
        let startup = cost.startup().get();
        let per_byte = cost.transfer_rate(step.per_byte);
        let image = (step.cost.get() - startup) / per_byte;
        let bytes = (image * PART).clamp(f64::from(BYTES_MIN), f64::from(BYTES_MAX));
        let took = f64::from(Self::FULL) * bytes * per_byte
            + f64::from(Self::EMPTY + Self::FULL) * startup;
        let is_worth_its_time = took * WORTH <= step.cost.get();
        is_worth_its_time.then(|| Self {
            from: step.from,
            to: step.to,
            bytes: whole(bytes),
        })
    }

    /// The number of messages without content of a probe.
    pub const EMPTY: u32 = 2;
    /// The number of messages with content.
    pub const FULL: u32 = 3;
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number from BYTES_MIN to BYTES_MAX, or zero"
)]
const fn whole(bytes: f64) -> u32 {
    bytes as u32
}

/// A message of a probe has this part of the bytes of an image, within bounds.
const PART: f64 = 1.0 / 64.0;
/// Smaller messages say nothing of bandwidth.
const BYTES_MIN: u32 = 16 << 10;
/// Larger ones say no more.
const BYTES_MAX: u32 = 256 << 10;
/// A move takes at least so many times as long as its probe.
const WORTH: f64 = 10.0;
/// Links are probed one after the other, so that probes do not share them. No more are probed in one call.
const PROBES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostCoefficients, MigrationCost};

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
    fn large_moves_are_probed_with_a_part_of_their_bytes() {
        let cost = learned(1e-3);
        let moves = [step(1, 6.4e6, &cost), step(2, 1e9, &cost)];
        let probes = LinkProbe::before(moves.into_iter(), &cost);
        let found: Vec<_> = probes.iter().map(|probe| (probe.to, probe.bytes)).collect();
        assert_eq!(found[0], (HostId(2), BYTES_MAX));
        assert_eq!(found[1].0, HostId(1));
        assert!((99_999..=100_000).contains(&found[1].1), "{found:?}");
    }

    #[test]
    fn a_probe_takes_at_most_a_tenth_of_the_move() {
        for startup in [0.0, 1e-4, 1e-3, 1e-2] {
            let cost = learned(startup);
            for bytes in [0.0, 1e3, 1e5, 4e5, 1e6, 1e7, 1e8] {
                let step = step(1, bytes, &cost);
                for probe in LinkProbe::before([step].into_iter(), &cost) {
                    let took = 3.0 * f64::from(probe.bytes) * 1e-7 + 5.0 * startup;
                    assert!(took <= step.cost.get() / 9.99, "{startup} {bytes}");
                }
            }
        }
        let cost = learned(1e-2);
        assert!(LinkProbe::before([step(1, 4e6, &cost)].into_iter(), &cost).is_empty());
        assert_eq!(
            LinkProbe::before([step(1, 4e7, &cost)].into_iter(), &cost).len(),
            1
        );
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

    #[test]
    fn costs_that_no_move_has_are_not_probed() {
        let cost = learned(1e-3);
        for (took, per_byte) in [(0.0, 0.0), (1.0, 0.0), (1.0, f64::MAX), (f64::MAX, 1e-9)] {
            let step = PricedMove {
                cost: Seconds::new(took).unwrap(),
                per_byte,
                ..step(1, 1.0, &cost)
            };
            let probes = LinkProbe::before([step].into_iter(), &cost);
            assert!(
                probes
                    .iter()
                    .all(|probe| (BYTES_MIN..=BYTES_MAX).contains(&probe.bytes))
            );
        }
    }
}
