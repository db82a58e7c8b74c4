//! Whether all supersteps of an experiment are alike.

use std::path::Path;

use experiments::{Failure, PreparedExperiment, Registry, Scenario, Supersteps};
use record::{Event, Superstep};
use settings::Value;

use crate::best_placement::SUPERSTEPS;

/// That all supersteps of `prepared`, the experiment in `file`, are alike. It is run once.
///
/// # Errors
///
/// [`Failure::Input`] with what changes; that of the run.
pub(super) fn check(
    file: &Path,
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<(), Failure> {
    let change = match configured(prepared, registry)? {
        None => measured(prepared, registry)?,
        change => change,
    };
    change.map_or(Ok(()), |change| {
        let file = file.display();
        Err(Failure::Input(format!(
            "{file}: the experiment is not steady: {change}, so no placement is the best one of all supersteps"
        )))
    })
}

/// What the configuration lets change.
fn configured(
    prepared: &PreparedExperiment,
    registry: &Registry,
) -> Result<Option<String>, Failure> {
    let experiment = &prepared.loaded.experiment;
    let application = &experiment.application;
    for (section, background) in [
        ("load", &experiment.load),
        ("congestion", &experiment.congestion),
    ] {
        if background.draws() {
            return Ok(Some(format!("[{section}] changes the platform")));
        }
    }
    if let Some(kind) = application.effective.find("dynamics.kind")
        && let Value::Text(kind) = &kind.value
        && kind != "steady"
    {
        let key = format!("application.{}.dynamics.kind", application.workload);
        return Ok(Some(format!("`{key}` is \"{kind}\"")));
    }
    if experiment.draws(registry)? {
        return Ok(Some("its program draws random numbers".to_owned()));
    }
    let platform = &prepared.platform;
    let host = platform
        .hosts()
        .iter()
        .find(|host| host.availability.is_some() || host.load.is_some());
    if let Some(host) = host {
        return Ok(Some(format!("the speed of host {} changes", host.name)));
    }
    let link = platform
        .links()
        .iter()
        .find(|link| link.bandwidth_profile.is_some() || link.latency_profile.is_some());
    if let Some(link) = link {
        return Ok(Some(format!("the link {} changes", link.name)));
    }
    let entry = registry.find(&application.workload, None)?;
    if entry.supersteps() == Supersteps::Refused {
        let name = &application.workload;
        return Ok(Some(format!("`{name}` determines its own length")));
    }
    Ok(None)
}

/// What changes in a run.
fn measured(prepared: &PreparedExperiment, registry: &Registry) -> Result<Option<String>, Failure> {
    let mut supersteps: Vec<Superstep> = Vec::new();
    let mut observe = |event: &Event| {
        if let Event::Superstep(superstep) = event {
            supersteps.push(superstep.without_notes());
        }
    };
    prepared.run(Scenario::I, registry, &mut observe)?;
    let count = supersteps.len();
    if u64::try_from(count).is_ok_and(|count| count < SUPERSTEPS) {
        return Ok(Some(format!(
            "it has {count} supersteps, and at least {SUPERSTEPS} are needed"
        )));
    }
    let length = |superstep: &Superstep| superstep.ended.get() - superstep.started.get();
    // In the first one, all processes start simultaneously.
    let reference = &supersteps[1];
    let other = supersteps[1..].iter().find(|superstep| {
        !is_near(length(superstep), length(reference))
            || !is_near(superstep.computation.get(), reference.computation.get())
            || superstep.messages != reference.messages
    });
    Ok(other.map(|other| format!("superstep {} differs from superstep 1", other.index)))
}

/// Whether two times differ by rounding alone.
fn is_near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-6 * right.abs()
}
