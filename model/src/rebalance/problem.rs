//! The assignment problem: workloads, machines, what moving costs, and limits.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bsp::numbers::real;

use super::mending::mended;
use crate::Graph;

/// An assignment that is to be balanced.
///
/// Workloads, capacities and sizes are in units of the caller's. A level is a workload divided by a capacity, and what
/// the machine's exchange with others adds. The cost of a move is in the unit of [`MoveCost`]: seconds, if work is
/// per second and they are in seconds.
///
/// Without more, every process may go to every machine. [`with_pins`](Problem::with_pins) and
/// [`with_memory`](Problem::with_memory) limit that, and [`with_communication`](Problem::with_communication) adds what
/// processes exchange.
///
/// Invariant: at least one machine and one process; capacities, and workloads, sizes and costs unless they are
/// 0, are from 10⁻⁵⁰ to 10⁵⁰, so that no product or sum of a few leaves the range of numbers; initial machines and groups
/// exist; with every process where searches begin, no machine's memory is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    machines: Vec<Machine>,
    residents: Vec<Resident>,
    /// Group × group, by the group that is left.
    move_costs: Vec<Vec<MoveCost>>,
    /// By process: whether it stays on its initial machine; empty if all may move.
    pins: Vec<bool>,
    memory: Option<Memory>,
    /// By process: where searches begin, if the initial assignment exceeds the memory of a machine.
    mended: Option<Vec<usize>>,
    communication: Option<Communication>,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// The workload that it computes in a unit of time.
    pub capacity: f64,
    /// Its group of machines: a cluster, or a Set.
    pub group: usize,
}

/// A process before any migration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    /// Its workload.
    pub workload: f64,
    /// The size of its image.
    pub size: f64,
    /// The machine on which it is.
    pub initial_machine: usize,
}

/// The cost of a move, by the groups of the machines that the process leaves and enters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveCost {
    /// Of every process.
    pub fixed: f64,
    /// Of every unit of its size.
    pub per_size: f64,
}

impl Problem {
    /// Processes on machines; `move_costs` by the groups that are left and entered.
    ///
    /// # Errors
    ///
    /// If it contradicts the invariant; the first place where it does is named.
    pub fn new(
        machines: Vec<Machine>,
        residents: Vec<Resident>,
        move_costs: Vec<Vec<MoveCost>>,
    ) -> Result<Self, ProblemError> {
        let groups = move_costs.len();
        for (from, row) in move_costs.iter().enumerate() {
            let numbers =
                |move_cost: &MoveCost| is_amount(move_cost.fixed) && is_amount(move_cost.per_size);
            if row.len() != groups || !row.iter().all(numbers) {
                return Err(ProblemError::MoveCost { from, groups });
            }
        }
        if machines.is_empty() {
            return Err(ProblemError::NoMachine);
        }
        for (machine, &Machine { capacity, group }) in machines.iter().enumerate() {
            if !RANGE.contains(&capacity) {
                let found = capacity;
                return Err(ProblemError::Capacity { machine, found });
            }
            if groups <= group {
                let found = group;
                return Err(ProblemError::Group {
                    machine,
                    found,
                    groups,
                });
            }
        }
        if residents.is_empty() {
            return Err(ProblemError::NoProcess);
        }
        for (process, resident) in residents.iter().enumerate() {
            for (what, found) in [("workload", resident.workload), ("size", resident.size)] {
                if !is_amount(found) {
                    return Err(ProblemError::Amount {
                        process,
                        what,
                        found,
                    });
                }
            }
            let (found, machines) = (resident.initial_machine, machines.len());
            if machines <= found {
                return Err(ProblemError::InitialMachine {
                    process,
                    found,
                    machines,
                });
            }
        }
        Ok(Self {
            machines,
            residents,
            move_costs,
            pins: Vec::new(),
            memory: None,
            mended: None,
            communication: None,
        })
    }

