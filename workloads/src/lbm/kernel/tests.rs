//! The flows of both cases against reference solutions.

use bsp::reference::{self, Limit};

use super::*;

fn common(processes: u32, supersteps: u64) -> Common {
    Common {
        processes,
        supersteps: Some(supersteps),
        seed: 0,
    }
}

fn flow(parameters: &Parameters, processes: u32, supersteps: u64) -> Fields {
    let strips = super::processes(parameters, common(processes, supersteps)).unwrap();
    let run = reference::run(strips, Limit::default()).unwrap();
    assert_eq!(run.supersteps, supersteps);
    Fields::assemble(run.outputs)
}

fn channel(height: u32, relaxation_time: f64) -> Parameters {
    Parameters {
        case: Case::Poiseuille,
        width: 4,
        height,
        relaxation_time: Some(relaxation_time),
        ..Parameters::default()
    }
}

/// Distance of a channel's steady flow from the parabola, relative to the parabola, both in the L2
/// norm.
fn distance_from_parabola(parameters: &Parameters) -> f64 {
    let tau = parameters.relaxation_time.unwrap();
    let height = f64::from(parameters.height);
    let viscosity = (tau - 0.5) / 3.0;
    // The slowest disturbance decays with exp(−π² ν t / H²): to 2e-11 in this number of time steps.
    let steps = 2.5 * height * height / viscosity;
    let fields = flow(parameters, 2, crate::parameters::whole(steps));
    let (mut error, mut norm) = (0.0, 0.0);
    for y in 0..fields.height() {
        let above = (f64::from(u32::try_from(y).unwrap()) + 0.5) / height;
        let exact = 4.0 * parameters.velocity * above * (1.0 - above);
        for x in 0..fields.width() {
            let [east, north] = fields.velocity(x, y);
            assert!(north.abs() < 1e-12, "{north} across the channel");
            error += (east - exact).powi(2);
            norm += exact.powi(2);
        }
    }
    (error / norm).sqrt()
}

#[test]
fn the_flow_in_a_channel_is_a_parabola() {
    // Halfway walls are exact for (τ − ½)² = 3/16.
    let tau = 0.5 + 3_f64.sqrt() / 4.0;
    for height in [3, 8, 21] {
        let distance = distance_from_parabola(&channel(height, tau));
        assert!(distance < 1e-9, "{distance} with {height} rows");
    }
}

#[test]
fn twice_the_rows_are_four_times_as_exact() {
    for tau in [0.65, 1.4] {
        let [coarse, middle, fine] =
            [8, 16, 32].map(|height| distance_from_parabola(&channel(height, tau)));
        for (of, by) in [(coarse, middle), (middle, fine)] {
            let order = (of / by).log2();
            assert!((order - 2.0).abs() < 0.05, "order {order} with τ = {tau}");
        }
    }
}

/// Velocity to the east on the vertical line through the middle of a square cavity at a Reynolds
/// number of 100, by height. Source: Ghia, Ghia, Shin, J. Comput. Phys. 48 (1982) 387, table I.
const EASTWARD: [(f64, f64); 17] = [
    (0.0, 0.0),
    (0.0547, -0.03717),
    (0.0625, -0.04192),
    (0.0703, -0.04775),
    (0.1016, -0.06434),
    (0.1719, -0.10150),
    (0.2813, -0.15662),
    (0.4531, -0.21090),
    (0.5, -0.20581),
    (0.6172, -0.13641),
    (0.7344, 0.00332),
    (0.8516, 0.23151),
    (0.9531, 0.68717),
    (0.9609, 0.73722),
    (0.9688, 0.78871),
    (0.9766, 0.84123),
    (1.0, 1.0),
];

/// Velocity to the north on the horizontal line, by distance from the west. Source: table II there.
const NORTHWARD: [(f64, f64); 17] = [
    (0.0, 0.0),
    (0.0625, 0.09233),
    (0.0703, 0.10091),
    (0.0781, 0.10890),
    (0.0938, 0.12317),
    (0.1563, 0.16077),
    (0.2266, 0.17507),
    (0.2344, 0.17527),
    (0.5, 0.05454),
    (0.8047, -0.24533),
    (0.8594, -0.22445),
    (0.9063, -0.16914),
    (0.9453, -0.10313),
    (0.9531, -0.08864),
    (0.9609, -0.07391),
    (0.9688, -0.05906),
    (1.0, 0.0),
];

/// Linear between centres of cells, and between the outermost ones and the walls.
fn interpolated(at: f64, cells: &[f64], walls: [f64; 2]) -> f64 {
    let count = f64::from(u32::try_from(cells.len()).unwrap());
    let [low, high] = walls;
    let centres = (0..).map(|cell| (f64::from(cell) + 0.5) / count);
    let inner = centres.zip(cells.iter().copied());
    let points: Vec<_> = [(0.0, low)]
        .into_iter()
        .chain(inner)
        .chain([(1.0, high)])
        .collect();
    let after = points.partition_point(|(x, _)| *x < at).max(1);
    let ((x0, y0), (x1, y1)) = (points[after - 1], points[after]);
    y0 + (y1 - y0) * (at - x0) / (x1 - x0)
}

