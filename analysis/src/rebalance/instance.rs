//! Instance files: processes, machines, and the costs of moves.

mod place;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use migbsp::rebalance::{Machine, MoveCost, Problem, Resident};
use serde_json::Value;

use crate::rebalance::instance::place::{Place, Range};
use crate::rebalance::instance::source::Source;
use experiments::Failure;
use settings::{Fault, Node};

/// The contents of an instance file.
///
/// Invariant: all numbers are within `AMOUNT` or `RATE`; every home is a machine; there are at
/// least one machine and one process, and as many clusters as machines, whose names differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Of each machine: workload that it does in a unit of time.
    pub capacities: Vec<f64>,
    /// Of each machine: its name; its position from 0, if the file names none.
    pub machines: Vec<String>,
    /// Of each machine: the number of its cluster, as written.
    pub clusters: Vec<u64>,
    /// MB/s between machines of one cluster.
    pub bandwidth_intra: f64,
    /// MB/s between machines of two.
    pub bandwidth_inter: f64,
    /// Workload, size in MB, machine.
    pub processes: Vec<(f64, f64, usize)>,
    /// Levels to meet.
    pub targets: Vec<f64>,
}

/// Cost of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The seconds of the transfer: the size of the process divided by the bandwidth.
    Seconds,
    /// 1, whatever moves where.
    Moves,
}

impl Cost {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Moves => "moves",
        }
    }
}

impl Instance {
    /// The instance that `text` describes; messages call its file `name`.
    ///
    /// # Errors
    ///
    /// If `text` is not JSON, or has an invalid value: says where, what is there, and what is expected.
    pub fn from_json(name: &str, text: String) -> Result<Self, Failure> {
        let source = Source::new(name, text)?;
        Ok(Self::of(&source)?)
    }

    fn of(source: &Source) -> Result<Self, Fault> {
        let root = Place::root(source);
        let entries = root.entries("an instance", &KEYS, &NOTES)?;
        let capacities = entries.required("capacities")?.numbers(RATE)?;
        let clusters = clusters(&entries.required("cluster")?, capacities.len())?;
        let bandwidth = entries.required("bandwidth")?;
        let bandwidth = bandwidth.entries("bandwidth", &["intra", "inter"], &[])?;
        let processes = entries.required("processes")?;
        let machines = entries.optional("machines");
        let targets = entries.optional("targets");
        let name = entries.optional("name");
        Ok(Self {
            name: match name {
                Some(name) => name.shown()?.to_owned(),
                None => source.stem(),
            },
            bandwidth_intra: bandwidth.required("intra")?.number(RATE)?,
            bandwidth_inter: bandwidth.required("inter")?.number(RATE)?,
            processes: processes
                .items("a list of [workload, size in MB, machine]")?
                .map(|place| process(&place, capacities.len()))
                .collect::<Result<_, _>>()?,
            targets: targets.map_or(Ok(Vec::new()), |targets| targets.some_numbers(RATE))?,
            machines: match machines {
                Some(machines) => names(&machines, capacities.len())?,
                None => positions(capacities.len()),
            },
            capacities,
            clusters,
        })
    }

    /// A problem of the paper: its clusters are the groups, and costs of moves those of its figures.
    ///
    /// # Panics
    ///
    /// If the numbers of processes and machines of `problem` do not fit the instance, which drawn ones do.
    pub fn drawn(name: String, problem: &Problem, targets: Vec<f64>) -> Self {
        let machines = problem.machines().iter();
        let processes = problem.residents().iter();
        Self {
            name,
            capacities: machines.clone().map(|machine| machine.capacity).collect(),
            machines: positions(machines.len()),
            clusters: machines
                .map(|machine| u64::try_from(machine.group).expect("a number fits 64 bits"))
                .collect(),
            bandwidth_intra: 100.0,
            bandwidth_inter: 10.0,
            processes: processes
                .map(|process| (process.workload, process.size, process.home))
                .collect(),
            targets,
        }
    }

    /// The problem with this cost of moves.
    ///
    /// # Panics
    ///
    /// If the instance is no problem, which reading it has excluded.
    pub fn problem(&self, cost: Cost) -> Problem {
        let mut groups: BTreeMap<u64, usize> = BTreeMap::new();
        for cluster in &self.clusters {
            let next = groups.len();
            groups.entry(*cluster).or_insert(next);
        }
        let machines = self.capacities.iter().zip(&self.clusters);
        let machines = machines.map(|(&capacity, cluster)| Machine {
            capacity,
            group: groups[cluster],
        });
        let residents = self
            .processes
            .iter()
            .map(|&(workload, size, home)| Resident {
                workload,
                size,
                home,
            });
        let move_cost = |from: usize, to: usize| match cost {
            Cost::Moves => MoveCost {
                fixed: 1.0,
                per_size: 0.0,
            },
            Cost::Seconds if from == to => MoveCost {
                fixed: 0.0,
                per_size: 1.0 / self.bandwidth_intra,
            },
            Cost::Seconds => MoveCost {
                fixed: 0.0,
                per_size: 1.0 / self.bandwidth_inter,
            },
        };
        let count = groups.len();
        let move_costs = (0..count).map(|from| (0..count).map(|to| move_cost(from, to)).collect());
        Problem::new(
            machines.collect(),
            residents.collect(),
            move_costs.collect(),
        )
        .expect("what has been read is within the bounds of a problem")
    }

    /// The instance as the configuration of a search.
    ///
    /// # Panics
    ///
    /// Never: what has just been written reads back.
    pub fn configuration(&self) -> Node {
        serde_json::from_str(&self.json()).expect("an instance is JSON")
    }

