//! How cheap the rebalancing methods are at equal time, group by group and target by target.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_study -- [option value]..`, with options
//!
//! * `seeds`: `100..103` for the problems 100, 101 and 102 of each group
//! * `groups`: `I1,1 I4,5`, in one argument; all, if there is none
//! * `methods`: `imlp tabu hyb best`, in one argument; the first is what the others are compared with
//! * `milliseconds`: processor time for a method and a problem
//! * `long`: milliseconds for the best method to look for the best known cost; 0 for no look
//! * `from`: seed of the methods
//!
//! Prints for each method: how many problems of how many it met the target in; the geometric mean of its cost
//! relative to that of the first method, over problems where both met it; and relative to the best
//! known, which is the cheapest of all runs. At last, how far the best known is above the bound.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]

use std::collections::BTreeMap;
use std::ops::Range;

use model::rebalance::{Budget, Problem, Solution};
use rebalancing_algorithms::{Group, Method, bound};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let study = Study::from_arguments();
    println!("{study:?}");
    print!("group  target");
    for method in &study.methods {
        print!("  | {:>22}", format!("{method}: met first known"));
    }
    println!("  | bound");
    let mut overall = vec![Row::default(); study.methods.len()];
    let mut bounds = Mean::default();
    for &group in &study.groups {
        let mut whole = vec![Row::default(); study.methods.len()];
        for target in targets(group) {
            let (rows, gap) = study.row(group, target);
            print(&group.to_string(), &format!("{target:6}"), &rows, gap);
            bounds.join(gap);
            for (at, row) in rows.into_iter().enumerate() {
                whole[at].join(row);
                overall[at].join(row);
            }
        }
        print(&group.to_string(), "   all", &whole, Mean::default());
    }
    print("all ", "   all", &overall, bounds);
}

#[derive(Debug)]
struct Study {
    seeds: Range<u64>,
    groups: Vec<Group>,
    methods: Vec<Method>,
    milliseconds: f64,
    long: f64,
    from: u64,
}

/// What a method came to.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    met: u32,
    problems: u32,
    of_first: Mean,
    of_known: Mean,
}

/// Geometric.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    logarithms: f64,
    count: f64,
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
        let (seeds, groups) = (take("seeds", "100..103"), take("groups", ""));
        let methods = take("methods", "imlp tabu hyb best");
        let milliseconds = take("milliseconds", "100").parse().expect("milliseconds");
        let long = take("long", "0").parse().expect("milliseconds");
        let from = take("from", "0").parse().expect("a seed");
        assert!(options.is_empty(), "options that are none: {options:?}");
        let (first, end) = seeds.split_once("..").expect("seeds from..end");
        let groups = groups.split_whitespace();
        let groups: Vec<Group> = groups.map(|name| name.parse().expect("a group")).collect();
        Self {
            seeds: first.parse().expect("a seed")..end.parse().expect("a seed"),
            groups: if groups.is_empty() {
                Group::all().collect()
            } else {
                groups
            },
            methods: methods
                .split_whitespace()
                .map(|name| name.parse().expect("a method"))
                .collect(),
            milliseconds,
            long,
            from,
        }
    }

    /// What every method came to, and how far the best known is above the bound.
    fn row(&self, group: Group, target: f64) -> (Vec<Row>, Mean) {
        let mut rows = vec![Row::default(); self.methods.len()];
        let mut gap = Mean::default();
        for seed in self.seeds.clone() {
            let problem = group.draw(seed);
            let run = |method, time| solve(&problem, target, method, time, seed + self.from);
            let methods = self.methods.iter();
            let found: Vec<_> = methods
                .map(|&method| run(method, self.milliseconds))
                .collect();
            let mut known = found.iter().map(cost).fold(f64::INFINITY, f64::min);
            if 0.0 < self.long {
                known = known.min(cost(&run(Method::Best, self.long)));
            }
            for (row, solution) in rows.iter_mut().zip(&found) {
                row.problems += 1;
                row.met += u32::from(solution.feasible);
                row.of_first.add(cost(solution) / cost(&found[0]));
                row.of_known.add(cost(solution) / known);
            }
            gap.add(known / bound(&problem, target));
        }
        (rows, gap)
    }
}

fn solve(problem: &Problem, target: f64, method: Method, time: f64, seed: u64) -> Solution {
    let start = processor_time();
    let spent = || (processor_time() - start) / time;
    method.solve(problem, target, Budget::Spent(&spent), seed)
}

/// Milliseconds that this thread was on a processor: others on the machine do not count.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u32::try_from(time.tv_sec).expect("less than a century");
    let nanoseconds = u32::try_from(time.tv_nsec).expect("less than a second");
    f64::from(seconds) * 1e3 + f64::from(nanoseconds) / 1e6
}

fn cost(solution: &Solution) -> f64 {
    if solution.feasible {
        solution.cost
    } else {
        f64::INFINITY
    }
}

fn print(group: &str, target: &str, rows: &[Row], gap: Mean) {
    print!("{group}  {target}");
    for row in rows {
        let met = format!("{}/{}", row.met, row.problems);
        let (first, known) = (row.of_first.value(), row.of_known.value());
        print!("  | {met:>7} {first:6.3} {known:7.3}");
    }
    println!("  | {:.3}", gap.value());
}

impl Row {
    fn join(&mut self, other: Self) {
        self.met += other.met;
        self.problems += other.problems;
        self.of_first.join(other.of_first);
        self.of_known.join(other.of_known);
    }
}

impl Mean {
    fn add(&mut self, ratio: f64) {
        if ratio.is_finite() && 0.0 < ratio {
            self.logarithms += ratio.ln();
            self.count += 1.0;
        }
    }

    fn join(&mut self, other: Self) {
        self.logarithms += other.logarithms;
        self.count += other.count;
    }

    fn value(self) -> f64 {
        (self.logarithms / self.count).exp()
    }
}

/// Three for each group, the hardest first. Those of I1 and I4 are the two of table 4 of Chen, Wang and Lau 2008
/// and an easy one.
fn targets(group: Group) -> [f64; 3] {
    match group.to_string().as_str() {
        "I1,1" => [76.0, 79.3, 90.0],
        "I1,2" => [74.4, 76.9, 82.0],
        "I1,3" => [76.4, 80.0, 90.0],
        "I1,4" => [74.4, 77.5, 82.0],
        "I1,5" => [78.0, 82.9, 95.0],
        "I2,1" => [76.0, 80.0, 95.0],
        "I2,2" => [74.6, 77.0, 85.0],
        "I2,3" | "I2,5" | "I3,3" | "I3,5" => [77.0, 82.0, 95.0],
        "I2,4" => [74.5, 77.0, 85.0],
        "I3,1" => [78.0, 85.0, 100.0],
        "I3,2" => [75.0, 78.0, 90.0],
        "I3,4" => [74.6, 77.0, 85.0],
        "I4,1" => [76.0, 79.3, 90.0],
        "I4,2" => [74.7, 78.0, 85.0],
        "I4,3" => [83.5, 94.4, 110.0],
        "I4,4" => [74.6, 79.7, 90.0],
        "I4,5" => [84.0, 101.0, 120.0],
        other => panic!("no targets for {other}"),
    }
}
