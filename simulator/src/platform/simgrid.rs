//! SimGrid's platform files, version 4 and 4.1.
//!
//! Read as SimGrid's own parser does where that differs from its manual: lists of radicals are
//! separated by commas, a `<link>` is SHARED and a `<cluster>` SPLITDUPLEX unless said otherwise.

mod cluster;
pub(super) mod config;
mod element;
mod leniency;
mod profile_file;
mod route;
mod star;
mod topology;
mod trace;

use bsp::SetId;

use crate::platform::builder::{Builder, Cable, Duplex, ZoneRouting};
use crate::platform::error::{At, ErrorAt, PlatformError, PlatformErrorKind, without_mark};
use crate::platform::graph::Search;
use crate::platform::host::Host;
use crate::platform::profile_quantity::ProfileQuantity;
use crate::platform::simgrid::element::{Attribute, Element};
use crate::platform::simgrid::profile_file::Profiles;
use crate::platform::simgrid::trace::Traces;
use crate::platform::{Platform, units};
use crate::profile::Profile;

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
        let readable = leniency::as_xml(&marked);
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
            "host_link" => star::host_link(&mut builder, zone, element)?,
            _ => route::read(&mut builder, zone, element)?,
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
                "config" => config::read(&mut self.builder, child)?,
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
            return cluster::read(&mut self.builder, element, parent);
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
                "cabinet" => star::cabinet(&mut self.builder, zone, child)?,
                "backbone" => star::backbone(&mut self.builder, zone, child)?,
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
            latency: latency
                .map_or(Ok(bsp::units::Seconds::ZERO), |it| it.quantity(units::time))?,
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

fn routing(met: Attribute<'_>) -> Result<ZoneRouting, ErrorAt> {
    const ALL: &str = "Full, Floyd, Dijkstra, DijkstraCache, Cluster or None";
    match met.text.to_ascii_lowercase().as_str() {
        "full" => Ok(ZoneRouting::Full),
        "floyd" => Ok(ZoneRouting::Shortest(Search::Floyd)),
        "dijkstra" | "dijkstracache" => Ok(ZoneRouting::Shortest(Search::Dijkstra)),
        "none" => Ok(ZoneRouting::None),
        "cluster" => Ok(ZoneRouting::Star),
        "vivaldi" | "wifi" => Err(met.error(PlatformErrorKind::NotSupported {
            what: format!("routing=\"{}\"", met.text),
            instead: "write a <cluster>, or routing=\"Full\" with routes",
        })),
        _ => Err(met.choice("routing", ALL)),
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
fn duplex(met: Option<Attribute<'_>>, default: Duplex) -> Result<Duplex, ErrorAt> {
    let Some(met) = met else {
        return Ok(default);
    };
    match met.text {
        "SHARED" => Ok(Duplex::Shared),
        "SPLITDUPLEX" | "FULLDUPLEX" => Ok(Duplex::Split),
        "FATPIPE" => Ok(Duplex::FatPipe),
        "WIFI" => Err(met.error(PlatformErrorKind::NotSupported {
            what: "sharing_policy=\"WIFI\"".to_owned(),
            instead: "links are SHARED, SPLITDUPLEX or FATPIPE",
        })),
        _ => Err(met.choice("sharing_policy", "SHARED, SPLITDUPLEX or FATPIPE")),
    }
}