#[test]
fn the_flow_in_a_cavity_is_that_of_ghia_ghia_and_shin() {
    // An odd number of cells, so that the lines through the middle go through centres.
    let parameters = Parameters {
        width: 65,
        height: 65,
        ..Parameters::default()
    };
    let fields = flow(&parameters, 3, 8_000);
    let along = |velocity: &dyn Fn(usize) -> f64| -> Vec<f64> {
        (0..65)
            .map(|cell| velocity(cell) / parameters.velocity)
            .collect()
    };
    let east = along(&|y| fields.velocity(32, y)[0]);
    let north = along(&|x| fields.velocity(x, 32)[1]);
    for (table, cells, walls) in [(EASTWARD, east, [0.0, 1.0]), (NORTHWARD, north, [0.0, 0.0])] {
        for (at, expected) in table {
            let found = interpolated(at, &cells, walls);
            // Most of what is left are errors of compressibility, a third of the Mach number squared.
            assert!(
                (found - expected).abs() < 0.01,
                "{found} at {at}, expected {expected}"
            );
        }
    }
}

#[test]
fn the_number_of_processes_changes_no_bit() {
    for case in [Case::Cavity, Case::Poiseuille] {
        let parameters = Parameters {
            case,
            width: 23,
            height: 11,
            ..Parameters::default()
        };
        let bits = |processes| {
            let fields = flow(&parameters, processes, 150);
            assert_eq!((fields.width(), fields.height()), (23, 11));
            rmp_serde::to_vec(&fields).unwrap()
        };
        let alone = bits(1);
        for processes in [2, 3, 7, 23] {
            assert!(bits(processes) == alone, "{processes} processes, {case:?}");
        }
    }
}

#[test]
fn mass_is_conserved() {
    for case in [Case::Cavity, Case::Poiseuille] {
        let parameters = Parameters {
            case,
            width: 31,
            height: 17,
            ..Parameters::default()
        };
        let fields = flow(&parameters, 4, 2_000);
        assert!(fields.speed_max() < parameters.velocity);
        let mass = fields.mass();
        let cells = 31.0 * 17.0;
        assert!((mass - cells).abs() < 1e-11 * cells, "{mass}, {case:?}");
    }
}

#[test]
fn every_cell_is_charged_for_in_every_superstep() {
    let parameters = Parameters {
        width: 10,
        height: 5,
        instructions_per_cell: 200.0,
        ..Parameters::default()
    };
    let strips = processes(&parameters, common(3, 4)).unwrap();
    let works: Vec<_> = strips.iter().map(|strip| strip.work.0).collect();
    assert_eq!(works, [4_000, 3_000, 3_000]);
    let run = reference::run(strips, Limit::default()).unwrap();
    assert_eq!(run.work, Instructions(40_000));
}

#[test]
fn unstable_flows_end_the_run() {
    let parameters = Parameters {
        width: 20,
        height: 20,
        reynolds: 1e6,
        ..Parameters::default()
    };
    let strips = processes(&parameters, common(2, 100_000)).unwrap();
    let error = reference::run(strips, Limit::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("failed in superstep"), "{text}");
    assert!(text.contains("the flow became unstable"), "{text}");
}

#[test]
fn errors_name_the_parameter() {
    let check = |parameters: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(parameters).unwrap();
        let error = processes(&parameters, common(7, 2)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "width = 6",
        "invalid value `6` for `width`: must be at least 7, a column for each process",
    );
    check(
        "height = 2",
        "invalid value `2` for `height`: must be at least 3, floor, ceiling and fluid between",
    );
    for (parameters, found) in [
        (
            "relaxation_time = 0.5",
            "invalid value `0.5` for `relaxation_time`",
        ),
        (
            "relaxation_time = nan",
            "invalid value `NaN` for `relaxation_time`",
        ),
        ("reynolds = 1e300", "invalid value `1e300` for `reynolds`"),
        ("reynolds = 1e-307", "invalid value `1e-307` for `reynolds`"),
    ] {
        let expected =
            "one that gives a finite relaxation time above 0.5, where the method is stable";
        check(parameters, &format!("{found}: must be {expected}"));
    }
    check(
        "reynolds = 0",
        "invalid value `0.0` for `reynolds`: must be a number above 0",
    );
    check(
        "reynolds = nan",
        "invalid value `NaN` for `reynolds`: must be a number above 0",
    );
    for velocity in ["0.2", "0.0", "-0.1", "NaN", "inf"] {
        check(
            &format!("velocity = {}", velocity.to_lowercase()),
            &format!(
                "invalid value `{velocity}` for `velocity`: \
                 must be a number above 0 and up to 0.17, 0.3 times the speed of sound"
            ),
        );
    }
    check(
        "instructions_per_cell = -1",
        "invalid value `-1.0` for `instructions_per_cell`: must be a number from 0 to 2^63",
    );
    assert!(toml::from_str::<Parameters>("case = 'couette'").is_err());
    assert!(toml::from_str::<Parameters>("lid = 0.1").is_err());
}

#[test]
fn lattices_beyond_memory_are_refused() {
    let parameters = Parameters {
        width: u32::MAX,
        height: u32::MAX,
        ..Parameters::default()
    };
    let error = processes(&parameters, common(1, 1)).unwrap_err();
    let (width, height) = (parameters.width, parameters.height);
    assert_eq!(error, Error::TooManyCells { width, height });
}

#[test]
fn a_flow_requires_a_number_of_supersteps() {
    let common = Common {
        supersteps: None,
        ..common(2, 1)
    };
    let error = processes(&Parameters::default(), common).unwrap_err();
    assert_eq!(error, Error::Endless);
}
