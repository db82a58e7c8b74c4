//! A platform while its file is being read.

pub(super) mod cluster;
mod compile;

use std::collections::{BTreeMap, BTreeSet};

use bsp::numbers::{index, length};
use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId, check_name};

use super::error::{PlatformErrorKind, nearest};
use super::graph::Search;
use super::names::Names;
use super::routes::{Bypasses, Edge, Fabric, Location, NO_POINT, Routing, Star};
use super::simgrid::Loopback;
use super::topology::{NamedCable, Topology};
use super::{Host, Link, LinkId, Overhead, Overheads, Set, Sharing, units};
use crate::network_options::ConfiguredSetting;
use crate::profile::Profile;
use cluster::ClusterHosts;

/// Collects what a file declares, checks names and ends, and numbers everything in file order.
#[derive(Debug, Default)]
pub(super) struct Builder {
    hosts: Vec<Host>,
    sets: Vec<Set>,
    links: Vec<Link>,
    warnings: Vec<String>,
    overheads: Overheads,
    host_locations: Vec<Location>,
    router_locations: Vec<Location>,
    router_names: Vec<String>,
    zones: Vec<ZoneDraft>,
    route_links: Vec<LinkId>,
    bypasses: Vec<BypassDraft>,
    bypassed: BTreeSet<[Endpoint; 2]>,
    /// The routers that are hosts without a speed, ascending: points of the network.
    idle_hosts: Vec<u32>,
    /// The link of hosts to themselves, if they have no other.
    pub(super) loopback: Loopback,
    /// Settings of the network model that the file makes.
    pub(super) settings: Vec<ConfiguredSetting>,
    nodes: Names<Endpoint>,
    named_links: Names<NamedLink>,
    numbering: Numbering,
}

/// What SimGrid numbers through all clusters of a file.
#[derive(Debug, Default)]
struct Numbering {
    fat_tree_hosts: u32,
    fat_tree_cables: u32,
    dragonfly_cables: u32,
}

/// What routes connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    Host(u32),
    Router(u32),
    Zone(u32),
}

/// The link or links of one name.
#[derive(Clone, Copy, Debug)]
pub(super) enum NamedLink {
    Single(LinkId),
    Pair { up: LinkId, down: LinkId },
}

/// How a zone routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneRouting {
    None,
    /// As its hosts are connected when they are added, all together.
    Cluster,
    /// Every host has links of its own to a backbone.
    Star,
    Full,
    Shortest(Search),
}

/// One link, or two that are alike.
#[derive(Clone, Debug)]
pub(super) struct Cable {
    pub(super) bandwidth: BytesPerSecond,
    pub(super) latency: Seconds,
    pub(super) duplex: Duplex,
    pub(super) bandwidth_profile: Option<Profile>,
    pub(super) latency_profile: Option<Profile>,
}

/// How a cable's two directions are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplex {
    /// One capacity for both.
    Shared,
    /// A capacity for each.
    Split,
    /// A capacity for each message.
    FatPipe,
}

/// A declared route.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) ends: [Endpoint; 2],
    pub(super) gateways: Option<[Endpoint; 2]>,
    pub(super) there: Vec<LinkId>,
    /// Links of the way back, in its order, if the route leads both ways.
    pub(super) back: Option<Vec<LinkId>>,
}

#[derive(Debug)]
struct ZoneDraft {
    name: String,
    at: usize,
    parent: Option<u32>,
    place: Location,
    depth: u32,
    routing: ZoneRouting,
    set: Option<SetId>,
    /// Whether zones lie directly in it.
    has_zones: bool,
    /// Its direct members, without the hosts of a cluster.
    members: Vec<Endpoint>,
    /// The routing of a cluster.
    cluster: Option<Routing>,
    star: Star,
    edges: Vec<(Edge, Option<[Endpoint; 2]>)>,
    pairs: BTreeSet<(u32, u32)>,
    uplinks: Vec<Option<(Endpoint, LinkId, LinkId)>>,
    core: Option<LinkId>,
}

/// A declared route that has priority over all others.
#[derive(Debug)]
struct BypassDraft {
    ends: [Endpoint; 2],
    gateways: Option<[Endpoint; 2]>,
    links: Vec<LinkId>,
}

