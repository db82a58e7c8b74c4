//! The environment layer: `MIGBSP__SECTION__KEY=value`.

use std::ffi::OsString;

use crate::configuration::fault::Fault;
use crate::configuration::layers::assignment::value;
use crate::configuration::layers::merge;
use crate::tree::Node;

/// The values of all `MIGBSP__…` variables among `variables`.
///
/// # Errors
///
/// If a name or a value is no text, or a name has an empty part.
pub(crate) fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Node, Fault> {
    let mut ours = Vec::new();
    for (name, text) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let origin = format!("environment {name}");
        let text = text
            .into_string()
            .map_err(|_| Fault::new(Some(&origin), "", "the value is not UTF-8 text"))?;
        ours.push((name[PREFIX.len()..].to_lowercase(), text, origin));
    }
    // Variables come in no order; theirs decides which one wins if two differ in case only.
    ours.sort();
    let mut layers = Vec::new();
    for (path, text, origin) in ours {
        let keys: Vec<&str> = path.split("__").collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            let problem = "expected MIGBSP__SECTION__KEY, as MIGBSP__SCHEDULER__INTERVAL=8";
            return Err(Fault::new(Some(&origin), "", problem));
        }
        layers.push(Node::nested(&keys, value(&text, &origin)));
    }
    merge(&layers).map_err(|error| Fault::new(Some("environment MIGBSP__"), "", error))
}

const PREFIX: &str = "MIGBSP__";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Value;

    #[test]
    fn variables_reach_nested_keys() {
        let node = environment([
            (
                "MIGBSP__SCHEDULER__MIGRATION__DATA_RATE".into(),
                "2e-7".into(),
            ),
            ("PATH".into(), "/bin".into()),
        ])
        .unwrap();
        let rate = node.find("scheduler.migration.data_rate").unwrap();
        assert_eq!(rate.value, Value::Float(2e-7));
        assert_eq!(node.entries().len(), 1);
    }

    #[test]
    fn a_variable_without_a_key_is_named() {
        let fault = environment([("MIGBSP__RUN".into(), "1".into())]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "environment MIGBSP__RUN: expected MIGBSP__SECTION__KEY, as MIGBSP__SCHEDULER__INTERVAL=8"
        );
        assert!(environment([("MIGBSP__RUN__".into(), "1".into())]).is_err());
    }
}
