use bsp::units::{Bytes, Instructions};
use proptest::prelude::*;

use super::*;
use crate::{Memory, MigrationCost, Observation, Parameters, Reception};

/// The papers' Sets: what a process on Corisco sees of Labtec, Corisco, Frontal, ICE, Aquario.
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
            overlap: None,
            base: Some(Seconds::new(0.0046).unwrap()),
            ..MigrationCost::default()
        },
        ..Parameters::default()
    };
    change(&mut parameters);
    Config::new(parameters).unwrap()
}

/// A process that computed `seconds` and received 100 kB from Labtec in 10 ms, once.
fn process(seconds: f64) -> ProcessHistory {
    let mut process = ProcessHistory::new(Memory::default(), 4);
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
            incoming: &[],
            reception_longest: reception.time,
        },
    );
    process
}

const IMAGE: MemorySize = MemorySize {
    data: Bytes(400_000),
    fixed: Bytes(500_000),
};

fn totals(config: &Config, process: &ProcessHistory, own: u32) -> Vec<f64> {
    let sets = sets();
    let evaluation = process.evaluate(
        config,
        &Situation {
            own: SetId(own),
            image: IMAGE,
            sets: &sets,
            learned: None,
        },
    );
    let potentials = evaluation.potentials.iter();
    potentials
        .map(|potential| potential.total().get())
        .collect()
}

fn best(config: &Config, process: &ProcessHistory, own: u32) -> SetId {
    let sets = sets();
    let situation = Situation {
        own: SetId(own),
        image: IMAGE,
        sets: &sets,
        learned: None,
    };
    process.evaluate(config, &situation).best().set
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
fn the_own_set_wins_ties() {
    let idle = ProcessHistory::new(Memory::default(), 4);
    let free = config(|parameters| {
        parameters.migration = MigrationCost {
            data_rate: Some(0.0),
            fixed_rate: Some(0.0),
            overlap: None,
            base: Some(Seconds::ZERO),
            ..MigrationCost::default()
        };
    });
    assert_eq!(best(&free, &idle, 3), SetId(3));
}

#[test]
fn capacities_are_compared_with_that_of_the_own_set() {
    let sets = sets();
    let situation = Situation {
        own: SetId(2),
        image: IMAGE,
        sets: &sets,
        learned: None,
    };
    let evaluation = process(1.0).evaluate(&config(|_| {}), &situation);
    let indices = evaluation.potentials.iter();
    let indices: Vec<_> = indices
        .map(|potential| Seconds::new(potential.set_index).unwrap())
        .collect();
    let expected = [1.5, 1.2, 1.0, 1.6, 2.0].map(|index| Seconds::new(index).unwrap());
    assert_eq!(indices, expected);
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
                learned: None,
            };
            let config = Config::default();
            let evaluation = process(1.0).evaluate(&config, &situation);
            assert!(evaluation.best().set.index() < 5);
        }
    }
}

proptest! {
    #[test]
    fn a_more_expensive_move_is_never_more_attractive(
        time in 0.0..10.0,
        base in 0.0..5.0,
        more in 0.0..5.0,
    ) {
        let cost = |base| config(|parameters| {
            parameters.migration.base = Some(Seconds::new(base).unwrap());
        });
        let process = process(time);
        let cheap = totals(&cost(base), &process, 1);
        let expensive = totals(&cost(base + more), &process, 1);
        prop_assert!(cheap.iter().zip(&expensive).all(|(cheap, expensive)| expensive <= cheap));
        if best(&cost(base), &process, 1) == SetId(1) {
            prop_assert_eq!(best(&cost(base + more), &process, 1), SetId(1));
        }
    }
}

proptest! {
    #[test]
    fn a_process_replayed_from_its_potentials_finds_them_again(
        supersteps in prop::collection::vec((0_u64..3, 0_u32..7, 0_u64..3), 1..9),
        own in 0_u32..5,
    ) {
        let config = config(|_| {});
        let mut process = ProcessHistory::new(Memory::default(), 4);
        for (work, set, bytes) in supersteps {
            let reception = Reception {
                set: SetId(set % 5),
                bytes: Bytes(bytes * 100_000),
                time: Seconds::new(Bytes(bytes).as_f64() * 0.01).unwrap(),
            };
            let observation = Observation {
                instructions: Instructions(work),
                computation_time: Seconds::new(Instructions(work).as_f64() * 0.3).unwrap(),
                receptions: if 4 < set { &[] } else { &[reception] },
                incoming: &[],
                reception_longest: reception.time,
            };
            process.observe(&config, observation);
        }
        let sets = sets();
        let situation = Situation { own: SetId(own), image: IMAGE, sets: &sets, learned: None };
        let found = process.evaluate(&config, &situation);
        let replayed = ProcessHistory::of_potentials(&found.potentials);
        let again = replayed.evaluate(&config, &situation);
        prop_assert_eq!(
            again.entry(Rank(3), &replayed),
            found.entry(Rank(3), &process)
        );
        prop_assert_eq!(again, found);
    }
}

#[test]
fn a_move_inside_the_own_set_costs_what_has_been_learned_and_no_potential() {
    let (sets, process) = (sets(), process(1.0 / 3.0));
    let evaluate = |learned| {
        let situation = Situation {
            own: SetId(1),
            image: IMAGE,
            sets: &sets,
            learned,
        };
        process.evaluate(&config(|_| {}), &situation)
    };
    let (stated, learned) = (evaluate(None), evaluate(Some(CostCoefficients::default())));
    assert_eq!(stated.cost(SetId(1)), Seconds::ZERO);
    let moving = 0.4e6 * 0.21e-6 + 0.5e6 * 0.018e-6 + 0.0046;
    assert!((learned.cost(SetId(1)).get() - moving).abs() < 1e-12);
    assert_eq!(learned.cost(SetId(0)), stated.cost(SetId(0)));
    assert_eq!(learned.potentials, stated.potentials);
}
