//! What was decided in a run, decided again from what its record says was observed.
//!
//! [`Replay`] takes the events of a record in their order. It has the state of a Manager, but sends no messages: from
//! the observations of a call it computes the potentials, the list, the negotiations or the plan, the moves and the
//! interval to the next call, and compares them with the record.

mod checkpoints;
mod comparison;
mod deciding;
mod evaluation;
mod negotiation;
mod observations;

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, Round};
use migbsp::Elapsed;
use record::{Call, Event, Migration, Moved, Run};
use serde::Serialize;

pub use comparison::Difference;
pub use observations::Gap;

use crate::checkpointing::Checkpointing;
use crate::setup::Scheduler;
use checkpoints::Checkpoints;
use comparison::{Comparison, Names};
use deciding::{Barrier, Deciding};
use observations::Gathered;

/// A run being decided again.
#[derive(Debug)]
pub struct Replay {
    deciding: Option<Deciding>,
    names: Names,
    /// Where every process lives, by rank.
    lives: Vec<HostId>,
    /// The number of changes of the placement.
    epoch: u64,
    barrier: Barrier,
    /// Whether a call must follow it.
    is_due: bool,
    /// The observations and arrivals of the call so far.
    gathered: Gathered,
    moved: Vec<Moved>,
    /// The hosts that have not joined.
    absent: BTreeSet<HostId>,
    /// The supersteps of the program that belong together.
    round: Round,
    /// The superstep with which the run began.
    first: u64,
    /// The checkpoints that there are to be, if there are any.
    checkpoints: Option<Checkpoints>,
}

/// The comparison of a call with its record.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The number of processes that took part.
    pub processes: usize,
    /// The number of candidates, or of planned moves.
    pub candidates: usize,
    /// The number of moves, decided again.
    pub moves: usize,
    /// Where the record differs; empty if the call is verified.
    pub differences: Vec<Difference>,
}

/// Why a record cannot be decided again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A process starts on a host that does not exist.
    #[error("{rank} starts on {name}, which is none of the hosts")]
    Host {
        /// The process.
        rank: Rank,
        /// The name of the host in the record.
        name: String,
    },
    /// An event comes too early, or too late.
    #[error("an event of superstep {found} follows after {expected} supersteps")]
    Order {
        /// The number of its superstep.
        found: u64,
        /// The number of supersteps that are over.
        expected: u64,
    },
    /// The observations of a call are incomplete.
    #[error("the call after superstep {superstep} cannot be decided again: {gap}")]
    Gap {
        /// The call.
        superstep: u64,
        /// What is missing.
        #[source]
        gap: Gap,
    },
}

/// A process that arrived at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Arrival {
    rank: Rank,
    host: HostId,
    epoch: u64,
}

impl Replay {
    /// The run that `run` describes, rescheduled by `scheduler`, where `absent` are not there at the start.
    ///
    /// # Errors
    ///
    /// If a process starts on a host that does not exist.
    pub fn new(
        scheduler: Option<Scheduler>,
        run: &Run,
        absent: BTreeSet<HostId>,
    ) -> Result<Self, ReplayError> {
        let hosts = run.hosts.iter().enumerate();
        let hosts: BTreeMap<&str, HostId> = hosts
            .map(|(index, name)| (name.as_str(), HostId::from_index(index)))
            .collect();
        let lives = run.placement.iter().enumerate().map(|(index, name)| {
            let host = hosts.get(name.as_str()).copied();
            host.ok_or_else(|| ReplayError::Host {
                rank: Rank::from_index(index),
                name: name.clone(),
            })
        });
        let first = run.first_superstep();
        Ok(Self {
            deciding: scheduler.map(|scheduler| Deciding::new(scheduler, first)),
            names: Names::new(run),
            lives: lives.collect::<Result<_, _>>()?,
            epoch: 0,
            absent,
            round: run.round,
            first,
            barrier: Barrier {
                completed: first,
                at: Instant::START,
            },
            is_due: false,
            gathered: Gathered::default(),
            moved: Vec::new(),
            checkpoints: None,
        })
    }

    /// The same run with checkpoints, if there are any.
    #[must_use]
    pub fn with_checkpoints(self, checkpointing: Option<&Checkpointing>) -> Self {
        let nodes: BTreeSet<HostId> = self.lives.iter().copied().collect();
        let checkpoints = checkpointing.map(|made| Checkpoints::new(made, nodes.len(), self.first));
        Self {
            checkpoints,
            ..self
        }
    }

    /// Takes the next event of the record. Returns the comparison of a call, if the event ends one.
    ///
    /// # Errors
    ///
    /// If the event is out of order, or the observations of a call are incomplete.
    pub fn take(&mut self, event: Event) -> Result<Option<Checked>, ReplayError> {
        match event {
            Event::Superstep(superstep) => {
                self.expect(superstep.index)?;
                let missed = self.missed(self.is_due);
                if let Some(checkpoints) = &mut self.checkpoints {
                    checkpoints.elapse(&superstep);
                }
                self.elapse(&superstep)?;
                Ok(missed)
            }
            Event::Observed(observed) => {
                self.expect(observed.superstep)?;
                self.gathered.observed.insert(observed.rank, observed);
                Ok(None)
            }
            Event::Evaluated(evaluated) => {
                self.expect(evaluated.superstep)?;
                self.gathered.evaluated.insert(evaluated.set, evaluated);
                Ok(None)
            }
            Event::Moved(moved) => {
                self.moved.push(moved);
                Ok(None)
            }
            Event::Join(join) => {
                self.expect(join.superstep)?;
                let moved = std::mem::take(&mut self.moved);
                self.epoch += u64::from(!moved.is_empty());
                for Moved { rank, host, .. } in moved {
                    self.lives[rank.index()] = host;
                }
                if join.joined {
                    self.barrier.at = join.ended;
                    self.absent.remove(&join.host);
                }
                Ok(None)
            }
            Event::Checkpoint(checkpoint) => {
                let mut comparison = Comparison::new(&self.names);
                match &mut self.checkpoints {
                    Some(checkpoints) => checkpoints.compare(&checkpoint, &mut comparison),
                    None => comparison.compare("checkpoint", &true, &false),
                }
                Ok(Checked::differing(checkpoint.superstep, comparison))
            }
            Event::Call(call) => {
                self.expect(call.superstep)?;
                let checked = self.check(&call);
                let gap = |gap| ReplayError::Gap {
                    superstep: call.superstep,
                    gap,
                };
                checked.map(Some).map_err(gap)
            }
            Event::End(end) => {
                self.expect(end.supersteps)?;
                // No call follows the last superstep.
                Ok(self.missed(false))
            }
            _ => Ok(None),
        }
    }

