//! Snapshots, and the laws of every plan.

use bsp::units::{Bytes, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use proptest::prelude::*;

use crate::knowledge::move_times;
use crate::{
    Assignment, BarrierTime, CostSource, Edge, Load, MigrationCost, MigrationSchedule,
    MigrationTime, Path, PlanningAssumptions, Processor, Received, Snapshot,
};

use super::*;

impl Snapshot {
    /// Every move takes `seconds`.
    pub(super) fn make_moves_cost(&mut self, seconds: f64) {
        let cost = MigrationCost {
            source: CostSource::Stated,
            data_rate: Some(0.0),
            fixed_rate: Some(0.0),
            overlap: None,
            base: Some(Seconds::new(seconds).unwrap()),
        };
        self.cost = cost.into();
    }
}

/// Hosts of these speeds in one Set, and processes as host and work, in units of what a host of speed 1 does in a
/// second; a migration takes 1 ms.
pub(crate) fn snapshot(speeds: &[f64], loads: &[(u32, f64)]) -> Snapshot {
    let mut snapshot = scattered(&[speeds.to_vec()], loads, &[]);
    snapshot.make_moves_cost(1e-3);
    snapshot
}

/// The same in several Sets, with messages: rank, sender's Set and megabytes, which take 40 ms each between Sets.
fn scattered(sets: &[Vec<f64>], loads: &[(u32, f64)], received: &[(usize, u32, f64)]) -> Snapshot {
    connected(sets, loads, received, &[])
}

/// The same with messages between processes: sender, receiver and megabytes.
fn connected(
    sets: &[Vec<f64>],
    loads: &[(u32, f64)],
    received: &[(usize, u32, f64)],
    edges: &[(usize, usize, f32)],
) -> Snapshot {
    let mut host = 0..;
    let processors = sets.iter().map(|speeds| {
        let processor = |speed: &f64| Processor {
            host: HostId(host.next().unwrap()),
            speed: InstructionsPerSecond::new(speed * UNIT).unwrap(),
            cores: 1,
            load: 0.0,
            residents: Vec::new(),
        };
        speeds.iter().map(processor).collect()
    });
    let processors: Vec<Vec<Processor>> = processors.collect();
    let mut incoming: Vec<Vec<Edge>> = vec![Vec::new(); loads.len()];
    for (from, to, megabytes) in edges {
        incoming[*to].push(Edge {
            from: Rank(u32::try_from(*from).unwrap()),
            messages: 1.0,
            bytes: megabytes * 1e6,
            time: megabytes * 40e-3,
        });
    }
    let load = |(rank, (host, load)): (usize, &(u32, f64))| Load {
        rank: Rank(u32::try_from(rank).unwrap()),
        host: HostId(*host),
        instructions: load * UNIT,
        finished: None,
        image: MemorySize {
            data: Bytes(1_000_000),
            fixed: Bytes::ZERO,
        },
        received: received
            .iter()
            .filter(|(to, ..)| *to == rank)
            .map(|(_, set, megabytes)| Received {
                set: SetId(*set),
                bytes: megabytes * 1e6,
                time: megabytes * 80e-3,
            })
            .collect(),
        edges: std::mem::take(&mut incoming[rank]),
        noise: 0.0,
    };
    let rate = |from: usize, to: usize| if from == to { 8e-9 } else { 40e-9 };
    let number = sets.len();
    let rates = (0..number).map(|from| (0..number).map(|to| rate(from, to)).collect());
    Snapshot::new(
        &processors,
        loads.iter().enumerate().map(load).collect(),
        rates.collect(),
        MigrationCost::default().into(),
        &PlanningAssumptions {
            horizon: 20.0,
            cost_factor: 1.0,
            migration_time: MigrationTime::SharedLinks,
            lessons: Vec::new(),
        },
    )
}

/// A ring of `size` processes with equal work, on the hosts that `host` gives for the ranks; two Sets of four hosts.
pub(super) fn ring(size: u32, host: impl Fn(u32) -> u32) -> Snapshot {
    let loads: Vec<(u32, f64)> = (0..size).map(|rank| (host(rank), 1.0)).collect();
    let number = loads.len();
    let next = (0..number).map(|rank| (rank, (rank + 1) % number, 0.1));
    let previous = (0..number).map(|rank| (rank, (rank + number - 1) % number, 0.1));
    let edges: Vec<_> = next.chain(previous).collect();
    connected(&[vec![1.0; 4], vec![1.0; 4]], &loads, &[], &edges)
}

/// Snapshots of all kinds.
pub(crate) fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    any_snapshot_with(3.0, 30)
}

