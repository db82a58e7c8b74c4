//! What is not searched for would not have been carried out.

use std::cell::Cell;

use proptest::prelude::*;

use super::*;
use crate::Portfolio;

/// The portfolio, which searches even if no placement is noticeably better.
#[derive(Debug)]
struct Tireless;

impl Plan for Tireless {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        Portfolio::search(snapshot, Assignment::present(snapshot))
    }
}

/// What decisions have in common that differ in the plans that were compared.
fn carried_out(decision: Decision) -> (Vec<PlannedMove>, Verdict, Spacing) {
    (
        decision.moves,
        decision.assessment.verdict,
        decision.spacing,
    )
}

/// Processes with these thousandths of a second of work, and their hosts, of two speeds.
fn set_of(processes: &[(u32, u16)], noise: f64) -> Inventory {
    let mut set = inventory(EVEN);
    let like = (set.processors[0].clone(), set.loads[0].clone());
    set.processors = (0..3)
        .map(|host| Processor {
            host: HostId(host),
            speed: InstructionsPerSecond::new(1e9 * f64::from(1 + host / 2)).unwrap(),
            ..like.0.clone()
        })
        .collect();
    let load = |(rank, (host, work)): (u32, &(u32, u16))| Load {
        rank: Rank(rank),
        host: HostId(*host),
        instructions: 1e6 * f64::from(*work),
        noise,
        ..like.1.clone()
    };
    set.loads = (0..).zip(processes).map(load).collect();
    set
}

#[test]
fn a_planner_that_does_not_search_in_vain_decides_as_one_that_does() {
    let calls = prop::collection::vec((1..40_u64, 0.5..3.0, any::<bool>()), 1..8);
    let processes = prop::collection::vec((0..3_u32, 900..1100_u16), 4..16);
    let noise = prop_oneof![Just(0.0), 0.0..0.3];
    let searched = [Cell::new(0), Cell::new(0)];
    proptest!(|(mut processes in processes, calls in calls, noise in noise)| {
        let policy = "fixed+portfolio+amortised".parse::<Policy>().unwrap();
        let planner = || {
            let planner = Planner::new(
                &policy,
                &Config::default(),
                &Planning::default(),
                MigrationTime::SharedLinks,
            );
            Run {
                planner: planner.unwrap(),
                now: 0.0,
                completed: 0,
            }
        };
        let (mut run, mut tireless) = (planner(), planner());
        tireless.planner.plan = Box::new(Tireless);
        for (supersteps, factor, follows) in calls {
            let set = set_of(&processes, noise);
            let seconds = |host: u32| {
                let of_host = processes.iter().filter(|process| process.0 == host);
                let work: f64 = of_host.map(|process| f64::from(process.1)).sum();
                work / 1e3 / f64::from(1 + host / 2)
            };
            let superstep = factor * (0..3).map(seconds).fold(0.0, f64::max);
            let found = run.call_with(supersteps, superstep, set.clone());
            let expected = tireless.call_with(supersteps, superstep, set);
            let kind = &searched[usize::from(found.assessment.alternatives.is_empty())];
            kind.set(kind.get() + 1);
            let moves = found.moves.clone();
            prop_assert_eq!(carried_out(found), carried_out(expected));
            if follows {
                for planned in &moves {
                    processes[planned.step.rank.index()].0 = planned.step.to.0;
                }
            }
            for run in [&mut run, &mut tireless] {
                run.conclude(0.01, follows && !moves.is_empty());
            }
        }
    });
    // Both happen, or nothing is tested.
    assert!(
        searched.iter().all(|number| 50 < number.get()),
        "{searched:?}"
    );
}
