//! Probes of links before large moves.

use model::{CostSource, ProbedLink};

use super::*;
use crate::test_world::probed_per_byte;

/// A run in which the cost of moves is learned, with what `change` changes.
fn learning(change: impl FnOnce(&mut Scheduler)) -> TestWorld {
    let mut scheduler = scheduler(|parameters| parameters.migration.source = CostSource::Learned);
    change(&mut scheduler);
    let hosts = [0, 0, 0, 3];
    let mut test_world = TestWorld::new(
        Shape::ALL[1],
        Collection::AsTheyCome,
        &hosts,
        &[6; 4],
        Some(scheduler),
    );
    test_world.image = IMAGE;
    test_world
}

/// Long enough for probes.
const IMAGE: Bytes = Bytes(10_000_000);

fn probed(from: u32, to: u32) -> ProbedLink {
    let (from, to) = (HostId(from), HostId(to));
    let per_byte = probed_per_byte(from, to);
    ProbedLink {
        from,
        to,
        per_byte,
        took: Seconds::ZERO,
    }
}

#[test]
fn moves_of_a_script_are_priced_by_the_links_that_were_probed() {
    let moves = script(&[(1, 0, 3), (1, 3, 1), (3, 1, 4)]);
    let (_, calls) = play(learning(|scheduler| scheduler.script = Some(moves)), &[0]);
    let calls: Vec<_> = calls
        .iter()
        .filter(|call| !call.probed.is_empty())
        .collect();
    assert_eq!(calls[0].probed, [probed(0, 3), probed(3, 1)]);
    assert_eq!(calls[1].probed, [probed(0, 4)]);
    for call in calls {
        assert_eq!(call.migrations.len(), call.probed.len());
        for migration in &call.migrations {
            let link = probed(migration.from.0, migration.to.0);
            assert_eq!(migration.per_byte, Some(link.per_byte));
            let learned = call.learned.unwrap();
            let cost = learned.predict(IMAGE, link.per_byte).get();
            assert!((migration.cost.get() - cost).abs() < 1e-12, "{migration:?}");
        }
    }
}

#[test]
fn links_are_not_probed_where_nothing_moves_or_costs_are_stated() {
    let moves = || Some(script(&[(1, 0, 3), (3, 1, 4)]));
    let never = [
        learning(|scheduler| {
            scheduler.script = moves();
            scheduler.moves = false;
        }),
        learning(|scheduler| {
            scheduler.script = moves();
            let mut parameters = *scheduler.model.parameters();
            parameters.migration.source = CostSource::Stated;
            scheduler.model = Config::new(parameters).unwrap();
        }),
        learning(|scheduler| {
            scheduler.script = moves();
            let mut parameters = *scheduler.model.parameters();
            parameters.migration.data_rate = Some(1e-9);
            scheduler.model = Config::new(parameters).unwrap();
        }),
    ];
    for mut test_world in never {
        let mut agents = test_world.agents();
        test_world.play(&mut agents, |_| 0);
        let is_probe = |act: &&Act| matches!(act, Act::Probe(..));
        assert_eq!(test_world.acts.iter().filter(is_probe).count(), 0);
    }
}

#[test]
fn a_plan_is_priced_by_the_links_that_were_probed() {
    let policy = "fixed+greedy-refine+open".parse().unwrap();
    let test_world = learning(|scheduler| scheduler.policy = policy);
    let (_, calls) = play(test_world, &[0]);
    let call = calls
        .iter()
        .find(|call| !call.migrations.is_empty())
        .unwrap();
    for migration in &call.migrations {
        let link = probed(migration.from.0, migration.to.0);
        assert!(call.probed.contains(&link), "{migration:?}");
        assert_eq!(migration.per_byte, Some(link.per_byte));
    }
}