/// With messages of less than `megabytes`, and fewer than `unnamed` whose sender is known by Set alone.
fn any_snapshot_with(megabytes: f32, unnamed: usize) -> impl Strategy<Value = Snapshot> {
    let sets = prop::collection::vec(prop::collection::vec(0.5..4.0, 1..5), 1..4);
    let loads = prop::collection::vec((any::<prop::sample::Index>(), 0.0..5.0), 1..25);
    let barriers = prop::collection::vec(barrier(), 3);
    let received = (
        any::<prop::sample::Index>(),
        0_u32..4,
        0.0..f64::from(megabytes),
    );
    let received = prop::collection::vec(received, 0..unnamed);
    let edge = (any::<[prop::sample::Index; 2]>(), 0.0..megabytes);
    let edges = prop::collection::vec(edge, 0..60);
    let all = (sets, loads, received, edges, barriers);
    all.prop_map(|(sets, loads, received, edges, barriers)| {
        let hosts: usize = sets.iter().map(Vec::len).sum();
        let loads: Vec<(u32, f64)> = loads
            .into_iter()
            .map(|(host, load)| (u32::try_from(host.index(hosts)).unwrap(), load))
            .collect();
        let number = u32::try_from(sets.len()).unwrap();
        let received: Vec<(usize, u32, f64)> = received
            .into_iter()
            .map(|(to, set, megabytes)| (to.index(loads.len()), set % number, megabytes))
            .collect();
        let edges: Vec<(usize, usize, f32)> = edges
            .into_iter()
            .map(|([from, to], megabytes)| {
                (from.index(loads.len()), to.index(loads.len()), megabytes)
            })
            .collect();
        let latency = |from: usize, to: usize| if from == to { 1e-4 } else { 0.03 };
        let path = |from: usize, to: usize| Path {
            latency: Seconds::new(latency(from, to)).unwrap(),
            per_byte: if from == to { 8e-9 } else { 40e-9 },
            shared_per_byte: None,
        };
        let number = sets.len();
        let paths = (0..number).map(|from| (0..number).map(|to| path(from, to)).collect());
        connected(&sets, &loads, &received, &edges)
            .with_barriers(barriers)
            .with_paths(&paths.collect::<Vec<Vec<Path>>>())
    })
}

/// Snapshots with hosts that have many processes, some of equal work, and one to five cores.
pub(crate) fn crowded_snapshot() -> impl Strategy<Value = Snapshot> {
    let hosts = prop::collection::vec((0.5..4.0, 1..6_u32), 2..4);
    let loads = prop::collection::vec((any::<prop::sample::Index>(), 0..12_u8), 60..140);
    let edges = prop::collection::vec((any::<[prop::sample::Index; 2]>(), 0.0..3.0_f32), 0..200);
    (hosts, loads, edges).prop_map(|(hosts, loads, edges)| {
        // Three of four on the first host.
        let host = |index: prop::sample::Index| {
            let host = index.index(4 * hosts.len()) % hosts.len();
            u32::try_from(if index.index(4) < 3 { 0 } else { host }).unwrap()
        };
        let loads: Vec<(u32, f64)> = loads
            .into_iter()
            .map(|(index, load)| (host(index), f64::from(load) / 3.0))
            .collect();
        let process = |index: prop::sample::Index| index.index(loads.len());
        let edges: Vec<(usize, usize, f32)> = edges
            .into_iter()
            .map(|([from, to], megabytes)| (process(from), process(to), megabytes))
            .collect();
        let speeds = hosts.iter().map(|(speed, _)| *speed).collect();
        connected(&[speeds, vec![1.0]], &loads, &[], &edges)
            .with_cores(|number| hosts.get(number).map_or(1, |(_, cores)| *cores))
    })
}

/// What a barrier adds for the processes of a Set.
fn barrier() -> impl Strategy<Value = BarrierTime> {
    prop_oneof![
        Just(BarrierTime::Ideal),
        Just(BarrierTime::Hierarchical),
        (0.0..0.2).prop_map(|process| BarrierTime::ByRank { process }),
        [0.0..0.2, 0.0..0.2]
            .prop_map(|[release, arrival]| BarrierTime::Central { release, arrival }),
    ]
}

/// The laws of [`Plan`].
pub(super) fn check(plan: impl Fn() -> Box<dyn Plan>) {
    proptest!(|(snapshot in any_snapshot())| {
        let draft = plan().draft(&snapshot);
        prop_assert_eq!(draft.places.len(), snapshot.processes().len());
        prop_assert!(draft.places.iter().all(|host| *host < snapshot.hosts().len()));
        prop_assert_eq!(&draft, &plan().draft(&snapshot));
    });
}

