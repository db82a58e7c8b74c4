//! A run on a platform of extreme numbers ends.

use std::sync::Arc;

use agents::{Programs, Setup};
use bsp::HostId;
use model::Policies;
use proptest::prelude::*;
use simulated::simulate;
use simulator::Platform;

use crate::relay::Relay;
use crate::setups::{SHAPES, scheduler, setup};

/// Six processes, of which one has the most to do, each with a message for the next one.
fn programs() -> Vec<Relay> {
    let program = |rank| Relay {
        halts: 40,
        first_halt: 40,
        shifts: vec![1],
        work: if rank == 1 { 4_000_000 } else { 1_000_000 },
        digest: rank,
        broadcasts: true,
        ballast: vec![0; 1000],
    };
    (0..6).map(program).collect()
}

/// Three Sets of two hosts, with these speeds and bandwidths, and these latencies.
fn platform(rates: &[f64], times: &[f64]) -> Arc<Platform> {
    let sets = (0..3).map(|set| {
        let (rates, times) = (&rates[3 * set..], &times[2 * set..]);
        format!(
            "[[set]]\nname = \"s{set}\"\nhosts = 2\nspeed = \"{:e}\"\n\
             link = {{ bandwidth = \"{:e}\", latency = \"{:e}\" }}\n\
             uplink = {{ bandwidth = \"{:e}\", latency = \"{:e}\" }}\n",
            rates[0], rates[1], times[0], rates[2], times[1]
        )
    });
    Arc::new(Platform::from_toml(&sets.collect::<String>()).unwrap())
}

fn magnitude(from: f64, to: f64) -> impl Strategy<Value = f64> {
    let drawn = (from.log10()..to.log10()).prop_map(|exponent| 10.0_f64.powf(exponent));
    prop_oneof![
        Just(from),
        Just(to),
        drawn.prop_map(move |value| value.clamp(from, to))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_comes_to_the_end_on_every_platform(
        rates in prop::collection::vec(magnitude(1e-6, 1e30), 9),
        times in prop::collection::vec(prop_oneof![Just(0.0), magnitude(1e-30, 1e9)], 6),
        shape in prop::sample::select(SHAPES.to_vec()),
        policy in prop::sample::select(vec!["migbsp", "adaptive", "menon-boulmier+greedy-refine+amortised"]),
    ) {
        let mut scheduler = scheduler(|_| {});
        scheduler.policy = Policies::shipped().policy(policy).unwrap();
        let setup = Setup {
            platform: platform(&rates, &times),
            placement: (0..6).map(HostId).collect(),
            ..setup(6, 0, shape, Some(scheduler))
        };
        let outcome = simulate(&setup, Programs::new(programs()), &mut |_| {}).unwrap();
        prop_assert_eq!(outcome.end.supersteps, 41);
    }
}
