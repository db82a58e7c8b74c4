//! Scenarios aimed at messages that overtake each other.
//!
//! Where processes run, one Manager announces, and one node collects checkpoints; what follows from both, a node hears from
//! others. Here, paths are late from the beginning.

use std::collections::BTreeMap;

use agents::{CheckpointInterval, Script, Shape};
use bsp::{HostId, Rank};
use machines::client::Request;
use machines::members;
use protocol::Step;

use super::fault::{Fault, FaultKind, HARMLESS, SECOND, When};
use super::program::Mixer;
use super::random::{Purpose, Random};
use super::scenario::{Scenario, draw_checkpoints, programs, request};

/// What a scenario is aimed at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// Processes move again and again between hosts that have no others.
    Moves,
    /// Checkpoints follow each other, and processes halt at different times.
    Checkpoints,
    /// A path is cut when the first node has ended. The hosts of Managers have no processes.
    End,
}

/// Whether the scenario of `seed` is one: every eighth is.
pub(super) const fn is_aimed(seed: u64) -> bool {
    seed % 8 == 7
}

/// The scenario of `seed`.
pub(super) fn draw(seed: u64) -> Scenario {
    let mut random = Random::new(seed, Purpose::Overtaking);
    let mut job = Random::new(seed, Purpose::Job);
    let aim = random.of(&[Aim::Moves, Aim::Moves, Aim::Checkpoints, Aim::End]);
    let sets = sets(&mut random);
    let nodes = sets.iter().sum();
    let least = if aim == Aim::Checkpoints { 3 } else { 1 };
    let processes = usize::try_from(random.between(least, 8)).expect("small");
    let mut request = request(&mut job, &sets, processes, Some(Step::Commit));
    // The first Manager is that of the first process: on host 0.
    request.setup.placement[0] = HostId(0);
    let saves = aim == Aim::Checkpoints || random.percent(25);
    draw_checkpoints(seed, &mut request, saves.then_some(Step::Save));
    let shapes = match aim {
        Aim::Moves => [
            Shape::Central,
            Shape::Central,
            Shape::Ideal,
            Shape::Hierarchical,
        ],
        Aim::Checkpoints | Aim::End => [Shape::Hierarchical; 4],
    };
    request.setup.barrier.shape = random.of(&shapes);
    let mut programs = programs(&mut job, seed, processes, false);
    // A host of a Set that hears of the first Manager and of its own on different paths, the first of which is late.
    let far = random.of(&far_hosts(&request));
    let mut faults = Vec::new();
    match aim {
        Aim::Moves => {
            faults.push(late_path(&mut random, far, 5));
            move_again_and_again(&mut random, &mut request);
        }
        Aim::Checkpoints => {
            faults.push(late_path(&mut random, far, 50));
            save_often(&mut random, &mut request);
            let second = random.between(1, 4);
            halt_on((far, second), &mut request, &mut programs);
        }
        Aim::End => {
            let managers = members::rules(&request.setup).managers;
            let other = random.of(&managers[1..]);
            faults.push(late_path(&mut random, other, 5));
            faults.push(cut_at_end(&mut random, nodes));
            leave_managers_alone(&mut random, &mut request);
        }
    }
    let follows_at_once = random.percent(50);
    add_faults(&mut random, &mut faults, (nodes, follows_at_once));
    Scenario {
        faults,
        follows_at_once,
        computation: match aim {
            // Checkpoints are complete before the job is.
            Aim::Checkpoints => (2_000_000, 20_000_000),
            Aim::Moves | Aim::End => (10_000, 1_000_000),
        },
        ..Scenario::new(seed, request, programs)
    }
}

/// The numbers of nodes of 2 or 3 Sets, 4 to 8 in all: each has a host besides that of its Manager.
fn sets(random: &mut Random) -> Vec<usize> {
    let mut sets = vec![2; random.of(&[2, 3])];
    for _ in 0..random.between(0, 2) {
        let place = random.index(sets.len());
        sets[place] += 1;
    }
    sets
}

/// The hosts without a Manager, of all Sets but the first.
fn far_hosts(request: &Request) -> Vec<HostId> {
    let rules = members::rules(&request.setup);
    let hosts = (0..rules.sets.len()).map(HostId::from_index);
    let far = hosts
        .filter(|host| rules.sets[host.index()] != rules.first && !rules.managers.contains(host));
    far.collect()
}

