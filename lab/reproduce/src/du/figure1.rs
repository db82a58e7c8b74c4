//! Figure 1: the cost of moving linpack's state, by its size.

use bsp::SetId;
use bsp::units::Bytes;
use experiments::batch::Batch;
use experiments::{Embedded, Failure, PreparedExperiment, Registry, Scenario, load_embedded};
use record::Event;

use crate::du::Part;
use crate::du::check::Check;
use crate::du::line::Line;
use crate::du::printed::{ENDS, OVERLAP, Printed, RATE, STARTUP};
use crate::du::report::{Point, Report};

/// Moves states of all sizes, and compares.
pub(super) fn compare(batch: Batch<'_>) -> Result<Report, Failure> {
    compare_on(&EXPERIMENT, batch)
}

fn compare_on(experiment: &Embedded, batch: Batch<'_>) -> Result<Report, Failure> {
    let moves = batch.run(&SIZES, |size| Move::measure(experiment, *size))?;
    let bandwidth = 1.0 / moves[0].rate;
    let points: Vec<Point> = moves.into_iter().map(|moved| moved.point).collect();
    let ends = points
        .iter()
        .map(|point| (point.megabytes(), point.seconds));
    let ends: Vec<(f64, f64)> = ends.collect();
    let line = Line::through(&ends)
        .ok_or_else(|| Failure::run("all moves take the same time, whatever their size"))?;
    Ok(Report {
        part: Part::Figure1.short_name(),
        bandwidth,
        checks: checks(&points, line, bandwidth),
        points,
        line,
    })
}

/// What is known of one move.
struct Move {
    point: Point,
    /// Seconds per byte between the two Sets, as the agents know it.
    rate: f64,
}

impl Move {
    /// Runs `experiment` with a state of `size` bytes, with the move and without it.
    fn measure(experiment: &Embedded, size: u64) -> Result<Self, Failure> {
        let registry = Registry::shipped();
        let memory = format!("application.synthetic.memory={size}");
        let loaded = load_embedded(experiment, &[memory], &registry)?;
        let prepared = PreparedExperiment::new(loaded)?;
        let (mut moves, mut rate) = (Vec::new(), None);
        let mut observe = |event: &Event| match event {
            Event::Moved(moved) => moves.push(*moved),
            Event::Evaluated(evaluated) if evaluated.set == SOURCE => {
                rate = evaluated.transfer_rates.get(TARGET.index()).copied();
            }
            Event::Run(_)
            | Event::Superstep(_)
            | Event::Observed(_)
            | Event::Traced(_)
            | Event::Evaluated(_)
            | Event::Call(_)
            | Event::Join(_)
            | Event::Checkpoint(_)
            | Event::Interaction(_)
            | Event::End(_) => {}
        };
        // The call is held in both runs, so that they differ in the move alone.
        let with = prepared.run(Scenario::Iii, &registry, &mut observe)?;
        let without = prepared.run(Scenario::Ii, &registry, &mut |_| {})?;
        let predicted = with.calls.iter().flat_map(|call| &call.migrations).next();
        let predicted = predicted.map(|migration| migration.cost);
        let ([moved], Some(predicted), Some(rate)) = (&moves[..], predicted, rate) else {
            let number = moves.len();
            let problem = format!("{}: {number} processes moved instead of 1", experiment.name);
            return Err(Failure::run(problem));
        };
        let seconds = moved.took.get();
        let paper = ENDS.iter().find(|(bytes, _)| *bytes == size);
        let paper = paper.map(|(_, printed)| printed.value);
        Ok(Self {
            point: Point {
                state_bytes: size,
                image_bytes: moved.bytes.0,
                seconds,
                later_seconds: with.end.seconds.get() - without.end.seconds.get(),
                predicted_seconds: predicted.get(),
                predicted_error: seconds / predicted.get() - 1.0,
                paper_seconds: paper,
                paper_error: paper.map(|paper| seconds / paper - 1.0),
            },
            rate,
        })
    }
}