    /// The same with processes that exchange bytes: for each of `edges`, two processes and the bytes of a superstep,
    /// both ways together. A byte adds `weight` to the level of each of two machines between which it is exchanged.
    ///
    /// # Errors
    ///
    /// If an edge is of a process that does not exist, or bytes or weight are not 0 or a number from 10⁻⁵⁰ to 10⁵⁰.
    pub fn with_communication(
        mut self,
        edges: &[(usize, usize, f64)],
        weight: f64,
    ) -> Result<Self, ProblemError> {
        let processes = self.residents.len();
        for (edge, &(one, other, found)) in edges.iter().enumerate() {
            if let Some(found) = [one, other].into_iter().find(|end| processes <= *end) {
                return Err(ProblemError::Edge {
                    edge,
                    found,
                    processes,
                });
            }
            if !is_amount(found) {
                let what = "an exchange";
                return Err(ProblemError::Bytes { what, found });
            }
        }
        if !is_amount(weight) {
            let (what, found) = ("a weight", weight);
            return Err(ProblemError::Bytes { what, found });
        }
        let has_any = !edges.is_empty();
        self.communication = has_any.then(|| Communication::new(processes, edges, weight));
        Ok(self)
    }

    /// The same with processes that exchange nothing.
    #[must_use]
    pub fn without_communication(mut self) -> Self {
        self.communication = None;
        self
    }

    /// A machine.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The computation before any migration.
    #[must_use]
    pub fn residents(&self) -> &[Resident] {
        &self.residents
    }

    /// What it costs that `process` ends on `machine`: nothing on its initial machine.
    #[must_use]
    pub fn cost(&self, process: usize, machine: usize) -> f64 {
        let Resident {
            size,
            initial_machine,
            ..
        } = self.residents[process];
        if initial_machine == machine {
            return 0.0;
        }
        let move_cost =
            self.move_costs[self.machines[initial_machine].group][self.machines[machine].group];
        move_cost.fixed + move_cost.per_size * size
    }

    /// What moving takes from a machine of group `from` to another machine of group `to`.
    #[must_use]
    pub fn move_cost(&self, from: usize, to: usize) -> MoveCost {
        self.move_costs[from][to]
    }

    /// How many groups there are, with or without machines.
    pub const fn group_count(&self) -> usize {
        self.move_costs.len()
    }

    /// The initial machine of every process.
    #[must_use]
    pub fn initial_assignment(&self) -> Vec<usize> {
        self.residents
            .iter()
            .map(|resident| resident.initial_machine)
            .collect()
    }

    /// What processes exchange, if that has a weight.
    pub(super) fn communication(&self) -> Option<&Communication> {
        let communication = self.communication.as_ref();
        communication.filter(|communication| 0.0 < communication.weight())
    }

    /// The bytes that two processes exchange, for each pair that does, and what a byte adds to a level.
    #[must_use]
    pub fn exchange(&self) -> (Vec<(usize, usize, f64)>, f64) {
        let communication = self.communication.as_ref();
        communication.map_or((Vec::new(), 0.0), |communication| {
            (communication.edges().collect(), communication.weight())
        })
    }

    /// Whether what processes exchange adds to levels.
    #[must_use]
    pub fn weighs_exchange(&self) -> bool {
        self.communication().is_some()
    }

    /// The bytes that each machine exchanges with others in a superstep under `assignment`; `None` if no process
    /// exchanges anything.
    #[must_use]
    pub fn exchanged(&self, assignment: &[usize]) -> Option<Vec<f64>> {
        let communication = self.communication.as_ref()?;
        Some(communication.exchanged(assignment, self.machines.len()))
    }

    /// The level that no assignment can be below: all work on all machines, divisible at will.
    #[must_use]
    pub fn ideal(&self) -> f64 {
        let work: f64 = self
            .residents
            .iter()
            .map(|resident| resident.workload)
            .sum();
        let capacity: f64 = self.machines.iter().map(|machine| machine.capacity).sum();
        work / capacity
    }

    /// The workload of each machine under `assignment`.
    #[must_use]
    pub fn loads(&self, assignment: &[usize]) -> Vec<f64> {
        let mut loads = vec![0.0; self.machines.len()];
        for (resident, &machine) in self.residents.iter().zip(assignment) {
            loads[machine] += resident.workload;
        }
        loads
    }