/// One process moves again and again, with few supersteps between. Most others are on the host of the first Manager.
fn move_again_and_again(random: &mut Random, request: &mut Request) {
    let placement = &mut request.setup.placement;
    let nodes = request.members.len();
    let near = request.members.iter().filter(|member| member.set == "s0");
    let near = near.count();
    let moving = random.index(placement.len());
    for host in &mut placement[1..] {
        if random.percent(80) {
            *host = HostId(0);
        }
    }
    let mut at = placement[moving].index();
    let mut script = BTreeMap::new();
    let mut superstep = random.between(1, 4);
    for _ in 0..random.between(3, 8) {
        // Seldom back to the Set of the first Manager.
        let first = if random.percent(20) { 0 } else { near };
        let others: Vec<usize> = (first..nodes).filter(|host| *host != at).collect();
        at = random.of(&others);
        let moves = vec![(Rank::from_index(moving), HostId::from_index(at))];
        script.insert(superstep, moves);
        superstep += random.between(1, 3);
    }
    if let Some(scheduler) = &mut request.setup.scheduler {
        scheduler.script = Some(Script(script));
    }
}

/// A checkpoint before almost every superstep, copied, in a job without calls.
fn save_often(random: &mut Random, request: &mut Request) {
    if random.percent(75) {
        request.setup.scheduler = None;
    }
    if let Some(checkpointing) = &mut request.setup.checkpointing {
        checkpointing.interval = CheckpointInterval::Supersteps(random.between(1, 2));
    }
}

/// Has processes start on hosts without a Manager, and stay there.
fn leave_managers_alone(random: &mut Random, request: &mut Request) {
    let rules = members::rules(&request.setup);
    let hosts = (0..rules.sets.len()).map(HostId::from_index);
    let others: Vec<HostId> = hosts
        .filter(|host| !rules.managers.contains(host))
        .collect();
    for host in &mut request.setup.placement {
        *host = random.of(&others);
    }
    request.setup.placement[0] = HostId(1);
    request.setup.scheduler = None;
}

/// Has the second and the third process run on `host`, and halt in the first superstep and in superstep `second`, long before all
/// others.
fn halt_on((host, second): (HostId, u64), request: &mut Request, programs: &mut [Mixer]) {
    let placement = &mut request.setup.placement;
    // The node that collects begins when the first others have saved: its order comes late.
    for other in &mut *placement {
        if *other == host || *other == HostId(0) {
            *other = HostId(1);
        }
    }
    placement[1..3].fill(host);
    for program in programs {
        for (rank, last) in program.lasts.iter_mut().enumerate() {
            *last = match rank {
                1 => 0,
                2 => second,
                _ => (*last).max(30),
            };
        }
    }
}

/// Messages from the host of the first Manager to `host` are late from the beginning, by `least` milliseconds at least.
fn late_path(random: &mut Random, host: HostId, least: u64) -> Fault {
    let when = When::Event(random.between(1, 50));
    Fault {
        kind: FaultKind::Late,
        when,
        node: 0,
        other: host.index(),
        lasts: 60 * SECOND,
        // Odd: in this direction alone.
        factor: random.duration(least, 1000) | 1,
    }
}

/// The first node that has ended does not hear the host of the first Manager any more, for so long that it is noticed.
fn cut_at_end(random: &mut Random, nodes: usize) -> Fault {
    Fault {
        other: 0,
        lasts: random.duration(2 * HARMLESS, 20 * SECOND),
        factor: Fault::ONE_WAY,
        ..Fault::draw(random, FaultKind::Cut, When::Step(Step::End, 1), nodes)
    }
}

/// Adds a second late path to some scenarios, any fault to a few, and lost packets if the next job follows at once.
fn add_faults(
    random: &mut Random,
    faults: &mut Vec<Fault>,
    (nodes, follows_at_once): (usize, bool),
) {
    if random.percent(30) {
        let when = When::Step(random.of(&Step::ALL), random.between(1, 4));
        faults.push(Fault::draw(random, FaultKind::Late, when, nodes));
    }
    if random.percent(10) {
        let when = When::Event(random.between(1, 1000));
        let kind = random.of(&FaultKind::drawn());
        faults.push(Fault::draw(random, kind, when, nodes));
    }
    if follows_at_once {
        let when = When::Event(random.between(1, 500));
        faults.push(Fault::draw(random, FaultKind::Loss, when, nodes));
    }
}
