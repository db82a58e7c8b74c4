//! A farm executes each task once and has each outcome in its place, wherever workers migrate.

use std::collections::BTreeMap;

use agents::{Programs, Script};
use bsp::farm::{self, BlockCyclic, Dealing, Farm, Tasks, Weighted, Work};
use bsp::numbers::{length, real, whole};
use bsp::units::Instructions;
use bsp::{BoxError, HostId, Note, Rank};
use proptest::prelude::*;
use record::Event;
use simulated::simulate;

use crate::setups::{PAYMENTS, SHAPES, joining, scripted, setup};

/// A task takes longer, the larger it is; the outcome says what was shared and which task it was.
struct Unequal;

impl Tasks for Unequal {
    type Shared = u64;
    type Task = u64;
    type Outcome = (u64, u64);

    fn execute(shared: &u64, task: &u64, work: &mut Work) -> Result<(u64, u64), BoxError> {
        work.charge(Instructions(1_000_000 * (1 + task % 13)));
        Ok((*shared, *task))
    }
}

fn rules() -> impl Strategy<Value = Dealing> {
    prop_oneof![
        Just(Dealing::Weighted(Weighted::default())),
        (1_u64..9).prop_map(|block| Dealing::BlockCyclic(BlockCyclic {
            block,
            ..BlockCyclic::default()
        })),
        Just(Dealing::Static),
        (1_u64..9).prop_map(|chunk| Dealing::SelfScheduling { chunk }),
        Just(Dealing::Guided { least: 1 }),
        Just(Dealing::Factoring { least: 1 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_task_is_executed_once_while_every_process_moves_after_every_superstep(
        tasks in prop_oneof![Just(1_u64), 0_u64..200],
        size in prop_oneof![Just(2_u32), Just(3), Just(8), 2_u32..30],
        dealing in rules(),
        (shape, payment) in (0..SHAPES.len(), 0_usize..2),
        stride in 1_u32..170,
    ) {
        let orders = |superstep: u64| {
            let shift = u32::try_from(superstep).unwrap() * stride;
            let host = |rank: u32| HostId((rank + shift) % 174);
            (superstep, (0..size).map(|rank| (Rank(rank), host(rank))).collect())
        };
        let script: BTreeMap<u64, Vec<(Rank, HostId)>> = (1..300).map(orders).collect();
        let scheduler = scripted(Script(script), PAYMENTS[payment]);
        let setup = setup(size, 0, SHAPES[shape], Some(scheduler));
        let programs = farm::processes::<Unequal>(&7, (0..tasks).collect(), size, dealing).unwrap();
        let outcome = simulate(&setup, Programs::new(programs), &mut |_| {}).unwrap();
        let expected: Vec<(u64, u64)> = (0..tasks).map(|task| (7, task)).collect();
        let outputs = outcome.outputs.typed::<Farm<Unequal>>();
        prop_assert_eq!(&outputs[0], &expected);
        prop_assert!(outputs[1..].iter().all(Vec::is_empty));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_task_is_executed_once_while_hosts_join_after_any_superstep(
        tasks in prop_oneof![Just(1_u64), 0_u64..200],
        size in prop_oneof![Just(2_u32), Just(3), Just(8), 2_u32..30],
        dealing in rules(),
        shape in 0..SHAPES.len(),
        at in 0_u64..60,
        take in 1_usize..20,
        creation in prop_oneof![Just(0.0), 1e-4..1.0_f64],
        moves in any::<bool>(),
    ) {
        // Every process also moves after every superstep, to hosts that are there.
        let orders = |superstep: u64| {
            let host = |rank: u32| HostId(100 + (rank + u32::try_from(superstep).unwrap()) % 74);
            (superstep, (0..size).map(|rank| (Rank(rank), host(rank))).collect())
        };
        let script: BTreeMap<u64, Vec<(Rank, HostId)>> = (1..300).map(orders).collect();
        let scheduler = moves.then(|| scripted(Script(script), PAYMENTS[0]));
        let mut setup = setup(size, 0, SHAPES[shape], scheduler);
        let elasticity = joining(&mut setup.placement, at, take, creation);
        let standby = elasticity.standby.clone();
        setup.elasticity = Some(elasticity);
        let programs = farm::processes::<Unequal>(&7, (0..tasks).collect(), size, dealing).unwrap();
        let (mut joined, mut executed) = (Vec::new(), 0);
        let mut observe = |event: &Event| match event {
            Event::Join(join) if join.joined => joined.push((join.superstep, join.host)),
            Event::Superstep(superstep) => {
                let Some(dealt) = superstep.notes.get(farm::TASKS_DEALT) else { return };
                executed += whole(dealt.sum);
                let left = superstep.notes.get(farm::TASKS_LEFT);
                assert_eq!(left, Some(&Note::of(real(tasks - executed))));
                // A worker on standby gets nothing, unless there is no other.
                let is_there = |worker: &u32| {
                    let home = standby.get(&Rank(*worker));
                    home.is_none_or(|home| {
                        joined.iter().any(|(at, host)| host == home && *at <= superstep.index)
                    })
                };
                let there = (1..size).filter(is_there).count();
                assert!(dealt.count <= length(there) || size <= 3, "{dealt:?}, {joined:?}");
            }
            _ => {}
        };
        let outcome = simulate(&setup, Programs::new(programs), &mut observe).unwrap();
        prop_assert_eq!(executed, tasks);
        let expected: Vec<(u64, u64)> = (0..tasks).map(|task| (7, task)).collect();
        let outputs = outcome.outputs.typed::<Farm<Unequal>>();
        prop_assert_eq!(&outputs[0], &expected);
        prop_assert!(outputs[1..].iter().all(Vec::is_empty));
    }
}

/// Shares by rate end nearly together, although tasks differ. Each of 42 interactions waits three times for messages
/// between clusters, which is 5 % of the run.
#[test]
fn weighted_shares_are_nearly_as_fast_as_all_workers_together() {
    let makespan = |dealing: Dealing| {
        let mut setup = setup(6, 0, SHAPES[2], None);
        // The master, and workers of the five clusters.
        setup.placement = [0, 1, 40, 75, 110, 145].map(HostId).to_vec();
        let workers = setup.placement[1..].iter();
        let speeds = workers.map(|host| setup.platform.host(*host).speed.get());
        let ideal = 20_000.0 * 7e6 / speeds.sum::<f64>();
        let tasks = (0..20_000).collect();
        let programs = farm::processes::<Unequal>(&7, tasks, 6, dealing).unwrap();
        let outcome = simulate(&setup, Programs::new(programs), &mut |_| {}).unwrap();
        outcome.end.seconds.get() / ideal
    };
    let (weighted, even) = (makespan(Dealing::default()), makespan(Dealing::Static));
    assert!(weighted < 1.1, "{weighted} times the least time");
    assert!(1.05 * weighted < even, "{even} against {weighted}");
}