    /// The workload of each machine of the processes that may not move.
    #[must_use]
    pub fn pinned_loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.machines.len()];
        for (process, resident) in self.residents.iter().enumerate() {
            if !self.is_movable(process) {
                loads[resident.initial_machine] += resident.workload;
            }
        }
        loads
    }

    /// The level of each machine under `assignment`: its workload divided by its capacity, and what it exchanges with
    /// others times the weight of a byte.
    #[must_use]
    pub fn levels(&self, assignment: &[usize]) -> Vec<f64> {
        let mut levels = self.loads(assignment);
        for (level, machine) in levels.iter_mut().zip(&self.machines) {
            *level /= machine.capacity;
        }
        if let Some(communication) = self.communication() {
            let exchanged = communication.exchanged(assignment, self.machines.len());
            for (level, bytes) in levels.iter_mut().zip(exchanged) {
                *level += communication.weight() * bytes;
            }
        }
        levels
    }

    /// The highest level of a machine under `assignment`.
    #[must_use]
    pub fn level(&self, assignment: &[usize]) -> f64 {
        self.levels(assignment).into_iter().fold(0.0, f64::max)
    }

    /// The same, where the processes of which `pins` says so stay on their initial machine.
    ///
    /// # Errors
    ///
    /// If `pins` has not one item for each process, or the memory of machines is exceeded then.
    pub fn with_pins(mut self, pins: Vec<bool>) -> Result<Self, ProblemError> {
        check_count("pins", pins.len(), self.residents.len())?;
        self.pins = if pins.contains(&true) {
            pins
        } else {
            Vec::new()
        };
        self.mended()
    }

    /// The same with machines of limited memory. If the initial assignment exceeds it, searches begin with an assignment that does not.
    ///
    /// # Errors
    ///
    /// If `memory` is not of these machines and processes, or no assignment within it is found.
    pub fn with_memory(mut self, memory: Memory) -> Result<Self, ProblemError> {
        let (machines, processes) = (self.machines.len(), self.residents.len());
        check_count("limits of memory", memory.limits.len(), machines)?;
        check_count("uses of memory", memory.uses.len(), processes)?;
        check_count("lists of blocks", memory.used_blocks.len(), processes)?;
        let blocks = memory.blocks.len();
        for (process, used) in memory.used_blocks.iter().enumerate() {
            if let Some(&found) = used.iter().find(|&&block| blocks <= block) {
                return Err(ProblemError::Block {
                    process,
                    found,
                    blocks,
                });
            }
        }
        self.memory = Some(memory);
        self.mended()
    }

    /// The same without limits of memory.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.memory = None;
        self.mended = None;
        self
    }

    /// The same where every process may move.
    #[must_use]
    pub fn without_pins(mut self) -> Self {
        self.pins = Vec::new();
        self
    }

    /// Whether `process` may leave its initial machine.
    #[must_use]
    pub fn is_movable(&self, process: usize) -> bool {
        self.pins.get(process) != Some(&true)
    }

    /// Whether there are processes that may not move.
    #[must_use]
    pub const fn has_pins(&self) -> bool {
        !self.pins.is_empty()
    }

    /// The limits of memory, if there are any.
    #[must_use]
    pub const fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// The assignment that searches begin with: every process on its initial machine or, if that exceeds the memory of a machine, one that
    /// is as cheap as a short search finds.
    #[must_use]
    pub fn start(&self) -> Vec<usize> {
        self.mended
            .clone()
            .unwrap_or_else(|| self.initial_assignment())
    }

    /// Whether the initial assignment is within the limits of memory.
    #[must_use]
    pub const fn begins_within_memory(&self) -> bool {
        self.mended.is_none()
    }

    /// What is left of the limits of memory if they are a level: workloads are what processes occupy without their blocks,
    /// capacities the limits, so that no assignment within the limits is above level 1.
    pub fn memory_as_level(&self) -> Option<Self> {
        let memory = self.memory.as_ref()?;
        let mut relaxed = self.clone().without_memory().without_communication();
        for (machine, &limit) in relaxed.machines.iter_mut().zip(&memory.limits) {
            machine.capacity = real(limit).max(CAPACITY_MIN);
        }
        for (resident, &used) in relaxed.residents.iter_mut().zip(&memory.uses) {
            resident.workload = real(used);
        }
        Some(relaxed)
    }

    /// The same with a start within the limits of memory.
    fn mended(mut self) -> Result<Self, ProblemError> {
        self.mended = mended(&self)?;
        Ok(self)
    }

    /// What machines hold under `assignment`, if their memory is limited.
    pub fn memory_use(&self, assignment: &[usize]) -> Option<MemoryUse<'_>> {
        let memory = self.memory.as_ref()?;
        Some(MemoryUse::new(memory, assignment))
    }

    /// The bytes that each machine holds under `assignment`, if memory is limited.
    #[must_use]
    pub fn occupied(&self, assignment: &[usize]) -> Option<Vec<u64>> {
        let held = self.memory_use(assignment)?;
        let machines = 0..self.machines.len();
        Some(machines.map(|machine| held.occupied(machine)).collect())
    }
}

fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), ProblemError> {
    if found == expected {
        Ok(())
    } else {
        Err(ProblemError::Count {
            what,
            found,
            expected,
        })
    }
}

fn is_amount(number: f64) -> bool {
    RANGE.contains(&number) || (0.0..=0.0).contains(&number)
}

const RANGE: RangeInclusive<f64> = 1e-50..=1e50;

/// The capacity of a machine without memory: a single byte is far above it.
const CAPACITY_MIN: f64 = 1e-9;

/// Why there is no such problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// Nothing to compute on.
    #[error("no machine: must be at least one")]
    NoMachine,
    /// Nothing to move.
    #[error("no process: must be at least one")]
    NoProcess,
    /// A capacity that is none.
    #[error("machine {machine} has capacity {found}: must be a number from 1e-50 to 1e50")]
    Capacity {
        /// Which machine.
        machine: usize,
        /// What it has.
        found: f64,
    },
    /// A group without costs of moves.
    #[error("machine {machine} is in group {found}: must be one of 0..{groups}")]
    Group {
        /// Which machine.
        machine: usize,
        /// Where it is said to be.
        found: usize,
        /// How many there are.
        groups: usize,
    },
    /// A workload or a size that is none.
    #[error("process {process} has {what} {found}: must be 0 or a number from 1e-50 to 1e50")]
    Amount {
        /// Which process.
        process: usize,
        /// Its workload or its size.
        what: &'static str,
        /// What it is.
        found: f64,
    },
    /// An initial machine that does not exist.
    #[error("process {process} is on machine {found}: must be one of 0..{machines}")]
    InitialMachine {
        /// Which process.
        process: usize,
        /// Where it is said to be.
        found: usize,
        /// How many there are.
        machines: usize,
    },
    /// Ways that are no square of numbers.
    #[error(
        "costs of moves from group {from}: must be one to each of {groups} groups, 0 or from 1e-50 to 1e50"
    )]
    MoveCost {
        /// From where.
        from: usize,
        /// How many groups there are.
        groups: usize,
    },
    /// A list that has not one item for each.
    #[error("{found} {what}: must be {expected}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// A process uses a block that does not exist.
    #[error("process {process} uses block {found}: must be one of 0..{blocks}")]
    Block {
        /// Which process.
        process: usize,
        /// The block.
        found: usize,
        /// How many there are.
        blocks: usize,
    },
    /// A machine cannot hold the processes that may not leave it.
    #[error(
        "the processes of machine {machine} that may not move occupy {occupied} bytes: must be at most {limit}"
    )]
    MemoryOfPinned {
        /// Which machine.
        machine: usize,
        /// What they occupy.
        occupied: u64,
        /// What the machine may hold.
        limit: u64,
    },
    /// No machine can hold a process.
    #[error(
        "process {process} occupies {occupied} bytes with its blocks: must be at most {limit}, the most that a \
         machine may hold"
    )]
    MemoryOfProcess {
        /// Which process.
        process: usize,
        /// What it occupies.
        occupied: u64,
        /// The highest limit.
        limit: u64,
    },
    /// All machines together cannot hold all processes.
    #[error(
        "all processes occupy {occupied} bytes without their blocks: must be at most {limit}, what all machines \
         may hold"
    )]
    MemoryOfAll {
        /// What they occupy.
        occupied: u128,
        /// The sum of all limits.
        limit: u128,
    },
    /// A machine cannot hold the processes that are on it, and no other place for them was found.
    #[error(
        "the processes of machine {machine} occupy {occupied} bytes before any move: must be at most {limit}, \
         or there must be moves that bring all machines within their memory, and none were found"
    )]
    MemoryExceeded {
        /// Which machine.
        machine: usize,
        /// What they occupy.
        occupied: u64,
        /// What the machine may hold.
        limit: u64,
    },
    /// An edge of a process that does not exist.
    #[error("edge {edge} is of process {found}: must be one of 0..{processes}")]
    Edge {
        /// Which edge.
        edge: usize,
        /// The process.
        found: usize,
        /// How many there are.
        processes: usize,
    },
    /// Bytes or a weight that are none.
    #[error("{what} of {found}: must be 0 or a number from 1e-50 to 1e50")]
    Bytes {
        /// What it is.
        what: &'static str,
        /// Its value.
        found: f64,
    },
}

