//! Scenarios aimed at messages that overtake each other.
//!
//! Where processes run, one Manager announces, and one node collects checkpoints; what follows from both, a node hears from
//! others. Here, paths are late from the beginning.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};

use super::checkpoints;
use super::fault::{Fault, FaultKind, HARMLESS, SECOND, When};
use super::random::{Purpose, Random};
use super::scenario::{Scenario, programs, request};
use crate::checkpointing::CheckpointInterval;
use crate::hosts::Request;
use crate::machines::members;
use crate::machines::step::Step;
use crate::script::Script;
use crate::setup::Shape;

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
    let sets = sets(&mut random, aim);
    let nodes = sets.iter().sum();
    let processes = usize::try_from(random.between(1, 8)).expect("small");
    let mut request = request(&mut job, &sets, processes, Some(Step::Commit));
    let saves = aim == Aim::Checkpoints || random.percent(25);
    checkpoints::draw(seed, &mut request, saves.then_some(Step::Save));
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
    let mut faults = faults(&mut random, nodes);
    match aim {
        Aim::Moves => move_again_and_again(&mut random, &mut request),
        Aim::Checkpoints => save_often(&mut random, &mut request),
        Aim::End => {
            leave_managers_alone(&mut random, &mut request);
            faults.push(cut_at_end(&mut random, &request));
        }
    }
    let follows_at_once = random.percent(50);
    if follows_at_once {
        let when = When::Event(random.between(1, 500));
        faults.push(Fault::draw(&mut random, FaultKind::Loss, when, nodes));
    }
    let programs = programs(&mut job, seed, processes, false);
    Scenario {
        faults,
        follows_at_once,
        ..Scenario::new(seed, request, programs)
    }
}

/// The numbers of nodes of 2 or 3 Sets, up to 7 in all. If the hosts of Managers are to be without processes, there are
/// others.
fn sets(random: &mut Random, aim: Aim) -> Vec<usize> {
    let least = if aim == Aim::Moves { 1 } else { 2 };
    let mut sets = vec![least; random.of(&[2, 3])];
    for _ in 0..random.between(1, 2) {
        let place = random.index(sets.len());
        sets[place] += 1;
    }
    sets
}

/// One process moves again and again, with few supersteps between. Most others are on the host of the first Manager.
fn move_again_and_again(random: &mut Random, request: &mut Request) {
    let placement = &mut request.setup.placement;
    let nodes = request.members.len();
    let moving = random.index(placement.len());
    for host in &mut *placement {
        if random.percent(80) {
            *host = HostId(0);
        }
    }
    let mut at = placement[moving].index();
    let mut script = BTreeMap::new();
    let mut superstep = random.between(1, 4);
    for _ in 0..random.between(3, 8) {
        // Seldom back to the host of the first Manager.
        let first = if random.percent(20) { 0 } else { 1 };
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
    request.setup.scheduler = None;
}

/// Late messages on up to three paths, most of them from the host of the first Manager, and in some scenarios any other
/// fault.
fn faults(random: &mut Random, nodes: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    for _ in 0..random.between(1, 3) {
        let when = if random.percent(80) {
            When::Event(random.between(1, 100))
        } else {
            When::Step(random.of(&Step::ALL), random.between(1, 4))
        };
        let mut fault = Fault::draw(random, FaultKind::Late, when, nodes);
        if random.percent(80) {
            fault.node = 0;
            fault.other = 1 + random.index(nodes - 1);
        }
        faults.push(fault);
    }
    if random.percent(15) {
        let when = When::Event(random.between(1, 1000));
        let kind = random.of(&FaultKind::drawn());
        faults.push(Fault::draw(random, kind, when, nodes));
    }
    faults
}

/// A path between a node that has ended and the host of a Manager, cut for so long that it is noticed.
fn cut_at_end(random: &mut Random, request: &Request) -> Fault {
    let managers = members::rules(&request.setup).managers;
    let when = When::Step(Step::End, random.between(1, 3));
    Fault {
        other: random.of(&managers).index(),
        lasts: random.duration(2 * HARMLESS, 20 * SECOND),
        ..Fault::draw(random, FaultKind::Cut, when, request.members.len())
    }
}
