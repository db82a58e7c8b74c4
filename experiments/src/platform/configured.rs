//! Settings of the network model that a platform file makes.

use std::path::Path;

use settings::{Files, Node, Unit, Value, decode, merge, name_of, read, tree_of};
use simulator::{ConfiguredSetting, NetworkModel, NetworkSetting, Platform};

use super::{is_simgrid, parse};
use crate::failure::Failure;
use crate::sections::PlatformSection;

/// The layer between the defaults and an experiment in `folder`: what the platform that it names says in `<config>`.
///
/// A platform that cannot be read says nothing here; its error comes when it is needed.
pub(crate) fn layer(written: &Node, folder: &Path) -> Node {
    let name = written.find("platform.file").map(|node| node.value.clone());
    let Some(Value::Text(name)) = name.filter(|name| *name != Value::Text(String::new())) else {
        return Node::empty_table();
    };
    let file = Files::new(folder, written).path("platform.file", &name);
    let platform = (is_file_of_simgrid(&file))
        .then(|| read(&file).ok())
        .flatten()
        .filter(|text| text.contains("<config"))
        .and_then(|text| parse(&text, &file).ok());
    match platform {
        Some(platform) => section(&platform, &file),
        None => Node::empty_table(),
    }
}

fn is_file_of_simgrid(file: &Path) -> bool {
    file.is_file() && is_simgrid(file)
}

/// The section `[platform]` as the platform in `file` has it.
fn section(platform: &Platform, file: &Path) -> Node {
    let mut entries: Vec<(String, Node)> = Vec::new();
    for ConfiguredSetting { setting, line } in platform.network_settings() {
        let (key, value) = entry(*setting);
        let value = Node::new(value, &format!("{}:{line}", name_of(file)));
        entries.retain(|(other, _)| other != key);
        entries.push((key.to_owned(), value));
    }
    if entries.is_empty() {
        return Node::empty_table();
    }
    let section = Node {
        value: Value::Table(entries),
        origin: None,
    };
    Node::nested(&["platform"], section)
}

/// The key of an experiment that has the same meaning, and its value.
fn entry(setting: NetworkSetting) -> (&'static str, Value) {
    match setting {
        NetworkSetting::Model(model) => {
            let name = match model {
                NetworkModel::Lv08 => "lv08",
                NetworkModel::Ideal => "ideal",
            };
            ("model", Value::Text(name.to_owned()))
        }
        NetworkSetting::LatencyFactor(factor) => ("latency_factor", Value::Float(factor)),
        NetworkSetting::BandwidthFactor(factor) => ("bandwidth_factor", Value::Float(factor)),
        NetworkSetting::WeightSize(bytes) => ("weight_size", Value::Float(bytes)),
        NetworkSetting::TcpWindow(bytes) => ("tcp_window", Value::Integer(bytes.0.into())),
        NetworkSetting::CrossTraffic(is_on) => ("cross_traffic", Value::Boolean(is_on)),
    }
}

/// The section of a platform in `file` that no experiment names: its own settings, and `given` ones, which go before.
///
/// # Errors
///
/// The first invalid value.
pub fn platform_section(
    platform: &Platform,
    file: &Path,
    given: Vec<(String, Node)>,
) -> Result<PlatformSection, Failure> {
    let given = Node {
        value: Value::Table(given),
        origin: None,
    };
    let own = section(platform, file);
    let own = own
        .get("platform")
        .cloned()
        .unwrap_or_else(Node::empty_table);
    let defaults = tree_of(&PlatformSection::default());
    let written = merge(&[defaults, own, given]).map_err(Failure::input)?;
    Ok(decode(&written, "platform", Unit::of_key)?)
}
