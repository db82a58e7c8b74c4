//! Whether `best` is never more expensive than `imlp` and `refine`, group by group, at equal time.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_law -- [option value]..`, with options
//!
//! * `seeds`: `200..202` for the problems 200 and 201 of each group
//! * `groups`: `I1,1 S4,5`, in one argument; all sixty, if there is none
//! * `shares`: `0.02 0.1 0.3 0.6`, in one argument: targets, as shares of the way from the ideal level up to the one
//!   before any move
//! * `milliseconds`: processor time for a method and a problem
//! * `steps`: steps in place of time, for `best` and `imlp` alike
//!
//! Prints for each group: cases, and how many of them each method met; means over the cases that all met, of
//! the cost in relation to the bound's order of magnitude: the sums of costs of the three, each case divided by the
//! cost of `imlp`; the geometric mean of `best` by `imlp`; and in how many cases `best` costs more than
//! `imlp` or `refine`, or misses a target that one of them meets. At last the same for the paper's groups, the others
//! and all.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]

use std::collections::BTreeMap;
use std::ops::Range;

use model::rebalance::{Budget, Problem, Solution};
use rebalancing_algorithms::{Group, Method};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let study = Study::from_arguments();
    println!("{study:?}");
    println!(
        "group   cases |  met: best imlp refine | mean of imlp: best refine | geometric | of refine | above imlp \
         refine | at most"
    );
    let mut totals = [Row::default(); 2];
    for &group in &study.groups {
        let row = study.row(group);
        row.print(&group.to_string());
        let is_spread = Group::spread().any(|other| other == group);
        totals[usize::from(is_spread)].join(&row);
    }
    totals[0].print("I");
    totals[1].print("S");
    let [mut all, others] = totals;
    all.join(&others);
    all.print("all");
}

#[derive(Debug)]
struct Study {
    seeds: Range<u64>,
    groups: Vec<Group>,
    shares: Vec<f64>,
    milliseconds: f64,
    steps: u64,
}

/// What a group came to.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    cases: f64,
    /// Targets met by `best`, `imlp` and `refine`.
    met: [u32; 3],
    /// Cost of `best` and `refine` in those of `imlp`, where all meet.
    sums: [f64; 2],
    summed: f64,
    /// Logarithms of `best` by `imlp` and by `refine`, and how many.
    logarithms: [f64; 2],
    compared: [f64; 2],
    /// Cases in which `best` costs more than `imlp`, than `refine`, and by how much at most.
    above: [f64; 2],
    most: f64,
}

impl Study {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let mut options = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                panic!("found {pair:?}, expected an option and its value");
            };
            options.insert(name.as_str(), value.as_str());
        }
        let mut take = |name, default| options.remove(name).unwrap_or(default);
        let (seeds, groups) = (take("seeds", "200..202"), take("groups", ""));
        let shares = take("shares", "0.02 0.1 0.3 0.6");
        let milliseconds = take("milliseconds", "100").parse().expect("milliseconds");
        let steps = take("steps", "0").parse().expect("steps");
        assert!(options.is_empty(), "options that are none: {options:?}");
        let (first, end) = seeds.split_once("..").expect("seeds from..end");
        let groups = groups.split_whitespace();
        let mut groups: Vec<Group> = groups.map(|name| name.parse().expect("a group")).collect();
        if groups.is_empty() {
            groups = Group::all().chain(Group::spread()).collect();
        }
        let shares = shares.split_whitespace();
        Self {
            seeds: first.parse().expect("a seed")..end.parse().expect("a seed"),
            groups,
            shares: shares
                .map(|share| share.parse().expect("a share"))
                .collect(),
            milliseconds,
            steps,
        }
    }

    fn row(&self, group: Group) -> Row {
        let mut row = Row::default();
        for seed in self.seeds.clone() {
            let problem = group.draw(seed);
            let (ideal, initial) = (
                problem.ideal(),
                problem.level(&problem.initial_assignment()),
            );
            for share in &self.shares {
                let target = ideal + share * (initial - ideal);
                let methods = [Method::Best, Method::Imlp, Method::Refine];
                let found = methods.map(|method| cost(&self.solve(&problem, target, method, seed)));
                row.add(found);
                if (1.0 + ROUNDED) * found[1].min(found[2]) < found[0] {
                    println!("{group} seed {seed} share {share}: {found:?}");
                }
            }
        }
        row
    }

    fn solve(&self, problem: &Problem, target: f64, method: Method, seed: u64) -> Solution {
        let start = processor_time();
        let spent = || (processor_time() - start) / self.milliseconds;
        let budget = if self.steps == 0 {
            Budget::Spent(&spent)
        } else {
            Budget::Steps(self.steps)
        };
        method.solve(problem, target, budget, seed)
    }
}

impl Row {
    fn add(&mut self, costs: [f64; 3]) {
        let [best, imlp, refine] = costs;
        self.cases += 1.0;
        for (met, cost) in self.met.iter_mut().zip(costs) {
            *met += u32::from(cost.is_finite());
        }
        if costs.iter().all(|cost| cost.is_finite()) {
            self.sums[0] += ratio(best, imlp);
            self.sums[1] += ratio(refine, imlp);
            self.summed += 1.0;
        }
        for (at, other) in [imlp, refine].into_iter().enumerate() {
            if best.is_finite() && other.is_finite() {
                self.logarithms[at] += ratio(best, other).ln();
                self.compared[at] += 1.0;
            }
            if (1.0 + ROUNDED) * other < best {
                self.above[at] += 1.0;
                self.most = self.most.max(best / other);
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.cases += other.cases;
        self.summed += other.summed;
        self.most = self.most.max(other.most);
        for at in 0..2 {
            self.sums[at] += other.sums[at];
            self.logarithms[at] += other.logarithms[at];
            self.compared[at] += other.compared[at];
            self.above[at] += other.above[at];
        }
        for (met, other) in self.met.iter_mut().zip(other.met) {
            *met += other;
        }
    }

    fn print(&self, name: &str) {
        let [best, imlp, refine] = self.met;
        let [mean, of_refine] = self.sums.map(|sum| sum / self.summed);
        let [geometric, by_refine] =
            [0, 1].map(|at| (self.logarithms[at] / self.compared[at]).exp());
        let [above, above_refine] = self.above;
        println!(
            "{name:5}  {:6} | {best:6} {imlp:6} {refine:6} | {mean:8.3} {of_refine:10.3} | {geometric:8.3} | \
             {by_refine:8.3} | {above:4} {above_refine:4} | {:.3}",
            self.cases, self.most
        );
    }
}

fn ratio(cost: f64, other: f64) -> f64 {
    if cost <= 0.0 && other <= 0.0 {
        1.0
    } else {
        cost / other
    }
}

fn cost(solution: &Solution) -> f64 {
    if solution.feasible {
        solution.cost
    } else {
        f64::INFINITY
    }
}

/// Milliseconds that this thread was on a processor: others on the machine do not count.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u32::try_from(time.tv_sec).expect("less than a century");
    let nanoseconds = u32::try_from(time.tv_nsec).expect("less than a second");
    f64::from(seconds) * 1e3 + f64::from(nanoseconds) / 1e6
}

/// Costs that differ by less do so by rounding.
const ROUNDED: f64 = 1e-12;