impl Builder {
    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Opens a zone inside `parent`, or the outermost one.
    pub(super) fn open_zone(
        &mut self,
        name: &str,
        parent: Option<u32>,
        routing: ZoneRouting,
        at: usize,
    ) -> Result<u32, PlatformErrorKind> {
        let number = count(self.zones.len(), "zones")?;
        let (local, depth) = match parent {
            Some(parent) => (self.join(parent, Endpoint::Zone(number))?, parent),
            None => (0, 0),
        };
        let depth = parent.map_or(0, |_| self.zones[index(depth)].depth + 1);
        if DEPTH_MAX < depth {
            let (found, limit) = (u64::from(depth), u64::from(DEPTH_MAX));
            return Err(PlatformErrorKind::TooMany {
                what: "zones inside one another",
                found,
                limit,
            });
        }
        self.name_node(name, Endpoint::Zone(number))?;
        self.zones.push(ZoneDraft {
            name: name.to_owned(),
            at,
            parent,
            place: Location {
                zone: parent.unwrap_or(0),
                local,
            },
            depth,
            routing,
            set: None,
            has_zones: false,
            members: Vec::new(),
            cluster: None,
            star: Star::default(),
            edges: Vec::new(),
            pairs: BTreeSet::new(),
            uplinks: Vec::new(),
            core: None,
        });
        Ok(number)
    }

    /// Adds a host to a zone; its Set is that of the zone.
    pub(super) fn add_host(&mut self, zone: u32, host: Host) -> Result<HostId, PlatformErrorKind> {
        let number = count(self.hosts.len(), "hosts")?;
        let local = self.join(zone, Endpoint::Host(number))?;
        self.add_located_host(Location { zone, local }, host)
    }

    pub(super) fn add_router(
        &mut self,
        zone: u32,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let node = Endpoint::Router(count(self.router_locations.len(), "routers")?);
        let local = self.join(zone, node)?;
        self.add_located_router(Location { zone, local }, name)
    }

    /// Adds a host without a speed: messages pass it, and nothing computes there.
    pub(super) fn add_idle_host(
        &mut self,
        zone: u32,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let host = self.add_router(zone, name)?;
        self.note_idle(host);
        Ok(host)
    }

    /// Adds a cable: one link, or two named `…_UP` and `…_DOWN`.
    pub(super) fn add_cable(
        &mut self,
        name: &str,
        cable: &Cable,
    ) -> Result<NamedLink, PlatformErrorKind> {
        if cable.duplex != Duplex::Split {
            return self.add_link(name.to_owned(), cable).map(NamedLink::Single);
        }
        let up = self.add_link([name, "_UP"].concat(), cable)?;
        let down = self.add_link([name, "_DOWN"].concat(), cable)?;
        let wire = NamedLink::Pair { up, down };
        self.name_link(name, wire)?;
        Ok(wire)
    }

    /// Sets the overheads of each Set, and those of the pairs of Sets that have their own.
    pub(super) fn set_overheads(
        &mut self,
        sets: Vec<Overhead>,
        pairs: BTreeMap<(SetId, SetId), Overhead>,
    ) {
        self.overheads = Overheads {
            sets,
            pairs: pairs.into_iter().collect(),
        };
    }

    pub(super) fn host_mut(&mut self, id: HostId) -> &mut Host {
        &mut self.hosts[id.index()]
    }

    pub(super) fn link_mut(&mut self, id: LinkId) -> &mut Link {
        &mut self.links[id.index()]
    }

    pub(super) fn sets(&self) -> &[Set] {
        &self.sets
    }

    fn note_idle(&mut self, host: Endpoint) {
        if let Endpoint::Router(number) = host {
            self.idle_hosts.push(number);
        }
    }

    fn add_located_host(
        &mut self,
        place: Location,
        mut host: Host,
    ) -> Result<HostId, PlatformErrorKind> {
        let id = HostId(count(self.hosts.len(), "hosts")?);
        if HOSTS_MAX <= id.0 {
            let (found, limit) = (u64::from(id.0) + 1, u64::from(HOSTS_MAX));
            return Err(PlatformErrorKind::TooMany {
                what: "hosts",
                found,
                limit,
            });
        }
        self.name_node(&host.name, Endpoint::Host(id.0))?;
        let zone = &mut self.zones[index(place.zone)];
        host.set = *zone.set.get_or_insert_with(|| {
            self.sets.push(Set {
                name: zone.name.clone(),
                hosts: Vec::new(),
            });
            SetId::from_index(self.sets.len() - 1)
        });
        self.sets[host.set.index()].hosts.push(id);
        self.host_locations.push(place);
        self.hosts.push(host);
        Ok(id)
    }

