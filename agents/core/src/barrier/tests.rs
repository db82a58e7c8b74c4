use bsp::Reductions;
use bsp::units::Seconds;

use crate::barrier::*;
use crate::setup::Resumed;
use crate::test_world::TestWorld;

/// Five processes: two on host 0, two on host 1, one on host 3 in another Set.
fn barrier(shape: Shape) -> (Rules, Arrivals) {
    let hosts = [0, 0, 1, 1, 3];
    let test_world = TestWorld::new(shape, Collection::AsTheyCome, &hosts, &[0; 5], None);
    let barrier = Arrivals::new(&test_world.rules, SetId(0));
    (test_world.rules, barrier)
}

fn report(processes: u32, halted: u32, rank: u32) -> Arrived {
    Arrived {
        superstep: 0,
        processes,
        halted,
        sent: 2,
        received: 3,
        slowest: (Seconds::ZERO, Rank(rank)),
        computation: 0,
        took: Seconds::ZERO,
        checkpoint: false,
        reductions: Reductions::default(),
    }
}

fn moved(rank: u32, from: u32, to: u32) -> Migrate {
    Migrate {
        rank: Rank(rank),
        from: HostId(from),
        to: HostId(to),
        epoch: 1,
        deferred_cost: Seconds::ZERO,
    }
}

fn released(barrier: &mut Arrivals) -> Vec<(Address, bool)> {
    let mut told = Vec::new();
    barrier.release(|to, is_done| told.push((to, is_done)));
    told
}

#[test]
fn processes_that_have_halted_before_the_run_are_not_waited_for() {
    for shape in [Shape::Central, Shape::Hierarchical] {
        let (mut rules, _) = barrier(shape);
        let resumed = Resumed {
            incarnation: 1,
            superstep: 5,
            halted: vec![Some(1), None, None, Some(4), Some(0)],
        };
        rules.in_set = vec![2, 0, 0];
        rules.resumed = Some(resumed);
        let mut barrier = Arrivals::new(&rules, SetId(0));
        let (hosts, reports) = match shape {
            Shape::Hierarchical => (vec![0, 1], [report(1, 0, 1), report(1, 1, 2)]),
            _ => (vec![1, 2], [report(1, 0, 1), report(1, 1, 2)]),
        };
        for (host, report) in hosts.into_iter().zip(reports) {
            assert_eq!(barrier.complete(), None, "{shape:?}");
            let from = match shape {
                Shape::Hierarchical => Address::Node(HostId(host)),
                _ => Address::Process(Rank(host)),
            };
            barrier.check(&rules, from, &report).unwrap();
            barrier.arrive(from, report);
        }
        assert_eq!(barrier.complete().unwrap().processes, 2, "{shape:?}");
        assert!(!barrier.is_over(), "{shape:?}");
        assert_eq!(released(&mut barrier).len(), 2, "{shape:?}");
    }
}

#[test]
fn one_manager_waits_for_every_process_that_has_not_halted() {
    let (_, mut barrier) = barrier(Shape::Central);
    let process = |rank| Address::Process(Rank(rank));
    for rank in 0..5 {
        assert_eq!(barrier.complete(), None);
        let report = report(1, u32::from(rank == 1), rank);
        assert_eq!(barrier.arrive(process(rank), report), None);
    }
    let all = barrier.complete().unwrap();
    assert_eq!(
        (all.processes, all.halted, all.sent, all.received),
        (5, 1, 10, 15)
    );
    let everybody: Vec<_> = (0..5).map(|rank| (process(rank), rank == 1)).collect();
    assert_eq!(released(&mut barrier), everybody);
    for rank in [0, 2, 3, 4] {
        assert!(!barrier.is_over());
        assert_eq!(barrier.complete(), None);
        barrier.arrive(process(rank), report(1, 1, rank));
    }
    assert_eq!(barrier.complete().unwrap().processes, 4);
    assert!(barrier.is_over());
}

#[test]
fn a_manager_waits_for_its_nodes_and_for_the_other_managers() {
    let (_, mut barrier) = barrier(Shape::Hierarchical);
    let (first, second) = (Address::Node(HostId(0)), Address::Node(HostId(1)));
    let other = Address::SetManager(SetId(1));
    assert_eq!(barrier.arrive(second, report(2, 2, 2)), None);
    // Another Set may be quicker.
    assert_eq!(barrier.arrive(other, report(1, 0, 4)), None);
    assert_eq!(barrier.complete(), None);
    let own = barrier.arrive(first, report(2, 0, 0));
    assert_eq!(own.map(|own| (own.processes, own.halted)), Some((4, 2)));
    assert_eq!(barrier.complete().unwrap().processes, 5);
    assert_eq!(released(&mut barrier), [(first, false), (second, true)]);
    // Two processes are left here, and one there.
    barrier.arrive(other, report(1, 1, 4));
    let own = barrier.arrive(first, report(2, 2, 0));
    assert_eq!(own.map(|own| own.processes), Some(2));
    assert_eq!(barrier.complete().unwrap().halted, 3);
    assert!(barrier.is_over());
    assert_eq!(released(&mut barrier), [(first, true)]);
}

#[test]
fn a_host_that_all_have_left_is_told_nothing_unless_somebody_halted_there() {
    let (rules, mut barrier) = barrier(Shape::Hierarchical);
    let (first, second) = (Address::Node(HostId(0)), Address::Node(HostId(1)));
    barrier.arrive(first, report(2, 1, 0));
    barrier.arrive(second, report(2, 0, 2));
    barrier.arrive(Address::SetManager(SetId(1)), report(1, 0, 4));
    assert!(barrier.complete().is_some());
    barrier.moved(&rules, &moved(0, 0, 2));
    barrier.moved(&rules, &moved(2, 1, 3));
    barrier.moved(&rules, &moved(3, 1, 4));
    barrier.moved(&rules, &moved(4, 3, 4));
    let third = Address::Node(HostId(2));
    assert_eq!(released(&mut barrier), [(first, true), (third, false)]);
    // One process here and three there are waited for now.
    barrier.arrive(Address::SetManager(SetId(1)), report(3, 3, 4));
    assert_eq!(barrier.complete(), None);
    barrier.arrive(third, report(1, 1, 0));
    assert!(barrier.complete().is_some());
    assert!(barrier.is_over());
}

#[test]
fn one_arrival_of_a_manager_stands_for_all_below_it() {
    for (shape, processes) in [
        (Shape::Central, 5),
        (Shape::Ideal, 5),
        (Shape::Hierarchical, 4),
    ] {
        let (rules, mut barrier) = barrier(shape);
        let own = Address::SetManager(SetId(0));
        let all = report(processes, 0, 0);
        barrier.check(&rules, own, &all).unwrap();
        // It would not say which processes have halted.
        let halted = report(processes, 1, 0);
        assert!(barrier.check(&rules, own, &halted).is_err(), "{shape:?}");
        barrier.arrive(own, all.clone());
        assert!(barrier.check(&rules, own, &all).is_err(), "{shape:?}");
        if shape == Shape::Hierarchical {
            assert_eq!(barrier.complete(), None);
            barrier.arrive(Address::SetManager(SetId(1)), report(1, 0, 4));
        }
        assert_eq!(barrier.complete().unwrap().processes, 5, "{shape:?}");
        let released = released(&mut barrier);
        assert!(released.iter().all(|(_, halted)| !halted), "{shape:?}");
        assert!(!barrier.is_over(), "{shape:?}");
    }
}
