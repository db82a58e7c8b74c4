//! Hosts that join a task farm in Santana and Souza, "Provendo maior escalabilidade em HNOW com inclusão dinâmica de
//! workers", and ours beside it.
//!
//! The paper prints its speedups as curves without numbers. What its text states of them are the checks.

mod checks;
mod show;

use bsp::numbers::length;
use bsp::{Note, farm};
use experiments::batch::Batch;
use experiments::{
    CsvTable, Embedded, Failure, PreparedExperiment, Provenance, Published, Registry, Scenario,
    load_embedded,
};
use record::Event;
use serde::Serialize;

use crate::santana::checks::{Check, checks};

pub use crate::santana::show::{chart, document, page};

/// The least margin by which a statement of the paper holds with these constants, as a part of its limit, and its id; below
/// zero: it does not hold.
///
/// # Errors
///
/// As [`reproduce`].
pub fn margin(constants: &Constants, batch: Batch<'_>) -> Result<(f64, &'static str), Failure> {
    let paper = trials(Rules::Paper, constants, batch)?;
    let stated = checks::of_paper(&paper);
    let margins = stated
        .iter()
        .filter_map(|check| Some((check.margin()?, check.id)));
    let least = margins.min_by(|one, other| one.0.total_cmp(&other.0));
    Ok(least.unwrap_or((0.0, "")))
}

/// Multiplies matrices of all orders on all clusters, with the rules of the paper and with ours, and compares.
///
/// # Errors
///
/// If a run fails, which a test excludes for the experiments that are in the binary.
pub fn reproduce(constants: &Constants, batch: Batch<'_>) -> Result<Report, Failure> {
    let paper = trials(Rules::Paper, constants, batch)?;
    let ours = trials(Rules::Ours, constants, batch)?;
    let tuned = tuned(constants, batch)?;
    Ok(Report::new(constants, &paper, &ours, &tuned))
}

/// The speedups of six machines with `block-cyclic` dealing, of the best of some blocks and with both thresholds at 1, by size.
fn tuned(constants: &Constants, batch: Batch<'_>) -> Result<Vec<(u32, f64)>, Failure> {
    let registry = Registry::shipped();
    let items: Vec<(u32, u32)> = SIZES
        .iter()
        .flat_map(|size| BLOCKS.map(|block| (*size, block)))
        .collect();
    let six = &CURVES[3];
    let speedups = batch.run(&items, |(size, block)| {
        let constants = Constants {
            block: *block,
            threshold: 0.0,
            ..*constants
        };
        let trial = Trial::run(&constants, Rules::Paper, six, *size, &registry)?;
        Ok(trial.speedup)
    })?;
    let best = |speedups: &[f64]| speedups.iter().copied().fold(0.0, f64::max);
    let best = speedups.chunks(BLOCKS.len()).map(best);
    Ok(SIZES.into_iter().zip(best).collect())
}

/// Blocks of which the best is taken.
const BLOCKS: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// The runs of all clusters, by curve and size.
fn trials(
    rules: Rules,
    constants: &Constants,
    batch: Batch<'_>,
) -> Result<Vec<Vec<Trial>>, Failure> {
    let registry = Registry::shipped();
    let items: Vec<(&Curve, u32)> = CURVES
        .iter()
        .flat_map(|curve| SIZES.map(|size| (curve, size)))
        .collect();
    let trials = batch.run(&items, |(curve, size)| {
        Trial::run(constants, rules, curve, *size, &registry)
    })?;
    Ok(trials.chunks(SIZES.len()).map(<[Trial]>::to_vec).collect())
}

/// Speedups with the rules of the paper and with ours, and the checks.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// What the paper does not print: our calibration.
    calibration: Constants,
    /// Orders of the matrices.
    sizes: [u32; 8],
    /// Speedups, by cluster.
    curves: Vec<CurveReport>,
    /// Statements of the paper and of ours, and whether they hold.
    checks: Vec<Check>,
}

/// A cluster.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct CurveReport {
    /// Machines at the start, the master included, and those that join.
    machines: &'static str,
    /// The sum of the normalised powers of all workers: the speedup cannot be higher.
    power: f64,
    /// With `block-cyclic`, by size; hosts join while all wait.
    block_cyclic: Vec<f64>,
    /// With `weighted`, by size; hosts are prepared beside the computation, if that pays.
    weighted: Vec<f64>,
}

/// A row of the CSV table.
#[derive(Serialize)]
struct CsvRow<'a> {
    machines: &'a str,
    size: u32,
    rules: &'a str,
    speedup: f64,
}