    fn add_link(&mut self, name: String, cable: &Cable) -> Result<LinkId, PlatformErrorKind> {
        let id = LinkId(count(self.links.len(), "links")?);
        check_shown("link", &name)?;
        self.name_link(&name, NamedLink::Single(id))?;
        self.links.push(Link {
            name,
            bandwidth: cable.bandwidth,
            latency: cable.latency,
            sharing: match cable.duplex {
                Duplex::Shared | Duplex::Split => Sharing::Shared,
                Duplex::FatPipe => Sharing::FatPipe,
            },
            bandwidth_profile: cable.bandwidth_profile.clone(),
            latency_profile: cable.latency_profile.clone(),
        });
        Ok(id)
    }

    fn add_located_router(
        &mut self,
        place: Location,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let node = Endpoint::Router(count(self.router_locations.len(), "routers")?);
        self.name_node(name, node)?;
        self.router_names.push(name.to_owned());
        self.router_locations.push(place);
        Ok(node)
    }

    /// Adds a member to a zone and returns its number there.
    fn join(&mut self, zone: u32, node: Endpoint) -> Result<u32, PlatformErrorKind> {
        let draft = &mut self.zones[index(zone)];
        // Routers may stand beside either.
        let other = match node {
            Endpoint::Host(_) => draft.has_zones,
            Endpoint::Zone(_) => draft.set.is_some(),
            Endpoint::Router(_) => false,
        };
        if other {
            return Err(PlatformErrorKind::MixedZone {
                zone: draft.name.clone(),
            });
        }
        draft.has_zones |= matches!(node, Endpoint::Zone(_));
        let local = count(draft.members.len(), "members of a zone")?;
        draft.members.push(node);
        Ok(local)
    }
}

impl NamedLink {
    /// The link to take in a direction.
    pub(super) const fn towards(self, up: bool) -> LinkId {
        match self {
            Self::Single(link) => link,
            Self::Pair { up: link, .. } if up => link,
            Self::Pair { down, .. } => down,
        }
    }

    /// All its links.
    pub(super) fn links(self) -> impl Iterator<Item = LinkId> {
        let (first, second) = match self {
            Self::Single(link) => (link, None),
            Self::Pair { up, down } => (up, Some(down)),
        };
        std::iter::once(first).chain(second)
    }
}

/// Checks that `name` can be displayed.
fn check_shown(what: &'static str, name: &str) -> Result<(), PlatformErrorKind> {
    check_name(name).map_err(|source| PlatformErrorKind::Name { what, source })
}

/// Converts a count, if it is small enough.
fn count(found: usize, what: &'static str) -> Result<u32, PlatformErrorKind> {
    u32::try_from(found)
        .ok()
        .filter(|found| *found < COUNT_MAX)
        .ok_or_else(|| PlatformErrorKind::TooMany {
            what,
            found: length(found),
            limit: u64::from(COUNT_MAX),
        })
}

/// More hosts than this would take gigabytes.
pub(super) const HOSTS_MAX: u32 = 1 << 22;
/// Keeps sums of two numbers, such as hosts and routers, within 32 bits.
const COUNT_MAX: u32 = 1 << 30;
/// Most nested zones; the lookup of a route recurses as deep.
const DEPTH_MAX: u32 = 64;

impl Builder {
    /// Makes a name known; it has to be a new one.
    fn name_node(&mut self, name: &str, node: Endpoint) -> Result<(), PlatformErrorKind> {
        let what = match node {
            Endpoint::Host(_) => "host",
            Endpoint::Router(_) => "router",
            Endpoint::Zone(_) => "zone",
        };
        check_shown(what, name)?;
        let known = (&self.hosts[..], &self.router_names[..], &self.zones[..]);
        if self
            .nodes
            .insert(name, node, |node| name_among(known, node))
        {
            return Ok(());
        }
        let name = name.to_owned();
        Err(PlatformErrorKind::Duplicate { what, name })
    }

    /// Makes the name of a link known; it has to be a new one.
    fn name_link(&mut self, name: &str, link: NamedLink) -> Result<(), PlatformErrorKind> {
        let links = &self.links;
        if self
            .named_links
            .insert(name, link, |link| link_name(links, link))
        {
            return Ok(());
        }
        let (what, name) = ("link", name.to_owned());
        Err(PlatformErrorKind::Duplicate { what, name })
    }