fn checks(points: &[Point], line: Line, bandwidth: f64) -> Vec<Check> {
    let [low, high] = ENDS;
    let at = |size: u64| {
        let found = points.iter().find(|point| point.state_bytes == size);
        found.map_or(f64::NAN, |point| point.seconds)
    };
    let end = |id, (size, printed): (u64, Printed)| {
        let claim = format!("C of {} MB", Bytes(size).as_f64() / 1e6);
        Check::printed(id, claim, "s", printed, at(size))
    };
    let is_within = |point: &&Point| {
        let [least, most] =
            [0, 1].map(|bound| STARTUP.range()[bound] + RATE.range()[bound] * point.megabytes());
        (least..=most).contains(&point.seconds)
    };
    let number = |count: usize| u32::try_from(count).map_or(f64::NAN, f64::from);
    let within = number(points.iter().filter(is_within).count());
    let all = number(points.len());
    let difference = |point: &Point| (point.later_seconds / point.seconds - 1.0).abs();
    let difference = points.iter().map(difference).fold(0.0, f64::max);
    vec![
        end("low-end", low),
        end("high-end", high),
        Check::within(
            "formula",
            format!("of {all} sizes, those with C = α0 + μ f as printed"),
            "",
            [all, all],
            within,
        ),
        Check::within(
            "linear",
            "R² of the line",
            "",
            [0.9999, 1.0],
            line.r_squared,
        ),
        Check::printed(
            "alpha0",
            "α0, intercept of the line",
            "s",
            STARTUP,
            line.intercept,
        ),
        Check::printed("mu", "μ, slope of the line", "s/MB", RATE, line.slope),
        Check::printed(
            "alpha1",
            "α1 = μ b",
            "",
            OVERLAP,
            line.slope * bandwidth / 1e6,
        ),
        Check::within(
            "definition",
            "greatest difference of C by 3-2, relative",
            "",
            [0.0, 1e-6],
            difference,
        ),
    ]
}

/// Bytes of the states: the ends of the figure, and steps between them.
const SIZES: [u64; 13] = [
    ENDS[0].0,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    300_000_000,
    400_000_000,
    500_000_000,
    ENDS[1].0,
];

/// The Sets of the experiment.
const SOURCE: SetId = SetId(0);
const TARGET: SetId = SetId(1);

static EXPERIMENT: Embedded = Embedded {
    name: "conf/du2007/figure1.toml",
    text: include_str!("../../../../conf/du2007/figure1.toml"),
    platform: include_str!("../../../../conf/platforms/du2007.toml"),
};

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::batch::Silent;

    fn results(platform: &'static str, text: &'static str) -> Report {
        let experiment = Embedded {
            platform,
            text,
            ..EXPERIMENT
        };
        let batch = Batch {
            jobs: None,
            progress: &Silent,
        };
        compare_on(&experiment, batch).unwrap()
    }

    fn missed(report: &Report) -> Vec<&str> {
        let missed = report.checks.iter().filter(|check| !check.holds);
        missed.map(|check| check.id).collect()
    }

    #[test]
    fn all_claims_but_the_high_end_hold() {
        let report = results(EXPERIMENT.platform, EXPERIMENT.text);
        assert_eq!(missed(&report), ["high-end"]);
        let [first, .., last] = &report.points[..] else {
            panic!("{report:?}")
        };
        assert!((first.seconds - 0.010_79).abs() < 5e-6, "{first:?}");
        assert!((last.seconds - 15.898_7).abs() < 5e-5, "{last:?}");
        assert!((last.predicted_seconds - 15.880_9).abs() < 5e-5, "{last:?}");
        // The agent of the process goes with its state.
        for point in &report.points {
            let agent = point.image_bytes - point.state_bytes;
            assert!((1..1000).contains(&agent), "{point:?}");
        }
    }

    #[test]
    fn without_the_factor_the_network_takes_less_than_half_of_it() {
        let text = EXPERIMENT.text.replace("transfer_factor = 2.23", "");
        assert_ne!(text, EXPERIMENT.text);
        let report = results(EXPERIMENT.platform, text.leak());
        assert_eq!(missed(&report), ["high-end", "formula", "mu", "alpha1"]);
        assert!(
            (report.line.slope - 1.0 / 89.1).abs() < 1e-9,
            "{:?}",
            report.line
        );
    }

    #[test]
    fn a_slower_link_takes_longer_by_the_ratio_of_bandwidths() {
        let platform = EXPERIMENT
            .platform
            .replace("\"89.1 MBps\"", "\"11.8 MBps\"");
        assert_ne!(platform, EXPERIMENT.platform);
        let report = results(platform.leak(), EXPERIMENT.text);
        assert!((report.bandwidth - 11.8e6).abs() < 1.0, "{report:?}");
        assert!(
            (report.line.slope - 2.23 / 11.8).abs() < 1e-6,
            "{:?}",
            report.line
        );
        // α1 is that of the program, whatever the link.
        assert!(!missed(&report).contains(&"alpha1"), "{report:?}");
    }

    #[test]
    fn an_experiment_that_moves_nothing_is_refused() {
        let text = EXPERIMENT
            .text
            .replace("to = \"target-1\"", "to = \"source-1\"");
        assert_ne!(text, EXPERIMENT.text);
        let experiment = Embedded {
            text: text.leak(),
            ..EXPERIMENT
        };
        let refused = Move::measure(&experiment, 1_000_000);
        let refused = refused.map(|_| ()).unwrap_err().to_string();
        assert!(
            refused.contains("0 processes moved instead of 1"),
            "{refused}"
        );
    }
}
