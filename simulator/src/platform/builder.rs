//! A platform while its file is being read.

mod cluster;
mod compile;
mod declared;

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId, check_name};

use crate::platform::error::nearest;
use crate::platform::graph::Search;
use crate::platform::routes::{Cluster, Edge, Place};
use crate::platform::{Fault, Host, Link, LinkId, Overhead, Overheads, Set, Sharing, index};
use crate::profile::Profile;

pub(super) use cluster::Hosts;

/// Collects what a file declares, checks names and ends, and numbers everything in file order.
#[derive(Debug, Default)]
pub(super) struct Builder {
    hosts: Vec<Host>,
    sets: Vec<Set>,
    links: Vec<Link>,
    warnings: Vec<String>,
    overheads: Overheads,
    host_places: Vec<Place>,
    router_places: Vec<Place>,
    zones: Vec<Draft>,
    route_links: Vec<LinkId>,
    nodes: BTreeMap<String, Node>,
    wires: BTreeMap<String, Wire>,
}

/// What routes connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Host(u32),
    Router(u32),
    Zone(u32),
}

/// The link or links behind one name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    One(LinkId),
    Two { up: LinkId, down: LinkId },
}

/// How a zone is to route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Cluster,
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
    pub(super) ends: [Node; 2],
    pub(super) gateways: Option<[Node; 2]>,
    pub(super) there: Vec<LinkId>,
    /// Links of the way back, in its order, if the route leads both ways.
    pub(super) back: Option<Vec<LinkId>>,
}

