//! SimGrid's platform files, version 4 and 4.1.
//!
//! Read as SimGrid's own parser does where that differs from its manual: lists of radicals are
//! separated by commas, a `<link>` is SHARED and a `<cluster>` SPLITDUPLEX unless said otherwise.

mod trace;

use std::borrow::Cow;
use std::ops::Range;

use bsp::SetId;
use bsp::numbers::length;
use bsp::units::{Bytes, BytesPerSecond, InstructionsPerSecond, Seconds};

use super::builder::cluster::{ClusterHosts, ClusterNames};
use super::builder::{Builder, Cable, Duplex, Endpoint, HOSTS_MAX, NamedLink, Route, ZoneRouting};
use super::error::{At, ErrorAt, PlatformError, PlatformErrorKind, nearest, without_mark};
use super::graph::Search;
use super::topology::{Dragonfly, FatTree, Parts, Topology, TopologyProblem, Torus};
use super::units::{self, ProfileQuantity, QuantityError};
use super::{CORES, CORES_MAX, Host, LinkId, Platform};
use crate::network_options::{ConfiguredSetting, NetworkModel, NetworkSetting};
use crate::profile::Profile;
use trace::{Profiles, Traces};

impl Platform {
    /// Reads a platform in SimGrid's XML, version 4 or 4.1; `load` returns the text of the file of
    /// a profile, or the reason why it cannot be read.
    ///
    /// # Errors
    ///
    /// The place and the reason, if the text does not describe a platform.
    pub fn from_simgrid_xml(
        text: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, PlatformError> {
        let marked = without_mark(text);
        let readable = as_xml(&marked);
        read(&readable, load).map_err(|error| error.locate(text))
    }
}

/// Reads a whole file; `load` returns the text of the file of a profile.
fn read(
    text: &str,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Platform, ErrorAt> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| syntax(text, &error))?;
    let mut reader = Reader {
        builder: Builder::default(),
        profiles: Profiles::new(load),
        routes: Vec::new(),
        traces: Traces::default(),
    };
    reader.platform(Element::new(document.root_element()))?;
    let Reader {
        mut builder,
        mut profiles,
        routes,
        traces,
    } = reader;
    for (zone, element) in routes {
        match element.name() {
            "host_link" => host_link(&mut builder, zone, element)?,
            _ => read_route(&mut builder, zone, element)?,
        }
    }
    traces.connect(&mut builder, &mut profiles)?;
    builder.warn_of_isolated();
    builder.finish()
}

struct Reader<'doc, 'load> {
    builder: Builder,
    profiles: Profiles<'load>,
    /// Routes and `<host_link>` wait until everything they may name is known.
    routes: Vec<(u32, Element<'doc>)>,
    traces: Traces<'doc>,
}

impl<'doc> Reader<'doc, '_> {
    fn platform(&mut self, platform: Element<'doc>) -> Result<(), ErrorAt> {
        if platform.name() != "platform" {
            return Err(platform.error(PlatformErrorKind::NotSupported {
                what: format!("a file of <{}>", platform.name()),
                instead: "a SimGrid platform stands in <platform>",
            }));
        }
        let is_process = |child: &Element<'_>| matches!(child.name(), "actor" | "process");
        if platform.children().next().is_some() && platform.children().all(|it| is_process(&it)) {
            return Err(platform.error(PlatformErrorKind::Deployment));
        }
        platform.allow(&["version"])?;
        let version = platform.required("version")?;
        let accepted =
            units::plain(version.text).is_ok_and(|version| (3.995..4.105).contains(&version));
        if !accepted {
            return Err(version.error(PlatformErrorKind::Version(version.text.to_owned())));
        }
        let mut root = None;
        for child in platform.children() {
            match child.name() {
                "zone" | "AS" | "cluster" => {
                    if root.is_some() {
                        return Err(child.error(PlatformErrorKind::NotSupported {
                            what: "a second outermost zone".to_owned(),
                            instead: "put all zones into one",
                        }));
                    }
                    root = Some(child);
                    self.zone_or_cluster(child, None)?;
                }
                "config" => read_config(&mut self.builder, child)?,
                "trace" => self.traces.declare(child)?,
                "trace_connect" => self.traces.connect_later(child),
                "actor" | "process" => self.builder.warn(
                    "<actor> is ignored: processes are placed by the \
                     experiment"
                        .to_owned(),
                ),
                _ => return Err(unsupported(child, "platform")),
            }
        }
        Ok(())
    }