    /// As JSON, with a line for each process, so that errors have a line of their own.
    pub fn json(&self) -> String {
        let list = |numbers: &[f64]| {
            let texts: Vec<String> = numbers.iter().map(|number| plain(*number)).collect();
            format!("[{}]", texts.join(", "))
        };
        let clusters: Vec<String> = self.clusters.iter().map(ToString::to_string).collect();
        let mut text = String::from("{\n");
        let mut line = |key: &str, value: &str| {
            writeln!(text, "  \"{key}\": {value},").expect("a string takes everything");
        };
        line("name", &Value::from(self.name.as_str()).to_string());
        line("capacities", &list(&self.capacities));
        if self.machines != positions(self.machines.len()) {
            line(
                "machines",
                &Value::from(self.machines.as_slice()).to_string(),
            );
        }
        line("cluster", &format!("[{}]", clusters.join(", ")));
        let (intra, inter) = (plain(self.bandwidth_intra), plain(self.bandwidth_inter));
        line(
            "bandwidth",
            &format!("{{\"intra\": {intra}, \"inter\": {inter}}}"),
        );
        line("targets", &list(&self.targets));
        let rows = self.processes.iter().map(|(workload, size, home)| {
            format!("    [{}, {}, {home}]", plain(*workload), plain(*size))
        });
        let rows: Vec<String> = rows.collect();
        text + &format!("  \"processes\": [\n{}\n  ]\n}}\n", rows.join(",\n"))
    }
}

/// The name of each machine.
fn names(place: &Place<'_>, machines: usize) -> Result<Vec<String>, Fault> {
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for place in place.items("a list with the name of each machine")? {
        let name = place.shown()?;
        if !taken.insert(name) {
            return Err(place.invalid("must not be the name of another machine".to_owned()));
        }
        names.push(name.to_owned());
    }
    if names.len() != machines {
        return Err(place.fault(format!(
            "{} names for {machines} capacities, must be one for each machine",
            names.len()
        )));
    }
    Ok(names)
}

/// The names of machines that have none of their own.
fn positions(machines: usize) -> Vec<String> {
    (0..machines).map(|position| position.to_string()).collect()
}

/// One cluster for each machine.
fn clusters(place: &Place<'_>, machines: usize) -> Result<Vec<u64>, Fault> {
    let clusters: Vec<u64> = place
        .items("a list with the cluster of each machine")?
        .map(|place| place.whole(u64::MAX))
        .collect::<Result<_, _>>()?;
    if clusters.len() != machines {
        return Err(place.fault(format!(
            "{} clusters for {machines} capacities, must be one for each machine",
            clusters.len()
        )));
    }
    let mut distinct = clusters.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if CLUSTERS_MAX < distinct.len() {
        return Err(place.fault(format!(
            "{} clusters, must be at most {CLUSTERS_MAX}",
            distinct.len()
        )));
    }
    Ok(clusters)
}

/// `[workload, size, machine]`.
fn process(place: &Place<'_>, machines: usize) -> Result<(f64, f64, usize), Fault> {
    let expected = "[workload, size in MB, machine]";
    let mut items = place.items(expected)?;
    let (Some(workload), Some(size), Some(home), None) =
        (items.next(), items.next(), items.next(), items.next())
    else {
        let met = place.items(expected)?.count();
        return Err(place.fault(format!("{met} values, must be {expected}")));
    };
    let last = machines - 1;
    let home = home.whole(u64::try_from(last).unwrap_or(u64::MAX))?;
    Ok((
        workload.number(AMOUNT)?,
        size.number(AMOUNT)?,
        usize::try_from(home).expect("it is below the number of machines"),
    ))
}

/// `number` as JSON, whole numbers without a point.
fn plain(number: f64) -> String {
    number.to_string()
}

/// Keys of an instance.
const KEYS: [&str; 7] = [
    "name",
    "capacities",
    "machines",
    "cluster",
    "bandwidth",
    "processes",
    "targets",
];

/// Keys with notes, which are ignored.
const NOTES: [&str; 7] = [
    "best_known_cost",
    "comment",
    "dc_initial",
    "dc_optimal",
    "imlp_cost",
    "lower_bound",
    "proved_optimal",
];

/// Range of workloads and sizes: no sum or product of them leaves the range of floats.
const AMOUNT: Range = Range {
    low: 1e-15,
    high: 1e15,
    or_zero: true,
};

/// Range of capacities, bandwidths and levels.
pub(super) const RATE: Range = Range {
    low: 1e-12,
    high: 1e15,
    or_zero: false,
};

/// Maximum number of clusters: there is a path from each to each.
const CLUSTERS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use migbsp::rebalance::Group;

    use super::*;

    #[test]
    fn a_drawn_problem_is_read_back_as_it_was() {
        for group in Group::all() {
            let drawn = group.draw(7);
            let text = Instance::drawn("i".to_owned(), &drawn, Vec::new()).json();
            let read = Instance::of(&Source::new("f.json", text).unwrap()).unwrap();
            assert_eq!(read.problem(Cost::Seconds), drawn, "{group}");
        }
    }

    #[test]
    fn a_written_instance_reads_back_unchanged() {
        let instance = Instance {
            name: "a \"name\"".to_owned(),
            capacities: vec![1.0, 0.1],
            machines: vec!["ice-1".to_owned(), "a \"b\"".to_owned()],
            clusters: vec![7, 3],
            bandwidth_intra: 100.0,
            bandwidth_inter: 1e-3,
            processes: vec![(20.0, 1.55, 1), (0.1 + 0.2, 0.0, 0)],
            targets: vec![76.0],
        };
        let source = Source::new("f.json", instance.json());
        assert_eq!(Instance::of(&source.unwrap()).unwrap(), instance);
    }
}
