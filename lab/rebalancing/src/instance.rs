//! Instance files: processes, machines, and the costs of moves.

mod read;
mod write;

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::ValueEnum;
use experiments::Failure;
use model::rebalance::{Machine, Memory, MoveCost, Problem, ProblemError, Resident};
use rebalancing_algorithms::{Exchanging, Group, Workloads};
use settings::Node;

use crate::instance::read::Source;

pub(super) use crate::instance::read::{invalid_json, json_problem, shortened};
pub(super) use crate::instance::write::quoted;

/// The contents of an instance file.
///
/// Invariant: all numbers are within the ranges of a file; every machine and block of a process, and every process of an
/// edge, exists; there are at least one machine and one process, and as many clusters as machines, whose names
/// differ; the memory of no machine is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instance {
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
    /// Of each machine: MB that its processes and their blocks may occupy; `None` if that is not limited.
    pub memory: Option<Vec<f64>>,
    /// MB of each block.
    pub blocks: Vec<f64>,
    /// The processes.
    pub processes: Vec<Process>,
    /// What processes exchange in a superstep.
    pub edges: Vec<Edge>,
    /// The level that a byte adds to that of each of two machines between which it is exchanged.
    pub weight: f64,
    /// Other measurements of the same processes.
    pub phases: Vec<Phase>,
    /// Levels to meet.
    pub targets: Vec<f64>,
}

/// A process, where it is before any move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    /// Its name, if it has one; results show its position otherwise.
    pub name: Option<String>,
    /// Its workload.
    pub workload: f64,
    /// MB that a move transfers.
    pub size: f64,
    /// The position of its machine.
    pub machine: usize,
    /// Whether it may move.
    pub movable: bool,
    /// MB that it occupies on its machine, in addition to its blocks.
    pub memory: f64,
    /// The positions of the blocks that it uses: a machine holds each block once for all its processes.
    pub blocks: Vec<usize>,
}

impl Process {
    /// A process that may move, and occupies no memory.
    pub(crate) const fn new(workload: f64, size: f64, machine: usize) -> Self {
        Self {
            name: None,
            workload,
            size,
            machine,
            movable: true,
            memory: 0.0,
            blocks: Vec::new(),
        }
    }

    /// Whether workload, size and machine say all about it.
    fn is_plain(&self) -> bool {
        *self == Self::new(self.workload, self.size, self.machine)
    }
}

/// What two processes exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    /// The positions of both.
    pub processes: (usize, usize),
    /// Bytes in a superstep, both ways together.
    pub bytes: f64,
}

/// What the processes computed and exchanged in another phase.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Phase {
    /// Its name, which differs from those of the others.
    pub name: String,
    /// The workload of each process.
    pub workloads: Vec<f64>,
    /// What processes exchanged.
    pub edges: Vec<Edge>,
}

/// Cost of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cost {
    /// Seconds of the transfer: size divided by bandwidth
    #[default]
    Seconds,
    /// 1 for every move
    Moves,
}

/// What an error is about.
#[derive(Clone, Copy, Debug)]
enum Item {
    Machine(usize),
    Process(usize),
}

impl Cost {
    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
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
    pub(crate) fn from_json(name: &str, text: String) -> Result<Self, Failure> {
        let source = Source::new(name, text)?;
        Ok(read::read(&source)?)
    }

    /// A drawn problem: its clusters are the groups, and bandwidths those of the paper's figures.
    ///
    /// # Panics
    ///
    /// If the numbers of processes and machines of `problem` do not fit the instance, which drawn ones do.
    pub(crate) fn drawn(name: String, problem: &Problem, targets: Vec<f64>) -> Self {
        let machines = problem.machines().iter();
        let processes = problem.residents().iter();
        let (edges, weight) = problem.exchange();
        let edge = |(one, other, bytes)| Edge {
            processes: (one, other),
            bytes,
        };
        Self {
            name,
            capacities: machines.clone().map(|machine| machine.capacity).collect(),
            machines: positions(machines.len()),
            clusters: machines
                .map(|machine| u64::try_from(machine.group).expect("a number fits 64 bits"))
                .collect(),
            bandwidth_intra: 100.0,
            bandwidth_inter: 10.0,
            memory: None,
            blocks: Vec::new(),
            processes: processes
                .map(|process| {
                    Process::new(process.workload, process.size, process.initial_machine)
                })
                .collect(),
            edges: edges.into_iter().map(edge).collect(),
            weight,
            phases: Vec::new(),
            targets,
        }
    }

