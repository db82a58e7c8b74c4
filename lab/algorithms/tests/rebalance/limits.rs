//! Processes that may not move, memory, and what processes exchange.

use model::rebalance::{Budget, Machine, Memory, MoveCost, Problem, Resident};
use proptest::prelude::*;
use rebalancing_algorithms::{Method, bound};

use crate::size;

/// What a problem is made of, so that everything about it can be computed again.
#[derive(Clone, Debug)]
struct Parts {
    capacities: Vec<f64>,
    /// Workload, size, initial machine and whether it stays there.
    processes: Vec<(f64, f64, usize, bool)>,
    /// What machines hold in addition to what is on them before any move.
    spare: Vec<u64>,
    /// By process: what it occupies, and its blocks.
    memory: Vec<(u64, Vec<usize>)>,
    edges: Vec<(usize, usize, f64)>,
    weight: f64,
}

const BLOCKS: [u64; 3] = [5, 8, 13];

impl Parts {
    fn initial_machines(&self) -> Vec<usize> {
        self.processes.iter().map(|process| process.2).collect()
    }

    fn problem(&self) -> Problem {
        let machine = |&capacity: &f64| Machine { capacity, group: 0 };
        let resident = |&(workload, size, initial, _): &(f64, f64, usize, bool)| Resident {
            workload,
            size,
            initial_machine: initial,
        };
        let move_cost = MoveCost {
            fixed: 0.5,
            per_size: 1.0,
        };
        let limits = self.limits();
        Problem::new(
            self.capacities.iter().map(machine).collect(),
            self.processes.iter().map(resident).collect(),
            vec![vec![move_cost]],
        )
        .unwrap()
        .with_pins(self.processes.iter().map(|process| process.3).collect())
        .unwrap()
        .with_memory(Memory {
            limits,
            uses: self.memory.iter().map(|memory| memory.0).collect(),
            blocks: BLOCKS.to_vec(),
            used_blocks: self.memory.iter().map(|memory| memory.1.clone()).collect(),
        })
        .unwrap()
        .with_communication(&self.edges, self.weight)
        .unwrap()
    }

    fn limits(&self) -> Vec<u64> {
        let occupied = self.occupied(&self.initial_machines());
        let limits = occupied.iter().zip(&self.spare);
        limits.map(|(occupied, spare)| occupied + spare).collect()
    }

    fn occupied(&self, assignment: &[usize]) -> Vec<u64> {
        let mut occupied = vec![0; self.capacities.len()];
        for (machine, occupied) in occupied.iter_mut().enumerate() {
            let all = self.memory.iter().zip(assignment);
            let here = all.filter(|(_, place)| **place == machine);
            let mut blocks: Vec<usize> = Vec::new();
            for (memory, _) in here {
                *occupied += memory.0;
                blocks.extend(&memory.1);
            }
            blocks.sort_unstable();
            blocks.dedup();
            *occupied += blocks.iter().map(|block| BLOCKS[*block]).sum::<u64>();
        }
        occupied
    }

    fn level(&self, assignment: &[usize]) -> f64 {
        let mut levels = vec![0.0; self.capacities.len()];
        for (process, place) in self.processes.iter().zip(assignment) {
            levels[*place] += process.0 / self.capacities[*place];
        }
        for &(one, other, bytes) in &self.edges {
            if assignment[one] != assignment[other] {
                levels[assignment[one]] += self.weight * bytes;
                levels[assignment[other]] += self.weight * bytes;
            }
        }
        levels.into_iter().fold(0.0, f64::max)
    }

    fn cost(&self, assignment: &[usize]) -> f64 {
        let all = self.processes.iter().zip(assignment);
        let away = all.filter(|(process, place)| process.2 != **place);
        away.map(|(process, _)| 0.5 + process.1).sum()
    }

    fn is_allowed(&self, assignment: &[usize]) -> bool {
        let stays = |(process, place): (&(f64, f64, usize, bool), &usize)| {
            !process.3 || process.2 == *place
        };
        let occupied = self.occupied(assignment).into_iter().zip(self.limits());
        self.processes.iter().zip(assignment).all(stays)
            && occupied
                .into_iter()
                .all(|(occupied, limit)| occupied <= limit)
    }

