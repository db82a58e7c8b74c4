//! What the planner learns from call to call, against the pseudocode at the head of its file, by hand.

use bsp::units::{Bytes, Instant, InstructionsPerSecond};
use bsp::{HostId, MemorySize, Rank};

use super::super::*;
use crate::{
    BarrierTime, CostCoefficients, Edge, Lesson, Load, Measurements, MigrationCost, Path,
    ProbedLink, Processor,
};

mod noisy;
mod owners;
mod search;

/// Runs of four processes of a second each on two hosts of one Set; a move takes a tenth of a second.
///
/// The test says where processes are at each call: moves that were decided need not have been made, so that one plan
/// can be assessed many times.
struct Run {
    planner: Planner,
    now: f64,
    completed: u64,
}

/// All processes on the first host: a superstep takes four seconds, and two after the best plan.
const CROWDED: [u32; 4] = [0; 4];
/// Nothing to improve: a superstep takes two seconds.
const EVEN: [u32; 4] = [0, 0, 1, 1];

impl Run {
    fn new(migration_time: MigrationTime, change: impl FnOnce(&mut Planning)) -> Self {
        let mut planning = Planning::default();
        change(&mut planning);
        let policy: Policy = "fixed+greedy-refine+amortised".parse().unwrap();
        let planner = Planner::new(&policy, &Config::default(), &planning, migration_time);
        Self {
            planner: planner.unwrap(),
            now: 0.0,
            completed: 0,
        }
    }

    fn sharing_links() -> Self {
        Self::new(MigrationTime::SharedLinks, |_| {})
    }

    /// A call after another `supersteps`, which took `superstep` seconds each.
    fn call(&mut self, supersteps: u64, superstep: f64, hosts: [u32; 4]) -> Decision {
        self.call_with(supersteps, superstep, inventory(hosts))
    }

    fn call_with(&mut self, supersteps: u64, superstep: f64, set: Inventory) -> Decision {
        self.now += count(supersteps) * superstep;
        self.completed += supersteps;
        let now = Instant::new(self.now).unwrap();
        let cost = MigrationCost {
            data_rate: Some(0.0),
            fixed_rate: Some(0.0),
            overlap: None,
            base: Some(Seconds::new(0.1).unwrap()),
            ..MigrationCost::default()
        };
        let sets = vec![set];
        self.planner
            .decide(start(self.completed, now), sets, cost.into())
    }

    /// The call is over after `took` seconds.
    fn conclude(&mut self, took: f64, moved: bool) {
        self.now += took;
        self.planner.conclude(Seconds::new(took).unwrap(), moved);
    }
}

fn inventory(hosts: [u32; 4]) -> Inventory {
    let processor = |host| Processor {
        host: HostId(host),
        speed: InstructionsPerSecond::new(1e9).unwrap(),
        cores: 1,
        load: 0.0,
        residents: Vec::new(),
    };
    let load = |(rank, host): (u32, u32)| Load {
        rank: Rank(rank),
        host: HostId(host),
        instructions: 1e9,
        finished: None,
        image: MemorySize {
            data: Bytes::ZERO,
            fixed: Bytes::ZERO,
        },
        received: Vec::new(),
        edges: Vec::new(),
        noise: 0.0,
    };
    Inventory {
        processors: (0..2).map(processor).collect(),
        loads: (0..).zip(hosts).map(load).collect(),
        rates: vec![0.0],
        paths: vec![Path::default()],
        barrier: BarrierTime::Ideal,
        measured: Measurements::default(),
    }
}

/// A call at `began` after `completed` supersteps, with no end in sight.
fn start(completed: u64, began: Instant) -> CallStart {
    CallStart {
        completed,
        remaining: None,
        began,
    }
}

fn count(number: u64) -> f64 {
    crate::bounded::count(number)
}

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() < 1e-9,
        "{value} against {expected}"
    );
}

/// Where the moves lead.
fn goals(decision: &Decision) -> Vec<u32> {
    decision
        .moves
        .iter()
        .map(|planned| planned.step.to.0)
        .collect()
}

