//! `<config>`: settings of the network model.

use bsp::units::{Bytes, BytesPerSecond, Seconds};

use crate::network::{ConfiguredSetting, NetworkModel, NetworkSetting};
use crate::platform::builder::Builder;
use crate::platform::error::ErrorAt;
use crate::platform::simgrid::element::{Attribute, Element};
use crate::platform::units;

/// Reads the properties that have a meaning here, and warns of the others.
pub(super) fn read(builder: &mut Builder, config: Element<'_>) -> Result<(), ErrorAt> {
    config.allow(&["id"])?;
    let mut ignored: Vec<String> = Vec::new();
    for property in config.children() {
        if property.name() != "prop" {
            return Err(property.misplaced("config"));
        }
        property.allow(&["id", "value"])?;
        let (id, value) = (property.required("id")?, property.required("value")?);
        let is_known = match name(id.text).as_str() {
            "loopback-bw" => {
                builder.loopback.bandwidth = value.quantity(units::bandwidth)?;
                true
            }
            "loopback-lat" => {
                builder.loopback.latency = value.quantity(units::time)?;
                true
            }
            name => match setting(name, value)? {
                Some(setting) => {
                    let line = property.line();
                    builder.settings.push(ConfiguredSetting { setting, line });
                    true
                }
                None => false,
            },
        };
        if !is_known {
            // Of a model, which one it is says more.
            let model = (name(id.text) == "model").then(|| format!(" {}", value.text));
            ignored.push(format!("`{}`{}", id.text, model.unwrap_or_default()));
        }
    }
    if !ignored.is_empty() {
        builder.warn(warning(&ignored));
    }
    Ok(())
}

/// The name of a property without its prefix, in the spelling of SimGrid's later versions.
fn name(id: &str) -> String {
    let id = id.replace('_', "-");
    let prefixes = ["network/", "surf/", "network-"];
    let bare = prefixes.iter().find_map(|prefix| id.strip_prefix(prefix));
    bare.unwrap_or(&id).to_owned()
}

/// The setting that a property makes, if it has a meaning here.
fn setting(name: &str, value: Attribute<'_>) -> Result<Option<NetworkSetting>, ErrorAt> {
    let factor = |setting: fn(f64) -> NetworkSetting, range: (f64, f64), expected| {
        // Factors by the size of a message belong to SimGrid's model of MPI.
        if value.text.contains([':', ';']) {
            return Ok(None);
        }
        let factor = value.quantity(units::plain)?;
        if (range.0..=range.1).contains(&factor) {
            Ok(Some(setting(factor)))
        } else {
            Err(value.choice(value.key, expected))
        }
    };
    match name {
        "model" => Ok(match value.text {
            "LV08" => Some(NetworkSetting::Model(NetworkModel::Lv08)),
            "CM02" => Some(NetworkSetting::Model(NetworkModel::Ideal)),
            _ => None,
        }),
        "latency-factor" => factor(
            NetworkSetting::LatencyFactor,
            NetworkSetting::LATENCY_FACTORS,
            "a factor from 0 to 10000",
        ),
        "bandwidth-factor" => factor(
            NetworkSetting::BandwidthFactor,
            NetworkSetting::BANDWIDTH_FACTORS,
            "a factor from 0.001 to 1000",
        ),
        "weight-S" => factor(
            NetworkSetting::WeightSize,
            NetworkSetting::WEIGHT_SIZES,
            "a number of bytes from 0 to 1e12",
        ),
        "TCP-gamma" => window(value).map(Some),
        "crosstraffic" | "fullduplex" => match value.text {
            "yes" | "on" | "true" | "1" => Ok(Some(NetworkSetting::CrossTraffic(true))),
            "no" | "off" | "false" | "0" => Ok(Some(NetworkSetting::CrossTraffic(false))),
            _ => Err(value.choice(value.key, "yes or no")),
        },
        _ => Ok(None),
    }
}

/// The most data in flight; with 0, SimGrid sets no limit.
fn window(value: Attribute<'_>) -> Result<NetworkSetting, ErrorAt> {
    let bytes = value.quantity(units::plain)?;
    if bytes.abs() <= 0.0 {
        return Ok(NetworkSetting::TcpWindow(Bytes(UNLIMITED)));
    }
    // Decimal digits: a float below 2^63 without a fraction is a whole number.
    let whole = format!("{:.0}", bytes.floor()).parse().ok();
    match whole.filter(|whole| (1..=UNLIMITED).contains(whole)) {
        Some(whole) => Ok(NetworkSetting::TcpWindow(Bytes(whole))),
        None => Err(value.choice(value.key, "0, for no limit, or a number of bytes from 1")),
    }
}

fn warning(ignored: &[String]) -> String {
    let shown = ignored.len().min(NAMED_MAX);
    let more = match ignored.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = ignored[..shown].join(", ");
    format!("<config> sets what has no meaning here, and is ignored: {what}{more}")
}

/// The link of hosts to themselves, as SimGrid makes it.
#[derive(Clone, Copy, Debug)]
pub(in crate::platform) struct Loopback {
    pub(in crate::platform) bandwidth: BytesPerSecond,
    pub(in crate::platform) latency: Seconds,
}

impl Default for Loopback {
    fn default() -> Self {
        Self {
            bandwidth: BytesPerSecond::new(10e9).expect("10 GB/s is above zero"),
            latency: Seconds::ZERO,
        }
    }
}

/// No limit: the greatest whole number of a file of TOML.
const UNLIMITED: u64 = i64::MAX.unsigned_abs();
/// Most properties that a warning names.
const NAMED_MAX: usize = 8;
