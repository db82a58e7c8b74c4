//! The potentials of a process for every Set, and the highest of them.

use bsp::units::Seconds;
use bsp::{MemorySize, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::non_negative;
use crate::{Config, CostCoefficients, Entry, MoveCost, ProcessHistory};

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

/// What process `i` is expected to win in Set `j`, with everything that went into it.
///
/// `PM(i, j) = Comp(i, j) + Comm(i, j) − Mem(i, j)`
///
/// Implements equations `COMP`, `COMM`, `MEM` and `PM` of `docs/model.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Potential {
    /// `j`.
    pub set: SetId,
    /// `P_comp(i)`, in `[0, 1]`.
    pub pattern_computation: f64,
    /// `CTP(i)`.
    pub prediction_computation: Seconds,
    /// `ISet(j)`.
    pub set_index: f64,
    /// `Comp(i, j)`, the product of the three above.
    pub computation: Seconds,
    /// `P_comm(i, j)`, in `[0, 1]`.
    pub pattern_communication: f64,
    /// `BTP(i, j)`.
    pub prediction_communication: Seconds,
    /// `Comm(i, j)`, the product of the two above.
    pub communication: Seconds,
    /// `Mem(i, j)`.
    pub migration: Seconds,
}

impl Potential {
    /// `PM(i, j)`.
    #[must_use]
    pub fn total(&self) -> Seconds {
        self.computation + self.communication - self.migration
    }
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
    pub fn best(&self) -> &Potential {
        self.potentials
            .iter()
            .max_by_key(|potential| {
                let stays = potential.set == self.own;
                (potential.total(), stays, std::cmp::Reverse(potential.set))
            })
            .expect("a process is evaluated for its own Set at least")
    }

    /// What the Managers have to know of it: the highest potential of the process `rank`, whose
    /// `history` breaks ties.
    #[must_use]
    pub fn entry(&self, rank: Rank, history: &ProcessHistory) -> Entry {
        let best = self.best();
        Entry {
            rank,
            own: self.own,
            target: best.set,
            potential: best.total(),
            receive_time: history.receive_time(),
        }
    }
}

impl ProcessHistory {
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
        let cost = MoveCost::new(config.parameters().migration, learned);
        let reference = sets[own.index()].capacity;
        let potentials = sets.iter().enumerate().map(|(index, view)| {
            let set = SetId::from_index(index);
            let migration = if set == own {
                Seconds::ZERO
            } else {
                cost.time(image, view.transfer_rate)
            };
            let set_index = index_of(view.capacity, reference);
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
            computation: Seconds::bounded(
                pattern_computation * prediction_computation.get() * set_index,
            ),
            pattern_communication,
            prediction_communication,
            communication: Seconds::bounded(pattern_communication * prediction_communication.get()),
            migration,
        }
    }
}

/// Equation `ISET`: a Set's capacity over that of the process's own Set; 1 where that one is nothing.
fn index_of(capacity: f64, reference: f64) -> f64 {
    let (capacity, reference) = (non_negative(capacity), non_negative(reference));
    if 0.0 < reference {
        (capacity / reference).min(INDEX_MAX)
    } else {
        1.0
    }
}

/// No two Sets differ by more; keeps products of foreign numbers finite.
const INDEX_MAX: f64 = 1e12;

#[cfg(test)]
mod tests;
