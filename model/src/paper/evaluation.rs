//! The potentials of a process for every Set, and the highest of them.

use bsp::units::Seconds;
use bsp::{MemorySize, Rank, SetId};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use super::rows::{Rows, append};
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

    /// Its numbers; of products, the bits in which they differ from those of their factors.
    fn words(&self) -> [u64; 9] {
        let (computation, communication) = self.products();
        [
            self.set.0.into(),
            self.pattern_computation.to_bits(),
            bits(self.prediction_computation),
            self.set_index.to_bits(),
            bits(self.computation) ^ bits(computation),
            self.pattern_communication.to_bits(),
            bits(self.prediction_communication),
            bits(self.communication) ^ bits(communication),
            bits(self.migration),
        ]
    }

    /// The potential with these [`words`](Self::words).
    fn of_words(words: [u64; 9]) -> Self {
        let seconds = |bits| Seconds::new(f64::from_bits(bits)).expect("the bits of a time");
        let [
            set,
            pattern_computation,
            prediction_computation,
            set_index,
            computation,
            pattern_communication,
            prediction_communication,
            communication,
            migration,
        ] = words;
        let factors = Self {
            set: SetId(u32::try_from(set).expect("the number of a Set")),
            pattern_computation: f64::from_bits(pattern_computation),
            prediction_computation: seconds(prediction_computation),
            set_index: f64::from_bits(set_index),
            computation: Seconds::ZERO,
            pattern_communication: f64::from_bits(pattern_communication),
            prediction_communication: seconds(prediction_communication),
            communication: Seconds::ZERO,
            migration: seconds(migration),
        };
        let products = factors.products();
        Self {
            computation: seconds(computation ^ bits(products.0)),
            communication: seconds(communication ^ bits(products.1)),
            ..factors
        }
    }

    /// `Comp(i, j)` and `Comm(i, j)`, from their factors.
    fn products(&self) -> (Seconds, Seconds) {
        let predicted = self.prediction_computation.get();
        let computation = self.pattern_computation * predicted * self.set_index;
        let communication = self.pattern_communication * self.prediction_communication.get();
        (
            Seconds::bounded(computation),
            Seconds::bounded(communication),
        )
    }
}

/// The potentials of one process, in little memory: a call holds those of all processes for all Sets.
///
/// A Set takes 6 bytes, and 8 for each number that is neither that of the Set before nor the product of others. Encoded as
/// a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Potential>")]
pub struct Potentials {
    number: usize,
    rows: Box<[u8]>,
}

/// The potentials of one process for every Set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The Set in which the process runs.
    pub own: SetId,
    /// By [`SetId`].
    pub potentials: Potentials,
    /// The cost of moving to another host of the own Set, which only a script orders, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Seconds>,
}

impl Potentials {
    /// The number of potentials.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.number
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// The potentials, in order.
    pub fn iter(&self) -> impl Iterator<Item = Potential> {
        Rows::new(&self.rows).map(Potential::of_words)
    }

    /// The potentials as a list.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Potential> {
        let mut all = Vec::with_capacity(self.number);
        all.extend(self.iter());
        all
    }
}

impl FromIterator<Potential> for Potentials {
    fn from_iter<I: IntoIterator<Item = Potential>>(potentials: I) -> Self {
        let (mut number, mut rows, mut before) = (0, Vec::new(), [0; 9]);
        for potential in potentials {
            let row = potential.words();
            append(&mut rows, &before, &row);
            before = row;
            number += 1;
        }
        Self {
            number,
            rows: rows.into(),
        }
    }
}

impl From<Vec<Potential>> for Potentials {
    fn from(potentials: Vec<Potential>) -> Self {
        potentials.into_iter().collect()
    }
}

impl Serialize for Potentials {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.number))?;
        for potential in self.iter() {
            list.serialize_element(&potential)?;
        }
        list.end()
    }
}

impl Evaluation {
    /// The cost of moving to `target`.
    ///
    /// # Panics
    ///
    /// If there is no potential of `target`.
    #[must_use]
    pub fn cost(&self, target: SetId) -> Seconds {
        let stated = self.potentials.iter().nth(target.index());
        let stated = stated.expect("potentials of all Sets").migration;
        let within = self.within.filter(|_| target == self.own);
        within.unwrap_or(stated)
    }

    /// The highest potential; the own Set wins ties, then the lowest Set.
    ///
    /// # Panics
    ///
    /// If there is no potential at all.
    #[must_use]
    pub fn best(&self) -> Potential {
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
        let factors = Potential {
            set,
            pattern_computation: self.pattern_computation(),
            prediction_computation: self.prediction_computation(),
            set_index,
            computation: Seconds::ZERO,
            pattern_communication: self.pattern_communication(set),
            prediction_communication: self.prediction_communication(set),
            communication: Seconds::ZERO,
            migration,
        };
        let (computation, communication) = factors.products();
        Potential {
            computation,
            communication,
            ..factors
        }
    }
}

fn bits(time: Seconds) -> u64 {
    time.get().to_bits()
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