    fn zone_or_cluster(
        &mut self,
        element: Element<'doc>,
        parent: Option<u32>,
    ) -> Result<(), ErrorAt> {
        if element.name() == "cluster" {
            return read_cluster(&mut self.builder, element, parent);
        }
        element.allow(&["id", "routing"])?;
        let id = element.required("id")?;
        let routing = routing(element.required("routing")?)?;
        let zone = self
            .builder
            .open_zone(id.text, parent, routing, element.at())
            .at(id.at)?;
        for child in element.children() {
            match child.name() {
                "zone" | "AS" | "cluster" => self.zone_or_cluster(child, Some(zone))?,
                "host" => self.host(zone, child)?,
                "router" => {
                    child.allow(&["id", "coordinates"])?;
                    let id = child.required("id")?;
                    self.builder.add_router(zone, id.text).at(id.at)?;
                }
                "link" => self.link(child)?,
                "route" | "zoneRoute" | "ASroute" | "bypassRoute" | "bypassZoneRoute"
                | "bypassASroute" | "host_link" => self.routes.push((zone, child)),
                "cabinet" => cabinet(&mut self.builder, zone, child)?,
                "backbone" => backbone(&mut self.builder, zone, child)?,
                "trace" => self.traces.declare(child)?,
                "trace_connect" => self.traces.connect_later(child),
                "prop" => {}
                _ => return Err(unsupported(child, "zone")),
            }
        }
        Ok(())
    }

    fn host(&mut self, zone: u32, element: Element<'doc>) -> Result<(), ErrorAt> {
        element.allow(&[
            "id",
            "speed",
            "core",
            "pstate",
            "speed_file",
            "availability_file",
            "state_file",
            "coordinates",
        ])?;
        for child in element.children() {
            match child.name() {
                "prop" => {}
                "disk" => self
                    .builder
                    .warn("<disk> is ignored: disks are not simulated".to_owned()),
                _ => return Err(unsupported(child, "host")),
            }
        }
        if element.optional("state_file").is_some() {
            self.builder
                .warn("`state_file` of <host> is ignored: hosts do not fail".to_owned());
        }
        let id = element.required("id")?;
        let speed_file = element
            .optional("speed_file")
            .or_else(|| element.optional("availability_file"));
        let (speed, cores) = (element.speed()?, element.cores()?);
        let availability = self.profile(speed_file, ProfileQuantity::SpeedFactor)?;
        let Some(speed) = speed else {
            self.builder.add_idle_host(zone, id.text).at(id.at)?;
            return Ok(());
        };
        let host = Host {
            name: id.text.to_owned(),
            set: SetId(0),
            speed,
            cores,
            availability,
            load: None,
            jobs: None,
        };
        self.builder.add_host(zone, host).at(id.at)?;
        Ok(())
    }

    fn link(&mut self, element: Element<'doc>) -> Result<(), ErrorAt> {
        element.allow(&[
            "id",
            "bandwidth",
            "latency",
            "sharing_policy",
            "bandwidth_file",
            "latency_file",
            "state_file",
        ])?;
        if let Some(child) = element.children().find(|child| child.name() != "prop") {
            return Err(unsupported(child, "link"));
        }
        if element.optional("state_file").is_some() {
            self.builder
                .warn("`state_file` of <link> is ignored: links do not fail".to_owned());
        }
        let id = element.required("id")?;
        let bandwidth = element.required("bandwidth")?;
        let latency = element.optional("latency");
        let cable = Cable {
            bandwidth: bandwidth.quantity(units::bandwidth)?,
            latency: latency.map_or(Ok(Seconds::ZERO), |it| it.quantity(units::time))?,
            duplex: duplex(element.optional("sharing_policy"), Duplex::Shared)?,
            bandwidth_profile: self.profile(
                element.optional("bandwidth_file"),
                ProfileQuantity::Bandwidth,
            )?,
            latency_profile: self
                .profile(element.optional("latency_file"), ProfileQuantity::Latency)?,
        };
        self.builder.add_cable(id.text, &cable).at(id.at)?;
        Ok(())
    }

    fn profile(
        &mut self,
        file: Option<Attribute<'doc>>,
        quantity: ProfileQuantity,
    ) -> Result<Option<Profile>, ErrorAt> {
        file.map(|file| self.profiles.of(file, quantity))
            .transpose()
    }
}