/// Checks that a plan takes no longer over the horizon than the present placement.
pub(super) fn check_objective(plan: impl Fn() -> Box<dyn Plan>) {
    proptest!(|(snapshot in any_snapshot())| {
        let places = plan().draft(&snapshot).places;
        let (present, planned) = (Assignment::present(&snapshot), Assignment::new(&snapshot, &places));
        let (present, planned) = (present.objective(), planned.objective());
        prop_assert!(planned <= present * (1.0 + 1e-9), "{planned} against {present}");
    });
}

#[test]
fn moves_between_sets_take_what_each_host_and_what_all_of_them_share() {
    // One process of each host of the first Set to a host of the second one.
    let loads: Vec<(u32, f64)> = (0..4).map(|host| (host, 1.0)).collect();
    let sets = [vec![1.0; 4], vec![1.0; 4]];
    let cost = |shared: Option<f64>, places: &[usize]| {
        let path = Path {
            latency: Seconds::ZERO,
            per_byte: 40e-9,
            shared_per_byte: shared,
        };
        let snapshot = connected(&sets, &loads, &[], &[]).with_paths(&vec![vec![path; 2]; 2]);
        let total = MigrationSchedule::new(&snapshot, places).cost().get();
        let times = move_times(&snapshot, places);
        // All are equal and begin together, so each ends with the last one.
        assert!(
            times.values().all(|time| (time - total).abs() < 1e-12),
            "{times:?}"
        );
        total
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    // A megabyte takes 40 ms.
    close(cost(None, &[4, 5, 6, 7]), 0.16);
    close(cost(Some(0.0), &[4, 5, 6, 7]), 0.04);
    close(cost(Some(5e-9), &[4, 5, 6, 7]), 0.04);
    close(cost(Some(20e-9), &[4, 5, 6, 7]), 0.08);
    // To one host.
    close(cost(Some(5e-9), &[4, 4, 4, 4]), 0.16);
    // Within a Set, from host to host.
    close(cost(None, &[1, 2, 3, 0]), 0.04);
    close(cost(Some(20e-9), &[1, 2, 3, 0]), 0.08);
}

#[test]
fn a_changed_assignment_equals_a_new_one() {
    proptest!(|(snapshot in any_snapshot(), changes in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..20))| {
        let mut changed = Assignment::present(&snapshot);
        for [process, host] in changes {
            changed.put(process.index(snapshot.processes().len()), host.index(snapshot.hosts().len()));
        }
        let fresh = Assignment::new(&snapshot, changed.places());
        for host in 0..snapshot.hosts().len() {
            prop_assert_eq!(changed.residents(host), fresh.residents(host));
            prop_assert!((changed.time(host) - fresh.time(host)).abs() < 1e-9);
        }
        prop_assert!((changed.longest() - fresh.longest()).abs() < 1e-9);
    });
}

#[test]
fn the_predicted_time_after_a_move_is_the_time_after_it() {
    proptest!(|(snapshot in any_snapshot(), process in any::<prop::sample::Index>(), host in any::<prop::sample::Index>())| {
        let (process, host) = (process.index(snapshot.processes().len()), host.index(snapshot.hosts().len()));
        let mut assignment = Assignment::present(&snapshot);
        let from = assignment.places()[process];
        let predicted = assignment.after_move(process, host);
        assignment.put(process, host);
        // Without messages nothing but the two hosts changes.
        if from != host && snapshot.graph().neighbours(process).next().is_none() {
            let set = |host: usize| snapshot.hosts()[host].set;
            let added = snapshot.barrier(set(host)).process() - snapshot.barrier(set(from)).process();
            let after = assignment.time(from).max(assignment.time(host)) + added;
            prop_assert!((after - predicted).abs() < 1e-9, "{after} against {predicted}");
        }
    });
}

