//! The values of a configuration that its file does not have.

use serde::{Deserialize, Serialize};

use crate::layers::{ASSIGNED, VARIABLE};
use crate::tree::{Node, Value};

/// A value that the environment or the command line has set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Override {
    /// Its key, `section.key`.
    pub key: String,
    /// As it was written, units included.
    pub value: Node,
    /// `--set`, or `environment MIGBSP__SECTION__KEY`.
    pub from: String,
}

/// The overrides among the merged layers `written`, by key.
#[must_use]
pub fn overrides(written: &Node) -> Vec<Override> {
    let mut found = Vec::new();
    gather(written, "", &mut found);
    found.sort_by(|left, right| left.key.cmp(&right.key));
    found
}

fn gather(table: &Node, path: &str, found: &mut Vec<Override>) {
    for (key, node) in table.entries() {
        let key = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if matches!(node.value, Value::Table(_)) {
            gather(node, &key, found);
            continue;
        }
        let origin = node.origin.as_deref();
        let is_override = |origin: &&str| *origin == ASSIGNED || origin.starts_with(VARIABLE);
        if let Some(from) = origin.filter(is_override) {
            found.push(Override {
                key,
                value: node.clone(),
                from: from.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assignments, environment, merge, parse};

    #[test]
    fn values_that_replace_those_of_the_file_are_overrides() {
        let file = parse("[run]\nseed = 1\nlimit = 5\n", "a.toml").unwrap();
        let variables = [
            ("MIGBSP__RUN__SEED".into(), "2".into()),
            ("MIGBSP__RUN__DEPTH".into(), "7".into()),
        ];
        let environment = environment(variables, &[]).unwrap();
        let set = ["run.seed=3", "a.b.c=[1, 2]", "a.rate=900 kB"].map(str::to_owned);
        let written = merge(&[file, environment, assignments(&set).unwrap()]).unwrap();
        let found = overrides(&written);
        let shown: Vec<String> = found
            .iter()
            .map(|one| format!("{} = {} from {}", one.key, one.value, one.from))
            .collect();
        assert_eq!(
            shown,
            [
                "a.b.c = [1, 2] from --set",
                "a.rate = \"900 kB\" from --set",
                "run.depth = 7 from environment MIGBSP__RUN__DEPTH",
                "run.seed = 3 from --set",
            ]
        );
    }
}