fn routing(found: Attribute<'_>) -> Result<ZoneRouting, ErrorAt> {
    const ALL: &str = "Full, Floyd, Dijkstra, DijkstraCache, Cluster or None";
    match found.text.to_ascii_lowercase().as_str() {
        "full" => Ok(ZoneRouting::Full),
        "floyd" => Ok(ZoneRouting::Shortest(Search::Floyd)),
        "dijkstra" | "dijkstracache" => Ok(ZoneRouting::Shortest(Search::Dijkstra)),
        "none" => Ok(ZoneRouting::None),
        "cluster" => Ok(ZoneRouting::Star),
        "vivaldi" | "wifi" => Err(found.error(PlatformErrorKind::NotSupported {
            what: format!("routing=\"{}\"", found.text),
            instead: "write a <cluster>, or routing=\"Full\" with routes",
        })),
        _ => Err(found.choice("routing", ALL)),
    }
}

/// The error for an element that is not supported, or not allowed in `parent`.
fn unsupported(element: Element<'_>, parent: &str) -> ErrorAt {
    let instead = match element.name() {
        "peer" => "write hosts with links and routes",
        "include" | "random" | "storage" | "storage_type" | "mount" | "gpu" => {
            "SimGrid removed it, too"
        }
        _ => return element.misplaced(parent),
    };
    let what = format!("<{}>", element.name());
    element.error(PlatformErrorKind::NotSupported { what, instead })
}

fn syntax(text: &str, error: &roxmltree::Error) -> ErrorAt {
    let place = error.pos();
    let row = usize::try_from(place.row).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(place.col).unwrap_or(1).saturating_sub(1);
    let line = text
        .split_inclusive('\n')
        .take(row)
        .map(str::len)
        .sum::<usize>();
    let rest = text.get(line..).unwrap_or("");
    let inside = rest
        .char_indices()
        .nth(column)
        .map_or(rest.len(), |(at, _)| at);
    let message = error.to_string();
    let message = match message.rfind(" at ") {
        Some(end) if message[end..].ends_with(&place.to_string()) => message[..end].to_owned(),
        _ => message,
    };
    ErrorAt {
        at: line + inside,
        kind: PlatformErrorKind::Syntax(message),
    }
}

/// How the two directions of a link are related.
fn duplex(found: Option<Attribute<'_>>, default: Duplex) -> Result<Duplex, ErrorAt> {
    let Some(found) = found else {
        return Ok(default);
    };
    match found.text {
        "SHARED" => Ok(Duplex::Shared),
        "SPLITDUPLEX" | "FULLDUPLEX" => Ok(Duplex::Split),
        "FATPIPE" => Ok(Duplex::FatPipe),
        "WIFI" => Err(found.error(PlatformErrorKind::NotSupported {
            what: "sharing_policy=\"WIFI\"".to_owned(),
            instead: "links are SHARED, SPLITDUPLEX or FATPIPE",
        })),
        _ => Err(found.choice("sharing_policy", "SHARED, SPLITDUPLEX or FATPIPE")),
    }
}

/// An element of the file.
#[derive(Clone, Copy)]
struct Element<'doc> {
    node: roxmltree::Node<'doc, 'doc>,
}

/// The value of an attribute and where it begins.
#[derive(Clone, Copy)]
struct Attribute<'doc> {
    key: &'static str,
    text: &'doc str,
    at: usize,
}

impl<'doc> Element<'doc> {
    const fn new(node: roxmltree::Node<'doc, 'doc>) -> Self {
        Self { node }
    }