    pub(in crate::platform) fn node(
        &self,
        what: &'static str,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        self.known_node(name).ok_or_else(|| {
            let zones = self.zones.iter().map(|zone| zone.name.as_str());
            let routers = self.router_names.iter().map(String::as_str);
            let hosts = self.hosts.iter().map(|host| host.name.as_str());
            PlatformErrorKind::Unknown {
                what,
                name: name.to_owned(),
                nearest: nearest(name, hosts.chain(routers).chain(zones)),
            }
        })
    }

    pub(in crate::platform) fn wire(&self, name: &str) -> Result<NamedLink, PlatformErrorKind> {
        self.named_links
            .get(name, |link| link_name(&self.links, link))
            .ok_or_else(|| PlatformErrorKind::Unknown {
                what: "link",
                name: name.to_owned(),
                nearest: nearest(name, self.links.iter().map(|link| link.name.as_str())),
            })
    }

    /// The host of that name, if it is one.
    pub(in crate::platform) fn host(&self, name: &str) -> Option<HostId> {
        match self.known_node(name) {
            Some(Endpoint::Host(host)) => Some(HostId(host)),
            _ => None,
        }
    }

    /// The host of that name, which has to be one.
    pub(in crate::platform) fn known_host(&self, name: &str) -> Result<HostId, PlatformErrorKind> {
        self.host(name).ok_or_else(|| PlatformErrorKind::Unknown {
            what: "host",
            name: name.to_owned(),
            nearest: nearest(name, self.hosts.iter().map(|host| host.name.as_str())),
        })
    }

    /// The host of that name, which has to be one, with or without a speed.
    pub(in crate::platform) fn known_machine(
        &self,
        name: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        match self.known_node(name) {
            Some(Endpoint::Router(number)) if self.idle_hosts.binary_search(&number).is_ok() => {
                Ok(Endpoint::Router(number))
            }
            _ => self.known_host(name).map(|host| Endpoint::Host(host.0)),
        }
    }

    fn name_of(&self, node: Endpoint) -> &str {
        name_among((&self.hosts, &self.router_names, &self.zones), node)
    }

    fn known_node(&self, name: &str) -> Option<Endpoint> {
        self.nodes.get(name, |node| self.name_of(node))
    }
}

fn name_among<'a>(
    (hosts, routers, zones): (&'a [Host], &'a [String], &'a [ZoneDraft]),
    node: Endpoint,
) -> &'a str {
    match node {
        Endpoint::Host(host) => &hosts[index(host)].name,
        Endpoint::Router(router) => &routers[index(router)],
        Endpoint::Zone(zone) => &zones[index(zone)].name,
    }
}

/// The name of a link, or of two without `_UP` and `_DOWN`.
fn link_name(links: &[Link], link: NamedLink) -> &str {
    match link {
        NamedLink::Single(link) => &links[link.index()].name,
        NamedLink::Pair { up, .. } => {
            let name = &links[up.index()].name;
            name.strip_suffix("_UP").unwrap_or(name)
        }
    }
}

