//! Snapshots, and the laws of every plan.

use bsp::units::{Bytes, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank};
use model::{
    Config, Load, MigrationCost, MigrationTime, Plan, Planning, PlanningAssumptions, Policies,
    Processor, Snapshot,
};
use proptest::prelude::*;

/// The plan of this name, as a program that has registered it makes it.
pub(crate) fn plan(name: &str) -> Box<dyn Plan> {
    let policies = Policies::shipped().with_plans(super::PLANS);
    let policy = policies.policy(&format!("fixed+{name}")).unwrap();
    let plan = policy.plan(&Config::default(), &Planning::default());
    plan.unwrap()
}

/// Hosts of these speeds in one Set, and processes as host and work, in units of what a host of speed 1 does in a
/// second; a migration takes 1 ms.
pub(crate) fn snapshot(speeds: &[f64], loads: &[(u32, f64)]) -> Snapshot {
    snapshot_with(1e-3, speeds, loads)
}

/// The same where a migration takes `migration` seconds.
pub(crate) fn snapshot_with(migration: f64, speeds: &[f64], loads: &[(u32, f64)]) -> Snapshot {
    let processors = (0..).zip(speeds).map(|(host, speed)| Processor {
        host: HostId(host),
        speed: InstructionsPerSecond::new(speed * UNIT).unwrap(),
        cores: 1,
        load: 0.0,
        residents: Vec::new(),
    });
    let processes = (0..).zip(loads).map(|(rank, (host, work))| Load {
        rank: Rank(rank),
        host: HostId(*host),
        instructions: work * UNIT,
        finished: None,
        image: MemorySize {
            data: Bytes(1_000_000),
            fixed: Bytes::ZERO,
        },
        received: Vec::new(),
        edges: Vec::new(),
        noise: 0.0,
    });
    let cost = MigrationCost {
        data_rate: Some(0.0),
        fixed_rate: Some(0.0),
        base: Some(Seconds::new(migration).unwrap()),
        ..MigrationCost::default()
    };
    Snapshot::new(
        &[processors.collect()],
        processes.collect(),
        vec![vec![8e-9]],
        cost.into(),
        &PlanningAssumptions {
            horizon: 20.0,
            cost_factor: 1.0,
            migration_time: MigrationTime::SharedLinks,
            lessons: Vec::new(),
        },
    )
}

/// The laws of [`Plan`].
pub(crate) fn check(name: &str) {
    let speeds = prop::collection::vec(0.5..4.0, 1..8);
    let loads = prop::collection::vec((any::<prop::sample::Index>(), 0.0..5.0), 1..25);
    proptest!(|(speeds in speeds, loads in loads)| {
        let place = |host: prop::sample::Index| u32::try_from(host.index(speeds.len())).unwrap();
        let loads: Vec<(u32, f64)> = loads.into_iter().map(|(host, work)| (place(host), work)).collect();
        let snapshot = snapshot(&speeds, &loads);
        let draft = plan(name).draft(&snapshot);
        prop_assert_eq!(draft.places.len(), loads.len());
        prop_assert!(draft.places.iter().all(|host| *host < speeds.len()));
        prop_assert_eq!(&draft, &plan(name).draft(&snapshot));
    });
}

const UNIT: f64 = 1e9;