    /// The instance with the workloads and edges of the phase `name`.
    ///
    /// # Errors
    ///
    /// If there is no such phase.
    pub(crate) fn in_phase(mut self, name: &str) -> Result<Self, Failure> {
        let Some(at) = self.phases.iter().position(|phase| phase.name == name) else {
            let names: Vec<&str> = self.phases.iter().map(|phase| &*phase.name).collect();
            let known = match &names[..] {
                [] => "it has no `phases`".to_owned(),
                names => format!("must be one of {}", settings::list(names)),
            };
            let own = &self.name;
            return Err(Failure::Usage(format!(
                "no phase `{name}` in {own}: {known}"
            )));
        };
        let phase = self.phases.swap_remove(at);
        self.phases.clear();
        for (process, workload) in self.processes.iter_mut().zip(phase.workloads) {
            process.workload = workload;
        }
        self.edges = phase.edges;
        Ok(self)
    }

    /// The problem with this cost of moves.
    ///
    /// # Panics
    ///
    /// If the instance is no problem, which reading it has excluded.
    pub(crate) fn problem(&self, cost: Cost) -> Problem {
        self.checked_problem(cost)
            .expect("what has been read is within the bounds of a problem")
    }

    /// Why no assignment is within the limits of memory; the machine or the process, if it is because of one.
    fn memory_exceeded(&self) -> Option<(Option<Item>, String)> {
        self.memory.as_ref()?;
        let error = self.checked_problem(Cost::Moves).err()?;
        let item = match error {
            ProblemError::MemoryExceeded { machine, .. }
            | ProblemError::MemoryOfPinned { machine, .. } => Some(Item::Machine(machine)),
            ProblemError::MemoryOfProcess { process, .. } => Some(Item::Process(process)),
            _ => None,
        };
        Some((item, error.to_string()))
    }

    fn checked_problem(&self, cost: Cost) -> Result<Problem, ProblemError> {
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
        let residents = self.processes.iter().map(|process| Resident {
            workload: process.workload,
            size: process.size,
            initial_machine: process.machine,
        });
        let count = groups.len();
        let move_costs = (0..count).map(|from| {
            let to = 0..count;
            to.map(|to| self.move_cost(cost, from == to)).collect()
        });
        let problem = Problem::new(
            machines.collect(),
            residents.collect(),
            move_costs.collect(),
        )?;
        let pins = self.processes.iter().map(|process| !process.movable);
        let edges = self.edges.iter();
        let edges = edges.map(|edge| (edge.processes.0, edge.processes.1, edge.bytes));
        let edges: Vec<(usize, usize, f64)> = edges.collect();
        let problem = problem.with_pins(pins.collect())?;
        let problem = problem.with_communication(&edges, self.weight)?;
        match &self.memory {
            Some(limits) => problem.with_memory(self.memory(limits)),
            None => Ok(problem),
        }
    }

    fn memory(&self, limits: &[f64]) -> Memory {
        let processes = self.processes.iter();
        Memory {
            limits: limits.iter().copied().map(bytes).collect(),
            uses: processes.clone().map(|own| bytes(own.memory)).collect(),
            blocks: self.blocks.iter().copied().map(bytes).collect(),
            used_blocks: processes.map(|own| own.blocks.clone()).collect(),
        }
    }

    const fn move_cost(&self, cost: Cost, is_inside: bool) -> MoveCost {
        let (fixed, per_size) = match cost {
            Cost::Moves => (1.0, 0.0),
            Cost::Seconds if is_inside => (0.0, 1.0 / self.bandwidth_intra),
            Cost::Seconds => (0.0, 1.0 / self.bandwidth_inter),
        };
        MoveCost { fixed, per_size }
    }

    /// The instance as the configuration of a search.
    ///
    /// # Panics
    ///
    /// Never: what has just been written reads back.
    pub(crate) fn configuration(&self) -> Node {
        serde_json::from_str(&self.json()).expect("an instance is JSON")
    }

    /// Whether levels contain what processes exchange.
    pub(super) fn weighs_exchange(&self) -> bool {
        self.weight != 0.0 && !self.edges.is_empty()
    }

