//! The programs on a host, and the supersteps that they execute.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use agents::{Event, Executed, HostedProgram, RunError, Turn, most};
use bsp::units::{Instructions, Seconds};
use bsp::{MemorySize, Rank, Reductions};
use protocol::Progressed;

use crate::checkpoints::Saving;
use crate::host_meter::{EffectiveLoad, Processors, shared};
use crate::node::{Done, Task};

/// The programs on a host.
pub(super) struct Computation {
    processors: Processors,
    effective_load: EffectiveLoad,
    /// The programs that do not execute a superstep.
    programs: BTreeMap<Rank, Box<dyn HostedProgram>>,
    /// Supersteps that start once all agents have handled their events.
    starting: Vec<Task>,
    /// Processes that have executed the superstep.
    computed: Vec<Computed>,
    /// What is saved before the next superstep of a process.
    savings: BTreeMap<Rank, Box<Saving>>,
    /// What each process computed here in its last superstep.
    works: BTreeMap<Rank, Instructions>,
    /// What all processes have computed here.
    all_work: Instructions,
    /// The part of the whole computation that has been done, as a process here knew that has halted.
    done: Option<(Rank, f64)>,
}

/// A process that has executed its superstep.
struct Computed {
    rank: Rank,
    program: Box<dyn HostedProgram>,
    work: Instructions,
    /// The time for which it had a processor.
    held: Seconds,
    /// What of that it did not compute.
    delay: Seconds,
    halted: bool,
    reductions: Reductions,
}

impl Computation {
    /// No programs, and processors that execute them.
    pub(super) fn new(processors: Processors) -> Self {
        Self {
            processors,
            effective_load: EffectiveLoad::default(),
            programs: BTreeMap::new(),
            starting: Vec::new(),
            computed: Vec::new(),
            savings: BTreeMap::new(),
            works: BTreeMap::new(),
            all_work: Instructions::ZERO,
            done: None,
        }
    }

    /// Adds the program of `rank`.
    pub(super) fn insert(&mut self, rank: Rank, program: Box<dyn HostedProgram>) {
        self.programs.insert(rank, program);
    }

    /// Removes the program of `rank`, which leaves.
    pub(super) fn remove(&mut self, rank: Rank) -> Option<Box<dyn HostedProgram>> {
        self.works.remove(&rank);
        self.programs.remove(&rank)
    }

    /// Has the state of a process saved before its next superstep.
    pub(super) fn save(&mut self, saving: Saving) {
        self.savings.insert(saving.head.rank, Box::new(saving));
    }

    /// What a process computed here in its last superstep.
    pub(super) fn work(&self, rank: Rank) -> Instructions {
        self.works.get(&rank).copied().unwrap_or_default()
    }

    /// Whether there are no programs here.
    pub(super) fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.starting.is_empty()
    }

    /// Whether the program of `rank` is here and does not execute a superstep.
    pub(super) fn contains(&self, rank: Rank) -> bool {
        self.programs.contains_key(&rank)
    }

    /// The external load as it delayed the processes in the last `window` of their computation; `None` if none has computed
    /// here lately.
    pub(super) fn effective_load(&self, now: Clock, window: Seconds) -> Option<f64> {
        self.effective_load.load(now, window)
    }

    /// The memory that a process occupies.
    pub(super) fn memory(&self, rank: Rank) -> MemorySize {
        let program = self.programs.get(&rank);
        program.map_or_else(MemorySize::default, |program| program.memory())
    }

    /// The most supersteps that a process executes after the first `completed`, if its program knows.
    pub(super) fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.programs.get(&rank)?.remaining(completed)
    }

    /// How much of the job is done after `completed` supersteps, as far as the programs here know.
    pub(super) fn progressed(&self, completed: u64) -> Progressed {
        let programs = self.programs.iter();
        let running = programs.filter_map(|(rank, program)| Some((*rank, program.progress()?)));
        let known = running.chain(self.done);
        let remaining = self.programs.values();
        Progressed {
            completed,
            work: self.all_work.0,
            done: known.min_by_key(|(rank, _)| *rank),
            remaining: most(remaining.map(|program| program.remaining(completed))),
        }
    }

    /// Prepares a superstep of a process, which begins `delay` after it is executed, unless it is held.
    pub(super) fn start(
        &mut self,
        turn: Turn,
        delay: Seconds,
        is_held: bool,
    ) -> Result<(), RunError> {
        let rank = turn.rank;
        let program = self.programs.remove(&rank);
        let program = program.ok_or_else(|| {
            RunError::Peer(format!("{rank} is to compute, but is not on this host"))
        })?;
        self.starting.push(Task {
            program,
            turn,
            delay,
            saving: self.savings.remove(&rank),
            is_held,
        });
        Ok(())
    }

    /// All prepared supersteps, if there are any. They are executed together, so that a sleeping thread is woken once.
    pub(super) fn take_starting(&mut self) -> Option<Vec<Task>> {
        (!self.starting.is_empty()).then(|| std::mem::take(&mut self.starting))
    }

    /// Adds a superstep that a program has executed. Returns the messages and the output of the process.
    ///
    /// # Errors
    ///
    /// The error of the program.
    pub(super) fn add_computed(&mut self, done: Done) -> Result<Executed, RunError> {
        let Done {
            rank,
            program,
            result,
            work,
            held,
            delay,
            snapshots: _,
        } = done;
        let mut executed = result?;
        self.computed.push(Computed {
            rank,
            program,
            work,
            held,
            delay,
            halted: executed.output.is_some(),
            reductions: std::mem::take(&mut executed.reductions),
        });
        Ok(executed)
    }

    /// The events of all processes once they have executed the superstep, by rank. Their times are those of equal
    /// processor sharing.
    pub(super) fn finish(&mut self, now: Clock) -> Vec<(Rank, Event)> {
        let mut computed = std::mem::take(&mut self.computed);
        computed.sort_by_key(|computed| computed.rank);
        let work = computed.iter().map(|computed| computed.work);
        let alone = work.sum::<Instructions>() / self.processors.speed;
        let took = computed
            .iter()
            .map(|computed| computed.held - computed.delay);
        self.effective_load.add(now, alone, took.sum());
        let held: Vec<Seconds> = computed.iter().map(|computed| computed.held).collect();
        let times = shared(&held, self.processors.count.get());
        let mut events = Vec::with_capacity(times.len());
        for (computed, time) in computed.into_iter().zip(times) {
            let Computed {
                rank,
                program,
                work,
                halted,
                reductions,
                ..
            } = computed;
            self.all_work = Instructions(self.all_work.0.saturating_add(work.0));
            if halted {
                let done = program.progress().map(|done| (rank, done));
                let known = self.done.into_iter().chain(done);
                self.done = known.min_by_key(|(rank, _)| *rank);
                self.works.remove(&rank);
            } else {
                self.works.insert(rank, work);
                self.programs.insert(rank, program);
            }
            let event = Event::Computed {
                work,
                time,
                halted,
                reductions,
            };
            events.push((rank, event));
        }
        events
    }
}
