//! The potentials of a process for every Set, and the highest of them.

use bsp::units::Seconds;
use bsp::{MemorySize, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};
use crate::{Config, CostCoefficients, Entry, MoveCost, OwnSet, Potential, Process, SetIndex};

/// The platform as a process sees it when a call begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation<'a> {
    /// The Set in which the process runs.
    pub own: SetId,
    /// Its memory image now, `M(i)`.
    pub image: MemorySize,
    /// All Sets, by [`SetId`].
    pub sets: &'a [SetView],
    /// What has been learned of the cost of moves; `None`: it is not learned.
    pub learned: Option<CostCoefficients>,
}

/// A Set as the processes of another see it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetView {
    /// Mean over its processors of what they have left for our processes, in instructions per
    /// second; see [`capacity`](crate::capacity()).
    pub capacity: f64,
    /// Our processes in it.
    pub processes: u32,
    /// Its processors.
    pub processors: u32,
    /// Time to move one byte from the process's own Set to this one, `T(i, j)`, in s/B.
    pub transfer_rate: f64,
}

/// The potentials of one process for every Set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The Set in which the process runs.
    pub own: SetId,
    /// By [`SetId`].
    pub potentials: Vec<Potential>,
    /// The cost of moving to another host of the own Set, which only a script orders, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Seconds>,
}

impl Evaluation {
    /// The cost of moving to `target`.
    ///
    /// # Panics
    ///
    /// If there is no potential of `target`.
    #[must_use]
    pub fn cost(&self, target: SetId) -> Seconds {
        let stated = self.potentials[target.index()].migration;
        let within = self.within.filter(|_| target == self.own);
        within.unwrap_or(stated)
    }

    /// The highest potential; the own Set wins ties, then the lowest Set.
    ///
    /// # Panics
    ///
    /// If there is no potential at all.
    #[must_use]
    pub fn best(&self, config: &Config) -> &Potential {
        let ignored = config.parameters().own_set == OwnSet::Ignored && 1 < self.potentials.len();
        self.potentials
            .iter()
            .filter(|potential| !(ignored && potential.set == self.own))
            .max_by_key(|potential| {
                let stays = potential.set == self.own;
                (potential.total(), stays, std::cmp::Reverse(potential.set))
            })
            .expect("a process is evaluated for its own Set at least")
    }

    /// What the Managers have to know of it: the highest potential of the process `rank`, whose
    /// `history` breaks ties.
    #[must_use]
    pub fn entry(&self, config: &Config, rank: Rank, history: &Process) -> Entry {
        let best = self.best(config);
        Entry {
            rank,
            own: self.own,
            target: best.set,
            potential: best.total(),
            receive_time: history.receive_time(),
        }
    }
}

impl Process {
    /// The potentials of this process for every Set.
    ///
    /// # Panics
    ///
    /// If its own Set is none of the Sets.
    #[must_use]
    pub fn evaluate(&self, config: &Config, situation: &Situation<'_>) -> Evaluation {
        let Situation {
            own,
            image,
            sets,
            learned,
        } = *situation;
        assert!(own.index() < sets.len(), "{own} of {} Sets", sets.len());
        let parameters = config.parameters();
        let cost = MoveCost::new(parameters.migration, learned);
        let reference = reference_capacity(parameters.set_index, own, sets);
        let potentials = sets.iter().enumerate().map(|(index, view)| {
            let set = SetId::from_index(index);
            let migration = if set == own {
                Seconds::ZERO
            } else {
                cost.time(image, view.transfer_rate)
            };
            let set_index = index_of(available(parameters.set_index, view), reference);
            self.potential(set, set_index, migration)
        });
        Evaluation {
            own,
            potentials: potentials.collect(),
            within: learned.map(|_| cost.time(image, sets[own.index()].transfer_rate)),
        }
    }

    fn potential(&self, set: SetId, set_index: f64, migration: Seconds) -> Potential {
        let pattern_computation = self.pattern_computation();
        let prediction_computation = self.prediction_computation();
        let pattern_communication = self.pattern_communication(set);
        let prediction_communication = self.prediction_communication(set);
        Potential {
            set,
            pattern_computation,
            prediction_computation,
            set_index,
            computation: seconds(pattern_computation * prediction_computation.get() * set_index),
            pattern_communication,
            prediction_communication,
            communication: seconds(pattern_communication * prediction_communication.get()),
            migration,
        }
    }
}

/// Equation `ISET`: a Set's capacity over the one it is compared with; 1 where that one is nothing.
fn index_of(capacity: f64, reference: f64) -> f64 {
    if 0.0 < reference {
        (capacity / reference).min(INDEX_MAX)
    } else {
        1.0
    }
}

fn reference_capacity(set_index: SetIndex, own: SetId, sets: &[SetView]) -> f64 {
    match set_index {
        SetIndex::Own | SetIndex::SharedByProcesses => available(set_index, &sets[own.index()]),
        SetIndex::Best => sets
            .iter()
            .map(|view| available(set_index, view))
            .fold(0.0, f64::max),
    }
}

/// What one process may expect of a processor of the Set, in instructions per second.
fn available(set_index: SetIndex, view: &SetView) -> f64 {
    let capacity = non_negative(view.capacity);
    match set_index {
        SetIndex::Own | SetIndex::Best => capacity,
        SetIndex::SharedByProcesses if view.processors < view.processes => {
            capacity * f64::from(view.processors) / f64::from(view.processes)
        }
        SetIndex::SharedByProcesses => capacity,
    }
}

/// No two Sets differ by more; keeps products of foreign numbers finite.
const INDEX_MAX: f64 = 1e12;

#[cfg(test)]
mod tests;