#[test]
fn no_more_time_is_predicted_after_a_move_than_a_superstep_takes_then() {
    // Messages of a few bytes, from known senders: what a move changes of the rest is not predicted.
    proptest!(|(snapshot in any_snapshot_with(1e-9, 1), process in any::<prop::sample::Index>(), host in any::<prop::sample::Index>())| {
        let (process, host) = (process.index(snapshot.processes().len()), host.index(snapshot.hosts().len()));
        let mut assignment = Assignment::present(&snapshot);
        if assignment.places()[process] == host {
            return Ok(());
        }
        let predicted = assignment.after_move(process, host);
        let least = assignment.least_after_move(process, host);
        prop_assert!(least <= predicted, "{least} against {predicted}");
        for part in [0.3, 0.9, 1.0, 1.1] {
            let is_too_long = |after: f64| part * predicted <= after;
            let found = assignment.after_move_unless(process, host, is_too_long);
            prop_assert!(found <= predicted, "{found} against {predicted}");
            prop_assert_eq!(is_too_long(found), is_too_long(predicted));
        }
        assignment.put(process, host);
        let after = assignment.longest();
        prop_assert!(predicted <= after + 1e-9, "{after} against {predicted}");
    });
}

#[test]
fn processes_that_move_together_keep_their_messages_within_a_set() {
    // A megabyte takes 8 ms inside a Set and 40 ms between Sets, more than the faster hosts win for one alone.
    let sets = [vec![1.0; 3], vec![1.5; 3]];
    let loads = [(0, 0.2), (1, 0.2), (2, 0.2)];
    let edges = [(0, 1, 3.0), (1, 2, 3.0), (2, 0, 3.0)];
    let snapshot = connected(&sets, &loads, &[], &edges);
    let draft = Portfolio.draft(&snapshot);
    assert!(draft.places.iter().all(|host| 3 <= *host), "{draft:?}");
}

#[test]
fn a_barrier_delay_keeps_processes_off_a_set() {
    let snapshot = scattered(&[vec![1.0], vec![2.0]], &[(0, 1.0)], &[]);
    assert_eq!(Portfolio.draft(&snapshot).places, [1]);
    for far in [
        BarrierTime::ByRank { process: 0.75 },
        BarrierTime::Central {
            release: 0.5,
            arrival: 0.25,
        },
    ] {
        let far = snapshot
            .clone()
            .with_barriers(vec![BarrierTime::Ideal, far]);
        assert_eq!(Portfolio.draft(&far).places, [0]);
    }
}

#[test]
fn with_a_hierarchical_barrier_a_second_set_costs_the_messages_of_its_manager() {
    let path = |latency: f64| Path {
        latency: Seconds::new(latency).unwrap(),
        per_byte: 0.0,
        shared_per_byte: None,
    };
    let paths = [vec![path(0.0), path(0.5)], vec![path(0.5), path(0.0)]];
    let sets = [vec![1.0], vec![1.0]];
    let snapshot = scattered(&sets, &[(0, 0.4), (0, 0.4)], &[]);
    let hierarchical = vec![BarrierTime::Hierarchical; 2];
    let snapshot = snapshot.with_barriers(hierarchical).with_paths(&paths);
    let apart = Assignment::new(&snapshot, &[0, 1]).superstep().get();
    let together = Assignment::new(&snapshot, &[0, 0]).superstep().get();
    assert!((apart - 0.9).abs() < 1e-9, "{apart}");
    assert!((together - 0.8).abs() < 1e-9, "{together}");
}

#[test]
fn ten_thousand_processes_that_send_to_all_get_a_sane_plan() {
    // Each names twelve of its senders, the others are known by Set; all are on the first of two Sets of fifty hosts.
    let processes = 10_000;
    let loads: Vec<(u32, f64)> = (0..processes).map(|rank| (rank % 50, 1e-3)).collect();
    let number = loads.len();
    let edge = |rank: usize, shift: usize| ((rank + 97 * shift) % number, rank, 1e-5);
    let edges = (0..number).flat_map(|rank| (1..=12).map(move |shift| edge(rank, shift)));
    let received: Vec<_> = (0..number).map(|rank| (rank, 0, 0.01)).collect();
    let sets = [vec![1.0; 50], vec![1.0; 50]];
    let snapshot = connected(&sets, &loads, &received, &edges.collect::<Vec<_>>());
    let draft = Portfolio.draft(&snapshot);
    let planned = Assignment::new(&snapshot, &draft.places).objective();
    assert!(planned <= Assignment::present(&snapshot).objective());
    assert_eq!(draft.places.len(), number);
}

#[test]
fn one_process_goes_to_the_fastest_host() {
    let snapshot = snapshot(&[1.0, 3.0, 2.0], &[(0, 1.0)]);
    assert_eq!(Portfolio.draft(&snapshot).places, [1]);
}

#[test]
fn without_processes_there_is_an_empty_plan() {
    let snapshot = snapshot(&[1.0, 3.0], &[]);
    assert!(Portfolio.draft(&snapshot).places.is_empty());
}

const UNIT: f64 = 1e9;
