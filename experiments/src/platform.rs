//! Platforms, as experiments and commands name them.

use std::path::Path;

use bsp::HostId;
use settings::{Files, Layer, Node, Value, folder_of, is_stdin, name_of, nearest, read};
use simulator::{
    ConfiguredSetting, NetworkModel, NetworkOptions, NetworkSetting, Platform, PlatformError,
    expand,
};

use crate::failure::Failure;
use crate::sections::PlatformSection;

/// The platform in `file`, TOML or SimGrid XML by the name's ending.
///
/// # Errors
///
/// [`Failure::Input`]: the file cannot be read, or describes no platform; where, and why.
pub fn load(file: &Path) -> Result<Platform, Failure> {
    parse(&read(file).map_err(Failure::input)?, file)
}

/// The platform that `text` describes, the contents of `file`.
///
/// # Errors
///
/// [`Failure::Input`]: it describes no platform; where, and why.
pub fn parse(text: &str, file: &Path) -> Result<Platform, Failure> {
    let name = name_of(file);
    let ending = file.extension().and_then(|ending| ending.to_str());
    let parse = match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => from_toml,
        Some("xml") => from_xml,
        None if is_stdin(file) && is_xml(text) => from_xml,
        None if is_stdin(file) => from_toml,
        _ => {
            let problem = "the name of a platform file ends in .toml, or in .xml for SimGrid's";
            return Err(Failure::Input(format!("{name}: {problem}")));
        }
    };
    parse(text, file).map_err(|error| {
        let PlatformError { line, column, kind } = error;
        Failure::Input(format!("{name}:{line}:{column}: {kind}"))
    })
}

/// Whether `file` is SimGrid's: by its name, or by its first character on stdin.
pub fn is_simgrid(file: &Path) -> bool {
    if is_stdin(file) {
        return read(file).is_ok_and(|text| is_xml(&text));
    }
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("xml"))
}

fn is_xml(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

fn from_toml(text: &str, _: &Path) -> Result<Platform, PlatformError> {
    Platform::from_toml(text)
}

fn from_xml(text: &str, file: &Path) -> Result<Platform, PlatformError> {
    let folder = folder_of(file);
    let mut profile = |name: &str| read(&folder.join(name)).map_err(|error| error.to_string());
    Platform::from_simgrid_xml(text, &mut profile)
}

/// The host called `name`.
///
/// # Errors
///
/// If there is none; the error suggests the nearest name.
pub fn find_host(name: &str, platform: &Platform) -> Result<HostId, String> {
    platform.host_by_name(name).ok_or_else(|| {
        if platform.idle_hosts().iter().any(|idle| idle == name) {
            return format!(
                "host \"{name}\" has speed 0 and holds no process; name a host that computes"
            );
        }
        let hosts = platform.hosts().iter();
        let names: Vec<&str> = hosts.map(|host| host.name.as_str()).collect();
        let hint = nearest(name, &names).map_or_else(String::new, |nearest| {
            format!("; did you mean \"{nearest}\"?")
        });
        format!("the platform has no host \"{name}\"{hint}")
    })
}

/// The hosts that `name` stands for: one of that name or, if it has ranges as `node-01..16`, several.
///
/// # Errors
///
/// If one does not exist, or a range is invalid.
pub(crate) fn find_hosts(name: &str, platform: &Platform) -> Result<Vec<HostId>, String> {
    if let Some(host) = platform.host_by_name(name) {
        return Ok(vec![host]);
    }
    let names = expand(name).map_err(|error| error.to_string())?;
    names.iter().map(|name| find_host(name, platform)).collect()
}

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