#[test]
fn a_plan_is_assessed_by_what_it_saves_and_what_it_costs() {
    let mut run = Run::sharing_links();
    let decision = run.call(10, 4.0, CROWDED);
    assert_eq!(goals(&decision), [1, 1]);
    let balance = decision.assessment.balance;
    close(balance.present.get(), 4.0);
    close(balance.planned.get(), 2.0);
    // Both images leave the same host.
    close(balance.cost.get(), 0.2);
    close(balance.horizon, 100.0);
    assert_eq!(decision.assessment.verdict, Verdict::Admitted);
}

#[test]
fn moves_that_take_longer_than_predicted_cost_more_in_later_plans() {
    let mut run = Run::sharing_links();
    assert_eq!(goals(&run.call(10, 2.0, EVEN)), [0; 0]);
    // C = 0.5.
    run.conclude(0.5, false);
    let mut cost = || {
        let decision = run.call(10, 4.0, CROWDED);
        let cost = decision.assessment.balance.cost.get();
        (cost, decision.spacing.cost.get())
    };
    let (first, overhead) = cost();
    close(first, 0.2);
    close(overhead, 0.5);
    // F = mean(1, (0.9 - 0.5) / 0.2) = 1.5.
    run.conclude(0.9, true);
    let mut cost = || {
        let decision = run.call(10, 4.0, CROWDED);
        let cost = decision.assessment.balance.cost.get();
        (cost, decision.spacing.cost.get())
    };
    let (second, overhead) = cost();
    close(second, 0.3);
    close(overhead, 0.5);
    // F = mean(1.5, 1.5 (0.9 - 0.5) / 0.3) = 1.75.
    run.conclude(0.9, true);
    close(
        run.call(10, 4.0, CROWDED).assessment.balance.cost.get(),
        0.35,
    );
}

#[test]
fn the_cost_of_a_call_is_a_mean_of_those_without_moves() {
    let mut run = Run::sharing_links();
    let first = run.call(10, 2.0, EVEN);
    close(first.spacing.cost.get(), 0.0);
    run.conclude(0.5, false);
    close(run.call(10, 2.0, EVEN).spacing.cost.get(), 0.5);
    run.conclude(0.1, false);
    close(run.call(10, 2.0, EVEN).spacing.cost.get(), 0.3);
}

#[test]
fn calls_without_moves_are_paid_for_by_a_hundredth_of_the_run() {
    let mut run = Run::sharing_links();
    let first = run.call(10, 1.0, EVEN);
    // C is not known yet.
    assert_eq!((first.spacing.pause, first.spacing.again), (6, 6));
    run.conclude(0.5, false);
    // idle + C = 1: 100 and 200 seconds, of which 20 are over.
    let second = run.call(10, 1.0, EVEN);
    close(second.spacing.took.get(), 1.0);
    assert_eq!((second.spacing.pause, second.spacing.again), (80, 180));
    run.conclude(0.5, false);
    // idle + C = 1.5: 150 and 300 seconds, of which 120 are over.
    let third = run.call(100, 1.0, EVEN);
    assert_eq!((third.spacing.pause, third.spacing.again), (30, 180));
}

#[test]
fn calls_that_cost_nothing_pause_as_long_as_the_parameters_say() {
    let mut run = Run::new(MigrationTime::SharedLinks, |planning| planning.pause = 3);
    let _ = run.call(10, 1.0, EVEN);
    run.conclude(0.0, false);
    let decision = run.call(10, 1.0, EVEN);
    assert_eq!(decision.assessment.verdict, Verdict::Unchanged);
    // The second such call.
    assert_eq!((decision.spacing.pause, decision.spacing.again), (6, 3));
    // After a plan, nothing but the budget asks for a pause.
    run.conclude(0.0, false);
    let decision = run.call(10, 4.0, CROWDED);
    assert_eq!(decision.assessment.verdict, Verdict::Admitted);
    assert_eq!((decision.spacing.pause, decision.spacing.again), (0, 3));
}