impl Report {
    /// The report on runs with the rules of the paper and with ours, by curve and size, and on six machines with the best
    /// block, by size.
    fn new(
        constants: &Constants,
        paper: &[Vec<Trial>],
        ours: &[Vec<Trial>],
        tuned: &[(u32, f64)],
    ) -> Self {
        let speedups = |row: &[Trial]| row.iter().map(|trial| trial.speedup).collect();
        let curve = |((curve, paper), ours): ((&Curve, &Vec<Trial>), &Vec<Trial>)| CurveReport {
            machines: curve.name,
            power: curve.workers().map(power).sum(),
            block_cyclic: speedups(paper),
            weighted: speedups(ours),
        };
        Self {
            calibration: *constants,
            sizes: SIZES,
            curves: CURVES.iter().zip(paper).zip(ours).map(curve).collect(),
            checks: checks(paper, ours, tuned),
        }
    }

    /// One row for each cluster, size and set of rules.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut csv = CsvTable::new(Self::SCHEMA, provenance);
        for curve in &self.curves {
            for (rules, speedups) in [
                ("block-cyclic", &curve.block_cyclic),
                ("weighted", &curve.weighted),
            ] {
                for (size, speedup) in self.sizes.iter().zip(speedups) {
                    csv.push(&CsvRow {
                        machines: curve.machines,
                        size: *size,
                        rules,
                        speedup: *speedup,
                    })?;
                }
            }
        }
        csv.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-santana/1";
}

/// Whose rules deal and admit hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// `block-cyclic`; hosts join while all wait.
    Paper,
    /// `weighted`; hosts are prepared beside the computation, if that pays.
    Ours,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
struct Trial {
    size: u32,
    /// Seconds of worker02 alone by the seconds of the run.
    speedup: f64,
    /// By how many points the share of a worker differs from that of its power at most, once blocks have settled; `None`:
    /// they do not.
    imbalance: Option<f64>,
    /// Seconds that processes waited for each host that joined.
    waits: Vec<(String, f64)>,
}

impl Trial {
    /// Runs a size on the cluster of `curve`.
    fn run(
        constants: &Constants,
        rules: Rules,
        curve: &Curve,
        size: u32,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let embedded = match rules {
            Rules::Paper => &PAPER,
            Rules::Ours => &OURS,
        };
        let assignments = assignments(constants, rules, curve, size);
        let prepared = PreparedExperiment::new(load_embedded(embedded, &assignments, registry)?)?;
        let (mut dealt, mut deviations, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        let mut observe = |event: &Event| match event {
            Event::Superstep(superstep) => {
                dealt.extend(superstep.notes.get(farm::TASKS_DEALT).copied());
                deviations.extend(superstep.notes.get(farm::SHARE_DEVIATION).copied());
            }
            Event::Join(join) if join.joined => {
                let name = prepared.platform.host(join.host).name.clone();
                joined.push((name, join.creation.get()));
            }
            _ => {}
        };
        let finished = prepared.run(Scenario::I, registry, &mut observe)?;
        Ok(Self {
            size,
            speedup: serial(size) / finished.end.seconds.get(),
            imbalance: imbalance(&dealt, &deviations, curve),
            waits: joined,
        })
    }
}

/// What the run changes of its experiment.
fn assignments(constants: &Constants, rules: Rules, curve: &Curve, size: u32) -> Vec<String> {
    let row = 8 * u64::from(size);
    let farm = |key: &str, value: u64| format!("application.task-farm.{key}={value}");
    let mut all = vec![
        format!("application.processes={}", 1 + curve.workers().count()),
        farm("tasks", size.into()),
        farm("instructions", 2 * u64::from(size).pow(2)),
        farm("shared", row * u64::from(size)),
        farm("task", row),
        farm("outcome", row),
    ];
    let names: Vec<&str> = curve
        .joining
        .iter()
        .map(|worker| WORKERS[*worker].0)
        .collect();
    all.push(format!("elasticity.pool={names:?}"));
    if !names.is_empty() {
        let creation: Vec<f64> = curve
            .joining
            .iter()
            .map(|worker| constants.creation[worker - 2])
            .collect();
        all.push(format!("elasticity.take={}", names.len()));
        all.push(format!("elasticity.creation={creation:?}"));
    }
    all.push(format!("elasticity.part={}", constants.part));
    if rules == Rules::Paper {
        let (least, most) = (1.0 - constants.threshold, 1.0 + constants.threshold);
        all.push(farm("dealing.block", constants.block.into()));
        all.push(format!(
            "application.task-farm.dealing.threshold_min={least}"
        ));
        all.push(format!(
            "application.task-farm.dealing.threshold_max={most}"
        ));
    }
    all
}

/// By how many points the shares of workers differ from those of their powers at most, in the last interaction but one;
/// `None`: a worker is in its first one there, or has none. Hosts are as fast in every interaction, so the rates of their workers
/// are in proportion to their powers.
fn imbalance(dealt: &[Note], deviations: &[Note], curve: &Curve) -> Option<f64> {
    let ([before @ .., _, _], [.., settled, _]) = (dealt, deviations) else {
        return None;
    };
    let all = length(curve.workers().count());
    let is_known = before.iter().any(|dealt| dealt.count == all);
    is_known.then_some(settled.max)
}

static PAPER: Embedded = Embedded {
    name: "conf/santana/hnow.toml",
    text: include_str!("../conf/santana/hnow.toml"),
    platform: include_str!("../conf/platforms/hnow.toml"),
};

static OURS: Embedded = Embedded {
    name: "conf/santana/weighted.toml",
    text: include_str!("../conf/santana/weighted.toml"),
    platform: include_str!("../conf/platforms/hnow.toml"),
};

/// Orders of the matrices. The paper names 300, 600 and 2000; the others are ours.
const SIZES: [u32; 8] = [300, 600, 900, 1000, 1200, 1500, 1800, 2000];

/// The workers in the order in which the paper adds them, with the seconds that each takes for a product of order 600
/// (Table 2; those of worker03 and worker05 are derived from Table 3, where they are lost).
const WORKERS: [(&str, f64); 5] = [
    ("worker01", 29.448),
    ("worker02", 28.964),
    ("worker03", 29.450),
    ("worker05", 83.812),
    ("worker04", 111.390),
];

/// Machines at the start, the master included, and those that join.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Curve {
    name: &'static str,
    start: usize,
    /// Which of the workers join.
    joining: &'static [usize],
}