    fn name(self) -> &'doc str {
        self.node.tag_name().name()
    }

    fn at(self) -> usize {
        self.node.range().start
    }

    /// Its line in the text, from one.
    fn line(self) -> usize {
        let row = self.node.document().text_pos_at(self.at()).row;
        usize::try_from(row).unwrap_or(usize::MAX)
    }

    fn children(self) -> impl Iterator<Item = Self> {
        self.node
            .children()
            .filter(roxmltree::Node::is_element)
            .map(Self::new)
    }

    /// The text inside, and where it begins.
    fn text(self) -> (usize, String) {
        let texts = || self.node.children().filter(roxmltree::Node::is_text);
        let first = texts().next();
        let at = first.map_or_else(|| self.at(), |first| first.range().start);
        (at, texts().filter_map(|text| text.text()).collect())
    }

    /// Refuses attributes other than these.
    fn allow(self, known: &[&'static str]) -> Result<(), ErrorAt> {
        match self
            .node
            .attributes()
            .find(|attribute| !known.contains(&attribute.name()))
        {
            None => Ok(()),
            Some(attribute) => Err(ErrorAt {
                at: attribute.range().start,
                kind: PlatformErrorKind::UnknownAttribute {
                    element: self.name().to_owned(),
                    attribute: attribute.name().to_owned(),
                    nearest: nearest(attribute.name(), known.iter().copied()),
                },
            }),
        }
    }

    fn required(self, key: &'static str) -> Result<Attribute<'doc>, ErrorAt> {
        self.node
            .attribute_node(key)
            .map(|attribute| self.attribute(key, &attribute))
            .ok_or_else(|| {
                let element = self.name().to_owned();
                self.error(PlatformErrorKind::MissingAttribute {
                    element,
                    attribute: key,
                })
            })
    }

    /// The attribute, unless it is missing or empty.
    fn optional(self, key: &'static str) -> Option<Attribute<'doc>> {
        self.node
            .attribute_node(key)
            .map(|attribute| self.attribute(key, &attribute))
            .filter(|attribute| !attribute.text.is_empty())
    }

    /// The entry `pstate` of the list `speed`; none if it is zero.
    fn speed(self) -> Result<Option<InstructionsPerSecond>, ErrorAt> {
        let speeds = self.required("speed")?;
        let entries: Vec<&str> = speeds.text.split(',').collect();
        let Some(state) = self.optional("pstate") else {
            return Attribute {
                text: entries[0],
                ..speeds
            }
            .quantity(units::speed_or_none);
        };
        // The default of SimGrid's DTD is the text 0.0.
        let number = state.text.strip_suffix(".0").unwrap_or(state.text);
        let speed = number
            .parse::<usize>()
            .ok()
            .and_then(|number| entries.get(number));
        match speed {
            Some(text) => Attribute { text, ..speeds }.quantity(units::speed_or_none),
            None => Err(state.choice("pstate", "the number, from 0, of an entry of `speed`")),
        }
    }

    /// The attribute `core`, one by default.
    fn cores(self) -> Result<u32, ErrorAt> {
        match self.optional("core") {
            None => Ok(1),
            Some(cores) => {
                let number = cores.text.parse().ok();
                let number = number.filter(|number| (1..=CORES_MAX).contains(number));
                number.ok_or_else(|| cores.choice("core", CORES))
            }
        }
    }

    fn error(self, kind: PlatformErrorKind) -> ErrorAt {
        ErrorAt {
            at: self.at(),
            kind,
        }
    }

    fn misplaced(self, parent: &str) -> ErrorAt {
        let element = self.name().to_owned();
        self.error(PlatformErrorKind::MisplacedElement {
            element,
            parent: parent.to_owned(),
        })
    }

    fn attribute(
        self,
        key: &'static str,
        attribute: &roxmltree::Attribute<'doc, 'doc>,
    ) -> Attribute<'doc> {
        Attribute {
            key,
            text: attribute.value(),
            at: attribute.range_value().start,
        }
    }
}

impl Attribute<'_> {
    fn quantity<T>(
        self,
        read: impl FnOnce(&str) -> Result<T, QuantityError>,
    ) -> Result<T, ErrorAt> {
        read(self.text).map_err(|source| {
            self.error(PlatformErrorKind::Quantity {
                key: self.key,
                source,
            })
        })
    }

    fn choice(self, key: &'static str, expected: &'static str) -> ErrorAt {
        self.error(PlatformErrorKind::InvalidValue {
            key,
            found: self.text.to_owned(),
            expected,
        })
    }

    fn error(self, kind: PlatformErrorKind) -> ErrorAt {
        ErrorAt { at: self.at, kind }
    }
}

/// The text as XML demands it, with all that is left at its place.
///
/// SimGrid takes white space, comments and instructions before the declaration, where XML allows nothing, and two hyphens
/// inside comments. Neither a declaration nor a comment says anything that counts here, so blanks take their places.
fn as_xml(text: &str) -> Cow<'_, str> {
    let mut blanked = hyphened_comments(text);
    blanked.extend(late_declaration(text));
    blanked.sort_unstable_by_key(|range| range.start);
    if blanked.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    let mut end = 0;
    for range in blanked {
        readable.push_str(&text[end..range.start]);
        let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
        readable.extend(text[range.clone()].bytes().map(blank));
        end = range.end;
    }
    readable.push_str(&text[end..]);
    Cow::Owned(readable)
}