impl Builder {
    /// Adds a route between two things that lie directly in `zone`.
    pub(in crate::platform) fn add_route(
        &mut self,
        zone: u32,
        route: &Route,
    ) -> Result<(), PlatformErrorKind> {
        if route.there.is_empty() {
            let [from, to] = route.ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::EmptyRoute { from, to });
        }
        for end in route.ends {
            self.local_in(zone, end)?;
        }
        if let Some(gateways) = route.gateways {
            for (gateway, end) in gateways.into_iter().zip(route.ends) {
                self.check_gateway(gateway, end)?;
            }
        }
        let [from, to] = route.ends;
        self.add_edge(zone, [from, to], route.gateways, &route.there)?;
        if let Some(back) = route.back.as_ref().filter(|_| from != to) {
            let gateways = route.gateways.map(|[from, to]| [to, from]);
            self.add_edge(zone, [to, from], gateways, back)?;
        }
        Ok(())
    }

    /// Whether a route, in this direction, was already declared.
    pub(in crate::platform) fn has_route(&self, zone: u32, from: Endpoint, to: Endpoint) -> bool {
        match (self.local_in(zone, from), self.local_in(zone, to)) {
            (Ok(from), Ok(to)) => self.zones[index(zone)].pairs.contains(&(from, to)),
            _ => false,
        }
    }

    /// Connects an inner zone with the core that all such zones share.
    pub(in crate::platform) fn add_uplink(
        &mut self,
        inner: u32,
        gateway: Endpoint,
        up: LinkId,
        down: LinkId,
    ) {
        let place = self.zones[index(inner)].place;
        let uplinks = &mut self.zones[index(place.zone)].uplinks;
        if uplinks.len() <= index(place.local) {
            uplinks.resize(index(place.local) + 1, None);
        }
        uplinks[index(place.local)] = Some((gateway, up, down));
    }

    pub(in crate::platform) fn set_core(&mut self, zone: u32, core: LinkId) {
        self.zones[index(zone)].core = Some(core);
    }

    fn add_edge(
        &mut self,
        zone: u32,
        ends: [Endpoint; 2],
        gateways: Option<[Endpoint; 2]>,
        links: &[LinkId],
    ) -> Result<(), PlatformErrorKind> {
        let (from, to) = (self.local_in(zone, ends[0])?, self.local_in(zone, ends[1])?);
        if !self.zones[index(zone)].pairs.insert((from, to)) {
            let [from, to] = ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::DuplicateRoute { from, to });
        }
        let edge = self.edge([from, to], links)?;
        self.zones[index(zone)].edges.push((edge, gateways));
        Ok(())
    }

    /// An edge over these links, without gateways.
    fn edge(&mut self, [from, to]: [u32; 2], links: &[LinkId]) -> Result<Edge, PlatformErrorKind> {
        let first = count(self.route_links.len(), "links of routes")?;
        let count = count(links.len(), "links of a route")?;
        self.route_links.extend_from_slice(links);
        Ok(Edge {
            from,
            to,
            first,
            count,
            gateway_from: NO_POINT,
            gateway_to: NO_POINT,
        })
    }

    /// The number of something in the zone it has to lie in directly.
    fn local_in(&self, zone: u32, node: Endpoint) -> Result<u32, PlatformErrorKind> {
        let place = self.place(node);
        let is_root =
            matches!(node, Endpoint::Zone(number) if self.zones[index(number)].parent.is_none());
        if place.zone == zone && !is_root {
            return Ok(place.local);
        }
        Err(PlatformErrorKind::OutsideZone {
            name: self.name_of(node).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    fn check_gateway(&self, gateway: Endpoint, end: Endpoint) -> Result<(), PlatformErrorKind> {
        let Endpoint::Zone(zone) = end else {
            return Ok(());
        };
        let mut around = self.place(gateway).zone;
        let is_point = !matches!(gateway, Endpoint::Zone(_));
        while around != zone {
            match self.zones[index(around)].parent {
                Some(parent) => around = parent,
                None => break,
            }
        }
        if is_point && around == zone {
            return Ok(());
        }
        Err(PlatformErrorKind::GatewayOutsideZone {
            gateway: self.name_of(gateway).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    fn place(&self, node: Endpoint) -> Location {
        match node {
            Endpoint::Host(host) => self.host_locations[index(host)],
            Endpoint::Router(router) => self.router_locations[index(router)],
            Endpoint::Zone(zone) => self.zones[index(zone)].place,
        }
    }

    /// Adds a route with priority over all others, from one point or zone inside `zone` to another;
    /// `route.back` does not count.
    pub(in crate::platform) fn add_bypass(
        &mut self,
        zone: u32,
        route: Route,
    ) -> Result<(), PlatformErrorKind> {
        let name = |node| self.name_of(node).to_owned();
        let [from, to] = route.ends;
        if route.there.is_empty() {
            let (from, to) = (name(from), name(to));
            return Err(PlatformErrorKind::EmptyRoute { from, to });
        }
        match route.gateways {
            None => {
                self.local_in(zone, from)?;
                self.local_in(zone, to)?;
            }
            Some(gateways) => {
                let branches = [self.branch(zone, from)?, self.branch(zone, to)?];
                if branches[0] == branches[1] {
                    return Err(PlatformErrorKind::SameBranch {
                        from: name(from),
                        to: name(to),
                        zone: name(Endpoint::Zone(branches[0])),
                    });
                }
                for (gateway, end) in gateways.into_iter().zip(route.ends) {
                    self.check_gateway(gateway, end)?;
                }
            }
        }
        if !self.bypassed.insert(route.ends) {
            let [from, to] = route.ends.map(|end| self.name_of(end).to_owned());
            return Err(PlatformErrorKind::DuplicateBypass { from, to });
        }
        self.bypasses.push(BypassDraft {
            ends: route.ends,
            gateways: route.gateways,
            links: route.there,
        });
        Ok(())
    }

    /// Compiles the bypasses; their links go to those of the routes.
    fn compile_bypasses(&mut self) -> Result<Bypasses, PlatformErrorKind> {
        let (mut points, mut zones) = (Vec::new(), Vec::new());
        for bypass in std::mem::take(&mut self.bypasses) {
            let (list, ends) = match bypass.ends {
                [Endpoint::Zone(from), Endpoint::Zone(to)] => (&mut zones, [from, to]),
                ends => (&mut points, ends.map(|end| self.point(end))),
            };
            let edge = self.edge(ends, &bypass.links)?;
            list.push(self.resolve(edge, bypass.gateways));
        }
        Ok(Bypasses::new(points, zones))
    }

    /// The zone directly inside `zone` that is or contains another.
    fn branch(&self, zone: u32, inner: Endpoint) -> Result<u32, PlatformErrorKind> {
        let mut around = inner;
        while let Endpoint::Zone(branch) = around {
            match self.zones[index(branch)].parent {
                Some(parent) if parent == zone => return Ok(branch),
                Some(parent) => around = Endpoint::Zone(parent),
                None => break,
            }
        }
        Err(PlatformErrorKind::NotInside {
            name: self.name_of(inner).to_owned(),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    /// Connects a host or router of a star with its backbone.
    pub(in crate::platform) fn add_host_link(
        &mut self,
        zone: u32,
        host: Endpoint,
        up_and_down: [LinkId; 2],
    ) -> Result<(), PlatformErrorKind> {
        let local = index(self.local_in(zone, host)?);
        let members = &mut self.zones[index(zone)].star.members;
        if members.len() <= local {
            members.resize(local + 1, None);
        }
        if members[local].replace(up_and_down).is_some() {
            return Err(PlatformErrorKind::Duplicate {
                what: "link of host",
                name: self.name_of(host).to_owned(),
            });
        }
        Ok(())
    }

    /// Gives a star its backbone; it has at most one.
    pub(in crate::platform) fn set_backbone(
        &mut self,
        zone: u32,
        backbone: LinkId,
    ) -> Result<(), PlatformErrorKind> {
        let draft = &mut self.zones[index(zone)];
        if draft.star.backbone.replace(backbone).is_some() {
            let (what, name) = ("backbone of zone", draft.name.clone());
            return Err(PlatformErrorKind::Duplicate { what, name });
        }
        Ok(())
    }

    pub(in crate::platform) fn is_star(&self, zone: u32) -> bool {
        self.zones[index(zone)].routing == ZoneRouting::Star
    }

    /// Hosts of the fat trees declared so far.
    pub(in crate::platform) const fn fat_tree_hosts(&self) -> u32 {
        self.numbering.fat_tree_hosts
    }

    /// Fills an empty zone with hosts in a topology; returns the first host. `hosts` has no backbone.
    pub(in crate::platform) fn add_topology(
        &mut self,
        zone: u32,
        hosts: &ClusterHosts,
        topology: Topology,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let cluster = self.zones[index(zone)].name.clone();
        let mut first = None;
        let loopbacks = self.next_link()?;
        self.hosts.reserve(hosts.names.len());
        for (local, number) in (0..).zip(0..hosts.names.len()) {
            let host = self.add_cluster_host(Location { zone, local }, hosts, number)?;
            first = first.or(Some(host));
            if let Some(loopback) = &hosts.loopback {
                let name = format!("{}_loopback", hosts.names.link(&cluster, number));
                self.add_link(name, loopback)?;
            }
        }
        let limiters = self.next_link()?;
        if let Some(bandwidth) = hosts.limiter {
            // SimGrid names limiters after positions in the cluster, not after the hosts.
            for id in (0..i64::from(topology.hosts())).chain(topology.switch_ids()) {
                self.add_limiter(format!("{cluster}_link_{id}_limiter"), bandwidth)?;
            }
        }
        let cables = self.next_link()?;
        let has_two_directions = hosts.cable.duplex == Duplex::Split;
        self.links
            .reserve(index(topology.cables()) << u32::from(has_two_directions));
        self.add_cables(&cluster, &topology, &hosts.cable)?;
        self.zones[index(zone)].cluster = Some(Routing::Fabric(Fabric {
            topology,
            loopbacks: hosts.loopback.is_some().then_some(loopbacks),
            limiters: hosts.limiter.is_some().then_some(limiters),
            cables,
            has_two_directions,
        }));
        Ok(first.expect("a topology has hosts"))
    }

    fn add_cables(
        &mut self,
        cluster: &str,
        topology: &Topology,
        cable: &Cable,
    ) -> Result<(), PlatformErrorKind> {
        match topology {
            Topology::FatTree(tree) => {
                let first = self.numbering.fat_tree_cables;
                self.add_each(tree.named_cables(first), cable)?;
                self.numbering.fat_tree_cables = first + topology.cables();
                self.numbering.fat_tree_hosts += topology.hosts();
                Ok(())
            }
            Topology::Torus(torus) => self.add_each(torus.named_cables(cluster), cable),
            Topology::Dragonfly(dragonfly) => {
                let first = self.numbering.dragonfly_cables;
                self.add_each(dragonfly.named_cables(first), cable)?;
                self.numbering.dragonfly_cables = first + topology.cables();
                Ok(())
            }
        }
    }

    fn add_each(
        &mut self,
        cables: impl Iterator<Item = NamedCable>,
        like: &Cable,
    ) -> Result<(), PlatformErrorKind> {
        for NamedCable { name, width } in cables {
            let cable = Cable {
                bandwidth: wider(like.bandwidth, width)?,
                ..like.clone()
            };
            // SimGrid knows the two directions by their own names alone.
            if cable.duplex == Duplex::Split {
                self.add_link([name.as_str(), "_UP"].concat(), &cable)?;
                self.add_link([name.as_str(), "_DOWN"].concat(), &cable)?;
            } else {
                self.add_link(name, &cable)?;
            }
        }
        Ok(())
    }
}

/// The bandwidth of parallel cables together.
fn wider(bandwidth: BytesPerSecond, width: u32) -> Result<BytesPerSecond, PlatformErrorKind> {
    let total = bandwidth.get() * f64::from(width);
    BytesPerSecond::new(total)
        .ok()
        .filter(|_| units::is_rate(total))
        .ok_or_else(|| PlatformErrorKind::InvalidValue {
            key: "bandwidth of parallel cables",
            found: total.to_string(),
            expected: "from 1e-6 to 1e30 B/s",
        })
}

impl Builder {
    /// Warns of hosts and zones that no route of their zone reaches.
    pub(in crate::platform) fn warn_of_isolated(&mut self) {
        let mut warnings = Vec::new();
        for draft in &self.zones {
            let reached = match draft.routing {
                ZoneRouting::None | ZoneRouting::Cluster => continue,
                ZoneRouting::Star => draft.star.connected(draft.members.len()),
                ZoneRouting::Full | ZoneRouting::Shortest(_) => self.reached(draft),
            };
            if draft.members.len() < 2 {
                continue;
            }
            let mut isolated = draft
                .members
                .iter()
                .zip(reached)
                .filter(|(node, reached)| !reached && !matches!(node, Endpoint::Router(_)))
                .map(|(node, _)| self.name_of(*node));
            if let Some(first) = isolated.next() {
                let others = match isolated.count() {
                    0 => String::new(),
                    1 => " and one other member".to_owned(),
                    more => format!(" and {more} other members"),
                };
                warnings.push(format!(
                    "no route leads from or to `{first}`{others} of zone `{}`: a message there \
                     ends the run",
                    draft.name
                ));
            }
        }
        for warning in warnings {
            self.warn(warning);
        }
    }

    /// Which members of a zone its routes and bypasses lead to or from.
    fn reached(&self, draft: &ZoneDraft) -> Vec<bool> {
        let mut reached = vec![false; draft.members.len()];
        for (from, to) in draft.pairs.iter().filter(|(from, to)| from != to) {
            reached[index(*from)] = true;
            reached[index(*to)] = true;
        }
        for node in self.bypasses.iter().flat_map(|bypass| bypass.ends) {
            let local = index(self.place(node).local);
            if draft.members.get(local) == Some(&node) {
                reached[local] = true;
            }
        }
        reached
    }
}
