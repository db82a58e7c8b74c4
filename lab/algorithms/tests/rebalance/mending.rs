//! Starts within the limits of memory, where the initial assignment exceeds them.

use model::rebalance::{
    Budget, Machine, Memory, MoveCost, Problem, ProblemError, Resident, Solution,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rebalancing_algorithms::{Method, bound};

/// Capacity, group and bytes of each machine; workload, size, bytes, initial machine, whether it uses the block, and whether it may
/// not move, of each process.
type Machines = Vec<(f64, usize, u64)>;
type Processes = Vec<(f64, f64, u64, usize, bool, bool)>;

fn problem(machines: &Machines, processes: &Processes) -> Result<Problem, ProblemError> {
    let initial_machines = |initial: usize| initial % machines.len();
    let machine = |&(capacity, group, _): &(f64, usize, u64)| Machine { capacity, group };
    let resident = |&(workload, size, _, initial, _, _): &(f64, f64, u64, usize, bool, bool)| {
        let initial = initial_machines(initial);
        Resident {
            workload,
            size,
            initial_machine: initial,
        }
    };
    let move_cost = |fixed, per_size| MoveCost { fixed, per_size };
    let costs = vec![
        vec![move_cost(0.1, 1.0), move_cost(3.0, 2.0)],
        vec![move_cost(5.0, 0.1), move_cost(0.2, 1.0)],
    ];
    let memory = Memory {
        limits: machines.iter().map(|machine| machine.2).collect(),
        uses: processes.iter().map(|process| process.2).collect(),
        blocks: vec![4],
        used_blocks: processes
            .iter()
            .map(|process| vec![0; usize::from(process.4)])
            .collect(),
    };
    Problem::new(
        machines.iter().map(machine).collect(),
        processes.iter().map(resident).collect(),
        costs,
    )
    .unwrap()
    .with_memory(memory)?
    .with_pins(processes.iter().map(|process| process.5).collect())
}

/// Every assignment that keeps the limits: its cost and its level. Memory is added up here, without the code under test.
fn all(machines: &Machines, processes: &Processes) -> Vec<(f64, f64)> {
    // The same without limits, for costs and levels.
    let roomy: Machines = machines.iter().map(|one| (one.0, one.1, 1000)).collect();
    let problem = problem(&roomy, processes).unwrap();
    let mut found = Vec::new();
    let mut assignment = vec![0; processes.len()];
    loop {
        let keeps = (0..machines.len()).all(|machine| {
            let here = || (0..processes.len()).filter(|&process| assignment[process] == machine);
            let own: u64 = here().map(|process| processes[process].2).sum();
            let block = if here().any(|process| processes[process].4) {
                4
            } else {
                0
            };
            own + block <= machines[machine].2
        });
        let stay = (0..processes.len()).all(|process| {
            !processes[process].5 || assignment[process] == processes[process].3 % machines.len()
        });
        if keeps && stay {
            let costs = assignment.iter().enumerate();
            let cost = costs
                .map(|(process, &machine)| problem.cost(process, machine))
                .sum();
            found.push((cost, problem.level(&assignment)));
        }
        let Some(at) = assignment
            .iter()
            .position(|&machine| machine + 1 < machines.len())
        else {
            return found;
        };
        assignment[..at].fill(0);
        assignment[at] += 1;
    }
}

fn cheapest(all: &[(f64, f64)], target: f64) -> f64 {
    let feasible = all
        .iter()
        .filter(|(_, level)| *level <= target * (1.0 + 1e-9));
    feasible
        .map(|(cost, _)| *cost)
        .fold(f64::INFINITY, f64::min)
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

/// Machines, processes, and where between the ideal and the start's level the target is.
fn problems() -> impl Strategy<Value = (Machines, Processes, f64)> {
    let machine = (0.5..3.0, 0..2_usize, 2..14_u64);
    let process = (
        0.0..9.0,
        0.1..50.0,
        0..7_u64,
        0..3_usize,
        prop::bool::ANY,
        prop::bool::weighted(0.1),
    );
    (
        prop::collection::vec(machine, 1..4),
        prop::collection::vec(process, 1..7),
        0.0..1.0,
    )
}

#[test]
fn best_finds_the_optimum_of_nearly_all_small_problems() {
    let mut runner = TestRunner::deterministic();
    let (mut solved, mut optimal) = (0, 0);
    for _ in 0..200 {
        let (machines, processes, share) = problems().new_tree(&mut runner).unwrap().current();
        let Ok(problem) = problem(&machines, &processes) else {
            continue;
        };
        let start = problem.level(&problem.start());
        let target = problem.ideal() + share * (start - problem.ideal());
        let least = cheapest(&all(&machines, &processes), target);
        let best = Method::Best.solve(&problem, target, Budget::Steps(200_000), 1);
        solved += 1;
        let is_optimal = near(best.cost, least) || least.is_infinite() && !best.feasible;
        optimal += usize::from(is_optimal);
    }
    assert!(
        50 < solved && solved - optimal <= 1,
        "{optimal} of {solved}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_start_is_the_cheapest_within_memory_and_every_plan_begins_there(
        (machines, processes, share) in problems(),
    ) {
        let all = all(&machines, &processes);
        let problem = match problem(&machines, &processes) {
            Ok(problem) => problem,
            Err(error) => {
                prop_assert!(all.is_empty(), "{error}");
                return Ok(());
            }
        };
        let start = Solution::of(&problem, f64::MAX, problem.start());
        prop_assert!(near(start.cost, cheapest(&all, f64::MAX)), "{start:?}");
        prop_assert_eq!(problem.begins_within_memory(), start.migrations == 0);
        let target = problem.ideal() + share * (start.level - problem.ideal());
        let least = cheapest(&all, target);
        prop_assert!(bound(&problem, target) <= least * (1.0 + 1e-9));
        for method in Method::ALL {
            let solution = method.solve(&problem, target, Budget::Steps(20_000), 1);
            prop_assert!(
                all.iter().any(|(cost, level)| near(*cost, solution.cost) && near(*level, solution.level)),
                "{} {:?}", method, solution
            );
            prop_assert!(!solution.feasible || least <= solution.cost * (1.0 + 1e-9));
        }
    }
}

#[test]
fn a_machine_above_its_memory_is_relieved_at_the_least_cost() {
    // Machine 0 holds 7 of 4 bytes. The process of 3 bytes costs 9, those of 2 bytes 1 and 2 together, and there is room.
    let machines = vec![(1.0, 0, 4), (1.0, 0, 9)];
    let process = |size: f64, bytes: u64| (1.0, size, bytes, 0, false, false);
    let problem = problem(
        &machines,
        &vec![process(9.0, 3), process(0.9, 2), process(1.9, 2)],
    );
    let problem = problem.unwrap();
    assert_eq!(problem.start(), [0, 1, 1]);
    // The level of 2 is met without another move, and the bound knows what memory takes.
    let solution = Method::Imlp.solve(&problem, 2.0, Budget::Steps(1000), 1);
    assert_eq!(
        (solution.assignment, solution.feasible),
        (vec![0, 1, 1], true)
    );
    let bound = bound(&problem, 3.0);
    assert!(bound > 0.9 && bound <= 3.0, "{bound}");
}

#[test]
fn a_start_is_found_that_no_exchange_leads_to() {
    // Only 5 and 5 on the first, and the others with their block on the second.
    let machines = vec![(0.5, 0, 10), (0.5, 0, 12)];
    let process = |bytes: u64, has_block: bool| (0.0, 0.1, bytes, 0, has_block, false);
    let bytes = [(2, true), (5, false), (5, false), (0, true), (5, false)];
    let processes = bytes.map(|(bytes, has_block)| process(bytes, has_block));
    let problem = problem(&machines, &processes.to_vec()).unwrap();
    let occupied = problem.occupied(&problem.start()).unwrap();
    assert_eq!(occupied, [10, 11]);
}

#[test]
fn what_moves_at_no_cost_stays_as_well() {
    // The first process costs nothing to move; the others do not fit together.
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let resident = |size: f64, initial_machine: usize| Resident {
        workload: 1.0,
        size,
        initial_machine,
    };
    let residents = vec![resident(0.0, 2), resident(1.0, 1), resident(1.0, 1)];
    let cost = MoveCost {
        fixed: 0.0,
        per_size: 1.0,
    };
    let memory = Memory {
        limits: vec![10; 3],
        uses: vec![0, 6, 6],
        blocks: Vec::new(),
        used_blocks: vec![Vec::new(); 3],
    };
    let problem = Problem::new(vec![machine; 3], residents, vec![vec![cost]]).unwrap();
    let problem = problem.with_memory(memory).unwrap();
    let start = Solution::of(&problem, f64::MAX, problem.start());
    assert_eq!((start.assignment[0], start.migrations), (2, 1));
}

#[test]
fn crowded_machines_are_mended_by_exchanges() {
    // 16 machines of 10 bytes are full to the last byte when each has 7 and 3; all that is large is on the first half.
    let machines = vec![(1.0, 0, 10); 16];
    let processes: Processes = (0..32)
        .map(|at| (1.0, 1.0, if at < 16 { 7 } else { 3 }, at / 2, false, false))
        .collect();
    let problem = problem(&machines, &processes).unwrap();
    let occupied = problem.occupied(&problem.start()).unwrap();
    assert_eq!(occupied, [10; 16]);
}

#[test]
fn what_cannot_be_mended_is_refused_with_the_reason() {
    let process = |bytes: u64, is_pinned: bool| (1.0, 1.0, bytes, 0, false, is_pinned);
    let check = |machines: Machines, processes: Processes, expect: &str| {
        let error = problem(&machines, &processes).unwrap_err().to_string();
        assert_eq!(error, expect);
    };
    let machines = || vec![(1.0, 0, 4), (1.0, 0, 6)];
    check(
        machines(),
        vec![process(3, true), process(3, true)],
        "the processes of machine 0 that may not move occupy 6 bytes: must be at most 4",
    );
    check(
        machines(),
        vec![process(7, false)],
        "process 0 occupies 7 bytes with its blocks: must be at most 6, the most that a machine may hold",
    );
    check(
        machines(),
        vec![process(4, false), process(4, false), process(3, false)],
        "all processes occupy 11 bytes without their blocks: must be at most 10, what all machines may hold",
    );
    check(
        vec![(1.0, 0, 5); 2],
        vec![process(3, false), process(3, false), process(3, false)],
        "the processes of machine 0 occupy 9 bytes before any move: must be at most 5, or there must be moves \
         that bring all machines within their memory, and none were found",
    );
}
