//! What a sweep is: its combinations, policies and seeds, and the inputs that its results depend on.

use std::collections::BTreeMap;
use std::fs;

use experiments::{Failure, PreparedExperiment, Published, Registry};
use serde::{Deserialize, Serialize};
use settings::{Files, Value};
use sha2::{Digest, Sha256};

use crate::compare::Contender;
use crate::sweep::grid::Grid;
use crate::sweep::parameter::Parameter;

/// A sweep, or a shard of one, as `plan.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its combinations.
    #[serde(flatten)]
    pub grid: Grid,
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// Label of the policy that runs scenario i, which gains are related to; `None`: there is none.
    pub reference: Option<String>,
    /// Of each experiment, the digest of it and of the files that it and the values name.
    pub inputs: Vec<String>,
    /// Number of runs.
    pub runs: u64,
}

impl Published for Plan {
    const SCHEMA: &'static str = "migbsp.sweep-plan/1";
}

impl Plan {
    /// In what another plan differs from this one, a line for each: what there is in `there` and in `here`. Shards and
    /// their numbers of runs may differ if `is_shard` is set.
    pub(super) fn differences(&self, other: &Self, is_shard: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |what: &str, there: String, here: String| {
            if there != here {
                lines.push(format!("{what}: {there} there, {here} here"));
            }
        };
        let (there, here) = (&self.grid, &other.grid);
        compare(
            "experiments",
            there.experiments.join(", "),
            here.experiments.join(", "),
        );
        let keys = |grid: &Grid| {
            let keys: Vec<&str> = grid.parameters.iter().map(Parameter::key).collect();
            if keys.is_empty() {
                "none".to_owned()
            } else {
                keys.join(", ")
            }
        };
        compare("parameters", keys(there), keys(here));
        if keys(there) == keys(here) {
            for (there, here) in there.parameters.iter().zip(&here.parameters) {
                compare(there.key(), there.list(), here.list());
            }
        }
        compare(
            "--policy",
            self.policies.join(", "),
            other.policies.join(", "),
        );
        compare("--seeds", seeds(&there.seeds), seeds(&here.seeds));
        let shard = |grid: &Grid| {
            grid.shard
                .map_or_else(|| "none".to_owned(), |shard| shard.to_string())
        };
        if !is_shard {
            compare("--shard", shard(there), shard(here));
        }
        if lines.is_empty() {
            let inputs = self.inputs.iter().zip(&other.inputs);
            for (name, (there, here)) in there.experiments.iter().zip(inputs) {
                if there != here {
                    lines.push(format!(
                        "{name}: the file, or one that it names, is not the same"
                    ));
                }
            }
        }
        if lines.is_empty() && !is_shard && self.runs != other.runs {
            lines.push(format!("runs: {} there, {} here", self.runs, other.runs));
        }
        lines
    }
}

/// Seeds in a line, a range where they are one.
pub(super) fn seeds(seeds: &[u64]) -> String {
    let is_range = seeds
        .windows(2)
        .all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match seeds {
        [first, .., last] if is_range => format!("{first}..{last}"),
        _ => seeds
            .iter()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Of each experiment of `grid`, a digest of all that its first runs under `policies` depend on, with the contents of the
/// files that values of parameters name.
///
/// # Errors
///
/// If the first combination of an experiment is invalid, or a file cannot be read.
pub fn inputs(
    grid: &Grid,
    policies: &[Contender],
    registry: &Registry,
) -> Result<Vec<String>, Failure> {
    let of = |experiment: usize| {
        let point = grid.first(experiment);
        let variant = grid.variant(&point);
        let mut digest = Sha256::new();
        for policy in policies {
            let mut assignments = variant.set.clone();
            assignments.extend_from_slice(&policy.assignments);
            assignments.push(format!("run.seed={}", grid.seeds[0]));
            let loaded = experiments::load(&variant.file, &assignments, registry)?;
            let prepared = PreparedExperiment::new(loaded)?;
            digest.update(prepared.digest(policy.scenario, registry)?);
        }
        let loaded = experiments::load(&variant.file, &variant.set, registry)?;
        let files = Files::new(&loaded.folder, &loaded.written);
        for (path, bytes) in contents(grid, files)? {
            digest.update(path);
            digest.update(bytes);
        }
        Ok(hex::encode(digest.finalize()))
    };
    let experiments = 0..grid.experiments.len();
    let named = |experiment: usize| {
        of(experiment).map_err(|failure: Failure| failure.of(&grid.first(experiment).name))
    };
    experiments.map(named).collect()
}

/// The contents of the files that values of `grid` name, by these names.
fn contents<'a>(grid: &'a Grid, files: Files<'_>) -> Result<BTreeMap<&'a str, Vec<u8>>, Failure> {
    let mut contents = BTreeMap::new();
    for (_, parameter) in grid.varying() {
        for value in parameter.values() {
            let Value::Text(name) = &value.value else {
                continue;
            };
            let path = files.path(parameter.key(), name);
            if path.is_file() {
                let unreadable = |error| Failure::Input(format!("{}: {error}", path.display()));
                contents.insert(name.as_str(), fs::read(&path).map_err(unreadable)?);
            }
        }
    }
    Ok(contents)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::sweep::grid::tests::grid;

    pub(crate) fn plan(set: &[&str], seeds_count: u64) -> Plan {
        let grid = grid(&["a.toml"], set, seeds_count);
        Plan {
            runs: u64::try_from(grid.pairs() * 2).unwrap(),
            grid,
            policies: vec!["none".to_owned(), "adaptive".to_owned()],
            reference: Some("none".to_owned()),
            inputs: vec!["ab12".to_owned()],
        }
    }

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        let mut plan = plan(&["a.x=1,2.5,1 s", "a.y=[1, 2],{ z = true }"], 3);
        plan.grid.shard = Some("2/3".parse().unwrap());
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
        assert!(text.contains("\"shard\":\"2/3\""), "{text}");
    }

    #[test]
    fn differences_are_named() {
        let first = plan(&["a.x=1,2", "a.y=3"], 5);
        assert_eq!(first.differences(&first, false), [""; 0]);
        let second = plan(&["a.x=1,3", "a.y=3"], 4);
        let lines = [
            "a.x: 1, 2 there, 1, 3 here",
            "--seeds: 1..5 there, 1..4 here",
        ];
        assert_eq!(first.differences(&second, false), lines);
        let third = plan(&["a.x=1,2"], 5);
        let lines = ["parameters: a.x, a.y there, a.x here"];
        assert_eq!(first.differences(&third, false), lines);
        let mut shard = first.clone();
        shard.grid.shard = Some("1/2".parse().unwrap());
        shard.runs = 10;
        assert_eq!(
            first.differences(&shard, false),
            ["--shard: none there, 1/2 here"]
        );
        assert_eq!(first.differences(&shard, true), [""; 0]);
        let mut changed = first.clone();
        changed.inputs = vec!["cd34".to_owned()];
        let lines = ["a.toml: the file, or one that it names, is not the same"];
        assert_eq!(first.differences(&changed, true), lines);
    }

    #[test]
    fn consecutive_seeds_are_a_range() {
        assert_eq!(seeds(&[1, 2, 3]), "1..3");
        assert_eq!(seeds(&[3, 2, 1]), "3, 2, 1");
        assert_eq!(seeds(&[7]), "7");
        assert_eq!(seeds(&[u64::MAX, 0]), "18446744073709551615, 0");
    }
}
