use proptest::prelude::*;

use super::*;

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

fn at(value: f64) -> Instant {
    Instant::new(value).unwrap()
}

fn schedule(interval: CheckpointInterval, mtbf: f64, nodes: usize) -> CheckpointSchedule {
    let rate = |rate| BytesPerSecond::new(rate).unwrap();
    let checkpointing = Checkpointing {
        interval,
        first: Seconds::new(1.0).unwrap(),
        mtbf: seconds(mtbf),
        copies: true,
        keep: NonZeroU32::MIN,
        costs: CheckpointCosts {
            encoding: rate(1e8),
            fork: rate(1e9),
            forks: true,
            bytes: None,
            change: 1.0,
        },
    };
    CheckpointSchedule::new(&checkpointing, nodes)
}

/// `2 · 0.25 s · 30 d / 8 nodes = 162 000 s²`, whose root is 402.49 s.
#[test]
fn the_interval_of_young_and_daly_as_computed_by_hand() {
    let optimal = |cost, mtbf, nodes| optimal_interval(seconds(cost), seconds(mtbf), nodes).get();
    assert!((optimal(0.25, 2_592_000.0, 8) - 402.492_235_949_962_1).abs() < 1e-9);
    assert!((optimal(8.0, 100.0, 4) - 20.0).abs() < 1e-9);
    // Bounded, also where nothing is known.
    assert!((optimal(0.0, 2_592_000.0, 8) - 1.0).abs() < 1e-9);
    assert!((optimal(10.0, 2_592_000.0, 1) - 600.0).abs() < 1e-9);
    // A checkpoint takes 3 % of a run at most.
    assert!((optimal(60.0, 2_592_000.0, 1) - 2000.0).abs() < 1e-9);
    assert!((optimal(8.0, 100.0, 0) - 40.0).abs() < 1e-9);
}

#[test]
fn a_checkpoint_is_due_when_its_interval_is_over_and_the_one_before_is_complete() {
    let mut times = schedule(CheckpointInterval::Time(seconds(10.0)), 100.0, 1);
    assert!(!times.is_due(3, at(9.9)) && times.is_due(3, at(10.0)));
    times.begin(3, at(12.0));
    assert!(!times.is_due(9, at(99.0)), "it is under way");
    times.complete(seconds(0.5));
    assert!(!times.is_due(9, at(21.9)) && times.is_due(9, at(22.0)));
    let mut supersteps = schedule(CheckpointInterval::Supersteps(4), 100.0, 1);
    assert!(!supersteps.is_due(3, at(99.0)) && supersteps.is_due(4, at(0.0)));
    supersteps.begin(5, at(0.0));
    supersteps.complete(seconds(0.5));
    assert!(!supersteps.is_due(8, at(99.0)) && supersteps.is_due(9, at(0.0)));
}

#[test]
fn the_optimal_interval_follows_what_checkpoints_cost() {
    let mut optimal = schedule(CheckpointInterval::Optimal, 100.0, 4);
    assert!(!optimal.is_due(1, at(0.9)) && optimal.is_due(1, at(1.0)));
    optimal.begin(1, at(1.0));
    // The superstep before is over after that.
    optimal.elapse(0, seconds(1.0));
    // Three seconds longer than usual, then five.
    optimal.elapse(1, seconds(4.0));
    optimal.complete(seconds(0.5));
    assert_eq!(optimal.cost(), None, "the superstep goes on");
    optimal.elapse(2, seconds(6.0));
    assert_eq!(optimal.cost(), Some(seconds(8.0)));
    assert_eq!(optimal.optimal(), seconds(20.0));
    assert!(!optimal.is_due(9, at(20.9)) && optimal.is_due(9, at(21.0)));
    // Supersteps are no longer than usual, but processes stalled; half of the weight is the newest's.
    optimal.elapse(3, seconds(1.0));
    optimal.begin(4, at(21.0));
    optimal.complete(seconds(2.0));
    optimal.elapse(4, seconds(1.0));
    assert_eq!(optimal.cost(), Some(seconds(5.0)));
}

proptest! {
    /// More expensive checkpoints, rarer failures and fewer nodes ask for fewer checkpoints.
    #[test]
    fn the_optimal_interval_is_monotone(
        (cost, mtbf) in (0.0..100.0_f64, 1.0..1e7_f64),
        nodes in 1_usize..1000,
        factor in 1.0..10.0_f64,
    ) {
        let optimal = |cost, mtbf, nodes| optimal_interval(seconds(cost), seconds(mtbf), nodes);
        let interval = optimal(cost, mtbf, nodes);
        prop_assert!(interval <= optimal(cost * factor, mtbf, nodes));
        prop_assert!(interval <= optimal(cost, mtbf * factor, nodes));
        prop_assert!(optimal(cost, mtbf, nodes * 2) <= interval);
    }
}

#[test]
fn with_one_set_the_buddy_is_the_next_host() {
    let host = |host| Some(HostId(host));
    let none = BTreeSet::new();
    assert_eq!(buddies(&[SetId(0); 3], &none), [host(1), host(2), host(0)]);
    assert_eq!(buddies(&[SetId(0)], &none), [None]);
    let absent = BTreeSet::from([HostId(1)]);
    assert_eq!(buddies(&[SetId(0); 3], &absent), [host(2), None, host(0)]);
}

proptest! {
    #[test]
    fn buddies_are_other_hosts_of_other_sets_where_there_are_any(
        sets in prop::collection::vec(0_u32..4, 1..20),
        absent in prop::collection::btree_set(0_u32..20, 0..10),
    ) {
        let sets: Vec<SetId> = sets.into_iter().map(SetId).collect();
        let absent = absent.into_iter().map(HostId).collect::<BTreeSet<_>>();
        let is_there = |host: &HostId| !absent.contains(host);
        let all = (0..sets.len()).map(HostId::from_index);
        let present: Vec<HostId> = all.filter(is_there).collect();
        let kinds: BTreeSet<SetId> = present.iter().map(|host| sets[host.index()]).collect();
        let buddies = buddies(&sets, &absent);
        prop_assert_eq!(buddies.len(), sets.len());
        for (index, buddy) in buddies.into_iter().enumerate() {
            let host = HostId::from_index(index);
            prop_assert_eq!(buddy.is_some(), is_there(&host) && 1 < present.len());
            if let Some(buddy) = buddy {
                prop_assert!(buddy != host && is_there(&buddy));
                prop_assert_eq!(sets[buddy.index()] != sets[index], 1 < kinds.len());
            }
        }
    }
}