/// The declaration, if it is not the first thing.
fn late_declaration(text: &str) -> Option<Range<usize>> {
    let start = text.len() - after_comments(text).len();
    let rest = text[start..].strip_prefix("<?xml")?;
    let length = text[start..].find("?>")? + "?>".len();
    (0 < start && rest.starts_with(char::is_whitespace)).then(|| start..start + length)
}

/// What follows white space, comments and instructions other than a declaration.
fn after_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let after = if let Some(comment) = rest.strip_prefix(COMMENT) {
            comment.split_once(COMMENT_END)
        } else if rest.starts_with("<?") && !rest.starts_with("<?xml") {
            rest.split_once("?>")
        } else {
            return rest;
        };
        match after {
            Some((_, after)) => rest = after,
            None => return rest,
        }
    }
}

/// The insides of the comments that XML does not allow.
fn hyphened_comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("<!").map(|start| at + start) {
        let rest = &text[start..];
        if rest.starts_with("<![CDATA[") {
            at = rest.find("]]>").map_or(text.len(), |end| start + end);
        } else if rest.starts_with(COMMENT) {
            let inside = start + COMMENT.len();
            let Some(end) = text[inside..].find(COMMENT_END).map(|end| inside + end) else {
                break;
            };
            let comment = &text[inside..end];
            if comment.contains("--") || comment.ends_with('-') {
                found.push(inside..end);
            }
            at = end;
        } else {
            at = start + "<!".len();
        }
    }
    found
}

const COMMENT: &str = "<!--";
const COMMENT_END: &str = "-->";

/// Reads the properties that have a meaning here, and warns of the others.
fn read_config(builder: &mut Builder, config: Element<'_>) -> Result<(), ErrorAt> {
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

/// Reads a `<route>`, a `<zoneRoute>` or a bypass.
fn read_route(builder: &mut Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    let is_bypass = element.name().starts_with("bypass");
    let between_zones = matches!(
        element.name(),
        "zoneRoute" | "ASroute" | "bypassZoneRoute" | "bypassASroute"
    );
    let allowed: &[&'static str] = match (between_zones, is_bypass) {
        (true, true) => &["src", "dst", "gw_src", "gw_dst"],
        (true, false) => &["src", "dst", "gw_src", "gw_dst", "symmetrical"],
        (false, true) => &["src", "dst"],
        (false, false) => &["src", "dst", "symmetrical"],
    };
    element.allow(allowed)?;
    if !is_bypass && builder.is_star(zone) {
        return Err(element.error(PlatformErrorKind::NotSupported {
            what: format!("<{}> in a zone with routing=\"Cluster\"", element.name()),
            instead: "connect its hosts with <host_link>",
        }));
    }
    let ends = [end(builder, element, "src")?, end(builder, element, "dst")?];
    let gateways = if between_zones {
        Some([
            end(builder, element, "gw_src")?,
            end(builder, element, "gw_dst")?,
        ])
    } else {
        None
    };
    check_kinds(element, ends, between_zones)?;
    let symmetrical = match element.optional("symmetrical") {
        None => !is_bypass,
        Some(found) => match found.text {
            "YES" | "yes" => true,
            "NO" | "no" => false,
            _ => return Err(found.choice("symmetrical", "YES or NO")),
        },
    };
    let mut there = Vec::new();
    let mut back = Vec::new();
    for child in element.children() {
        let (forth, opposite) = link(builder, child, element.name())?;
        there.push(forth);
        back.push(opposite);
    }
    back.reverse();
    let route = Route {
        ends,
        gateways,
        there,
        back: symmetrical.then_some(back),
    };
    if is_bypass {
        builder.add_bypass(zone, route).at(element.at())
    } else {
        builder.add_route(zone, &route).at(element.at())
    }
}

/// Refuses zones as ends of routes between points, and points as ends of routes between zones.
fn check_kinds(
    element: Element<'_>,
    ends: [Endpoint; 2],
    between_zones: bool,
) -> Result<(), ErrorAt> {
    for (end, key) in ends.into_iter().zip(["src", "dst"]) {
        if matches!(end, Endpoint::Zone(_)) != between_zones {
            let found = element.required(key)?;
            let expected = if between_zones {
                "the name of a zone; hosts and routers are connected by <route>"
            } else {
                "the name of a host or router; zones are connected by <zoneRoute>"
            };
            return Err(found.choice(key, expected));
        }
    }
    Ok(())
}

/// The link a `<link_ctn>` names on the way there, and the one on the way back.
fn link(
    builder: &Builder,
    element: Element<'_>,
    parent: &str,
) -> Result<(LinkId, LinkId), ErrorAt> {
    if element.name() != "link_ctn" {
        return Err(element.misplaced(parent));
    }
    element.allow(&["id", "direction"])?;
    let id = element.required("id")?;
    let wire = builder.wire(id.text).at(id.at)?;
    let direction = element.optional("direction");
    let up = match direction.as_ref().map(|it| it.text) {
        None | Some("NONE") if matches!(wire, NamedLink::Pair { .. }) => {
            return Err(element.error(PlatformErrorKind::MissingDirection {
                link: id.text.to_owned(),
            }));
        }
        None | Some("NONE" | "UP") => true,
        Some("DOWN") => false,
        Some(_) => {
            let found = element.required("direction")?;
            return Err(found.choice("direction", "UP, DOWN or NONE"));
        }
    };
    Ok((wire.towards(up), wire.towards(!up)))
}

fn end(builder: &Builder, element: Element<'_>, key: &'static str) -> Result<Endpoint, ErrorAt> {
    let name = element.required(key)?;
    builder.node("host, router or zone", name.text).at(name.at)
}

/// Reads a cabinet: hosts that are alike, each with a link to and from the backbone.
fn cabinet(builder: &mut Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "prefix", "suffix", "radical", "speed", "bw", "lat"])?;
    element.required("id")?;
    let (prefix, suffix) = (element.required("prefix")?, element.required("suffix")?);
    let speed = element.required("speed")?.quantity(units::speed_or_none)?;
    let cable = cable(
        element.required("bw")?.quantity(units::bandwidth)?,
        element.required("lat")?.quantity(units::time)?,
        Duplex::Shared,
    );
    for radical in radicals(element.required("radical")?)? {
        let name = format!("{}{radical}{}", prefix.text, suffix.text);
        let point = match speed {
            None => builder.add_idle_host(zone, &name).at(element.at())?,
            Some(speed) => {
                let host = Host {
                    name: name.clone(),
                    set: SetId(0),
                    speed,
                    cores: 1,
                    availability: None,
                    load: None,
                    jobs: None,
                };
                let host = builder.add_host(zone, host).at(element.at())?;
                Endpoint::Host(host.0)
            }
        };
        let mut link = |direction: &str| {
            let wire = builder.add_cable(&format!("link_{name}_{direction}"), &cable);
            wire.map(|wire| wire.towards(true)).at(element.at())
        };
        let up_and_down = [link("UP")?, link("DOWN")?];
        builder
            .add_host_link(zone, point, up_and_down)
            .at(element.at())?;
    }
    Ok(())
}

