//! Seeds and scenarios that the gate simulates.

use std::collections::BTreeMap;

use agents::{CheckpointInterval, Scheduler, Script, Shape};
use bsp::{HostId, Rank};
use model::Policies;
use protocol::View;

use super::cluster::Found;
use super::fault::{Fault, FaultKind, When};
use super::program::Mixer;
use super::run::simulate;
use super::scenario::{Scenario, checkpointing, request_of};
use super::{SeedOptions, simulate_seed};

/// A job whose processes halt after `lasts` supersteps, on Sets of 1 and 2 nodes. `moves`: after how many supersteps a
/// process moves, which one, and where.
fn scenario(shape: Shape, placement: &[u32], lasts: &[u64], moves: &[(u64, u32, u32)]) -> Scenario {
    let policy = Policies::shipped().policy("migbsp").unwrap();
    let mut script: BTreeMap<u64, Vec<(Rank, HostId)>> = BTreeMap::new();
    for (after, rank, to) in moves {
        script
            .entry(*after)
            .or_default()
            .push((Rank(*rank), HostId(*to)));
    }
    let scheduler = Scheduler {
        policy,
        script: Some(Script(script)),
        ..Scheduler::default()
    };
    let placement: Vec<HostId> = placement.iter().copied().map(HostId).collect();
    let request = request_of(&[1, 2], (placement, shape, Some(scheduler)), || 1);
    let program = Mixer {
        seed: 1,
        lasts: lasts.to_vec(),
        ballast: vec![0; 100],
        digest: 0,
        message: 0,
    };
    Scenario {
        delay: ((50_000, 50_000), 8),
        decoding: (50_000, 50_000),
        computation: (200_000, 200_000),
        ..Scenario::new(1, request, vec![program; lasts.len()])
    }
}

fn run_with(faults: Vec<Fault>, scenario: &Scenario) -> Found {
    let scenario = Scenario {
        faults,
        ..scenario.clone()
    };
    simulate(&scenario, false)
}

/// Messages from `node` to `other` are late by `milliseconds` from the beginning.
fn late(node: usize, other: usize, milliseconds: u64) -> Fault {
    Fault {
        kind: FaultKind::Late,
        when: When::Event(1),
        node,
        other,
        lasts: 100_000_000_000,
        factor: milliseconds,
    }
}

/// The first Manager announces that a process has moved to the second host; before the third host hears of it, the process
/// moves there.
#[test]
fn a_process_that_moves_on_arrives_before_its_first_move_is_announced() {
    let script = [(4, 2, 1), (8, 2, 2), (9, 2, 0), (10, 2, 2), (11, 2, 1)];
    for shape in Shape::ALL {
        let scenario = scenario(shape, &[0, 1, 0, 1], &[14; 4], &script);
        for milliseconds in [1, 2, 20, 151, 400] {
            for (node, other) in [(0, 2), (0, 1), (1, 2)] {
                let found = run_with(vec![late(node, other, milliseconds)], &scenario);
                let at = format!("{shape:?}, {node} to {other} late by {milliseconds} ms");
                assert_eq!(found.violations, [""; 0], "{at}");
                assert!(found.is_completed, "{at}");
            }
        }
    }
}

/// The second Set has its processes on another host than its Manager, which knows from their batches that all have halted
/// before the first Manager says so.
#[test]
fn a_path_between_two_managers_that_is_cut_at_any_time_ends_the_job() {
    let scenario = scenario(Shape::Hierarchical, &[0, 2], &[2, 2], &[]);
    let whole = run_with(Vec::new(), &scenario);
    assert!(whole.is_completed);
    let mut completed = 0;
    let events = whole.trace.events / 2;
    for (event, factor) in (1..events).flat_map(|event| [(event, Fault::ONE_WAY), (event, 1)]) {
        let cut = Fault {
            kind: FaultKind::Cut,
            when: When::Event(event),
            node: 1,
            other: 0,
            lasts: 13_000_000_000,
            factor,
        };
        let found = run_with(vec![cut], &scenario);
        assert_eq!(
            found.violations, [""; 0],
            "cut at event {event}, factor {factor}"
        );
        completed += u64::from(found.is_completed);
    }
    assert!(0 < completed && completed < events, "{completed}");
}

