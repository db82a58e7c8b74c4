//! Hosts that join a task farm in Santana and Souza, "Provendo maior escalabilidade em HNOW com inclusão dinâmica de
//! workers", and ours beside it.
//!
//! The paper prints its speedups as curves without numbers. What its text states of them are the checks.

mod checks;
mod cluster;
mod html;
mod report;
mod text;
mod trial;

use experiments::batch::Batch;
use experiments::{Failure, Registry};

use cluster::{CURVES, Curve, SIZES};
use trial::{Rules, Trial};

pub use cluster::Constants;
pub use html::{chart, page};
pub use report::Report;
pub use text::text;

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
