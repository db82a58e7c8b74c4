//! The configuration in effect, as TOML with the origin of each value.

use serde::Serialize;

use crate::tree::{Node, Value};

/// `value` as a tree, its fields in the order they were declared.
///
/// # Panics
///
/// If the value has no form in JSON, such as a map whose keys are not strings.
pub fn tree_of<T: Serialize>(value: &T) -> Node {
    let text = serde_json::to_string(value).expect("a section of a configuration is plain data");
    serde_json::from_str(&text).expect("what was just written reads back")
}

/// `node` as JSON without spaces, the entries of every section by key: equal values have equal texts.
///
/// # Panics
///
/// Never: every value has a form in JSON.
pub fn canonical(node: &Node) -> String {
    serde_json::to_string(&sorted(node)).expect("a configuration is plain data")
}

/// `node` with the entries of every section by key.
fn sorted(node: &Node) -> Node {
    let value = match &node.value {
        Value::Table(entries) => {
            let entries = entries.iter();
            let mut entries: Vec<(String, Node)> = entries
                .map(|(key, node)| (key.clone(), sorted(node)))
                .collect();
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Table(entries)
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    };
    Node {
        value,
        origin: None,
    }
}

/// `effective` as TOML; each value is followed by its origin in `written`.
pub fn print(effective: &Node, written: &Node) -> String {
    let mut text = String::new();
    print_table(effective, Some(written), "", &mut text);
    text
}

fn print_table(table: &Node, written: Option<&Node>, path: &str, text: &mut String) {
    let is_table = |node: &Node| matches!(node.value, Value::Table(_));
    let (tables, values): (Vec<_>, Vec<_>) =
        table.entries().iter().partition(|(_, node)| is_table(node));
    if !path.is_empty() && (!values.is_empty() || tables.is_empty()) {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}[{path}]\n"));
    }
    let lines: Vec<(String, &str)> = values
        .iter()
        .map(|(key, node)| {
            let from = written.and_then(|written| written.get(key));
            let line = match node.value {
                Value::Nil => format!("# {key} is not set"),
                _ => format!("{} = {node}", key_text(key)),
            };
            (line, from.and_then(Node::place).unwrap_or("default"))
        })
        .collect();
    let width = lines
        .iter()
        .map(|(line, _)| line.chars().count())
        .filter(|width| *width <= 60);
    let width = width.max().unwrap_or(0);
    for (line, origin) in lines {
        text.push_str(&format!("{line:width$}  # {origin}\n"));
    }
    for (key, node) in tables {
        let inner = if path.is_empty() {
            key_text(key)
        } else {
            format!("{path}.{}", key_text(key))
        };
        print_table(
            node,
            written.and_then(|written| written.get(key)),
            &inner,
            text,
        );
    }
}

/// The key as TOML writes it: bare if it may be.
fn key_text(key: &str) -> String {
    let bare = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        Value::Text(key.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{merge, parse};

    #[test]
    fn equal_values_have_one_canonical_text() {
        let read = |text: &str| serde_json::from_str::<Node>(text).unwrap();
        let node = read(r#"{"z": 1, "a": [{"y": 1e8, "x": null}, 2], "m": {"k": "a b"}}"#);
        let other = read(r#"{"m": {"k": "a b"}, "a": [{"x": null, "y": 100000000.0}, 2], "z": 1}"#);
        let text = r#"{"a":[{"x":null,"y":100000000.0},2],"m":{"k":"a b"},"z":1}"#;
        assert_eq!(canonical(&node), text);
        assert_eq!(canonical(&other), text);
    }

    #[test]
    fn each_value_says_where_it_came_from() {
        let effective: Node =
            serde_json::from_str(r#"{"run": {"seed": 2, "limit": null, "in": {"x": 0.5}}}"#)
                .unwrap();
        let written = parse("\n[run]\nseed = 2\n", "a.toml").unwrap();
        let written = merge(&[written]);
        assert_eq!(
            print(&effective, &written),
            "[run]\n\
             seed = 2            # a.toml:3\n\
             # limit is not set  # default\n\
             \n\
             [run.in]\n\
             x = 0.5  # default\n"
        );
    }
}
