//! The command line's layer: `--set section.key=value`.

use crate::fault::Fault;
use crate::layers::{file::parse, merge::merge};
use crate::tree::{Node, Value};

/// The values of all `--set` arguments, the last of several for one key winning.
///
/// # Errors
///
/// If one of them is not `section.key=value`.
pub fn assignments(arguments: &[String]) -> Result<Node, Fault> {
    let mut layers = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let malformed = || {
            let rule = "must be section.key=value, such as scheduler.interval=8";
            Fault::invalid(Some(ASSIGNED), "", argument, rule)
        };
        let (path, text) = argument.split_once('=').ok_or_else(malformed)?;
        let keys: Vec<&str> = path.trim().split('.').map(str::trim).collect();
        if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
            return Err(malformed());
        }
        layers.push(Node::nested(&keys, value(text, ASSIGNED)));
    }
    merge(&layers).map_err(|error| Fault::new(Some(ASSIGNED), "", error))
}

/// `text` as TOML would read it, or as a bare string if TOML would not.
pub(super) fn value(text: &str, origin: &str) -> Node {
    let text = text.trim();
    let parsed = parse(&format!("value = {text}\n"), "").ok();
    // A line break could add a second value.
    let value = parsed
        .filter(|node| node.entries().len() == 1)
        .and_then(|node| node.get("value").cloned())
        .map_or_else(|| Value::Text(text.to_owned()), |node| node.value);
    relocated(value, origin)
}

/// `value` and all inside it, as written at `origin`.
fn relocated(value: Value, origin: &str) -> Node {
    let value = match value {
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| relocated(item.value, origin))
                .collect(),
        ),
        Value::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|(key, node)| (key, relocated(node.value, origin)))
                .collect(),
        ),
        other => other,
    };
    Node::new(value, origin)
}

/// The origin of every value of this layer.
pub(crate) const ASSIGNED: &str = "--set";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_toml_or_bare_strings() {
        let shown = |argument: &str| {
            let node = assignments(&[argument.to_owned()]).unwrap();
            node.find("a.b").unwrap().to_string()
        };
        assert_eq!(shown("a.b=4"), "4");
        assert_eq!(shown("a.b=iii"), "\"iii\"");
        assert_eq!(shown("a.b=900 kB"), "\"900 kB\"");
        assert_eq!(shown("a.b=[1e8, 2]"), "[100000000.0, 2]");
        assert_eq!(shown("a.b=x=y"), "\"x=y\"");
        assert_eq!(shown("a.b="), "\"\"");
        assert_eq!(shown("a.b={ c = 1 }"), "{ c = 1 }");
    }

    #[test]
    fn the_last_assignment_to_a_key_wins() {
        let node = assignments(&["a.b=1".to_owned(), "a.b=2".to_owned()]).unwrap();
        assert_eq!(node.find("a.b").unwrap().value, Value::Integer(2));
    }

    #[test]
    fn a_malformed_assignment_is_refused() {
        for argument in ["interval", "interval=4", ".a=1", "a.=1", "=1"] {
            let fault = assignments(&[argument.to_owned()]).unwrap_err();
            assert!(
                fault.to_string().contains("must be section.key=value"),
                "{fault}"
            );
        }
    }
}
