//! `migbsp advise`: where a recorded run lost time, and which keys would shorten it.
//!
//! All of it is computed from the record: rules assess what calls and moves took and what imbalance was left.

mod report;
mod rescheduled;

use std::path::{Path, PathBuf};
use std::{env, fs};

use bsp::units::Instant;
use experiments::batch::Batch;
use experiments::record::{Manifest, manifest};
use experiments::{Failure, PreparedExperiment, Registry, Scenario, platform_digest, recorded};
use serde_json::{Map, Value};
use settings::{folder_of, tree_of};

use crate::advise::report::Measured;
use crate::compare::statistics::mean;
use crate::compare::{Pair, Results, Verdict, on_each};
use crate::run::{RunModel, Scope};

pub use report::{Recommendation, Report};
pub use rescheduled::{Advice, AdvisedReport, Evidence, Settings, advice};

/// The advice about the record in `folder`.
///
/// # Errors
///
/// If there is no complete record, or it has nothing to assess.
pub fn advise(folder: &Path) -> Result<Report, Failure> {
    let model = RunModel::read(folder, None, Scope::default())?;
    let fault = |problem: &str| Failure::input(format!("{}: {problem}", folder.display()));
    let lack = model.shortfall();
    if lack.is_some() || !model.end.extent.has_end {
        let lack = lack.unwrap_or_else(|| "The record has no end.".to_owned());
        return Err(fault(&format!(
            "{lack}\n  help: advice needs the makespan; let a run with `--out` end"
        )));
    }
    if model.calls.is_empty() {
        return Err(fault(
            "has no calls, so there is nothing to assess\n  help: run the experiment with a policy, as `--policy \
             adaptive`, that holds calls before it ends",
        ));
    }
    Ok(rescheduled::advise(&model))
}

/// Simulates the experiment of the record in `folder` with each of the best recommendations of `report`, with the same
/// scenario, and notes the results. An experiment that draws is simulated with the seed of the record and the next ones,
/// with its own configuration, too. What is not better is no recommendation any more. `file` is the file of the
/// experiment, if it is named.
///
/// # Errors
///
/// If the record is of a run on real hosts, its platform is not found, or a run fails.
pub fn attempt(
    report: &mut Report,
    (folder, file): (&Path, Option<&Path>),
    registry: &Registry,
    batch: Batch<'_>,
) -> Result<(), Failure> {
    let manifest = manifest(folder)?;
    if manifest.is_measured() {
        return Err(Failure::input(format!(
            "{}: was recorded on real hosts, and `--try` needs the record of a simulation\n  help: run the experiment \
             again with the keys of the advice",
            folder.display()
        )));
    }
    let scenario = Scenario::named(&manifest.scenario).ok_or_else(|| {
        Failure::input(format!(
            "{}: unknown scenario `{}`",
            folder.display(),
            manifest.scenario
        ))
    })?;
    let few = report.recommendations.len().min(TRIED);
    if few == 0 {
        return Ok(());
    }
    let paths = experiment_folder(&manifest, folder, file)?;
    let own = recorded(&tree_of(&manifest.configuration), paths.clone(), registry)?;
    let first = own.experiment.run.seed;
    let draws = own.experiment.draws(registry)?;
    let seeds: Vec<u64> = (0..if draws { SEEDS } else { 1 })
        .map(|next| first.wrapping_add(next))
        .collect();
    let tried = &report.recommendations[..few];
    let trials = std::iter::once(None).chain(tried.iter().map(Some));
    let cases: Vec<(Option<&Recommendation>, u64)> = trials
        .flat_map(|advised| seeds.iter().map(move |seed| (advised, *seed)))
        .collect();
    let recorded_seconds = report.seconds;
    let seconds = batch.run(&cases, |(advised, seed)| {
        if advised.is_none() && *seed == first {
            return Ok(recorded_seconds);
        }
        let mut configuration = match advised {
            Some(advised) => followed(&manifest.configuration, advised),
            None => manifest.configuration.clone(),
        };
        set(&mut configuration, "run.seed", Value::from(*seed));
        let run = || -> Result<f64, Failure> {
            let loaded = recorded(&tree_of(&configuration), paths.clone(), registry)?;
            let finished = PreparedExperiment::new(loaded)?.run(scenario, registry, &mut |_| {})?;
            Ok((finished.end.seconds - Instant::START).get())
        };
        let change = advised.map_or("the configuration of the record", |one| &one.set);
        run().map_err(|failure| failure.of(format!("--try, {change}, seed {seed}")))
    })?;
    let by_trial: Vec<&[f64]> = seconds.chunks(seeds.len()).collect();
    let measured = measured(draws, &seeds, &by_trial);
    for (advised, measured) in report.recommendations.iter_mut().zip(measured) {
        advised.measured = Some(measured);
    }
    let is_kept = |one: &Recommendation| {
        let verdict = one.measured.map(|measured| measured.verdict);
        verdict.is_none_or(|verdict| verdict == Verdict::Better)
    };
    let (kept, rejected) = std::mem::take(&mut report.recommendations)
        .into_iter()
        .partition(is_kept);
    (report.recommendations, report.rejected) = (kept, rejected);
    Ok(())
}