/// Reads the link that all messages of the zone cross.
fn backbone(builder: &mut Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "bandwidth", "latency"])?;
    let id = element.required("id")?;
    let cable = cable(
        element.required("bandwidth")?.quantity(units::bandwidth)?,
        element.required("latency")?.quantity(units::time)?,
        Duplex::Shared,
    );
    let wire = builder.add_cable(id.text, &cable).at(id.at)?;
    builder
        .set_backbone(zone, wire.towards(true))
        .at(element.at())
}

/// Reads which links connect a host with the backbone.
fn host_link(builder: &mut Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "up", "down"])?;
    let id = element.required("id")?;
    let host = builder.known_machine(id.text).at(id.at)?;
    let mut links = Vec::with_capacity(2);
    for (key, is_up) in [("up", true), ("down", false)] {
        let name = element.required(key)?;
        links.push(builder.wire(name.text).at(name.at)?.towards(is_up));
    }
    builder
        .add_host_link(zone, host, [links[0], links[1]])
        .at(element.at())
}

fn check_zone(builder: &Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    if builder.is_star(zone) {
        return Ok(());
    }
    Err(element.error(PlatformErrorKind::NotSupported {
        what: format!("<{}> in this zone", element.name()),
        instead: "it stands in a zone with routing=\"Cluster\"",
    }))
}