#[test]
fn a_plan_pays_for_its_call_as_far_as_its_gain_goes() {
    // The gain of two seconds counts once.
    let mut run = Run::new(MigrationTime::SharedLinks, |planning| {
        planning.horizon = 1.0;
    });
    assert_eq!(goals(&run.call(10, 4.0, CROWDED)), [1, 1]);
    // C = 5 - 0.2, and 5 - 2 seconds remain.
    run.conclude(5.0, true);
    let next = run.call(10, 2.0, EVEN);
    close(next.spacing.cost.get(), 4.8);
    // (3 + 4.8) / 0.01 seconds, of which 60 are over, in supersteps of two.
    assert_eq!((next.spacing.pause, next.spacing.again), (360, 750));
    // Over fifty supersteps the gain pays for all of it.
    let mut run = Run::sharing_links();
    let _ = run.call(10, 4.0, CROWDED);
    run.conclude(5.0, true);
    let next = run.call(10, 2.0, EVEN);
    // 4.8 / 0.01 seconds, of which 60 are over.
    assert_eq!((next.spacing.pause, next.spacing.again), (210, 450));
}

#[test]
fn what_a_migrant_pays_later_is_part_of_the_price_and_of_no_superstep() {
    let mut run = Run::new(MigrationTime::PerProcess, |planning| planning.horizon = 1.0);
    let decision = run.call(10, 4.0, CROWDED);
    // Each migrant waits for itself alone.
    close(decision.assessment.balance.cost.get(), 0.1);
    run.conclude(2.5, true);
    // The first of the ten supersteps was longer by the tenth of a second.
    let next = run.call(10, 2.01, EVEN);
    close(next.spacing.took.get(), 2.0);
    close(next.spacing.cost.get(), 2.5);
    // (2.5 + 0.1 - 2 + 2.5) / 0.01 seconds, of which 60 are over, in supersteps of two.
    let pause = i64::try_from(next.spacing.pause).unwrap();
    assert!((124..=125).contains(&pause), "{pause}");
    // It is paid once.
    run.conclude(2.5, false);
    close(run.call(10, 2.0, EVEN).spacing.took.get(), 2.0);
}

#[test]
fn plans_are_expected_to_last_as_long_as_those_before() {
    let mut run = Run::sharing_links();
    let horizon = |run: &mut Run, supersteps, moved| {
        let hosts = if moved { CROWDED } else { EVEN };
        let superstep = if moved { 4.0 } else { 2.0 };
        let decision = run.call(supersteps, superstep, hosts);
        assert_eq!(decision.moves.is_empty(), !moved);
        run.conclude(0.01, moved);
        decision.assessment.balance.horizon
    };
    // Nothing is known before the first plan.
    close(horizon(&mut run, 20, true), 100.0);
    // L = mean(100, 20) = 60, and then mean(60, 10) = 35.
    close(horizon(&mut run, 4, false), 60.0);
    close(horizon(&mut run, 6, true), 60.0);
    close(horizon(&mut run, 2, false), 35.0);
    // A plan that has lasted longer than that will last as long again.
    close(horizon(&mut run, 38, false), 40.0);
    close(horizon(&mut run, 100, false), 100.0);
}

#[test]
fn a_plan_that_gains_less_than_a_twentieth_of_a_superstep_counts_as_none() {
    // Two of four seconds: more than a twentieth of 39 seconds, and less than a twentieth of 41.
    for (superstep, moves) in [(39.0, 2), (41.0, 0)] {
        let decision = Run::sharing_links().call(10, superstep, CROWDED);
        assert_eq!(decision.moves.len(), moves, "{superstep}");
    }
}

#[test]
fn a_plan_that_has_made_supersteps_longer_is_undone() {
    let after_plan = |superstep: f64| {
        let mut run = Run::sharing_links();
        let decision = run.call(10, 4.0, CROWDED);
        assert_eq!(goals(&decision), [1, 1]);
        let moved: Vec<Rank> = decision
            .moves
            .iter()
            .map(|planned| planned.step.rank)
            .collect();
        run.conclude(1.0, true);
        let mut hosts = CROWDED;
        for rank in &moved {
            hosts[rank.index()] = 1;
        }
        let next = run.call(10, superstep, hosts);
        let back: Vec<Rank> = next.moves.iter().map(|planned| planned.step.rank).collect();
        assert!(back.is_empty() || (back == moved && goals(&next) == [0, 0]));
        (!back.is_empty(), next, run)
    };
    // Predicted are two seconds. A superstep is unexplained by as much as it has gained, or by more.
    assert!(!after_plan(2.0).0);
    assert!(!after_plan(3.9).0);
    let (is_undone, decision, _) = after_plan(5.0);
    assert!(is_undone);
    // The gain was to pay for the call: idle = 0, C = 0.8; 160 seconds, of which 90 are over, in supersteps of five.
    assert_eq!((decision.spacing.pause, decision.spacing.again), (0, 14));
    close(decision.assessment.balance.present.get(), 5.0);
    close(decision.assessment.balance.planned.get(), 4.0);
    // Back there are four seconds: to go there gains less than a twentieth of 4.2.
    assert!(!after_plan(4.2).0);
    assert!(after_plan(4.22).0);
}