/// All packets of a node that are sent once are lost, so it does not hear that the client closes; the client submits again
/// before the node has noticed the silence.
#[test]
fn a_job_that_follows_at_once_waits_for_the_end_of_the_one_before() {
    let scenario = Scenario {
        follows_at_once: true,
        ..scenario(Shape::Central, &[0, 1, 2], &[3; 3], &[])
    };
    for node in 0..3 {
        let loss = Fault {
            kind: FaultKind::Loss,
            factor: 100,
            ..late(node, 0, 0)
        };
        let found = run_with(vec![loss], &scenario);
        assert_eq!(
            found.violations, [""; 0],
            "the close to node {node} is lost"
        );
        assert!(found.is_completed);
    }
}

/// A job on three nodes, each of which may manage a Set and lead, with a checkpoint every other superstep.
fn recovering() -> Scenario {
    let mut scenario = scenario(Shape::Hierarchical, &[0, 1, 2], &[5, 3, 5], &[(2, 1, 2)]);
    scenario.managing = (0..3).map(HostId).collect();
    scenario.request.view = Some(View::first(true));
    let interval = CheckpointInterval::Supersteps(2);
    scenario.request.setup.checkpointing = Some(checkpointing(interval, true));
    scenario
}

/// A crash is noticed after 2.5 s, the end of a node that leaves at once.
#[test]
fn a_job_with_views_is_completed_although_any_node_is_lost_at_any_event() {
    let scenario = recovering();
    let whole = run_with(Vec::new(), &scenario);
    assert!(whole.is_completed);
    let mut recovered = 0;
    for event in (1..whole.trace.events / 2).step_by(4) {
        for kind in [FaultKind::Crash, FaultKind::Leave] {
            let node = usize::try_from(event / 4 % 3).unwrap();
            let loss = Fault {
                kind,
                when: When::Event(event),
                lasts: 0,
                ..late(node, 0, 1)
            };
            let found = run_with(vec![loss], &scenario);
            assert_eq!(found.violations, [""; 0], "{kind} at event {event}");
            recovered += u64::from(found.is_completed && found.views == 2);
        }
    }
    assert!(20 < recovered, "{recovered}");
}

/// The client dies, or leaves when the job has begun and a node is lost soon after.
#[test]
fn a_job_with_views_is_completed_although_its_client_is_gone() {
    let mut scenario = recovering();
    let whole = run_with(Vec::new(), &scenario);
    let mut led = 0;
    for (is_left, kind) in [
        (false, FaultKind::ClientCrash),
        (true, FaultKind::Crash),
        (true, FaultKind::Leave),
    ] {
        scenario.request.is_left = is_left;
        for event in (1..whole.trace.events / 2).step_by(8) {
            let loss = Fault {
                kind,
                when: When::Event(event),
                lasts: 0,
                ..late(1, 0, 1)
            };
            let found = run_with(vec![loss], &scenario);
            assert_eq!(found.violations, [""; 0], "{kind} at event {event}");
            led += u64::from(found.is_completed && 1 < found.views);
        }
    }
    assert!(20 < led, "{led}");
}

/// The client leaves, and the node dies that leads the job then.
#[test]
fn clients_that_attach_receive_the_outputs_although_the_leader_or_their_connection_is_lost() {
    let mut scenario = recovering();
    scenario.request.is_left = true;
    scenario.computation = (100_000_000, 100_000_000);
    let fault = |kind, when, lasts| Fault {
        kind,
        when,
        lasts,
        ..late(0, 1, 1)
    };
    let attach =
        |milliseconds: u64| fault(FaultKind::Attach, When::Led(milliseconds * 1_000_000), 0);
    let alone = run_with(Vec::new(), &scenario);
    assert!(alone.is_completed && alone.attached == 0);
    for milliseconds in [1, 50, 150, 250, 400] {
        let when = When::Led(milliseconds * 1_000_000);
        let mut faults = vec![
            attach(1),
            attach(300),
            fault(FaultKind::AttachOther, when, 0),
            fault(FaultKind::Attach, When::Over(500_000_000), 0),
        ];
        let found = run_with(faults.clone(), &scenario);
        assert_eq!(found.violations, [""; 0], "{milliseconds} ms");
        // All but the one with another certificate.
        assert_eq!((found.attached, found.followed), (4, 3));
        for kind in [
            FaultKind::Crash,
            FaultKind::FollowerCut,
            FaultKind::FollowerCrash,
        ] {
            faults.push(fault(kind, when, 5_000_000_000));
            let found = run_with(faults.clone(), &scenario);
            assert_eq!(found.violations, [""; 0], "{kind} after {milliseconds} ms");
            assert!(found.is_completed && 3 <= found.followed, "{kind}");
            faults.pop();
        }
    }
}