/// Reads a cluster.
fn read_cluster(
    builder: &mut Builder,
    element: Element<'_>,
    parent: Option<u32>,
) -> Result<(), ErrorAt> {
    check(element)?;
    let id = element.required("id")?;
    let (prefix, suffix) = (element.required("prefix")?, element.required("suffix")?);
    let numbers = radicals(element.required("radical")?)?;
    let topology = read_topology(element, numbers.len(), builder.fat_tree_hosts())?;
    let policy = duplex(element.optional("sharing_policy"), Duplex::Split)?;
    if policy == Duplex::FatPipe {
        builder.warn(
            "sharing_policy=\"FATPIPE\" of <cluster> is honoured; SimGrid 4.1 takes it for SHARED"
                .to_owned(),
        );
    }
    let mut hosts = ClusterHosts {
        names: ClusterNames::Numbered {
            prefix: prefix.text.to_owned(),
            suffix: suffix.text.to_owned(),
            numbers,
        },
        speeds: element.speed()?.into_iter().collect(),
        cores: element.cores()?,
        cable: cable(
            element.required("bw")?.quantity(units::bandwidth)?,
            element.required("lat")?.quantity(units::time)?,
            policy,
        ),
        backbone: optional_cable(element, "bb_bw", "bb_lat", backbone_policy(element)?)?,
        loopback: optional_cable(element, "loopback_bw", "loopback_lat", Duplex::FatPipe)?,
        limiter: match element.optional("limiter_link") {
            None => None,
            Some(limiter) => limiter.quantity(units::bandwidth_or_none)?,
        },
    };
    let zone = builder
        .open_zone(id.text, parent, ZoneRouting::Cluster, element.at())
        .at(id.at)?;
    let Some(topology) = topology else {
        let router = element.optional("router_id").map_or_else(
            || format!("{}{}_router{}", prefix.text, id.text, suffix.text),
            |router| router.text.to_owned(),
        );
        return builder
            .add_cluster(zone, &hosts, &router)
            .map(|_| ())
            .at(element.at());
    };
    if hosts.backbone.take().is_some() || element.optional("router_id").is_some() {
        builder.warn(
            "`bb_bw`, `bb_lat` and `router_id` of a <cluster> with a topology are ignored, as SimGrid does: \
             it has no backbone, and hosts are its gateways"
                .to_owned(),
        );
    }
    builder
        .add_topology(zone, &hosts, topology)
        .map(|_| ())
        .at(element.at())
}

fn check(element: Element<'_>) -> Result<(), ErrorAt> {
    element.allow(&[
        "id",
        "prefix",
        "suffix",
        "radical",
        "speed",
        "core",
        "bw",
        "lat",
        "sharing_policy",
        "topology",
        "topo_parameters",
        "bb_bw",
        "bb_lat",
        "bb_sharing_policy",
        "router_id",
        "limiter_link",
        "loopback_bw",
        "loopback_lat",
    ])?;
    if let Some(child) = element.children().find(|child| child.name() != "prop") {
        return Err(child.misplaced("cluster"));
    }
    Ok(())
}

fn backbone_policy(element: Element<'_>) -> Result<Duplex, ErrorAt> {
    let policy = element.optional("bb_sharing_policy");
    match duplex(policy, Duplex::Shared)? {
        Duplex::Split => Err(policy
            .expect("SHARED is the default")
            .choice("bb_sharing_policy", "SHARED or FATPIPE")),
        policy => Ok(policy),
    }
}

/// A cable that exists if its bandwidth or its latency is above zero.
fn optional_cable(
    element: Element<'_>,
    bandwidth: &'static str,
    latency: &'static str,
    duplex: Duplex,
) -> Result<Option<Cable>, ErrorAt> {
    let width = match element.optional(bandwidth) {
        None => None,
        Some(bandwidth) => bandwidth.quantity(units::bandwidth_or_none)?,
    };
    let delay = match element.optional(latency) {
        None => Seconds::ZERO,
        Some(latency) => latency.quantity(units::time)?,
    };
    match width {
        Some(width) => Ok(Some(cable(width, delay, duplex))),
        None if Seconds::ZERO < delay => {
            let element_name = element.name().to_owned();
            let kind = PlatformErrorKind::MissingAttribute {
                element: element_name,
                attribute: bandwidth,
            };
            Err(element.error(kind))
        }
        None => Ok(None),
    }
}

const fn cable(bandwidth: BytesPerSecond, latency: Seconds, duplex: Duplex) -> Cable {
    Cable {
        bandwidth,
        latency,
        duplex,
        bandwidth_profile: None,
        latency_profile: None,
    }
}