/// What machines hold and processes occupy, in bytes.
///
/// A block is shared: a machine holds it once, however large the number of its processes that use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// By machine: what its processes and their blocks may occupy.
    pub limits: Vec<u64>,
    /// By process: what it occupies in addition to its blocks.
    pub uses: Vec<u64>,
    /// The size of each block.
    pub blocks: Vec<u64>,
    /// By process: the blocks that it uses, each once.
    pub used_blocks: Vec<Vec<usize>>,
}

impl Memory {
    /// What a machine holds that has `process` alone.
    pub(super) fn with_blocks(&self, process: usize) -> u64 {
        let blocks = self.used_blocks[process].iter();
        blocks.fold(self.uses[process], |sum, &block| {
            sum.saturating_add(self.blocks[block])
        })
    }
}

/// What the machines hold under an assignment, which changes process by process.
#[derive(Clone, Debug)]
pub struct MemoryUse<'a> {
    memory: &'a Memory,
    /// By machine: bytes, which may be far above the limit.
    occupied: Vec<u128>,
    /// By machine: how many of its processes use a block, of those that any uses.
    users: Vec<BTreeMap<usize, u32>>,
}

impl<'a> MemoryUse<'a> {
    /// Under `assignment`.
    pub(super) fn new(memory: &'a Memory, assignment: &[usize]) -> Self {
        let machines = memory.limits.len();
        let mut held = Self {
            memory,
            occupied: vec![0; machines],
            users: vec![BTreeMap::new(); machines],
        };
        for (process, &machine) in assignment.iter().enumerate() {
            held.enter(process, machine);
        }
        held
    }

    /// Becomes equal to `other`, which is of the same memory.
    pub(super) fn become_like(&mut self, other: &Self) {
        self.occupied.clone_from(&other.occupied);
        self.users.clone_from(&other.users);
    }

    /// `process` goes from one machine to another.
    pub(super) fn relocate(&mut self, process: usize, from: usize, to: usize) {
        self.leave(process, from);
        self.enter(process, to);
    }

    /// `process` is on `machine` from now on.
    pub fn enter(&mut self, process: usize, machine: usize) {
        let mut added = u128::from(self.memory.uses[process]);
        for &block in &self.memory.used_blocks[process] {
            let users = self.users[machine].entry(block).or_insert(0);
            if *users == 0 {
                added += u128::from(self.memory.blocks[block]);
            }
            *users += 1;
        }
        self.occupied[machine] += added;
    }