/// What each trial after the first one took, compared with that, by seed.
fn measured(draws: bool, seeds: &[u64], trials: &[&[f64]]) -> Vec<Measured> {
    let results = Results::of_makespans(draws, seeds, trials);
    let pairs = on_each(&results);
    let of = |(pair, trial): (Pair, &&[f64])| Measured {
        seconds: mean(trial),
        gain: pair.ratio.map(|ratio| 1.0 - ratio),
        gain_low: pair.ratio_high.map(|ratio| 1.0 - ratio),
        gain_high: pair.ratio_low.map(|ratio| 1.0 - ratio),
        seeds: seeds.len(),
        verdict: pair.verdict,
    };
    pairs.into_iter().zip(&trials[1..]).map(of).collect()
}

/// `configuration` with the change of `advised`.
fn followed(configuration: &Value, advised: &Recommendation) -> Value {
    let mut changed = configuration.clone();
    set(&mut changed, &advised.key, advised.better.clone());
    changed
}

/// Sets the value at a path of keys separated by dots.
fn set(configuration: &mut Value, path: &str, value: Value) {
    let mut place = configuration;
    for key in path.split('.') {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key];
    }
    *place = value;
}

/// How many recommendations are tried.
const TRIED: usize = 3;

/// The number of seeds of an experiment that draws.
const SEEDS: u64 = 5;

/// The folder that the paths of the experiment of `manifest` are relative to: that of its `file` if it is named, else the
/// current folder or one above the record in `folder`, in which the platform of the record is.
///
/// # Errors
///
/// If the platform is in none of them.
fn experiment_folder(
    manifest: &Manifest,
    folder: &Path,
    file: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let platform = manifest.configuration["platform"]["file"].as_str();
    let platform = platform.unwrap_or_default();
    let candidates = match file {
        Some(file) => vec![folder_of(file)],
        None => above(folder),
    };
    let is_recorded = |candidate: &PathBuf| {
        let Ok(text) = fs::read(candidate.join(platform)) else {
            return false;
        };
        let recorded = manifest.platform_sha256.as_ref();
        recorded.is_none_or(|recorded| *recorded == platform_digest(&text))
    };
    if let Some(found) = candidates.iter().find(|candidate| is_recorded(candidate)) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = candidates
        .iter()
        .map(|candidate| candidate.join(platform).display().to_string())
        .collect();
    Err(Failure::input(format!(
        "{}: the platform of the record, `{platform}` with its recorded digest, is not {}\n  help: name the experiment with \
         `--file FILE`: its paths are relative to its folder",
        folder.display(),
        shown.join(", nor ")
    )))
}

/// The current folder, and those above the record, the nearest first.
fn above(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    let absolute = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let current = env::current_dir().ok();
    let ancestors = absolute.ancestors().skip(1).map(Path::to_path_buf);
    all.extend(ancestors.filter(|ancestor| Some(ancestor) != current.as_ref()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_better_only_if_seeds_show_it() {
        let recorded: &[f64] = &[10.0, 20.0, 30.0];
        let trials: [&[f64]; 4] = [
            recorded,
            &[5.0, 10.1, 14.9],
            &[9.0, 22.0, 29.0],
            &[10.5, 21.1, 31.4],
        ];
        let measured = measured(true, &[1, 2, 3], &trials);
        let verdicts: Vec<Verdict> = measured.iter().map(|one| one.verdict).collect();
        assert_eq!(
            verdicts,
            [Verdict::Better, Verdict::NotShown, Verdict::Worse]
        );
        let first = measured[0];
        assert!((first.seconds - 10.0).abs() < 1e-12 && first.seeds == 3);
        assert!(
            first.gain_low < first.gain && first.gain < first.gain_high,
            "{first:?}"
        );
    }
}
