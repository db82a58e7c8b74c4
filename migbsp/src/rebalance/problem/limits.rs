//! Limits of assignments: processes that may not move, and the memory of machines.

use bsp::numbers::real;

use crate::rebalance::ProblemError;
use crate::rebalance::memory::{Memory, MemoryUse};
use crate::rebalance::mending::mended;
use crate::rebalance::problem::{Problem, check_count};

impl Problem {
    /// The same, where the processes of which `pins` says so stay at home.
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

    /// The same with machines of limited memory. If homes exceed it, searches begin with an assignment that does not.
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
            if let Some(&met) = used.iter().find(|&&block| blocks <= block) {
                return Err(ProblemError::Block {
                    process,
                    met,
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

    /// Whether `process` may leave its home.
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

    /// The assignment that searches begin with: every process at home or, if that exceeds the memory of a machine, one that
    /// is as cheap as a short search finds.
    #[must_use]
    pub fn start(&self) -> Vec<usize> {
        self.mended.clone().unwrap_or_else(|| self.homes())
    }

    /// Whether homes are within the limits of memory.
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

/// The capacity of a machine without memory: a single byte is far above it.
const CAPACITY_MIN: f64 = 1e-9;
