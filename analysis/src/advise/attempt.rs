//! `--try`: simulations that follow the advice.

use std::path::Path;

use bsp::units::Instant;
use experiments::batch::Batch;
use experiments::record::manifest;
use experiments::{Failure, PreparedExperiment, Registry, Scenario, recorded};
use serde_json::{Map, Value};
use settings::tree_of;

use crate::advise::experiment_folder::experiment_folder;
use crate::advise::report::{Measured, Recommendation, Report};

/// Simulates the experiment of the record in `folder` with each of the best recommendations of `report`, with the same
/// scenario and seed, and notes what each run took. `file` is the file of the experiment, if it is named.
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
    let seconds = batch.run(&report.recommendations[..few], |advised| {
        let configuration = followed(&manifest.configuration, advised);
        let run = || -> Result<f64, Failure> {
            let loaded = recorded(&tree_of(&configuration), paths.clone(), registry)?;
            let finished = PreparedExperiment::new(loaded)?.run(scenario, registry, &mut |_| {})?;
            Ok((finished.end.seconds - Instant::START).get())
        };
        run().map_err(|failure| failure.of(format!("--try, {}", advised.change)))
    })?;
    for (advised, seconds) in report.recommendations.iter_mut().zip(seconds) {
        advised.measured = Some(Measured {
            seconds,
            gain: 1.0 - seconds / report.seconds,
        });
    }
    Ok(())
}

/// `configuration` with the changes of `advised`.
fn followed(configuration: &Value, advised: &Recommendation) -> Value {
    let mut changed = configuration.clone();
    if let Some(table) = &advised.replaces {
        set(&mut changed, table, Value::Object(Map::new()));
    }
    for change in &advised.keys {
        set(&mut changed, &change.key, change.better.clone());
    }
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
