//! Settings of an experiment that have no meaning on real hosts.

use agents::{Collection, Payment, Shape};
use settings::{Fault, Node, Value};

use crate::failure::Failure;
use crate::loaded::Loaded;

/// Refuses settings that need a simulated platform, and warns about ignored ones; with `plays`, background load is not
/// ignored.
///
/// # Errors
///
/// If the experiment has a different meaning on real hosts.
pub(crate) fn check(loaded: &Loaded, plays: bool) -> Result<(), Failure> {
    refuse(loaded)?;
    if loaded.experiment.barrier.collection == Collection::ByRank {
        tracing::warn!(
            "barrier.collection = \"by-rank\": real hosts process messages in order of arrival"
        );
    }
    for section in ["load", "congestion"] {
        let written = loaded.written.get(section);
        if !plays && written.is_some_and(|node| !node.entries().is_empty()) {
            tracing::warn!(
                "[{section}] is ignored: it is for simulated platforms, and for `up --play`"
            );
        }
    }
    Ok(())
}

/// Refuses what no client submits: sections of a simulated platform, which [`without_others`] leaves out and which name
/// files, and settings that [`check`] refuses. Nothing that the experiment names has been opened.
///
/// # Errors
///
/// If it has any of them.
pub(crate) fn check_submitted(loaded: &Loaded) -> Result<(), Failure> {
    for section in SIMULATED {
        if let Some(node) = loaded.written.get(section) {
            let problem = "is of a simulated platform, and clients leave it out";
            return Err(Fault::new(node.place(), section, problem).into());
        }
    }
    refuse(loaded)
}

/// Refuses settings that need a simulated platform.
fn refuse(loaded: &Loaded) -> Result<(), Failure> {
    let experiment = &loaded.experiment;
    let refuse = |key: &str, met: &str, instead: &str| {
        let place = loaded.written.find(key).and_then(Node::place);
        let rule = format!("needs a simulated platform, must be {instead}");
        let met = format!("\"{met}\"");
        Err(Failure::input(Fault::invalid(place, key, met, rule)))
    };
    let shape = experiment.barrier.shape;
    if !shape.is_real() {
        let name = |shape: Shape| toml::Value::try_from(shape).map(|name| name.to_string());
        let real = Shape::ALL.into_iter().filter(|shape| shape.is_real());
        let real: Vec<String> = real.flat_map(name).collect();
        let met = name(shape).unwrap_or_default();
        return refuse("barrier.shape", met.trim_matches('"'), &real.join(" or "));
    }
    if experiment.scheduler.settings.payment == Payment::Migrant {
        return refuse("scheduler.payment", "migrant", "\"transfer\"");
    }
    if let Some(host) = experiment.elasticity.pool.first() {
        let key = "elasticity.pool";
        let place = loaded.written.find(key).and_then(Node::place);
        let rule =
            "needs a simulated platform: real hosts do not join yet; leave `[elasticity]` out";
        let met = format!("\"{host}\"");
        return Err(Failure::input(Fault::invalid(place, key, met, rule)));
    }
    if let Some(factor) = experiment.scheduler.settings.transfer_factor {
        let key = "scheduler.transfer_factor";
        let place = loaded.written.find(key).and_then(Node::place);
        let rule = "needs a simulated platform: on real hosts, moves take what they take";
        return Err(Failure::input(Fault::invalid(place, key, factor, rule)));
    }
    Ok(())
}

/// The experiment in effect without the background load of simulated hosts and links.
pub(crate) fn without_others(loaded: &Loaded) -> Node {
    let effective = loaded.experiment.effective();
    let entries = effective.entries().iter();
    let has_checkpoints = loaded.experiment.checkpoint.is_on();
    let kept = entries.filter(|(key, _)| match key.as_str() {
        section if SIMULATED.contains(&section) => false,
        "checkpoint" => has_checkpoints,
        _ => true,
    });
    Node {
        value: Value::Table(kept.cloned().collect()),
        origin: None,
    }
}

/// The sections of a simulated platform.
const SIMULATED: [&str; 3] = ["load", "congestion", "elasticity"];
