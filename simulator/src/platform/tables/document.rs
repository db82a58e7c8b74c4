//! The shape of the tables.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;

/// A number with or without a unit, as text.
#[derive(Clone, Debug)]
pub(super) struct Scalar(pub(super) String);

/// A date and the value from then on.
#[derive(Debug, serde::Deserialize)]
pub(super) struct PointEntry(pub(super) Spanned<Scalar>, pub(super) Spanned<Scalar>);

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    #[serde(default)]
    pub(super) set: Vec<SetTable>,
    #[serde(default)]
    pub(super) host: Vec<HostTable>,
    pub(super) core: Option<CableTable>,
    #[serde(default)]
    pub(super) link: Vec<LinkTable>,
    #[serde(default)]
    pub(super) route: Vec<RouteTable>,
    #[serde(default)]
    pub(super) overhead: Vec<OverheadTable>,
    #[serde(default)]
    pub(super) load: Vec<HostProfileTable>,
    #[serde(default)]
    pub(super) availability: Vec<HostProfileTable>,
    #[serde(default)]
    pub(super) congestion: Vec<CongestionTable>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetTable {
    pub(super) name: Spanned<String>,
    pub(super) hosts: Spanned<HostsEntry>,
    pub(super) first: Option<u32>,
    pub(super) prefix: Option<String>,
    pub(super) speed: Spanned<SpeedEntry>,
    pub(super) cores: Option<Spanned<u32>>,
    pub(super) link: CableTable,
    pub(super) backbone: Option<CableTable>,
    pub(super) loopback: Option<CableTable>,
    pub(super) limiter: Option<Spanned<Scalar>>,
    pub(super) fat_tree: Option<Spanned<FatTreeTable>>,
    pub(super) torus: Option<Spanned<Vec<u32>>>,
    pub(super) dragonfly: Option<Spanned<DragonflyTable>>,
    pub(super) uplink: Option<CableTable>,
    pub(super) send_overhead: Option<Spanned<Scalar>>,
    pub(super) receive_overhead: Option<Spanned<Scalar>>,
}

/// Numbers for each level of switches, the lowest first.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FatTreeTable {
    pub(super) children: Vec<u32>,
    pub(super) parents: Option<Vec<u32>>,
    pub(super) cables: Option<Vec<u32>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DragonflyTable {
    pub(super) groups: u32,
    pub(super) chassis: u32,
    pub(super) routers: u32,
    pub(super) hosts: u32,
    pub(super) group_cables: Option<u32>,
    pub(super) chassis_cables: Option<u32>,
    pub(super) router_cables: Option<u32>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of hosts or a list of their names"
)]
pub(super) enum HostsEntry {
    Count(u32),
    Names(Vec<String>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "expected a speed, as \"1.5 Gf\", or a list with one per host"
)]
pub(super) enum SpeedEntry {
    All(Scalar),
    Each(Vec<Scalar>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTable {
    pub(super) hosts: HostNames,
    pub(super) speed: Option<Spanned<Scalar>>,
    pub(super) cores: Option<Spanned<u32>>,
}

/// Names of hosts, ranges of them, or names of Sets.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct HostNames(pub(super) Spanned<NamesEntry>);

#[derive(Debug, serde::Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a host or Set, or a list of such names"
)]
pub(super) enum NamesEntry {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CableTable {
    pub(super) bandwidth: Spanned<Scalar>,
    pub(super) latency: Option<Spanned<Scalar>>,
    pub(super) duplex: Option<Spanned<String>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkTable {
    pub(super) name: Spanned<String>,
    pub(super) between: Option<Spanned<[String; 2]>>,
    pub(super) bandwidth: Spanned<Scalar>,
    pub(super) latency: Option<Spanned<Scalar>>,
    pub(super) duplex: Option<Spanned<String>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteTable {
    pub(super) between: Spanned<[String; 2]>,
    pub(super) links: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) one_way: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverheadTable {
    pub(super) between: Spanned<[String; 2]>,
    pub(super) send: Option<Spanned<Scalar>>,
    pub(super) receive: Option<Spanned<Scalar>>,
    #[serde(default)]
    pub(super) one_way: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostProfileTable {
    pub(super) hosts: HostNames,
    pub(super) points: Spanned<Vec<PointEntry>>,
    pub(super) period: Option<Spanned<Scalar>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CongestionTable {
    pub(super) link: Spanned<String>,
    pub(super) bandwidth: Option<Spanned<Vec<PointEntry>>>,
    pub(super) latency: Option<Spanned<Vec<PointEntry>>>,
    pub(super) period: Option<Spanned<Scalar>>,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, or a number with a unit in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
        // The shortest text that reads back as the same float.
        Ok(Scalar(number.to_string()))
    }
}