    /// Every assignment that is allowed: level and cost.
    fn all(&self) -> Vec<(f64, f64)> {
        let machines = self.capacities.len();
        let count = machines.pow(u32::try_from(self.processes.len()).unwrap());
        let mut all = Vec::new();
        for mut number in 0..count {
            let digit = |_: &_| {
                let digit = number % machines;
                number /= machines;
                digit
            };
            let assignment: Vec<usize> = self.processes.iter().map(digit).collect();
            if self.is_allowed(&assignment) {
                all.push((self.level(&assignment), self.cost(&assignment)));
            }
        }
        all
    }
}

fn parts(processes: std::ops::Range<usize>) -> impl Strategy<Value = Parts> {
    let process = (
        prop_oneof![1 => Just(0.0), 9 => 1.0..9.0_f64],
        0.1..5.0_f64,
        0..3_usize,
        prop::bool::weighted(0.2),
    );
    let memory = (0..9_u64, prop::collection::btree_set(0..3_usize, 0..3));
    (
        prop::collection::vec(0.5..3.0_f64, 2..4),
        prop::collection::vec((process, memory), processes),
        prop::collection::vec(prop_oneof![0..20_u64, Just(1000)], 3),
        prop::collection::vec((0..9_usize, 0..9_usize, 0.0..9.0_f64), 0..12),
        prop_oneof![Just(0.0), 0.01..0.5_f64],
    )
        .prop_map(|(capacities, processes, mut spare, edges, weight)| {
            let (machines, count) = (capacities.len(), processes.len());
            spare.truncate(machines);
            let (processes, memory): (Vec<_>, Vec<_>) = processes.into_iter().unzip();
            let initial =
                |(workload, size, initial, pin)| (workload, size, initial % machines, pin);
            let blocks = |(bytes, blocks): (u64, std::collections::BTreeSet<usize>)| {
                (bytes, blocks.into_iter().collect())
            };
            let edge = |(one, other, bytes)| (one % count, other % count, bytes);
            Parts {
                capacities,
                processes: processes.into_iter().map(initial).collect(),
                spare,
                memory: memory.into_iter().map(blocks).collect(),
                edges: edges.into_iter().map(edge).collect(),
                weight,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(size(300, 100)))]

    /// Whatever the method: its assignment is allowed, and worth what it says.
    #[test]
    fn every_method_keeps_the_limits(parts in parts(1..9), share in 0.0..1.0_f64) {
        let problem = parts.problem();
        let initial = parts.level(&parts.initial_machines());
        let target = problem.ideal() + share * (initial - problem.ideal()).max(0.0);
        for method in Method::ALL {
            let found = method.solve(&problem, target, Budget::Steps(3000), 1);
            prop_assert!(parts.is_allowed(&found.assignment), "{}: {:?}", method, found);
            let level = parts.level(&found.assignment);
            prop_assert!((found.level - level).abs() <= 1e-9 * (1.0 + level), "{}", method);
            let cost = parts.cost(&found.assignment);
            prop_assert!((found.cost - cost).abs() <= 1e-9 * (1.0 + cost), "{}", method);
            prop_assert_eq!(found.feasible, found.level <= target * (1.0 + 1e-9));
            prop_assert!(found.level <= initial.max(target) * (1.0 + 1e-9), "{}", method);
        }
    }

    /// With a weight of 0, or nothing to exchange, the search is the one without communication.
    #[test]
    fn what_has_no_weight_changes_nothing(parts in parts(2..9), share in 0.0..1.0_f64) {
        let without = Parts { edges: Vec::new(), ..parts.clone() };
        let weightless = Parts { weight: 0.0, ..parts };
        let (problem, other) = (without.problem(), weightless.problem());
        let initial = problem.level(&problem.initial_assignment());
        let target = problem.ideal() + share * (initial - problem.ideal()).max(0.0);
        let budget = Budget::Steps(3000);
        for method in Method::ALL {
            let found = method.search(&problem, target, budget, 1);
            prop_assert_eq!(found, method.search(&other, target, budget, 1), "{}", method);
        }
    }

    /// No allowed assignment that meets the target costs less than the bound.
    #[test]
    fn no_assignment_costs_less_than_the_bound(parts in parts(1..7), share in 0.0..1.0_f64) {
        let problem = parts.problem();
        let initial = parts.level(&parts.initial_machines());
        let target = problem.ideal() + share * (initial - problem.ideal()).max(0.0);
        let meets = |(level, _): &(f64, f64)| *level <= target;
        let costs = parts.all().into_iter().filter(meets).map(|(_, cost)| cost);
        let least = costs.fold(f64::INFINITY, f64::min);
        let bound = bound(&problem, target);
        prop_assert!(bound <= least * (1.0 + 1e-9), "{} above {}", bound, least);
    }
}

/// Over all assignments of small problems, `best` is near the cheapest that meets a target.
#[test]
fn best_is_near_the_optimum_of_small_problems() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut product, mut compared, mut missed) = (0.0, 0.0, 0);
    for _ in 0..size(150, 60) {
        let parts = parts(6..9).new_tree(&mut runner).unwrap().current();
        let all = parts.all();
        let lowest = all
            .iter()
            .map(|(level, _)| *level)
            .fold(f64::INFINITY, f64::min);
        let initial = parts.level(&parts.initial_machines());
        let target = 0.7 * lowest + 0.3 * initial;
        let meeting = all.iter().filter(|(level, _)| *level <= target);
        let least = meeting.map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        let problem = parts.problem();
        let found = Method::Best.solve(&problem, target, Budget::Steps(100_000), 1);
        if !found.feasible {
            missed += 1;
            eprintln!("{found:?} {lowest} {target} {least} {parts:?}");
        } else if 0.0 < least {
            product += (found.cost / least).ln();
            compared += 1.0;
        }
    }
    let mean = f64::exp(product / compared);
    assert!(size(100.0, 40.0) < compared, "{compared} compared");
    assert!(mean <= 1.05, "{mean} of the optimum");
    assert_eq!(missed, 0);
}