/// The numbers of `1-4,6,9-11`.
fn radicals(found: Attribute<'_>) -> Result<Vec<u32>, ErrorAt> {
    const EXPECTED: &str = "numbers and ranges separated by commas, as `1-4,6,9-11`";
    let mut radicals = Vec::new();
    for group in found.text.split(',') {
        let (first, last) = group.split_once('-').unwrap_or((group, group));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(found.choice("radical", EXPECTED));
        };
        if last < first {
            return Err(found.choice("radical", EXPECTED));
        }
        let total = u64::from(last - first) + 1 + length(radicals.len());
        if u64::from(HOSTS_MAX) < total {
            let limit = u64::from(HOSTS_MAX);
            return Err(found.error(PlatformErrorKind::TooMany {
                what: "hosts",
                found: total,
                limit,
            }));
        }
        radicals.extend(first..=last);
    }
    Ok(radicals)
}

/// Reads the topology of a cluster with that many hosts, unless it is flat; `fat_tree_hosts` belong to
/// fat trees before it in the file.
fn read_topology(
    element: Element<'_>,
    hosts: usize,
    fat_tree_hosts: u32,
) -> Result<Option<Topology>, ErrorAt> {
    let Some(kind) = element.optional("topology") else {
        return Ok(None);
    };
    let read: fn(&str, u32) -> Result<Topology, TopologyProblem> = match kind.text {
        "FLAT" => return Ok(None),
        "FAT_TREE" => fat_tree,
        "TORUS" => |text, _| torus(text),
        "DRAGONFLY" => |text, _| dragonfly(text),
        _ => return Err(kind.choice("topology", "FLAT, FAT_TREE, TORUS or DRAGONFLY")),
    };
    let found = element.required("topo_parameters")?;
    read(found.text, fat_tree_hosts)
        .and_then(|topology| topology.check_hosts(hosts).map(|()| Some(topology)))
        .map_err(|problem| {
            let key = "topo_parameters";
            found.error(PlatformErrorKind::Topology { key, problem })
        })
}

/// `2;4,4;1,2;1,2`: levels, children, parents, parallel cables.
fn fat_tree(text: &str, fat_tree_hosts: u32) -> Result<Topology, TopologyProblem> {
    const FORM: &str = "the number of levels and three lists, of children, parents and parallel cables of each \
                        level, as `2;4,4;1,2;1,2`";
    let [levels, lists @ ..] = lists::<4>(text, FORM)?;
    let [children, parents, ports] = &lists;
    match levels[..] {
        [levels] if usize::try_from(levels) == Ok(children.len()) => {}
        [levels] => {
            return Err(TopologyProblem::Levels {
                what: "children",
                levels: usize::try_from(levels).unwrap_or(usize::MAX),
                found: children.len(),
            });
        }
        _ => return Err(TopologyProblem::Form(FORM)),
    }
    FatTree::new(children, parents, ports, fat_tree_hosts).map(Topology::FatTree)
}

/// `3,2,2`: lengths of the rings.
fn torus(text: &str) -> Result<Topology, TopologyProblem> {
    let [sizes] = lists::<1>(
        text,
        "the lengths of the rings in each dimension, as `3,2,2`",
    )?;
    Torus::new(&sizes).map(Topology::Torus)
}

/// `3,4;4,3;5,1;2`: groups, chassis and routers, each with the number of parallel cables, and hosts.
fn dragonfly(text: &str) -> Result<Topology, TopologyProblem> {
    const FORM: &str = "the numbers of groups, chassis and routers, each with that of parallel cables, and the \
                        number of hosts of a router, as `3,4;4,3;5,1;2`";
    let [groups, chassis, routers, nodes] = lists::<4>(text, FORM)?;
    let parts = |list: &[u32]| match list {
        [count, width] => Ok(Parts {
            count: *count,
            width: *width,
        }),
        _ => Err(TopologyProblem::Form(FORM)),
    };
    let [nodes] = nodes[..] else {
        return Err(TopologyProblem::Form(FORM));
    };
    Dragonfly::new(parts(&groups)?, parts(&chassis)?, parts(&routers)?, nodes)
        .map(Topology::Dragonfly)
}

/// `N` lists of numbers, separated by semicolons.
fn lists<const N: usize>(text: &str, form: &'static str) -> Result<[Vec<u32>; N], TopologyProblem> {
    let numbers = |list: &str| list.split(',').map(number).collect::<Result<Vec<_>, _>>();
    let lists = text
        .split(';')
        .map(numbers)
        .collect::<Result<Vec<_>, _>>()?;
    lists.try_into().map_err(|_| TopologyProblem::Form(form))
}

fn number(text: &str) -> Result<u32, TopologyProblem> {
    let text = text.trim();
    text.parse()
        .map_err(|_| TopologyProblem::Number(text.to_owned()))
}
