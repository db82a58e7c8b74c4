//! The cost of migration and the choice of hosts in Du, Sun and Wu 2007, "Dynamic scheduling with process migration", and
//! ours beside it.
//!
//! These parts are simulated, with the parameters that the paper prints.

mod show;
pub(crate) mod table1;

use bsp::SetId;
use bsp::numbers::{length, real};
use bsp::units::Bytes;
use experiments::batch::Batch;
use experiments::{
    CsvTable, Embedded, Failure, PreparedExperiment, Provenance, Published, Registry, Scenario,
    load_embedded,
};
use record::Event;
use serde::Serialize;

pub(crate) use crate::du::show::{document, page};

/// Moves states of all sizes, and compares their costs with those of the paper's figure 1.
///
/// # Errors
///
/// If an experiment is at fault, which a test excludes for the one in the binary.
pub(crate) fn reproduce(batch: Batch<'_>) -> Result<Report, Failure> {
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
        part: "figure1",
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
            _ => {}
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
    let within = real(length(points.iter().filter(is_within).count()));
    let all = real(length(points.len()));
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
    text: include_str!("../conf/du2007/figure1.toml"),
    platform: include_str!("../conf/platforms/du2007.toml"),
};

/// Simulated moves beside the paper's.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// `figure1`.
    #[cfg_attr(feature = "schemas", schemars(extend("const" = "figure1")))]
    part: &'static str,
    /// The bandwidth between the hosts, as the agents know it, in bytes per second.
    bandwidth: f64,
    /// By size of the state.
    points: Vec<Point>,
    /// The line through the points: seconds by megabytes of 10⁶ bytes.
    line: Line,
    /// Claims and whether they hold.
    checks: Vec<Check>,
}

/// The move of a process whose state has a given size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Point {
    /// Size of the state that the program declares.
    state_bytes: u64,
    /// Size of the image that was sent: the state and that of the process's agent.
    image_bytes: u64,
    /// How long the move took.
    seconds: f64,
    /// By how much the run ends later than the same run without the move: `C` by definition 3-2.
    later_seconds: f64,
    /// The scheduler's prediction, `Mem`, from the paper's `α0` and `μ`.
    predicted_seconds: f64,
    /// `seconds / predicted_seconds - 1`.
    predicted_error: f64,
    /// The published cost.
    paper_seconds: Option<f64>,
    /// `seconds / paper_seconds - 1`.
    paper_error: Option<f64>,
}

impl Point {
    /// Megabytes of the state.
    fn megabytes(&self) -> f64 {
        Bytes(self.state_bytes).as_f64() / 1e6
    }
}

impl Report {
    /// One row per size.
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for point in &self.points {
            table.push(point)?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-du2007/1";
}

/// A claim of the paper, or a property of the reproduction, with the range in which our number must lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Check {
    /// Its id.
    id: &'static str,
    /// The claim, in words.
    claim: String,
    /// Unit of the numbers; empty: none.
    unit: &'static str,
    /// The published value.
    paper: Option<f64>,
    /// Our value.
    ours: f64,
    /// `ours / paper - 1`.
    error: Option<f64>,
    /// The least value for which the claim holds.
    least: f64,
    /// The greatest value for which the claim holds.
    most: f64,
    /// Whether it holds.
    holds: bool,
}

impl Check {
    /// Whether `ours` is `paper` to the precision to which it is printed.
    fn printed(
        id: &'static str,
        claim: impl Into<String>,
        unit: &'static str,
        paper: Printed,
        ours: f64,
    ) -> Self {
        Self {
            paper: Some(paper.value),
            error: Some(ours / paper.value - 1.0),
            ..Self::within(id, claim, unit, paper.range(), ours)
        }
    }

    /// Whether `ours` is in a range.
    fn within(
        id: &'static str,
        claim: impl Into<String>,
        unit: &'static str,
        [least, most]: [f64; 2],
        ours: f64,
    ) -> Self {
        Self {
            id,
            claim: claim.into(),
            unit,
            paper: None,
            ours,
            error: None,
            least,
            most,
            holds: (least..=most).contains(&ours),
        }
    }
}