    /// `process`, which is on `machine`, leaves it.
    ///
    /// # Panics
    ///
    /// If `process` is not on `machine`.
    pub fn leave(&mut self, process: usize, machine: usize) {
        let mut removed = u128::from(self.memory.uses[process]);
        for &block in &self.memory.used_blocks[process] {
            let users = self.users[machine]
                .get_mut(&block)
                .expect("the machine of a process holds its blocks");
            *users -= 1;
            if *users == 0 {
                self.users[machine].remove(&block);
                removed += u128::from(self.memory.blocks[block]);
            }
        }
        self.occupied[machine] -= removed;
    }

    /// What `machine` holds; the highest number, if it is more.
    pub(super) fn occupied(&self, machine: usize) -> u64 {
        u64::try_from(self.occupied[machine]).unwrap_or(u64::MAX)
    }

    /// What `machine` holds above its limit.
    pub(super) fn excess(&self, machine: usize) -> u128 {
        self.occupied[machine].saturating_sub(u128::from(self.memory.limits[machine]))
    }

    /// Whether `machine` holds no more than it may.
    pub(super) fn is_within(&self, machine: usize) -> bool {
        self.excess(machine) == 0
    }

    /// Whether `machine` has room for `process`, which is not there.
    pub fn fits(&self, process: usize, machine: usize) -> bool {
        self.fits_instead(process, None, machine)
    }

    /// The same once `leaving` has left it.
    pub(super) fn fits_instead(
        &self,
        process: usize,
        leaving: Option<usize>,
        machine: usize,
    ) -> bool {
        let memory = self.memory;
        let left = leaving.map_or(&[][..], |leaving| &memory.used_blocks[leaving]);
        let entered = &memory.used_blocks[process];
        let users = &self.users[machine];
        let mut occupied = self.occupied[machine] + u128::from(memory.uses[process]);
        let is_new = |block: &&usize| !users.contains_key(block);
        for &block in entered.iter().filter(is_new) {
            occupied += u128::from(memory.blocks[block]);
        }
        occupied -= leaving.map_or(0, |leaving| u128::from(memory.uses[leaving]));
        let is_last = |block: &&usize| users.get(block) == Some(&1) && !entered.contains(block);
        for &block in left.iter().filter(is_last) {
            occupied -= u128::from(memory.blocks[block]);
        }
        occupied <= u128::from(memory.limits[machine])
    }
}

/// Which processes exchange how much in a superstep, and what a byte adds to a level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Communication {
    graph: Graph,
    weight: f64,
}

impl Communication {
    /// The bytes that two of as many processes exchange, for each of `edges`; each adds `weight` to the levels of both
    /// machines, unless they are the same.
    pub(super) fn new(processes: usize, edges: &[(usize, usize, f64)], weight: f64) -> Self {
        Self {
            graph: Graph::of_bytes(processes, edges),
            weight,
        }
    }

    /// The pairs of processes that exchange bytes, and how many.
    pub(super) fn edges(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let processes = 0..self.graph.processes();
        processes.flat_map(|process| {
            let messages = self.graph.outgoing(process).iter();
            messages.map(move |message| (process, message.other, message.bytes))
        })
    }

    /// What a byte adds to a level.
    pub(super) const fn weight(&self) -> f64 {
        self.weight
    }

    /// With which processes `process` exchanges how many bytes.
    #[inline]
    pub(super) fn of(&self, process: usize) -> impl Iterator<Item = (usize, f64)> {
        let messages = self.graph.neighbours(process);
        messages.map(|message| (message.other, message.bytes))
    }

    /// The bytes that each of as many machines exchanges with others.
    pub(super) fn exchanged(&self, assignment: &[usize], machines: usize) -> Vec<f64> {
        let mut exchanged = vec![0.0; machines];
        for (process, &machine) in assignment.iter().enumerate() {
            for (other, bytes) in self.of(process) {
                if assignment[other] != machine {
                    exchanged[machine] += bytes;
                }
            }
        }
        exchanged
    }

