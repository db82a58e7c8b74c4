//! The layers of a configuration, each a source of the `config` crate.
//!
//! Built-in defaults < file < environment < `--set`: the later layer wins, key by key. Every value
//! keeps the place where it was written.

use config::{Config, ConfigError, Map, Source, ValueKind};

use crate::tree::{Node, Value};

/// One layer.
#[derive(Clone, Debug)]
struct Layer(Node);

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, config::Value>, ConfigError> {
        Ok(table(self.0.entries()))
    }
}

/// All layers as one tree; the last layer that has a key sets its value.
///
/// # Errors
///
/// Errors of `config` itself; these sources do not fail.
pub fn merge(layers: &[Node]) -> Result<Node, ConfigError> {
    let mut builder = Config::builder();
    for layer in layers {
        builder = builder.add_source(Layer(layer.clone()));
    }
    let mut merged = from_config(&builder.build()?.cache);
    let layers: Vec<&Node> = layers.iter().collect();
    locate_sections(&mut merged, &layers);
    Ok(merged)
}

/// Gives merged sections, which have lost their places, those of the last layer with a place.
fn locate_sections(merged: &mut Node, layers: &[&Node]) {
    let Value::Table(entries) = &mut merged.value else {
        return;
    };
    let places = layers.iter().rev().find_map(|layer| layer.origin.clone());
    merged.origin = merged.origin.take().or(places);
    for (key, node) in entries {
        let inside: Vec<&Node> = layers.iter().filter_map(|layer| layer.get(key)).collect();
        locate_sections(node, &inside);
    }
}

fn table(entries: &[(String, Node)]) -> Map<String, config::Value> {
    entries
        .iter()
        .map(|(key, node)| (key.clone(), to_config(node)))
        .collect()
}

fn to_config(node: &Node) -> config::Value {
    let kind = match &node.value {
        Value::Nil => ValueKind::Nil,
        Value::Boolean(value) => ValueKind::Boolean(*value),
        Value::Integer(value) => ValueKind::I128(*value),
        Value::Float(value) => ValueKind::Float(*value),
        Value::Text(text) => ValueKind::String(text.clone()),
        Value::Array(items) => ValueKind::Array(items.iter().map(to_config).collect()),
        Value::Table(entries) => ValueKind::Table(table(entries)),
    };
    config::Value::new(node.origin.as_ref(), kind)
}

fn from_config(value: &config::Value) -> Node {
    let kept = match &value.kind {
        ValueKind::Nil => Value::Nil,
        ValueKind::Boolean(value) => Value::Boolean(*value),
        ValueKind::I64(value) => Value::Integer(i128::from(*value)),
        ValueKind::I128(value) => Value::Integer(*value),
        ValueKind::U64(value) => Value::Integer(i128::from(*value)),
        ValueKind::U128(value) => i128::try_from(*value).map_or(Value::Nil, Value::Integer),
        ValueKind::Float(value) => Value::Float(*value),
        ValueKind::String(text) => Value::Text(text.clone()),
        ValueKind::Array(items) => Value::Array(items.iter().map(from_config).collect()),
        ValueKind::Table(map) => {
            let mut entries: Vec<(String, Node)> = map
                .iter()
                .map(|(key, value)| (key.clone(), from_config(value)))
                .collect();
            // The map is unordered.
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Table(entries)
        }
    };
    Node {
        value: kept,
        origin: value.origin().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assignments, environment, parse};

    #[test]
    fn the_later_layer_wins_key_by_key_and_keeps_its_place() {
        let file = parse("[run]\nseed = 1\nlimit = 5\n", "a.toml").unwrap();
        let environment = environment([("MIGBSP__RUN__SEED".into(), "2".into())], &[]).unwrap();
        let set = assignments(&["run.seed=3".to_owned()]).unwrap();
        let merged = merge(&[file, environment.clone()]).unwrap();
        let seed = merged.find("run.seed").unwrap();
        assert_eq!(seed.value, Value::Integer(2));
        assert_eq!(
            seed.origin.as_deref(),
            Some("environment MIGBSP__RUN__SEED")
        );
        let file = parse("[run]\nseed = 1\nlimit = 5\n", "a.toml").unwrap();
        let merged = merge(&[file, environment, set]).unwrap();
        let seed = merged.find("run.seed").unwrap();
        assert_eq!(
            (&seed.value, seed.origin.as_deref()),
            (&Value::Integer(3), Some("--set"))
        );
        let limit = merged.find("run.limit").unwrap();
        assert_eq!(limit.origin.as_deref(), Some("a.toml:3"));
    }
}
