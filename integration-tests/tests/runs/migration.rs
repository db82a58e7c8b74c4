//! Wherever and whenever processes migrate, outputs equal the reference runner's.

use std::collections::BTreeMap;

use agents::{Programs, Script};
use bsp::reference::{self, Limit};
use bsp::{HostId, Rank};
use proptest::prelude::*;
use simulated::simulate;

use crate::relay::Relay;
use crate::setups::{COLLECTIONS, PAYMENTS, SHAPES, STARTS, joining, scheduler, scripted, setup};

/// A few processes that halt at their own times.
fn relays() -> impl Strategy<Value = Vec<Relay>> {
    let halts = prop::collection::vec(0_u64..9, 1..8);
    let shifts = prop::collection::vec(0_u32..8, 0..4);
    (halts, shifts, 0_usize..2000).prop_map(|(halts, shifts, ballast)| {
        let first_halt = halts.iter().copied().min().unwrap();
        let relay = |(rank, halts): (usize, u64)| Relay {
            halts,
            first_halt,
            shifts: shifts.clone(),
            work: (rank as u64 * 37_000_000) % 200_000_000,
            digest: rank as u64,
            broadcasts: true,
            ballast: vec![0; ballast],
        };
        halts.into_iter().enumerate().map(relay).collect()
    })
}

/// Any moves at any calls, several of one process and to one host included.
fn scripts() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
    prop::collection::vec((1_u64..10, 0_u32..8, 0_u32..174), 0..40)
}

/// Where the first process goes, by superstep: elsewhere, or back to where it started, which is beside
/// the first Manager.
fn journeys() -> impl Strategy<Value = BTreeMap<u64, Option<u32>>> {
    let place = prop_oneof![Just(None), (0_u32..174).prop_map(Some)];
    prop::collection::btree_map(1_u64..10, place, 0..6)
}

