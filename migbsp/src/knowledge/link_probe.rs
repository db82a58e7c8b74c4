//! Probes of links before large moves.

use bsp::HostId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use super::MoveCost;

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
