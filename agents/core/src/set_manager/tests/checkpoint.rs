//! Orders of checkpoints.

use std::collections::BTreeMap;

use super::*;

proptest! {
    /// The first Manager finds one due after every second superstep. Calls are held in between, and processes move.
    #[test]
    fn a_checkpoint_has_every_process_that_goes_on_and_no_other(
        (hosts, halts) in processes(),
        has_scheduler in any::<bool>(),
        order in prop::collection::vec(any::<usize>(), 1..50),
    ) {
        for shape in Shape::ALL {
            let scheduler = has_scheduler.then(|| scheduler(|_| {}));
            let mut test_world =
                TestWorld::new(shape, Collection::AsTheyCome, &hosts, &halts, scheduler);
            test_world.checkpoint_interval = Some(2);
            let mut agents = test_world.agents();
            let mut picks = order.iter().cycle();
            test_world.play(&mut agents, |count| picks.next().unwrap() % count);
            let mut saved: BTreeMap<u64, Vec<Rank>> = BTreeMap::new();
            for (index, act) in test_world.acts.iter().enumerate() {
                if let Act::Checkpoint(rank, superstep, agent) = act {
                    saved.entry(*superstep).or_default().push(*rank);
                    prop_assert!(!agent.is_empty());
                    // The process saves its state and starts, in one handler.
                    let next = &test_world.acts[index + 1];
                    let starts = matches!(next, Act::Run(other, at, ..) if other == rank && at == superstep);
                    prop_assert!(starts, "{next:?}");
                }
            }
            let last = halts.iter().copied().max().unwrap();
            for superstep in (2..=last).step_by(2) {
                let mut found = saved.remove(&superstep).unwrap_or_default();
                found.sort();
                let living = (0..).map(Rank).zip(&halts).filter(|(_, halts)| superstep <= **halts);
                let living: Vec<Rank> = living.map(|(rank, _)| rank).collect();
                prop_assert_eq!(found, living, "{:?}, superstep {}", shape, superstep);
            }
            prop_assert!(saved.is_empty(), "{saved:?}");
        }
    }
}

#[test]
fn a_checkpoint_has_the_agent_as_it_arrived_at_the_barrier() {
    let hosts = [0, 3];
    let mut test_world = TestWorld::new(
        Shape::Ideal,
        Collection::AsTheyCome,
        &hosts,
        &[3, 3],
        Some(scheduler(|parameters| parameters.interval = 2)),
    );
    test_world.checkpoint_interval = Some(2);
    let mut agents = test_world.agents();
    test_world.play(&mut agents, |_| 0);
    let saved = test_world.acts.iter().find_map(|act| match act {
        Act::Checkpoint(Rank(1), 2, agent) => Some(agent.clone()),
        _ => None,
    });
    // The history of the interval that the call ended is still there: the start drops it.
    let saved = rmp_serde::from_slice::<crate::Process>(&saved.unwrap()).unwrap();
    let text = format!("{saved:?}");
    assert!(text.contains("superstep: 1,"), "{text}");
}