fn script(moves: impl IntoIterator<Item = (u64, u32, u32)>, processes: usize) -> Script {
    let mut script: BTreeMap<u64, Vec<(Rank, HostId)>> = BTreeMap::new();
    for (superstep, rank, host) in moves {
        let orders = script.entry(superstep).or_default();
        let rank = Rank(rank % u32::try_from(processes).unwrap());
        if orders.iter().all(|(other, _)| *other != rank) {
            orders.push((rank, HostId(host)));
        }
    }
    Script(script)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn scripted_moves_change_no_output(
        programs in relays(),
        moves in scripts(),
        (shape, start, payment, collection) in
            (0..SHAPES.len(), 0_usize..2, 0_usize..2, 0_usize..2),
        offset in 0_u32..174,
        journey in journeys(),
    ) {
        // Values reach their receiver only if all are alive one superstep later.
        let expected = reference::run(programs.clone(), Limit::default()).unwrap();
        let processes = u32::try_from(programs.len()).unwrap();
        let mut setup = setup(processes, offset, SHAPES[shape], None);
        let journey = journey.iter().map(|(superstep, away)| {
            let host = away.unwrap_or(setup.placement[0].0);
            (*superstep, 0, host)
        });
        let script = script(journey.chain(moves), programs.len());
        setup.scheduler = Some(scripted(script, PAYMENTS[payment]));
        setup.start = STARTS[start];
        setup.barrier.collection = COLLECTIONS[collection];
        let outcome = simulate(&setup, Programs::new(programs), &mut |_| {}).unwrap();
        prop_assert_eq!(outcome.outputs.typed::<Relay>(), expected.outputs);
        prop_assert_eq!(outcome.end.supersteps, expected.supersteps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn hosts_that_join_change_no_output(
        programs in relays(),
        moves in scripts(),
        shape in 0..SHAPES.len(),
        (at, take) in (0_u64..10, 1_usize..6),
        creation in prop_oneof![Just(0.0), 1e-4..1.0_f64],
    ) {
        prop_assume!(1 < programs.len());
        let expected = reference::run(programs.clone(), Limit::default()).unwrap();
        let processes = u32::try_from(programs.len()).unwrap();
        // Moves go to hosts that are there.
        let moves = moves.into_iter().map(|(superstep, rank, host)| (superstep, rank, 100 + host % 74));
        let scheduler = scripted(script(moves, programs.len()), PAYMENTS[0]);
        let mut setup = setup(processes, 0, SHAPES[shape], Some(scheduler));
        setup.elasticity = Some(joining(&mut setup.placement, at, take, creation));
        let outcome = simulate(&setup, Programs::new(programs), &mut |_| {}).unwrap();
        prop_assert_eq!(outcome.outputs.typed::<Relay>(), expected.outputs);
        prop_assert_eq!(outcome.end.supersteps, expected.supersteps);
    }
}

#[test]
fn every_process_moves_after_every_superstep() {
    let programs: Vec<Relay> = (0..7)
        .map(|rank| Relay {
            halts: 12,
            first_halt: 12,
            shifts: vec![1, 3, 0],
            work: 10_000_000 * (rank + 1),
            digest: rank,
            broadcasts: true,
            ballast: vec![0; 5000],
        })
        .collect();
    let expected = reference::run(programs.clone(), Limit::default()).unwrap();
    let orders = |superstep: u64| {
        let host = |rank: u64| HostId(u32::try_from((superstep * 53 + rank * 29) % 174).unwrap());
        (0..7)
            .map(|rank| (Rank(u32::try_from(rank).unwrap()), host(rank)))
            .collect()
    };
    let script = Script(
        (1..=12)
            .map(|superstep| (superstep, orders(superstep)))
            .collect(),
    );
    for shape in SHAPES {
        for payment in PAYMENTS {
            let setup = setup(7, 0, shape, Some(scripted(script.clone(), payment)));
            let mut moved = 0;
            let outcome = simulate(&setup, Programs::new(programs.clone()), &mut |event| {
                moved += u32::from(matches!(event, record::Event::Moved(_)));
            })
            .unwrap();
            assert_eq!(
                outcome.outputs.typed::<Relay>(),
                expected.outputs,
                "{shape:?}, {payment:?}"
            );
            assert_eq!(moved, 7 * 12, "{shape:?}, {payment:?}");
            assert_eq!(outcome.calls.len(), 12);
        }
    }
}

#[test]
fn no_policy_s_moves_change_an_output() {
    let programs: Vec<Relay> = (0..24)
        .map(|rank| Relay {
            halts: 40,
            first_halt: 40,
            shifts: vec![1, 7],
            // One host, with the first two, has most to do: to take one of them off wins by itself.
            work: if rank < 2 {
                900_000_000
            } else {
                100_000_000 * (1 + rank % 5)
            },
            digest: rank,
            broadcasts: true,
            ballast: vec![0; 1000],
        })
        .collect();
    let expected = reference::run(programs.clone(), Limit::default()).unwrap();
    let rules = model::Policies::shipped().with_plans(lab_rules::PLANS);
    let plans = rules.plans().iter().copied().map(Some);
    for plan in plans.chain([None]) {
        let plan_name = plan.map_or("migbsp", |plan| plan.name());
        let mut moves = 0;
        for when in rules.whens() {
            for shape in SHAPES {
                let Ok(policy) = rules.policy(&format!("{}+{plan_name}", when.name())) else {
                    // Without a planner, the costs of calls are not known.
                    continue;
                };
                let scheduler = agents::Scheduler {
                    policy: policy.clone(),
                    ..scheduler(|parameters| parameters.tolerance = 0.05)
                };
                let mut setup = setup(24, 0, shape, Some(scheduler));
                // Two on a host, and idle hosts beside.
                setup.placement = (0..24).map(|rank| HostId(rank / 2)).collect();
                let outcome =
                    simulate(&setup, Programs::new(programs.clone()), &mut |_| {}).unwrap();
                let what = format!("{policy}, {shape:?}");
                assert_eq!(outcome.outputs.typed::<Relay>(), expected.outputs, "{what}");
                let calls = outcome.calls.iter();
                moves += calls.map(|call| call.migrations.len()).sum::<usize>();
            }
        }
        assert!(0 < moves, "{plan_name} moves a process");
    }
}

#[test]
fn the_model_s_own_moves_change_no_output() {
    let programs: Vec<Relay> = (0..45)
        .map(|rank| Relay {
            halts: 60,
            first_halt: 60,
            shifts: vec![1, 20],
            work: 400_000_000,
            digest: rank,
            broadcasts: true,
            ballast: vec![0; 100],
        })
        .collect();
    let expected = reference::run(programs.clone(), Limit::default()).unwrap();
    for heuristic in [model::Heuristic::Best, model::Heuristic::Above] {
        for shape in SHAPES {
            let scheduler = scheduler(|parameters| {
                parameters.heuristic = heuristic;
                parameters.tolerance = 0.05;
            });
            let setup = setup(45, 0, shape, Some(scheduler));
            let outcome = simulate(&setup, Programs::new(programs.clone()), &mut |_| {}).unwrap();
            assert_eq!(outcome.outputs.typed::<Relay>(), expected.outputs);
            let moves: usize = outcome.calls.iter().map(|call| call.migrations.len()).sum();
            assert!(0 < moves, "a test of moving needs a process that moves");
        }
    }
}