    /// The name of a process: its position, if the file gives it none.
    pub(crate) fn process_name(&self, process: usize) -> String {
        let name = self.processes[process].name.clone();
        name.unwrap_or_else(|| process.to_string())
    }

    /// As JSON, with a line for each process, so that errors have a line of their own.
    pub(crate) fn json(&self) -> String {
        write::json(self)
    }
}

/// The nearest number of bytes to `megabytes`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::as_conversions,
    reason = "it is not below 0, and the conversion saturates"
)]
fn bytes(megabytes: f64) -> u64 {
    (megabytes * 1e6).round() as u64
}

/// The names of machines that have none of their own.
fn positions(machines: usize) -> Vec<String> {
    (0..machines).map(|position| position.to_string()).collect()
}

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    /// Whether 0 is valid as well.
    or_zero: bool,
}

impl Range {
    /// Whether `number` is one of these.
    pub(crate) fn holds(self, number: f64) -> bool {
        (self.low..=self.high).contains(&number) || self.or_zero && number == 0.0
    }

    /// The range, for messages.
    pub(crate) fn expected(self) -> String {
        if self.or_zero {
            format!("0 or a number from {:e} to {:e}", self.low, self.high)
        } else {
            format!("a number above 0, from {:e} to {:e}", self.low, self.high)
        }
    }
}

/// Range of workloads, sizes, bytes and weights: no sum or product of them leaves the range of floats.
pub(super) const AMOUNT: Range = Range {
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

/// A group of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupName {
    /// Of the paper, or with other sizes.
    Group(Group),
    /// With processes that exchange bytes.
    Exchanging(Exchanging),
}

impl FromStr for GroupName {
    type Err = String;

    /// Reads `I3,5`; a point or a dash instead of the comma is unambiguous.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_uppercase().replace(['.', '-', '_'], ",");
        let group = name.parse().map(Self::Group);
        group
            .or_else(|_| name.parse().map(Self::Exchanging))
            .map_err(|_| {
                format!("unknown group `{text}`, must be from I1,1 to I4,5, from S1,1 to S8,5 or from X1,1 to X2,3")
            })
    }
}

/// The instance of `group` that `seed` draws, with `targets` that are to be met; if there are none, some within reach.
pub(crate) fn generate(
    group: GroupName,
    seed: u64,
    workloads: Workloads,
    targets: Vec<f64>,
) -> Instance {
    let (name, problem, usual) = match group {
        GroupName::Group(group) => {
            let how = match workloads {
                Workloads::Literal => " literal",
                Workloads::Swapped => "",
            };
            let problem = group.draw_with(seed, workloads);
            (format!("{group}{how}"), problem, vec![76.0, 80.0, 90.0])
        }
        GroupName::Exchanging(group) => {
            let problem = group.draw(seed);
            let initial = problem.level(&problem.initial_assignment());
            let usual = [0.8, 0.85, 0.9].map(|factor| (factor * initial).round());
            (group.to_string(), problem, usual.to_vec())
        }
    };
    let targets = if targets.is_empty() { usual } else { targets };
    Instance::drawn(format!("{name}, seed {seed}"), &problem, targets)
}

#[cfg(test)]
mod tests {
    use rebalancing_algorithms::Group;

    use super::*;

    #[test]
    fn a_drawn_problem_is_read_back_as_it_was() {
        for group in Group::all() {
            let drawn = group.draw(7);
            let text = Instance::drawn("i".to_owned(), &drawn, Vec::new()).json();
            let read = Instance::from_json("f.json", text).unwrap();
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
            memory: Some(vec![2.5, 1e4]),
            blocks: vec![1.0, 0.5],
            processes: vec![
                Process::new(20.0, 1.55, 1),
                Process {
                    name: Some("p \"0\"".to_owned()),
                    movable: false,
                    memory: 1.25,
                    blocks: vec![0],
                    ..Process::new(0.1 + 0.2, 0.0, 0)
                },
            ],
            edges: vec![Edge {
                processes: (1, 0),
                bytes: 12.5,
            }],
            weight: 1e-9,
            phases: vec![Phase {
                name: "7".to_owned(),
                workloads: vec![1.0, 2.0],
                edges: Vec::new(),
            }],
            targets: vec![76.0],
        };
        let read = Instance::from_json("f.json", instance.json());
        assert_eq!(read.unwrap(), instance);
    }
}
