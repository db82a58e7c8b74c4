//! Costs and times of the rebalancing methods, group by group.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance -- [instances] [groups]`: each method has sixteen times the
//! steps of the first iteration. Costs are means over the instances in which all of them meet the
//! target; times are per instance, until the best was seen.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example may take the time"
)]

use std::time::Instant;

use model::rebalance::{Budget, SearchResult};
use rebalancing_algorithms::{Group, Method};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let instances = arguments
        .next()
        .map_or(20, |text| text.parse().expect("a number"));
    let chosen: Vec<Group> = arguments
        .map(|text| text.parse().expect("a group"))
        .collect();
    println!("group  target  all  cost: imlp mlp islp tabu mparv  met  ms to best  ns/step");
    for (name, target) in TARGETS {
        let group: Group = name.parse().expect("a group");
        if chosen.is_empty() || chosen.contains(&group) {
            row(group, target, instances);
        }
    }
}

fn row(group: Group, target: f64, instances: u64) {
    let mut totals = METHODS.map(|_| Total::default());
    let mut compared = 0.0;
    for seed in 0..instances {
        let problem = group.draw(seed);
        let first = Method::Mlp.search(&problem, target, Budget::Steps(u64::MAX), seed);
        let budget = Budget::Steps(16 * first.steps);
        let found = METHODS.map(|method| {
            let start = Instant::now();
            let found = method.search(&problem, target, budget, seed);
            (found, start.elapsed().as_secs_f64())
        });
        let all = found[..4].iter().all(|(found, _)| found.solution.feasible);
        compared += f64::from(u8::from(all));
        for (total, (found, time)) in totals.iter_mut().zip(&found) {
            total.add(found, *time, all);
        }
    }
    print!("{group}  {target:6}  {compared:3} ");
    for total in &totals {
        print!("  {:8.3}", total.cost / compared);
    }
    print!("  |");
    for total in &totals {
        print!(" {:3}", total.met);
    }
    print!("  |");
    let count = f64::from(u32::try_from(instances).expect("few"));
    for total in &totals {
        print!(" {:8.3}", 1e3 * total.time_to_best / count);
    }
    print!("  |");
    for total in &totals {
        print!(" {:5.1}", 1e9 * total.time / total.steps);
    }
    println!();
}

#[derive(Default)]
struct Total {
    cost: f64,
    met: u32,
    time: f64,
    time_to_best: f64,
    steps: f64,
}

impl Total {
    fn add(&mut self, found: &SearchResult, time: f64, is_compared: bool) {
        if is_compared {
            self.cost += found.solution.cost;
        }
        self.met += u32::from(found.solution.feasible);
        let real = |count: u64| f64::from(u32::try_from(count).expect("so few steps"));
        self.steps += real(found.steps);
        self.time += time;
        if 0 < found.steps {
            self.time_to_best += time * real(found.steps_to_best) / real(found.steps);
        }
    }
}

const METHODS: [Method; 5] = [
    Method::Imlp,
    Method::Mlp,
    Method::Islp,
    Method::Tabu,
    Method::Mparv,
];

/// Targets that can nearly always be met; those of the fourth family are printed in table 4.
const TARGETS: [(&str, f64); 10] = [
    ("I3,1", 90.0),
    ("I3,2", 77.0),
    ("I3,3", 85.0),
    ("I3,4", 77.0),
    ("I3,5", 85.0),
    ("I4,1", 79.3),
    ("I4,2", 78.0),
    ("I4,3", 94.4),
    ("I4,4", 79.7),
    ("I4,5", 101.0),
];