    /// By how many bytes a move of `process` changes what the machines that it leaves and enters exchange with others.
    ///
    /// No other machine exchanges more or less: what it exchanged with one of the two, it exchanges with the other.
    #[inline]
    pub(super) fn change(
        &self,
        process: usize,
        (from, to): (usize, usize),
        place: impl Fn(usize) -> usize,
    ) -> (f64, f64) {
        let (mut left, mut entered) = (0.0, 0.0);
        for (other, bytes) in self.of(process) {
            let place = place(other);
            left += if place == from { bytes } else { -bytes };
            entered += if place == to { -bytes } else { bytes };
        }
        (left, entered)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first number a capacity, the others workload, size and what a move takes.
    fn problem([capacity, workload, size, fixed]: [f64; 4]) -> Result<Problem, ProblemError> {
        Problem::new(
            vec![Machine { capacity, group: 0 }],
            vec![Resident {
                workload,
                size,
                initial_machine: 0,
            }],
            vec![vec![MoveCost {
                fixed,
                per_size: 1.0,
            }]],
        )
    }

    #[test]
    fn numbers_of_which_products_would_be_none_are_refused() {
        assert!(problem([1.0, 0.0, 0.0, 0.0]).is_ok());
        assert!(problem([1e-50, 1e50, 1e-50, 1e50]).is_ok());
        for at in 0..4 {
            for number in [-1.0, 1e-300, 1e300, f64::INFINITY, f64::NAN] {
                let mut numbers = [1.0; 4];
                numbers[at] = number;
                assert!(problem(numbers).is_err(), "{numbers:?}");
            }
        }
        assert!(problem([0.0; 4]).is_err());
    }

    fn occupied(memory: &Memory, assignment: &[usize], machine: usize) -> u64 {
        let here = |process: &usize| assignment[*process] == machine;
        let processes = (0..assignment.len()).filter(here);
        let mut blocks: Vec<usize> = Vec::new();
        let mut sum = 0;
        for process in processes {
            sum += memory.uses[process];
            blocks.extend(&memory.used_blocks[process]);
        }
        blocks.sort_unstable();
        blocks.dedup();
        sum + blocks
            .into_iter()
            .map(|block| memory.blocks[block])
            .sum::<u64>()
    }

    proptest! {
        #[test]
        fn what_is_held_is_the_sum_of_processes_and_of_their_distinct_blocks(
            limits in prop::collection::vec(0..60_u64, 2..4),
            processes in prop::collection::vec((0..9_u64, prop::collection::btree_set(0..3_usize, 0..3), 0..4_usize), 2..9),
            moves in prop::collection::vec((0..9_usize, 0..4_usize, 0..9_usize), 0..30),
        ) {
            let memory = Memory {
                limits,
                uses: processes.iter().map(|process| process.0).collect(),
                blocks: vec![7, 11, 13],
                used_blocks: processes.iter().map(|process| process.1.iter().copied().collect()).collect(),
            };
            let machines = memory.limits.len();
            let mut assignment: Vec<usize> = processes.iter().map(|process| process.2 % machines).collect();
            let mut held = MemoryUse::new(&memory, &assignment);
            for (process, to, other) in moves {
                let (process, to, other) = (process % assignment.len(), to % machines, other % assignment.len());
                let from = assignment[process];
                if from == to {
                    continue;
                }
                let mut after = assignment.clone();
                after[process] = to;
                prop_assert_eq!(held.fits(process, to), occupied(&memory, &after, to) <= memory.limits[to]);
                if assignment[other] == to {
                    after[other] = from;
                    let fits = occupied(&memory, &after, to) <= memory.limits[to];
                    prop_assert_eq!(held.fits_instead(process, Some(other), to), fits);
                    let fits = occupied(&memory, &after, from) <= memory.limits[from];
                    prop_assert_eq!(held.fits_instead(other, Some(process), from), fits);
                    after[other] = to;
                }
                held.relocate(process, from, to);
                assignment = after;
                for machine in 0..machines {
                    prop_assert_eq!(held.occupied(machine), occupied(&memory, &assignment, machine));
                }
            }
        }
    }
}