/// `y = intercept + slope · x`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Line {
    /// α0, in seconds.
    intercept: f64,
    /// μ, in seconds per megabyte.
    slope: f64,
    /// The share of the variance of `y` that the line explains.
    r_squared: f64,
}

impl Line {
    /// The line with the least sum of squared distances in `y`; none for fewer than two different `x` or `y`.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = f64::from(u32::try_from(points.len()).ok()?);
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|(x, _)| *x), mean(|(_, y)| *y));
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            let centred = points.iter().map(|(x, y)| of(x - x_mean, y - y_mean));
            centred.sum::<f64>()
        };
        let (xx, yy) = (sum(&|x, _| x * x), sum(&|_, y| y * y));
        if !(0.0 < xx && 0.0 < yy) {
            return None;
        }
        let slope = sum(&|x, y| x * y) / xx;
        let residual = sum(&|x, y| (y - slope * x) * (y - slope * x));
        Some(Self {
            intercept: y_mean - slope * x_mean,
            slope,
            r_squared: 1.0 - residual / yy,
        })
    }
}

/// A printed number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Printed {
    value: f64,
    /// Half a unit of the last printed digit.
    precision: f64,
}

impl Printed {
    /// The lowest and the highest number that are printed like this.
    const fn range(self) -> [f64; 2] {
        [self.value - self.precision, self.value + self.precision]
    }
}

/// `α0`, in seconds.
const STARTUP: Printed = Printed {
    value: 0.000_4,
    precision: 0.000_05,
};

/// `μ`, in seconds per megabyte of 10⁶ bytes.
const RATE: Printed = Printed {
    value: 0.025,
    precision: 0.000_5,
};

/// `α1 = μ · b`.
const OVERLAP: Printed = Printed {
    value: 2.23,
    precision: 0.005,
};

/// The ends of the figure: bytes of the state, and the cost in seconds.
const ENDS: [(u64, Printed); 2] = [
    (
        415_000,
        Printed {
            value: 0.01,
            precision: 0.005,
        },
    ),
    (
        635_220_000,
        Printed {
            value: 15.46,
            precision: 0.005,
        },
    ),
];

#[cfg(test)]
mod tests {
    use experiments::batch::Silent;

    use super::*;

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

    #[test]
    fn a_number_agrees_if_it_is_printed_alike() {
        let paper = Printed {
            value: 15.46,
            precision: 0.005,
        };
        let check = |ours| Check::printed("end", "the end", "s", paper, ours);
        assert!(check(15.4649).holds && check(15.4551).holds);
        let missed = check(15.898);
        assert!(!missed.holds, "{missed:?}");
        assert!(
            (missed.error.unwrap() - 0.028_331).abs() < 1e-6,
            "{missed:?}"
        );
        assert!(!check(f64::NAN).holds);
    }

    #[test]
    fn points_of_a_line_give_that_line() {
        let points: Vec<_> = [1.0, 3.0, 4.0, 100.0].map(|x| (x, 0.5 + 0.25 * x)).to_vec();
        let line = Line::through(&points).unwrap();
        assert!((line.intercept - 0.5).abs() < 1e-12, "{line:?}");
        assert!((line.slope - 0.25).abs() < 1e-12, "{line:?}");
        assert!((line.r_squared - 1.0).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn what_a_line_leaves_over_lowers_its_share() {
        // By hand: slope 0.5, intercept 2/3, residuals 1/6, -1/3, 1/6 of a variance of 2/3.
        let line = Line::through(&[(0.0, 5.0 / 6.0), (1.0, 5.0 / 6.0), (2.0, 11.0 / 6.0)]);
        let line = line.unwrap();
        assert!((line.slope - 0.5).abs() < 1e-12, "{line:?}");
        assert!((line.intercept - 2.0 / 3.0).abs() < 1e-12, "{line:?}");
        assert!((line.r_squared - 0.75).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn one_point_and_equal_points_give_none() {
        for points in [&[][..], &[(1.0, 2.0)], &[(1.0, 2.0), (1.0, 3.0)]] {
            assert_eq!(Line::through(points), None, "{points:?}");
        }
    }
}