#[derive(Debug)]
struct Draft {
    name: String,
    at: usize,
    parent: Option<u32>,
    place: Place,
    depth: u32,
    kind: Kind,
    set: Option<SetId>,
    /// What lies directly in it, and where the file says so; a cluster's hosts are left out.
    members: Vec<(String, Node, usize)>,
    cluster: Option<Cluster>,
    edges: Vec<(Edge, Option<[Node; 2]>)>,
    pairs: BTreeSet<(u32, u32)>,
    uplinks: Vec<Option<(Node, LinkId, LinkId)>>,
    core: Option<LinkId>,
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
        kind: Kind,
        at: usize,
    ) -> Result<u32, Fault> {
        let number = count(self.zones.len(), "zones")?;
        let (local, depth) = match parent {
            Some(parent) => (self.join(parent, name, Node::Zone(number), at)?, parent),
            None => (0, 0),
        };
        let depth = parent.map_or(0, |_| self.zones[index(depth)].depth + 1);
        if DEPTH_MAX < depth {
            let (met, limit) = (u64::from(depth), u64::from(DEPTH_MAX));
            return Err(Fault::TooMany {
                what: "zones inside one another",
                met,
                limit,
            });
        }
        self.name_node(name, Node::Zone(number))?;
        self.zones.push(Draft {
            name: name.to_owned(),
            at,
            parent,
            place: Place {
                zone: parent.unwrap_or(0),
                local,
            },
            depth,
            kind,
            set: None,
            members: Vec::new(),
            cluster: None,
            edges: Vec::new(),
            pairs: BTreeSet::new(),
            uplinks: Vec::new(),
            core: None,
        });
        Ok(number)
    }

    /// Adds a host to a zone; its Set is that of the zone.
    pub(super) fn add_host(&mut self, zone: u32, host: Host, at: usize) -> Result<HostId, Fault> {
        let number = count(self.hosts.len(), "hosts")?;
        let local = self.join(zone, &host.name, Node::Host(number), at)?;
        self.place_host(Place { zone, local }, host)
    }

    pub(super) fn add_router(&mut self, zone: u32, name: &str, at: usize) -> Result<Node, Fault> {
        let node = Node::Router(count(self.router_places.len(), "routers")?);
        let local = self.join(zone, name, node, at)?;
        self.name_node(name, node)?;
        self.router_places.push(Place { zone, local });
        Ok(node)
    }

    /// Adds a cable: one link, or two named `…_UP` and `…_DOWN`.
    pub(super) fn add_cable(&mut self, name: &str, cable: &Cable) -> Result<Wire, Fault> {
        if self.wires.contains_key(name) {
            return Err(Fault::Duplicate {
                kind: "link",
                name: name.to_owned(),
            });
        }
        if cable.duplex != Duplex::Split {
            return self.add_link(name.to_owned(), cable).map(Wire::One);
        }
        let up = self.add_link(format!("{name}_UP"), cable)?;
        let down = self.add_link(format!("{name}_DOWN"), cable)?;
        let wire = Wire::Two { up, down };
        self.wires.insert(name.to_owned(), wire);
        Ok(wire)
    }

    /// Says what messages cost the hosts of each Set, and those of pairs of Sets that differ.
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

    pub(super) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    pub(super) fn node(&self, kind: &'static str, name: &str) -> Result<Node, Fault> {
        self.nodes.get(name).copied().ok_or_else(|| Fault::Unknown {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, self.nodes.keys().map(String::as_str)),
        })
    }

    pub(super) fn wire(&self, name: &str) -> Result<Wire, Fault> {
        self.wires.get(name).copied().ok_or_else(|| Fault::Unknown {
            kind: "link",
            name: name.to_owned(),
            nearest: nearest(name, self.wires.keys().map(String::as_str)),
        })
    }

    /// The host of that name, if it is one.
    pub(super) fn host(&self, name: &str) -> Option<HostId> {
        match self.nodes.get(name) {
            Some(Node::Host(host)) => Some(HostId(*host)),
            _ => None,
        }
    }

    fn place_host(&mut self, place: Place, mut host: Host) -> Result<HostId, Fault> {
        let id = HostId(count(self.hosts.len(), "hosts")?);
        if HOSTS_MAX <= id.0 {
            let (met, limit) = (u64::from(id.0) + 1, u64::from(HOSTS_MAX));
            return Err(Fault::TooMany {
                what: "hosts",
                met,
                limit,
            });
        }
        self.name_node(&host.name, Node::Host(id.0))?;
        let zone = &mut self.zones[index(place.zone)];
        host.set = *zone.set.get_or_insert_with(|| {
            self.sets.push(Set {
                name: zone.name.clone(),
                hosts: Vec::new(),
            });
            SetId::from_index(self.sets.len() - 1)
        });
        self.sets[host.set.index()].hosts.push(id);
        self.host_places.push(place);
        self.hosts.push(host);
        Ok(id)
    }

    fn add_link(&mut self, name: String, cable: &Cable) -> Result<LinkId, Fault> {
        let id = LinkId(count(self.links.len(), "links")?);
        shown("link", &name)?;
        if self.wires.insert(name.clone(), Wire::One(id)).is_some() {
            return Err(Fault::Duplicate { kind: "link", name });
        }
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

    /// Puts something directly into a zone and returns its number there.
    fn join(&mut self, zone: u32, name: &str, node: Node, at: usize) -> Result<u32, Fault> {
        let draft = &mut self.zones[index(zone)];
        let is_zone = matches!(node, Node::Zone(_));
        let mixes =
            |(_, other, _): &(String, Node, usize)| matches!(other, Node::Zone(_)) != is_zone;
        if draft.members.first().is_some_and(mixes) {
            return Err(Fault::Mixed {
                zone: draft.name.clone(),
            });
        }
        let local = count(draft.members.len(), "members of a zone")?;
        draft.members.push((name.to_owned(), node, at));
        Ok(local)
    }

    fn name_node(&mut self, name: &str, node: Node) -> Result<(), Fault> {
        let kind = match node {
            Node::Host(_) => "host",
            Node::Router(_) => "router",
            Node::Zone(_) => "zone",
        };
        shown(kind, name)?;
        match self.nodes.insert(name.to_owned(), node) {
            None => Ok(()),
            Some(_) => Err(Fault::Duplicate {
                kind,
                name: name.to_owned(),
            }),
        }
    }
}

impl Wire {
    /// The link to take in a direction.
    pub(super) const fn towards(self, up: bool) -> LinkId {
        match self {
            Self::One(link) => link,
            Self::Two { up: link, .. } if up => link,
            Self::Two { down, .. } => down,
        }
    }
}

/// Whether what is called `name` can be shown.
fn shown(kind: &'static str, name: &str) -> Result<(), Fault> {
    check_name(name).map_err(|fault| Fault::Name { kind, fault })
}

/// A number of things, if few enough.
fn count(met: usize, what: &'static str) -> Result<u32, Fault> {
    u32::try_from(met)
        .ok()
        .filter(|met| *met < COUNT_MAX)
        .ok_or_else(|| Fault::TooMany {
            what,
            met: u64::try_from(met).unwrap_or(u64::MAX),
            limit: u64::from(COUNT_MAX),
        })
}

/// More hosts than this would take gigabytes.
pub(super) const HOSTS_MAX: u32 = 1 << 22;
/// Keeps sums of numbers, of hosts and routers, of first link and offset, within 32 bits.
const COUNT_MAX: u32 = 1 << 30;
/// Zones inside one another; asking for a route descends as deep.
const DEPTH_MAX: u32 = 64;
