//! A platform while its file is being read.

mod bypass;
pub(super) mod cluster;
mod compile;
mod declared;
mod isolated;
mod lookup;
pub(super) mod star;
pub(super) mod topology;

use std::collections::{BTreeMap, BTreeSet};

use bsp::numbers::{index, length};
use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId, check_name};

use crate::network::ConfiguredSetting;
use crate::platform::error::PlatformErrorKind;
use crate::platform::graph::Search;
use crate::platform::host::{Host, Set};
use crate::platform::link::{Link, LinkId, Sharing};
use crate::platform::names::Names;
use crate::platform::overhead::{Overhead, Overheads};
use crate::platform::routes::{Edge, Location, Routing, Star};
use crate::platform::simgrid::config::Loopback;
use crate::profile::Profile;

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
            let (met, limit) = (u64::from(depth), u64::from(DEPTH_MAX));
            return Err(PlatformErrorKind::TooMany {
                what: "zones inside one another",
                met,
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
            let (met, limit) = (u64::from(id.0) + 1, u64::from(HOSTS_MAX));
            return Err(PlatformErrorKind::TooMany {
                what: "hosts",
                met,
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
fn count(met: usize, what: &'static str) -> Result<u32, PlatformErrorKind> {
    u32::try_from(met)
        .ok()
        .filter(|met| *met < COUNT_MAX)
        .ok_or_else(|| PlatformErrorKind::TooMany {
            what,
            met: length(met),
            limit: u64::from(COUNT_MAX),
        })
}

/// More hosts than this would take gigabytes.
pub(super) const HOSTS_MAX: u32 = 1 << 22;
/// Keeps sums of two numbers, such as hosts and routers, within 32 bits.
const COUNT_MAX: u32 = 1 << 30;
/// Most nested zones; the lookup of a route recurses as deep.
const DEPTH_MAX: u32 = 64;
