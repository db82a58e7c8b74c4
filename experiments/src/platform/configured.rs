//! Settings of the network model that a platform file makes.

use std::path::Path;

use settings::{Files, Layer, Node, Value, name_of, read};
use simulator::{ConfiguredSetting, NetworkModel, NetworkOptions, NetworkSetting, Platform};

use super::{is_simgrid, parse};
use crate::sections::PlatformSection;

/// The layer between the defaults and an experiment in `folder`: what the platform that it names says in `<config>`.
///
/// A platform that cannot be read says nothing here; its error comes when it is needed.
pub(crate) fn layer(written: &Node, folder: &Path) -> Option<Layer> {
    let Value::Text(name) = &written.find("platform.file")?.value else {
        return None;
    };
    let file = Files::new(folder, written).path("platform.file", name);
    if !file.is_file() || !is_simgrid(&file) {
        return None;
    }
    let text = read(&file).ok().filter(|text| text.contains("<config"))?;
    Some(section(&parse(&text, &file).ok()?, &file))
}

/// The section `[platform]` as the platform in `file` has it.
fn section(platform: &Platform, file: &Path) -> Layer {
    let settings = platform.network_settings().iter();
    let entries = settings.map(|ConfiguredSetting { setting, line }| {
        let (key, value) = entry(*setting);
        (key.to_owned(), value, format!("{}:{line}", name_of(file)))
    });
    Layer::section("platform", entries)
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

/// The section of a platform that no experiment names.
#[must_use]
pub fn platform_section(platform: &Platform) -> PlatformSection {
    let settings = platform.network_settings().iter();
    let network = settings.fold(NetworkOptions::default(), |network, configured| {
        network.with(configured.setting)
    });
    PlatformSection {
        network,
        ..PlatformSection::default()
    }
}
