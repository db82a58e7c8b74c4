//! The memory of machines, as a limit of assignments.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
