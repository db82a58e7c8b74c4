//! Plates against the exact decay of their modes.

use bsp::reference::{self, Limit};

use super::*;

fn common(processes: u32, supersteps: u64) -> Common {
    Common {
        processes,
        supersteps: Some(supersteps),
        seed: 0,
    }
}

fn plate(parameters: &Parameters, processes: u32, supersteps: u64) -> Vec<f64> {
    let strips = super::processes(parameters, common(processes, supersteps)).unwrap();
    let run = reference::run(strips, Limit::default()).unwrap();
    assert_eq!(run.supersteps, supersteps);
    run.outputs.concat()
}

#[test]
fn every_mode_decays_by_its_factor() {
    let (width, height) = (7, 5);
    let plates = [false, true].into_iter().flat_map(|periodic| {
        let modes = (1..=width).flat_map(|across| (1..=height).map(move |down| [across, down]));
        modes.map(move |mode| (periodic, mode))
    });
    for (periodic, mode) in plates {
        for diffusion in [0.25, 0.1] {
            let parameters = Parameters {
                width,
                height,
                periodic,
                mode,
                diffusion,
                ..Parameters::default()
            };
            let mode = Mode::new(&parameters).unwrap();
            for steps in [1, 60] {
                let deviation = mode.deviation(&plate(&parameters, 3, steps), steps);
                assert!(deviation.is_rounding(), "{parameters:?}: {deviation:?}");
            }
        }
    }
}

#[test]
fn long_runs_on_large_plates_stay_within_rounding() {
    let parameters = Parameters {
        width: 120,
        height: 77,
        mode: [3, 2],
        ..Parameters::default()
    };
    let deviation = Mode::new(&parameters)
        .unwrap()
        .deviation(&plate(&parameters, 5, 2000), 2000);
    assert!(deviation.is_rounding(), "{deviation:?}");
    assert!(deviation.left < 0.1, "{deviation:?}");
}

#[test]
fn other_plates_are_not_taken_for_rounding() {
    let parameters = Parameters {
        width: 12,
        height: 12,
        ..Parameters::default()
    };
    let mode = Mode::new(&parameters).unwrap();
    let right = plate(&parameters, 2, 40);
    assert!(mode.deviation(&right, 40).is_rounding());
    assert!(!mode.deviation(&right, 41).is_rounding());
    for wrong in [right[70] * (1.0 + 1e-9), f64::NAN] {
        let mut plate = right.clone();
        plate[70] = wrong;
        assert!(!mode.deviation(&plate, 40).is_rounding());
    }
}

#[test]
fn the_number_of_processes_changes_no_bit() {
    for periodic in [false, true] {
        let parameters = Parameters {
            width: 9,
            height: 23,
            periodic,
            mode: [2, 5],
            ..Parameters::default()
        };
        let bits = |processes| {
            let plate = plate(&parameters, processes, 50);
            plate.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let alone = bits(1);
        for processes in [2, 3, 7, 23] {
            assert_eq!(
                bits(processes),
                alone,
                "{processes} processes, periodic: {periodic}"
            );
        }
    }
}

#[test]
fn a_pipe_has_no_border_at_its_ends() {
    let parameters = Parameters {
        width: 3,
        height: 6,
        periodic: true,
        // Around the pipe nothing changes, and nothing flows.
        mode: [2, 6],
        ..Parameters::default()
    };
    let plate = plate(&parameters, 4, 10);
    let (first, others) = plate.split_at(3);
    assert!(others.chunks(3).all(|row| row == first), "{plate:?}");
    assert!(first[0].abs() > 1e-6, "{plate:?}");
}

#[test]
fn every_cell_is_charged_for_in_every_superstep() {
    let parameters = Parameters {
        width: 10,
        height: 7,
        instructions_per_cell: 100.0,
        ..Parameters::default()
    };
    let strips = processes(&parameters, common(3, 4)).unwrap();
    let works: Vec<_> = strips.iter().map(|strip| strip.work.0).collect();
    assert_eq!(works, [3_000, 2_000, 2_000]);
    let run = reference::run(strips, Limit::default()).unwrap();
    assert_eq!(run.work, Instructions(28_000));
}

#[test]
fn errors_name_the_parameter() {
    let check = |parameters: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(parameters).unwrap();
        let error = processes(&parameters, common(7, 2)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "height = 6",
        "invalid value `6` for `height`: must be at least 7, a row for each process",
    );
    check(
        "width = 0",
        "invalid value `0` for `width`: must be at least 1",
    );
    check(
        "mode = [0, 1]",
        "invalid value `0` for `mode[0]`: must be at least 1",
    );
    check(
        "mode = [1, 257]",
        "invalid value `257` for `mode[1]`: must be at most `height`, which is 256",
    );
    for diffusion in ["0.0", "-0.1", "0.26", "NaN", "inf"] {
        check(
            &format!("diffusion = {}", diffusion.to_lowercase()),
            &format!(
                "invalid value `{diffusion}` for `diffusion`: must be a number above 0 and up to 0.25, beyond which \
                 the scheme is unstable"
            ),
        );
    }
    check(
        "instructions_per_cell = -1",
        "invalid value `-1.0` for `instructions_per_cell`: must be a number from 0 to 2^63",
    );
    let great = "width = 4294967295\nheight = 4294967295";
    check(
        great,
        "`width`: not enough memory for 4294967295 x 4294967295 cells; choose a smaller `width` or `height`",
    );
    assert!(toml::from_str::<Parameters>("depth = 3").is_err());
    let endless = Common {
        supersteps: None,
        ..common(2, 1)
    };
    let error = processes(&Parameters::default(), endless).unwrap_err();
    assert_eq!(error, Error::Endless);
}

/// Every cell of the next plate from the whole plate before, by the formula.
fn next(plate: &[f64], width: usize, diffusion: f64) -> Vec<f64> {
    let rows = plate.len() / width;
    let cell = |x: Option<usize>, y: Option<usize>| match (x, y) {
        (Some(x), Some(y)) if x < width && y < rows => plate[y * width + x],
        _ => 0.0,
    };
    let cells = (0..rows).flat_map(|y| (0..width).map(move |x| (x, y)));
    let next = cells.map(|(x, y)| {
        let at = |x, y| cell(Some(x), Some(y));
        let sides = cell(x.checked_sub(1), Some(y)) + at(x + 1, y);
        let around = sides + (cell(Some(x), y.checked_sub(1)) + at(x, y + 1));
        at(x, y) + diffusion * (around - 4.0 * at(x, y))
    });
    next.collect()
}

#[test]
fn strips_compute_what_the_formula_says_bit_by_bit() {
    for (width, height) in [(1, 5), (2, 4), (3, 3), (17, 11)] {
        let parameters = Parameters {
            width,
            height,
            diffusion: 0.19,
            ..Parameters::default()
        };
        let mode = Mode::new(&parameters).unwrap();
        let rows = (1..=u64::from(height)).flat_map(|row| mode.row(row).collect::<Vec<_>>());
        let mut expected: Vec<f64> = rows.collect();
        for steps in 1..5 {
            expected = next(&expected, mode.width(), parameters.diffusion);
            let found = plate(&parameters, 3, steps);
            let bits = |plate: &[f64]| plate.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&expected), "{width} x {height}, {steps}");
        }
    }
}
