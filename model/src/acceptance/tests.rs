//! The laws of every gate.

use bsp::units::Seconds;
use proptest::prelude::*;

use super::*;
use crate::{Config, Planning, Policies, Policy};

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// Times that are often equal, and often nothing.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(2.0), 0.0..3.0]
}

fn gates() -> Vec<Box<dyn Gate>> {
    let (config, planning) = (Config::default(), Planning::default());
    let rules = Policies::shipped();
    let fixed = rules.whens().iter().find(|when| when.name() == "fixed");
    let policy = |gate: &Rule<dyn Gate>| Policy::new(*fixed.unwrap(), None, *gate);
    let gates = GATES.iter().map(policy);
    gates
        .map(|policy| policy.unwrap().gate(&config, &planning))
        .collect()
}

proptest! {
    #[test]
    fn no_gate_accepts_a_plan_without_a_gain(
        balances in prop::collection::vec((time(), time(), time(), 1.0..60.0), 1..20),
    ) {
        for mut gate in gates() {
            for (present, planned, cost, horizon) in &balances {
                let balance = CostBenefit {
                    present: seconds(*present),
                    planned: seconds(*planned),
                    cost: seconds(*cost),
                    horizon: *horizon,
                };
                let admits = gate.admits(&balance);
                prop_assert!(!admits || planned < present, "{gate:?} accepts {balance:?}");
                prop_assert_eq!(gate.admit(&balance) == Verdict::Admitted, admits);
            }
        }
    }
}

#[test]
fn a_free_plan_with_any_gain_is_accepted() {
    let balance = CostBenefit {
        present: seconds(1.0),
        planned: seconds(1.0 - 1e-12),
        cost: Seconds::ZERO,
        horizon: 1.0,
    };
    for mut gate in gates() {
        assert_eq!(gate.admit(&balance), Verdict::Admitted, "{gate:?}");
    }
}

#[test]
fn a_gain_counts_for_every_superstep_of_the_horizon() {
    assert_eq!(GATES[1].name(), "amortised");
    let mut gate = gates().remove(1);
    let mut verdict = |horizon: f64| {
        gate.admit(&CostBenefit {
            present: seconds(3.0),
            planned: seconds(1.0),
            cost: seconds(20.0),
            horizon,
        })
    };
    let refused = |pause| Verdict::NotAmortised { pause };
    // Two seconds in each of ten supersteps pay for no more than the moves.
    let found = [10.0, 9.0, 10.0, 10.0, 10.5, 10.0].map(&mut verdict);
    let expected = [
        refused(2),
        refused(4),
        refused(8),
        refused(8),
        Verdict::Admitted,
        refused(2),
    ];
    assert_eq!(found, expected);
}