    /// Checks that an event follows superstep `found`.
    fn expect(&self, found: u64) -> Result<(), ReplayError> {
        let expected = self.barrier.completed;
        if found == expected {
            Ok(())
        } else {
            Err(ReplayError::Order { found, expected })
        }
    }

    /// Handles the end of a superstep.
    fn elapse(&mut self, superstep: &record::Superstep) -> Result<(), ReplayError> {
        let completed = superstep.index + 1;
        self.barrier = Barrier {
            completed,
            at: superstep.ended,
        };
        let Some(deciding) = &mut self.deciding else {
            return Ok(());
        };
        let lasted = (superstep.ended - superstep.started).max(Seconds::ZERO);
        deciding.when.observe(&Elapsed {
            completed: completed - self.first,
            slowest: superstep.computation,
            mean: superstep.mean.ok_or(ReplayError::Gap {
                superstep: completed,
                gap: Gap::Version,
            })?,
            took: superstep.took.unwrap_or(lasted),
        });
        self.is_due = deciding.is_due(completed, self.round);
        Ok(())
    }

    /// The difference, if the record has no call after the last superstep and must have one.
    fn missed(&mut self, is_due: bool) -> Option<Checked> {
        let moved = std::mem::take(&mut self.moved);
        let mut comparison = Comparison::new(&self.names);
        comparison.compare("held", &false, &is_due);
        comparison.compare("arrivals", &Arrival::recorded(&moved), &Vec::new());
        Checked::differing(self.barrier.completed, comparison)
    }

    /// Decides a call again.
    fn check(&mut self, call: &Call) -> Result<Checked, Gap> {
        let gathered = std::mem::take(&mut self.gathered);
        let mut moved = std::mem::take(&mut self.moved);
        moved.sort_by_key(|moved| moved.rank);
        let mut comparison = Comparison::new(&self.names);
        comparison.compare("held", &true, &std::mem::take(&mut self.is_due));
        let mut checked = Checked {
            superstep: call.superstep,
            processes: call.list.len(),
            candidates: 0,
            moves: 0,
            differences: Vec::new(),
        };
        if let Some(deciding) = &mut self.deciding {
            let observations = gathered.complete(&self.names, self.lives.len(), &self.absent)?;
            if call.cost < Seconds::ZERO {
                return Err(Gap::Cost);
            }
            // Differences in earlier decisions do not change the observed hosts.
            let expected = self.lives.clone();
            observations.locate(&mut self.lives);
            let model = &deciding.scheduler.model;
            let learned = deciding.learned_cost.coefficients();
            let found = evaluation::evaluate(model, &observations, &self.lives, learned);
            for (recorded, found) in observations.processes().zip(&found) {
                let rank = recorded.rank;
                let recomputed = found.as_recorded(recorded, expected[rank.index()]);
                comparison.compare(&rank.to_string(), recorded, &recomputed);
            }
            let decided = deciding.decide(self.barrier, &observations, (call, found));
            checked.candidates = decided.candidates();
            let recorded = (call, &moved[..]);
            let recomputed = deciding.conclude(self.barrier, &observations, recorded, decided);
            let moves = &recomputed.migrations;
            checked.moves = moves.len();
            self.epoch += u64::from(!moves.is_empty());
            let expected = in_order(Arrival::all(moves, self.epoch));
            comparison.compare("arrivals", &Arrival::recorded(&moved), &expected);
            comparison.compare("", call, &recomputed);
            for step in moves {
                self.lives[step.rank.index()] = step.to;
            }
        }
        checked.differences = comparison.differences();
        Ok(checked)
    }
}

impl Checked {
    /// What differs after this number of supersteps, if anything does, without a call.
    fn differing(superstep: u64, comparison: Comparison<'_>) -> Option<Self> {
        let differences = comparison.differences();
        (!differences.is_empty()).then_some(Self {
            superstep,
            processes: 0,
            candidates: 0,
            moves: 0,
            differences,
        })
    }
}

impl Arrival {
    /// The arrivals that a record has.
    fn recorded(moved: &[Moved]) -> Vec<Self> {
        let arrival = |moved: &Moved| Self {
            rank: moved.rank,
            host: moved.host,
            epoch: moved.epoch,
        };
        moved.iter().map(arrival).collect()
    }

    /// The arrivals of `moves`, in the placement `epoch`.
    fn all(moves: &[Migration], epoch: u64) -> Vec<Self> {
        let arrival = |step: &Migration| Self {
            rank: step.rank,
            host: step.to,
            epoch,
        };
        moves.iter().map(arrival).collect()
    }
}

fn in_order(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_by_key(|arrival| arrival.rank);
    arrivals
}
