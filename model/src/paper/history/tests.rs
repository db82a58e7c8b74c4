use proptest::prelude::*;

use super::*;
use crate::Parameters;

/// What a process records for MigBSP.
const MIGBSP: Memory = Memory {
    times: true,
    forecast: false,
};

fn config(change: impl FnOnce(&mut Parameters)) -> Config {
    let mut parameters = Parameters::default();
    change(&mut parameters);
    Config::new(parameters).unwrap()
}

fn compute(process: &mut ProcessHistory, config: &Config, instructions: u64) {
    receive(process, config, instructions, &[]);
}

fn receive(process: &mut ProcessHistory, config: &Config, instructions: u64, from: &[(u32, u64)]) {
    let receptions: Vec<Reception> = from
        .iter()
        .map(|(set, bytes)| Reception {
            set: SetId(*set),
            bytes: Bytes(*bytes),
            time: Seconds::bounded(Bytes(*bytes).as_f64() * 1e-6),
        })
        .collect();
    let computation_time = Seconds::bounded(Instructions(instructions).as_f64() * 1e-9);
    process.observe(
        config,
        Observation {
            instructions: Instructions(instructions),
            computation_time,
            receptions: &receptions,
            incoming: &[],
            reception_longest: Seconds::ZERO,
        },
    );
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value}");
}

#[test]
fn the_second_prediction_of_smith_waterman_is_that_of_the_paper() {
    // A matrix of 10 × 10: 19 supersteps from 10^6 to 10^9 instructions.
    let second = 1_000_000 + 999_000_000 / 18;
    for (delta, pattern) in [(0.01, 0.75), (0.5, 1.0)] {
        let config = config(|parameters| parameters.delta = delta);
        let mut process = ProcessHistory::new(MIGBSP, 4);
        compute(&mut process, &config, 1_000_000);
        compute(&mut process, &config, second);
        close(process.instructions_last().as_f64(), 565e5);
        close(process.instructions_predicted, 287.5e5);
        close(process.pattern_computation(), pattern);
    }
}

#[test]
fn a_tenth_of_fifty_instructions_is_from_45_to_55() {
    for (predicted, regular) in [(44.9, false), (45.0, true), (55.0, true), (55.1, false)] {
        assert_eq!(is_close(predicted, 50.0, 0.1), regular, "{predicted}");
    }
}

#[test]
fn recent_supersteps_weigh_most() {
    let config = Config::default();
    let mut process = ProcessHistory::new(MIGBSP, 4);
    for instructions in [8, 16, 32] {
        compute(&mut process, &config, instructions * 1_000_000_000);
    }
    assert_eq!(
        process.prediction_computation(),
        Seconds::new(2.0 + 4.0 + 16.0).unwrap()
    );
}

#[test]
fn a_call_restarts_predictions_and_keeps_patterns() {
    let config = config(|_| {});
    let mut process = ProcessHistory::new(MIGBSP, 4);
    for instructions in [1, 1000, 1, 1000] {
        receive(&mut process, &config, instructions, &[(2, instructions)]);
    }
    close(process.pattern_computation(), 0.25);
    process.restart(8);
    assert!(process.times().is_empty());
    receive(&mut process, &config, 7, &[(2, 7)]);
    close(process.instructions_predicted, 7.0);
    close(process.pattern_computation(), 0.375);
    close(process.pattern_communication(SetId(2)), 0.375);
}

#[test]
fn a_pattern_of_communication_falls_with_irregular_bytes() {
    let mut process = ProcessHistory::new(MIGBSP, 4);
    for bytes in [1, 1000, 1, 1000] {
        receive(&mut process, &Config::default(), 7, &[(2, bytes)]);
    }
    close(process.pattern_communication(SetId(2)), 0.25);
}

#[test]
fn an_idle_process_counts_with_its_last_work() {
    let mut process = ProcessHistory::new(MIGBSP, 4);
    compute(&mut process, &Config::default(), 9);
    compute(&mut process, &Config::default(), 0);
    assert_eq!(process.instructions_last(), Instructions::ZERO);
    assert_eq!(process.instructions_resident(), Instructions(9));
}

#[test]
fn a_wait_belongs_to_the_superstep_before_it() {
    let config = Config::default();
    let mut process = ProcessHistory::new(MIGBSP, 4);
    compute(&mut process, &config, 1);
    process.waited(Seconds::new(2.0).unwrap());
    compute(&mut process, &config, 1);
    let times = process.times();
    let waits: Vec<_> = times.iter().map(|times| times.wait()).collect();
    assert_eq!(waits, [Some(Seconds::new(2.0).unwrap()), None]);
    process.restart(4);
    process.waited(Seconds::ZERO);
    assert!(process.times().is_empty());
}

#[test]
fn a_process_is_small() {
    assert!(size_of::<ProcessHistory>() <= 112);
    assert!(size_of::<Sender>() <= 40);
}

/// Every superstep: instructions, and bytes from each of three Sets.
fn supersteps() -> impl Strategy<Value = Vec<(u64, [u64; 3])>> {
    let amount = prop_oneof![Just(0), Just(100), 0..1000_u64];
    let bytes = [amount.clone(), amount.clone(), amount.clone()];
    prop::collection::vec((amount, bytes), 1..40)
}

fn positive(bytes: [u64; 3]) -> Vec<(u32, u64)> {
    let sets = (0..).zip(bytes);
    sets.filter(|(_, bytes)| 0 < *bytes).collect()
}

proptest! {
    #[test]
    fn patterns_stay_in_their_range(supersteps in supersteps(), interval in 1..9_u32) {
        let config = Config::default();
        let mut process = ProcessHistory::new(MIGBSP, interval);
        for (index, (instructions, bytes)) in supersteps.into_iter().enumerate() {
            receive(&mut process, &config, instructions, &positive(bytes));
            prop_assert!((0.0..=1.0).contains(&process.pattern_computation()));
            for set in 0..3 {
                let pattern = process.pattern_communication(SetId(set));
                prop_assert!((0.0..=1.0).contains(&pattern));
            }
            if index % 5 == 4 {
                process.restart(interval + 1);
            }
        }
    }

    #[test]
    fn a_prediction_lies_between_the_least_and_the_most(supersteps in supersteps()) {
        let config = Config::default();
        let mut process = ProcessHistory::new(MIGBSP, 4);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (instructions, bytes) in supersteps {
            receive(&mut process, &config, instructions, &positive(bytes));
            let work = Instructions(instructions).as_f64();
            (least, most) = (least.min(work), most.max(work));
            prop_assert!(least <= process.instructions_predicted);
            prop_assert!(process.instructions_predicted <= most);
        }
    }

    #[test]
    fn a_silent_set_is_like_one_never_heard_of(supersteps in supersteps()) {
        let config = Config::default();
        let (mut sparse, mut dense) = (ProcessHistory::new(MIGBSP, 4), ProcessHistory::new(MIGBSP, 4));
        for (index, (instructions, bytes)) in supersteps.into_iter().enumerate() {
            receive(&mut sparse, &config, instructions, &positive(bytes));
            let all: Vec<_> = (0..).zip(bytes).collect();
            receive(&mut dense, &config, instructions, &all);
            for set in (0..3).map(SetId) {
                prop_assert_eq!(sparse.sender(set), dense.sender(set));
            }
            if index % 4 == 3 {
                sparse.restart(4);
                dense.restart(4);
            }
        }
    }
}