/// The curves of figures 4 to 7.
const CURVES: [Curve; 9] = [
    Curve::fixed("3", 3),
    Curve::fixed("4", 4),
    Curve::fixed("5", 5),
    Curve::fixed("6", 6),
    Curve::joined("3 + 1", 3, &[2]),
    Curve::joined("3 + 2", 3, &[2, 3]),
    Curve::joined("3 + 3", 3, &[2, 3, 4]),
    Curve::joined("4 + 1", 4, &[3]),
    Curve::joined("5 + 1", 5, &[4]),
];

/// Constants that the paper does not print: our calibration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Constants {
    /// Rows of the first block of each worker.
    pub block: u32,
    /// How far the thresholds are from 1.
    pub threshold: f64,
    /// Part of the rows after which hosts join.
    pub part: f64,
    /// Seconds that creating a process takes on worker03, worker05 and worker04.
    pub creation: [f64; 3],
}

impl Default for Constants {
    /// Those in `conf/santana/hnow.toml`.
    fn default() -> Self {
        Self {
            block: 8,
            threshold: 0.01,
            part: 0.1,
            creation: [1.8, 20.0, 48.0],
        }
    }
}

impl Curve {
    const fn fixed(name: &'static str, start: usize) -> Self {
        Self {
            name,
            start,
            joining: &[],
        }
    }

    const fn joined(name: &'static str, start: usize, joining: &'static [usize]) -> Self {
        Self {
            name,
            start,
            joining,
        }
    }

    /// The workers that take part, in rank order.
    fn workers(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.start - 1).chain(self.joining.iter().copied())
    }
}

/// The power of a worker as a part of that of worker02 (Table 3).
fn power(worker: usize) -> f64 {
    WORKERS[1].1 / WORKERS[worker].1
}

/// Seconds that worker02 takes alone for a product of order `size`.
fn serial(size: u32) -> f64 {
    let ratio = f64::from(size) / 600.0;
    WORKERS[1].1 * ratio.powi(3)
}

#[cfg(test)]
mod tests {
    use simulator::Platform;

    use super::*;

    /// Table 3 of the paper, of which the powers of worker03 and worker05 are printed and their times are not.
    #[test]
    fn powers_are_those_of_table_3_and_give_the_lost_times() {
        let printed = [0.983_564, 1.0, 0.983_497, 0.345_583, 0.260_023];
        for (worker, printed) in printed.into_iter().enumerate() {
            assert!(
                (power(worker) - printed).abs() < 6e-7,
                "{}",
                WORKERS[worker].0
            );
            let derived = 28.964 / printed;
            assert!((derived - WORKERS[worker].1).abs() < 6e-4, "{derived}");
        }
        let sum: f64 = (0..5).map(power).sum();
        assert!((sum - 3.572_667).abs() < 2e-6, "{sum}");
    }

    #[test]
    fn the_platform_has_these_speeds() {
        let text = include_str!("../conf/platforms/hnow.toml");
        let platform = Platform::from_toml(text).unwrap();
        for (name, seconds) in WORKERS {
            let host = platform.host_by_name(name).unwrap();
            let expected = 2.0 * 600.0_f64.powi(3) / seconds;
            let error = (platform.host(host).speed.get() / expected - 1.0).abs();
            assert!(error < 1e-6, "{name}: {error}");
        }
    }
}
