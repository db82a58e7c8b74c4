//! The environment layer: `MIGBSP__SECTION__KEY=value`.

use std::ffi::OsString;

use crate::fault::Fault;
use crate::layers::assignment::value;
use crate::layers::merge::merge;
use crate::tree::Node;

/// The values of all `MIGBSP__…` variables among `variables`.
///
/// Names of variables have no `-` in most shells: where one of `hyphenated` is a section of `[application]`, `_` stands
/// for it.
///
/// # Errors
///
/// If a name or a value is not text, or a name has an empty part.
pub fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    hyphenated: &[&str],
) -> Result<Node, Fault> {
    let mut ours = Vec::new();
    for (name, text) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let origin = format!("{VARIABLE}{name}");
        let text = text
            .into_string()
            .map_err(|_| Fault::new(Some(&origin), "", "the value is not UTF-8 text"))?;
        ours.push((name[PREFIX.len()..].to_lowercase(), text, origin));
    }
    // Variables are unordered; sorting decides which one wins if two differ in case only.
    ours.sort();
    let mut layers = Vec::new();
    for (path, text, origin) in ours {
        let mut keys: Vec<&str> = path.split("__").collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            let problem = "must be MIGBSP__SECTION__KEY, such as MIGBSP__SCHEDULER__INTERVAL=8";
            return Err(Fault::new(
                Some(&origin),
                "",
                format!("invalid variable: {problem}"),
            ));
        }
        if let ["application", section, ..] = &mut keys[..]
            && !hyphenated.contains(section)
        {
            let meant = |name: &&&str| name.replace('-', "_") == *section;
            *section = hyphenated.iter().find(meant).unwrap_or(section);
        }
        layers.push(Node::nested(&keys, value(&text, &origin)));
    }
    merge(&layers).map_err(|error| Fault::new(Some("environment MIGBSP__"), "", error))
}

/// The beginning of the origin of every value of this layer, before the name of the variable.
pub(crate) const VARIABLE: &str = "environment ";

const PREFIX: &str = "MIGBSP__";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Value;

    #[test]
    fn variables_reach_nested_keys() {
        let variables = [
            (
                "MIGBSP__SCHEDULER__MIGRATION__DATA_RATE".into(),
                "2e-7".into(),
            ),
            ("PATH".into(), "/bin".into()),
        ];
        let node = environment(variables, &[]).unwrap();
        let rate = node.find("scheduler.migration.data_rate").unwrap();
        assert_eq!(rate.value, Value::Float(2e-7));
        assert_eq!(node.entries().len(), 1);
    }

    #[test]
    fn a_variable_without_a_key_is_named() {
        let fault = environment([("MIGBSP__RUN".into(), "1".into())], &[]).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid variable: must be MIGBSP__SECTION__KEY, such as MIGBSP__SCHEDULER__INTERVAL=8\n  --> environment MIGBSP__RUN"
        );
        assert!(environment([("MIGBSP__RUN__".into(), "1".into())], &[]).is_err());
    }

    #[test]
    fn underscores_stand_for_hyphens_in_names_of_workloads() {
        let read = |name: &str, known: &[&str]| {
            let variables = [(name.into(), "1".into())];
            environment(variables, known).unwrap().to_string()
        };
        let (plain, hyphen) = (
            "MIGBSP__APPLICATION__LU_KERNEL__MY_KEY",
            "MIGBSP__APPLICATION__LU-KERNEL__MY_KEY",
        );
        let meant = "{ application = { lu-kernel = { my_key = 1 } } }";
        let known = ["lu", "lu-kernel"];
        assert_eq!(read(plain, &known), meant);
        assert_eq!(read(hyphen, &known), meant);
        let own = ["lu-kernel", "lu_kernel"];
        assert_eq!(read(plain, &own), meant.replace('-', "_"));
        assert_eq!(
            read("MIGBSP__RUN__LU_KERNEL", &known),
            "{ run = { lu_kernel = 1 } }"
        );
    }
}