#[test]
fn problems_that_contradict_themselves_are_refused() {
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let resident = Resident {
        workload: 1.0,
        size: 1.0,
        initial_machine: 0,
    };
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let problem = Problem::new(vec![machine; 2], vec![resident; 2], vec![vec![move_cost]]).unwrap();
    let memory = |limit, block, blocks: &[u64]| Memory {
        limits: vec![limit, 100],
        uses: vec![10, 20],
        blocks: blocks.to_vec(),
        used_blocks: vec![vec![block], vec![block]],
    };
    let text = |error: Option<model::rebalance::ProblemError>| error.unwrap().to_string();
    let of_memory = |memory| text(problem.clone().with_memory(memory).err());
    assert!(problem.clone().with_memory(memory(35, 0, &[5])).is_ok());
    let mended = problem.clone().with_memory(memory(34, 0, &[5])).unwrap();
    assert!(!mended.begins_within_memory());
    let occupied = mended.occupied(&mended.start()).unwrap();
    assert!(occupied == [25, 15] || occupied == [15, 25], "{occupied:?}");
    assert_eq!(
        of_memory(memory(34, 0, &[200])),
        "process 0 occupies 210 bytes with its blocks: must be at most 100, the most that a machine may hold"
    );
    assert_eq!(
        of_memory(memory(100, 1, &[5])),
        "process 0 uses block 1: must be one of 0..1"
    );
    assert_eq!(
        text(problem.clone().with_pins(vec![true]).err()),
        "1 pins: must be 2"
    );
    let of_edge = |edge, weight| text(problem.clone().with_communication(&[edge], weight).err());
    assert_eq!(
        of_edge((0, 2, 1.0), 1.0),
        "edge 0 is of process 2: must be one of 0..2"
    );
    assert_eq!(
        of_edge((0, 1, -1.0), 1.0),
        "an exchange of -1: must be 0 or a number from 1e-50 to 1e50"
    );
    assert_eq!(
        of_edge((0, 1, 1.0), f64::INFINITY),
        "a weight of inf: must be 0 or a number from 1e-50 to 1e50"
    );
}
