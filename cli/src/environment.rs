//! Environment variables that look like ours and have no effect.

use std::env;

use experiments::{Experiment, Registry};
use settings::nearest;

/// Warns about every variable `MIGBSP_…` that sets no value, with the one that may be meant.
pub(crate) fn warn_of_unknown_variables(registry: &Registry) {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    for name in names {
        if let Some(warning) = warning(&name, registry) {
            tracing::warn!("{warning}");
        }
    }
}

/// The warning about the variable `name`; `None`: it is not ours, or sets a value.
fn warning(name: &str, registry: &Registry) -> Option<String> {
    let rest = name.strip_prefix("MIGBSP_")?;
    if rest.starts_with('_') || KNOWN.contains(&name) {
        return None;
    }
    let workloads = registry.names().into_iter();
    let workloads = workloads.filter_map(|name| {
        let defaults = registry.find(name, None).ok()?;
        let defaults = defaults.effective(&settings::Node::empty_table()).ok()?;
        let key = |(key, _): &(String, _)| format!("application.{name}.{key}");
        Some(defaults.entries().iter().map(key).collect::<Vec<_>>())
    });
    let mut keys = Experiment::keys();
    keys.extend(workloads.flatten());
    let flat: Vec<String> = keys
        .iter()
        .map(|key| key.replace(['.', '-'], "_"))
        .collect();
    let written = rest.to_lowercase().replace("__", "_");
    let known: Vec<&str> = flat.iter().map(String::as_str).collect();
    let meant = nearest(&written, &known)
        .and_then(|nearest| flat.iter().position(|name| name == nearest))
        .map(|at| {
            let variable = keys[at].replace('.', "__").replace('-', "_").to_uppercase();
            format!("; did you mean `MIGBSP__{variable}`?")
        });
    let meant = meant.unwrap_or_else(|| {
        ": variables that set a value are called MIGBSP__SECTION__KEY".to_owned()
    });
    Some(format!(
        "the environment variable `{name}` has no effect{meant}"
    ))
}

/// Variables that the tests of this repository read.
const KNOWN: [&str; 1] = ["MIGBSP_UPDATE"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_sets_nothing_is_named_with_the_nearest_that_does() {
        let registry = Registry::shipped();
        let warning = |name| warning(name, &registry);
        let suggestion = |name| {
            warning(name)
                .unwrap()
                .split("mean ")
                .nth(1)
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            suggestion("MIGBSP_SCHEDULER_INTERVAL"),
            "`MIGBSP__SCHEDULER__INTERVAL`?"
        );
        assert_eq!(
            suggestion("MIGBSP_SCHEDULER__INTERVALL"),
            "`MIGBSP__SCHEDULER__INTERVAL`?"
        );
        assert_eq!(suggestion("MIGBSP_RUN_SEED"), "`MIGBSP__RUN__SEED`?");
        assert_eq!(
            suggestion("MIGBSP_APPLICATION_SYNTHETIC_MEMORY"),
            "`MIGBSP__APPLICATION__SYNTHETIC__MEMORY`?"
        );
        assert!(warning("MIGBSP_GRAVITY").unwrap().ends_with(
            "has no effect: variables that set a value are called MIGBSP__SECTION__KEY"
        ));
        for name in ["MIGBSP__RUN__SEED", "MIGBSP__X", "PATH", "MIGBSP"] {
            assert_eq!(warning(name), None);
        }
    }
}
