use bsp::reference::{self, Limit};
use bsp::testing;

use super::*;

fn common(processes: u32) -> Common {
    Common {
        processes,
        supersteps: None,
        seed: 5,
    }
}

#[test]
fn tasks_take_what_they_are_to_take() {
    let mut parameters = Parameters {
        tasks: 2000,
        instructions: 1000.0,
        ..Parameters::default()
    };
    let work = |parameters: &Parameters| {
        let farm = processes(parameters, common(4)).unwrap();
        reference::run(farm, Limit::default()).unwrap().work
    };
    assert_eq!(work(&parameters), Instructions(2_000_000));
    parameters.variation = 0.5;
    let varied = work(&parameters).as_f64() / 2e6;
    // The standard deviation of the mean of 2000 draws is 0.5 / √3 / √2000 = 0.0065.
    assert!((1e-9..0.03).contains(&(varied - 1.0).abs()), "{varied}");
}

#[test]
fn the_laws_hold_with_a_long_shared_value() {
    let parameters = Parameters {
        tasks: 77,
        shared: Bytes(100_000),
        variation: 1.0,
        ..Parameters::default()
    };
    let checked = testing::check(|| processes(&parameters, common(5)).unwrap());
    let numbers = checked.run.outputs[0].iter().map(|outcome| outcome.number);
    assert!(numbers.eq(0..77));
}

#[test]
fn numbers_out_of_range_are_named() {
    let fails = |parameters: Parameters, processes: u32| {
        super::processes(&parameters, common(processes))
            .unwrap_err()
            .to_string()
    };
    let default = Parameters::default;
    let text = fails(
        Parameters {
            variation: 1.5,
            ..default()
        },
        3,
    );
    assert_eq!(
        text,
        "invalid value `1.5` for `variation`: must be a number from 0 to 1"
    );
    let text = fails(
        Parameters {
            tasks: u64::MAX,
            ..default()
        },
        3,
    );
    assert!(text.contains("for `tasks`: must be at most 10^8"), "{text}");
    let text = fails(
        Parameters {
            task: Bytes(1 << 40),
            ..default()
        },
        3,
    );
    assert!(text.contains("for `task`: must be at most 1 GiB"), "{text}");
    let text = fails(default(), 1);
    assert!(
        text.contains("must be at least 2, a master and a worker"),
        "{text}"
    );
}