/// Seeds that have failed once: the seed, and why.
const MUSEUM: &str = include_str!("museum.txt");

#[test]
fn no_seed_fails_and_equal_seeds_are_equal() {
    let mut completed = 0;
    for seed in 1..=40 {
        let run = simulate_seed(&SeedOptions::new(seed));
        assert_eq!(run.violations, [""; 0], "seed {seed}");
        completed += u32::from(run.is_completed);
        if seed % 10 == 0 {
            assert_eq!(simulate_seed(&SeedOptions::new(seed)), run, "seed {seed}");
        }
    }
    assert!((10..35).contains(&completed), "{completed} of 40 completed");
}

#[test]
fn seeds_that_failed_once_do_not_fail_again() {
    let lines = MUSEUM.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let (seed, why) = line.split_once(' ').unwrap();
        let run = simulate_seed(&SeedOptions::new(seed.parse().unwrap()));
        assert_eq!(run.violations, [""; 0], "seed {seed}: {why}");
    }
}

/// The identity of what happens in a seed, which is the same in every build and on every machine.
#[test]
fn what_happens_in_a_seed_is_the_same_in_every_build() {
    let run = simulate_seed(&SeedOptions::new(17));
    assert_eq!(run.digest, IDENTITY, "{} events", run.events);
}

/// Of seed 17. It changes with the protocol and with what seeds draw.
const IDENTITY: &str = "23c1b53a70b83ce7202cfe04efcb92aabb89927e778438dfa48e7d14a62cab4a";

/// Each of six nodes is lost again and again, and is back: longer each time, because it is left alone for longer.
#[test]
fn a_job_is_completed_although_nodes_leave_and_join_it_a_hundred_times() {
    let mut scenario = scenario(Shape::Hierarchical, &[0, 1, 2, 0, 1, 2], &[900; 6], &[]);
    let placement = (0..6).map(|rank| HostId(rank % 7)).collect();
    let request = request_of(&[3, 4], (placement, Shape::Hierarchical, None), || 1);
    scenario.request = request;
    scenario.managing = (0..7).map(HostId).collect();
    scenario.request.view = Some(View::first(true));
    let interval = CheckpointInterval::Supersteps(1);
    scenario.request.setup.checkpointing = Some(checkpointing(interval, true));
    scenario.computation = (8_000_000_000, 8_000_000_000);
    scenario.longest = 100_000_000_000_000;
    let kinds = [FaultKind::QuickRestart, FaultKind::Stop];
    let mut faults = Vec::new();
    let mut seconds = 40;
    for round in 0..10 {
        for node in 1..7 {
            let kind = kinds[(round + node) % kinds.len()];
            let first = When::Event(200);
            let later = When::Later(seconds * 1_000_000_000);
            faults.push(Fault {
                kind,
                when: if faults.is_empty() { first } else { later },
                lasts: if kind == FaultKind::QuickRestart {
                    50_000_000
                } else {
                    4_000_000_000
                },
                ..late(node, 0, 1)
            });
            seconds += 60;
        }
        // The time for which it is left alone doubles, up to 17 min.
        seconds += (4 << round).min(1300);
    }
    let found = run_with(faults, &scenario);
    assert_eq!(found.violations, [""; 0]);
    assert!(found.is_completed);
    assert!(
        50 <= found.joined,
        "{} joins, {} views",
        found.joined,
        found.views
    );
    assert!(100 <= found.views, "{} views", found.views);
}
