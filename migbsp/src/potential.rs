//! Which Set a process would win most by moving to.

use bsp::units::Seconds;
use bsp::{Image, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};
use crate::{Config, Entry, MigrationCost, OwnSet, Process, SetIndex};

/// What a process is told of the platform when a call begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Situation<'a> {
    /// The Set in which the process runs.
    pub own: SetId,
    /// Its memory image now, `M(i)`.
    pub image: Image,
    /// All Sets, by [`SetId`].
    pub sets: &'a [SetView],
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

/// The potentials of one process for every Set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The Set in which the process runs.
    pub own: SetId,
    /// By [`SetId`].
    pub potentials: Vec<Potential>,
}

impl Potential {
    /// `PM(i, j)`.
    #[must_use]
    pub fn total(&self) -> Seconds {
        self.computation + self.communication - self.migration
    }
}

impl Evaluation {
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
        let Situation { own, image, sets } = *situation;
        assert!(own.index() < sets.len(), "{own} of {} Sets", sets.len());
        let parameters = config.parameters();
        let reference = reference_capacity(parameters.set_index, own, sets);
        let potentials = sets.iter().enumerate().map(|(index, view)| {
            let set = SetId::from_index(index);
            let migration = if set == own {
                Seconds::ZERO
            } else {
                parameters.migration.of(image, view.transfer_rate)
            };
            let set_index = index_of(available(parameters.set_index, view), reference);
            self.potential(set, set_index, migration)
        });
        Evaluation {
            own,
            potentials: potentials.collect(),
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

impl MigrationCost {
    /// Equation `MEM`: the time that moving `image` takes, where a byte takes `transfer_rate`
    /// seconds.
    #[must_use]
    pub fn of(&self, image: Image, transfer_rate: f64) -> Seconds {
        let measured = non_negative(transfer_rate);
        let data = image.data.as_f64() * self.data_rate.unwrap_or(measured);
        let fixed = image.fixed.as_f64() * self.fixed_rate.unwrap_or(measured);
        seconds(data + fixed + self.base.get())
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
mod tests {
    use bsp::units::{Bytes, Instructions};
    use proptest::prelude::*;

    use super::*;
    use crate::{Observation, Parameters, Reception};

    /// The papers' Sets: what a process on Corisco is told of Labtec, Corisco, Frontal, ICE, Aquario.
    fn sets() -> Vec<SetView> {
        [
            (1.5e9, 20),
            (1.2e9, 16),
            (1.0e9, 6),
            (1.6e9, 112),
            (2.0e9, 20),
        ]
        .into_iter()
        .map(|(capacity, processors)| SetView {
            capacity,
            processes: 0,
            processors,
            transfer_rate: 1e-7,
        })
        .collect()
    }

    /// What a migration costs in the papers' experiments.
    fn config(change: impl FnOnce(&mut Parameters)) -> Config {
        let mut parameters = Parameters {
            migration: MigrationCost {
                data_rate: Some(0.21e-6),
                fixed_rate: Some(0.018e-6),
                base: Seconds::new(0.0046).unwrap(),
            },
            ..Parameters::default()
        };
        change(&mut parameters);
        Config::new(parameters).unwrap()
    }

    /// A process that computed `seconds` and received 100 kB from Labtec in 10 ms, once.
    fn process(seconds: f64) -> Process {
        let mut process = Process::new(4);
        let reception = Reception {
            set: SetId(0),
            bytes: Bytes(100_000),
            time: Seconds::new(0.01).unwrap(),
        };
        process.observe(
            &Config::default(),
            Observation {
                instructions: Instructions(1_000_000),
                computation_time: Seconds::new(seconds).unwrap(),
                receptions: &[reception],
                reception_longest: reception.time,
            },
        );
        process
    }

    const IMAGE: Image = Image {
        data: Bytes(400_000),
        fixed: Bytes(500_000),
    };

    fn totals(config: &Config, process: &Process, own: u32) -> Vec<f64> {
        let sets = sets();
        let evaluation = process.evaluate(
            config,
            &Situation {
                own: SetId(own),
                image: IMAGE,
                sets: &sets,
            },
        );
        let potentials = evaluation.potentials.iter();
        potentials
            .map(|potential| potential.total().get())
            .collect()
    }

    fn best(config: &Config, process: &Process, own: u32) -> SetId {
        let sets = sets();
        let situation = Situation {
            own: SetId(own),
            image: IMAGE,
            sets: &sets,
        };
        process.evaluate(config, &situation).best(config).set
    }

    #[test]
    fn a_potential_is_computation_and_communication_less_migration() {
        // 10^10 / 25 instructions at 1.2·10^9 instructions per second.
        let process = process(1.0 / 3.0);
        let moving = 0.4e6 * 0.21e-6 + 0.5e6 * 0.018e-6 + 0.0046;
        let expected = [
            1.0 / 3.0 * 1.5 / 1.2 + 0.01 - moving,
            1.0 / 3.0,
            1.0 / 3.0 * 1.0 / 1.2 - moving,
            1.0 / 3.0 * 1.6 / 1.2 - moving,
            1.0 / 3.0 * 2.0 / 1.2 - moving,
        ];
        let totals = totals(&config(|_| {}), &process, 1);
        for (total, expected) in totals.into_iter().zip(expected) {
            assert!((total - expected).abs() < 1e-12, "{total} {expected}");
        }
    }

    #[test]
    fn a_process_that_wins_less_than_its_move_costs_stays() {
        let config = config(|_| {});
        // 10^10 / 25 instructions: Aquario attracts Corisco but not Labtec.
        assert_eq!(best(&config, &process(1.0 / 3.0), 1), SetId(4));
        assert_eq!(best(&config, &process(4.0 / 15.0), 0), SetId(0));
    }

    #[test]
    fn the_own_set_wins_ties_and_can_be_left_out() {
        let idle = Process::new(4);
        let free = config(|parameters| {
            parameters.migration = MigrationCost {
                data_rate: Some(0.0),
                fixed_rate: Some(0.0),
                base: Seconds::ZERO,
            };
        });
        assert_eq!(best(&free, &idle, 3), SetId(3));
        let ignored = config(|parameters| {
            parameters.own_set = OwnSet::Ignored;
            parameters.migration = free.parameters().migration;
        });
        assert_eq!(best(&ignored, &idle, 0), SetId(1));
        assert_eq!(best(&ignored, &idle, 3), SetId(0));
    }

    #[test]
    fn capacities_compare_as_configured() {
        let index = |set_index, processes: u32| {
            let config = config(|parameters| parameters.set_index = set_index);
            let mut sets = sets();
            sets[4].processes = processes;
            let situation = Situation {
                own: SetId(2),
                image: IMAGE,
                sets: &sets,
            };
            let evaluation = process(1.0).evaluate(&config, &situation);
            Seconds::new(evaluation.potentials[4].set_index).unwrap()
        };
        let number = |value| Seconds::new(value).unwrap();
        assert_eq!(index(SetIndex::Own, 40), number(2.0));
        assert_eq!(index(SetIndex::Best, 40), number(1.0));
        assert_eq!(index(SetIndex::SharedByProcesses, 10), number(2.0));
        assert_eq!(index(SetIndex::SharedByProcesses, 40), number(1.0));
    }

    #[test]
    fn without_given_rates_a_move_costs_what_was_measured() {
        let cost = MigrationCost::default().of(IMAGE, 1e-6);
        assert!((cost.get() - 0.9).abs() < 1e-12);
    }

    #[test]
    fn foreign_numbers_of_any_kind_make_a_decision() {
        for odd in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300] {
            let mut sets = sets();
            for set in [0, 3] {
                sets[set].capacity = odd;
                sets[set].transfer_rate = odd;
            }
            for own in 0..5 {
                let situation = Situation {
                    own: SetId(own),
                    image: IMAGE,
                    sets: &sets,
                };
                let config = Config::default();
                let evaluation = process(1.0).evaluate(&config, &situation);
                assert!(evaluation.best(&config).set.index() < 5);
            }
        }
    }

    proptest! {
        #[test]
        fn a_dearer_move_is_never_more_attractive(
            time in 0.0..10.0,
            base in 0.0..5.0,
            more in 0.0..5.0,
        ) {
            let cost = |base| config(|parameters| {
                parameters.migration.base = Seconds::new(base).unwrap();
            });
            let process = process(time);
            let cheap = totals(&cost(base), &process, 1);
            let dear = totals(&cost(base + more), &process, 1);
            prop_assert!(cheap.iter().zip(&dear).all(|(cheap, dear)| dear <= cheap));
            if best(&cost(base), &process, 1) == SetId(1) {
                prop_assert_eq!(best(&cost(base + more), &process, 1), SetId(1));
            }
        }
    }
}