#[test]
fn a_plan_that_failed_is_not_carried_out_again() {
    let mut run = Run::sharing_links();
    let first = run.call(10, 4.0, CROWDED);
    assert_eq!(first.moves.len(), 2);
    run.conclude(1.0, true);
    // Two seconds were predicted.
    let undone = run.call(10, 5.0, EVEN);
    assert_eq!(undone.moves.len(), 2);
    run.conclude(1.0, true);
    for call in 0..100 {
        let decision = run.call(10, 4.0, CROWDED);
        assert!(decision.moves.is_empty(), "call {call}");
        run.conclude(0.1, false);
    }
}

#[test]
fn what_messages_have_taken_is_remembered_from_call_to_call() {
    let mut run = Run::sharing_links();
    let mut crossed = inventory(EVEN);
    let path = |per_byte| Path {
        latency: Seconds::ZERO,
        per_byte,
        shared_per_byte: None,
    };
    crossed.paths = vec![path(1e-6)];
    // A megabyte from a process of the other host, in twice the time that its bytes take.
    crossed.loads[0].edges.push(Edge {
        from: Rank(2),
        messages: 1.0,
        bytes: 1e6,
        time: 2.0,
    });
    let cost = MoveCost::default();
    let _ = run
        .planner
        .decide(start(4, Instant::START), vec![crossed], cost);
    let learned = run.planner.lessons.clone();
    assert_ne!(learned, [Lesson::default()]);
    run.conclude(0.1, false);
    let _ = run.call(10, 2.0, EVEN);
    assert_eq!(
        run.planner.lessons, learned,
        "no message has said otherwise"
    );
}

#[test]
fn a_plan_whose_links_are_slower_than_thought_is_dropped() {
    let decide = |per_byte: Option<f64>| {
        let mut run = Run::sharing_links();
        let mut set = inventory(CROWDED);
        for load in &mut set.loads {
            load.image.data = Bytes(1_000_000);
        }
        set.rates = vec![1e-6];
        let cost = MoveCost::new(MigrationCost::default(), Some(CostCoefficients::default()));
        let began = Instant::new(40.0).unwrap();
        let decision = run.planner.decide(start(10, began), vec![set], cost);
        let probes = run.planner.probes(&decision);
        assert_eq!(probes.len(), 1, "both moves are on one link");
        close(probes[0].budget.get(), 0.05);
        let (from, to) = (probes[0].from, probes[0].to);
        let took = Seconds::ZERO;
        let link = per_byte.map(|per_byte| ProbedLink {
            from,
            to,
            per_byte,
            took,
        });
        let links: Vec<ProbedLink> = link.into_iter().collect();
        (run.planner.confirm(decision.clone(), &links), decision)
    };
    let (confirmed, decided) = decide(None);
    assert_eq!(confirmed, decided);
    close(decided.assessment.balance.cost.get(), 2.0);
    let (confirmed, _) = decide(Some(2e-6));
    assert_eq!(goals(&confirmed), [1, 1]);
    close(confirmed.assessment.balance.cost.get(), 4.0);
    // Two moves that share a link end at the same time.
    close(confirmed.moves[0].cost.get(), 4.0);
    // 100 supersteps of 2 seconds less are 200 seconds.
    let (confirmed, decided) = decide(Some(1e-3));
    assert_eq!((confirmed.moves.len(), decided.moves.len()), (0, 2));
    let verdict = confirmed.assessment.verdict;
    assert!(
        matches!(verdict, Verdict::NotAmortised { .. }),
        "{verdict:?}"
    );
}
