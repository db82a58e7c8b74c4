//! What of an experiment has no meaning on real hosts.

use agents::{Collection, Payment, Shape};

use crate::configuration::Loaded;
use crate::failure::Failure;
use crate::tree::{Node, Value};

/// Refuses what only a simulated platform can do, and says what is left out.
///
/// # Errors
///
/// If the experiment would mean something else on real hosts.
pub(crate) fn check(loaded: &Loaded) -> Result<(), Failure> {
    let experiment = &loaded.experiment;
    let refuse = |key: &str, met: &str, instead: &str| {
        let place = loaded.written.find(key).and_then(Node::place);
        let place = place.map_or_else(String::new, |place| format!("{place}: "));
        Err(Failure::Input(format!(
            "{place}invalid value `\"{met}\"` for `{key}`: needs a simulated platform, must be {instead}"
        )))
    };
    if experiment.barrier.options().shape == Shape::Ideal {
        return refuse("barrier.shape", "ideal", "\"hierarchical\" or \"central\"");
    }
    if experiment.scheduler.options.payment == Payment::Migrant {
        return refuse("scheduler.payment", "migrant", "\"transfer\"");
    }
    if experiment.barrier.options().collection == Collection::ByRank {
        tracing::warn!("barrier.collection = \"by-rank\": real hosts take messages as they come");
    }
    for section in ["load", "congestion"] {
        if loaded
            .written
            .get(section)
            .is_some_and(|node| !node.entries().is_empty())
        {
            tracing::warn!(
                "[{section}] is for simulated platforms: on real ones others do what they do"
            );
        }
    }
    Ok(())
}

/// The experiment in effect, without what others do to simulated hosts and links.
pub(crate) fn without_others(loaded: &Loaded) -> Node {
    let effective = loaded.experiment.effective();
    let entries = effective.entries().iter();
    let kept = entries.filter(|(key, _)| key != "load" && key != "congestion");
    Node {
        value: Value::Table(kept.cloned().collect()),
        origin: None,
    }
}
