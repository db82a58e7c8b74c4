//! A platform while its file is being read.

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};
use bsp::{HostId, SetId};

use crate::platform::error::{At, Misfit, nearest};
use crate::platform::graph::{Graph, Search, split_loops};
use crate::platform::pairs::Pairs;
use crate::platform::routes::{
    Cluster, Edge, Full, Loops, NO_POINT, Place, Routes, Routing, Trunks, Uplink, Zone,
};
use crate::platform::{
    Fault, Host, Link, LinkId, Overhead, Overheads, Platform, Set, Sharing, index,
};
use crate::profile::Profile;

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

/// Hosts that are alike, each with a cable of its own.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Names of hosts, and the middle part of their links' names.
    pub(super) names: Vec<(String, String)>,
    pub(super) speeds: Vec<InstructionsPerSecond>,
    pub(super) cores: u32,
    pub(super) cable: Cable,
    pub(super) backbone: Option<Cable>,
    pub(super) loopback: Option<Cable>,
    pub(super) limiter: Option<BytesPerSecond>,
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

    /// Fills an empty zone with hosts, their links and a router.
    pub(super) fn add_cluster(
        &mut self,
        zone: u32,
        hosts: &Hosts,
        router: &str,
    ) -> Result<Node, Fault> {
        let prefix = self.zones[index(zone)].name.clone();
        let backbone = match &hosts.backbone {
            Some(cable) => Some(self.add_link(format!("{prefix}_backbone"), cable)?),
            None => None,
        };
        let has_two_directions = hosts.cable.duplex == Duplex::Split;
        let first = count(self.links.len(), "links")?;
        for (local, (name, link)) in (0..).zip(&hosts.names) {
            let speed = hosts.speeds[index(local) % hosts.speeds.len()];
            let host = Host {
                name: name.clone(),
                set: SetId(0),
                speed,
                cores: hosts.cores,
                availability: None,
                load: None,
            };
            self.place_host(Place { zone, local }, host)?;
            self.add_host_links(&format!("{prefix}_link_{link}"), hosts)?;
        }
        let count_hosts = count(hosts.names.len(), "hosts")?;
        self.zones[index(zone)].cluster = Some(Cluster {
            hosts: count_hosts,
            backbone,
            first,
            stride: u32::from(hosts.loopback.is_some())
                + u32::from(hosts.limiter.is_some())
                + 1
                + u32::from(has_two_directions),
            has_loopback: hosts.loopback.is_some(),
            has_limiter: hosts.limiter.is_some(),
            has_two_directions,
        });
        let node = Node::Router(count(self.router_places.len(), "routers")?);
        self.name_node(router, node)?;
        self.router_places.push(Place {
            zone,
            local: count_hosts,
        });
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

    /// Adds a route between two things that lie directly in `zone`.
    pub(super) fn add_route(&mut self, zone: u32, route: &Route) -> Result<(), Fault> {
        let names = route.ends.map(|end| self.name_of(end));
        if route.there.is_empty() {
            let [from, to] = names;
            return Err(Fault::EmptyRoute { from, to });
        }
        let locals = [
            self.local_in(zone, route.ends[0])?,
            self.local_in(zone, route.ends[1])?,
        ];
        if let Some(gateways) = route.gateways {
            for (gateway, end) in gateways.into_iter().zip(route.ends) {
                self.check_gateway(gateway, end)?;
            }
        }
        let [from, to] = locals;
        self.add_edge(zone, [from, to], route.gateways, &route.there)
            .map_err(|fault| named(fault, &names))?;
        if let Some(back) = route.back.as_ref().filter(|_| from != to) {
            let gateways = route.gateways.map(|[from, to]| [to, from]);
            let names = [names[1].clone(), names[0].clone()];
            self.add_edge(zone, [to, from], gateways, back)
                .map_err(|fault| named(fault, &names))?;
        }
        Ok(())
    }

    /// Whether a route, in this direction, was already declared.
    pub(super) fn has_route(&self, zone: u32, from: Node, to: Node) -> bool {
        match (self.local_in(zone, from), self.local_in(zone, to)) {
            (Ok(from), Ok(to)) => self.zones[index(zone)].pairs.contains(&(from, to)),
            _ => false,
        }
    }

    /// Connects an inner zone with the core that all such zones share.
    pub(super) fn add_uplink(&mut self, inner: u32, gateway: Node, up: LinkId, down: LinkId) {
        let place = self.zones[index(inner)].place;
        let uplinks = &mut self.zones[index(place.zone)].uplinks;
        if uplinks.len() <= index(place.local) {
            uplinks.resize(index(place.local) + 1, None);
        }
        uplinks[index(place.local)] = Some((gateway, up, down));
    }

    pub(super) fn set_core(&mut self, zone: u32, core: LinkId) {
        self.zones[index(zone)].core = Some(core);
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

    /// Compiles the routes.
    pub(super) fn finish(mut self) -> Result<Platform, Misfit> {
        if self.hosts.is_empty() {
            return Err(Misfit {
                at: 0,
                fault: Fault::NoHosts,
            });
        }
        let loopback = self.default_loopback().at(0)?;
        let mut zones = Vec::with_capacity(self.zones.len());
        for draft in std::mem::take(&mut self.zones) {
            let (place, depth, at) = (draft.place, draft.depth, draft.at);
            let routing = self.routing(draft, loopback).at(at)?;
            zones.push(Zone {
                place,
                depth,
                routing,
            });
        }
        let by_name = self
            .nodes
            .values()
            .filter_map(|node| match node {
                Node::Host(host) => Some(HostId(*host)),
                Node::Router(_) | Node::Zone(_) => None,
            })
            .collect();
        let mut points = self.host_places;
        points.extend(self.router_places);
        Ok(Platform {
            hosts: self.hosts,
            sets: self.sets,
            links: self.links,
            routes: Routes {
                points,
                zones,
                links: self.route_links,
            },
            overheads: self.overheads,
            by_name,
            warnings: self.warnings,
        })
    }

    /// Checks that every member of every zone that routes has a route.
    pub(super) fn check_connected(&self) -> Result<(), Misfit> {
        for draft in &self.zones {
            let routes = matches!(draft.kind, Kind::Full | Kind::Shortest(_));
            if !routes || draft.members.len() < 2 {
                continue;
            }
            let mut reached = vec![false; draft.members.len()];
            for (from, to) in draft.pairs.iter().filter(|(from, to)| from != to) {
                reached[index(*from)] = true;
                reached[index(*to)] = true;
            }
            let isolated = draft
                .members
                .iter()
                .zip(reached)
                .find(|((_, node, _), reached)| !reached && !matches!(node, Node::Router(_)));
            if let Some(((name, _, at), _)) = isolated {
                let fault = Fault::Isolated {
                    name: name.clone(),
                    zone: draft.name.clone(),
                };
                return Err(Misfit { at: *at, fault });
            }
        }
        Ok(())
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

    fn add_host_links(&mut self, name: &str, hosts: &Hosts) -> Result<(), Fault> {
        if let Some(loopback) = &hosts.loopback {
            self.add_link(format!("{name}_loopback"), loopback)?;
        }
        if let Some(bandwidth) = hosts.limiter {
            let limiter = Cable {
                bandwidth,
                latency: Seconds::ZERO,
                duplex: Duplex::Shared,
                bandwidth_profile: None,
                latency_profile: None,
            };
            self.add_link(format!("{name}_limiter"), &limiter)?;
        }
        self.add_cable(name, &hosts.cable).map(|_| ())
    }

    fn add_link(&mut self, name: String, cable: &Cable) -> Result<LinkId, Fault> {
        let id = LinkId(count(self.links.len(), "links")?);
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
        match self.nodes.insert(name.to_owned(), node) {
            None => Ok(()),
            Some(_) => Err(Fault::Duplicate {
                kind,
                name: name.to_owned(),
            }),
        }
    }

    fn add_edge(
        &mut self,
        zone: u32,
        [from, to]: [u32; 2],
        gateways: Option<[Node; 2]>,
        links: &[LinkId],
    ) -> Result<(), Fault> {
        if !self.zones[index(zone)].pairs.insert((from, to)) {
            return Err(Fault::DuplicateRoute {
                from: String::new(),
                to: String::new(),
            });
        }
        let first = count(self.route_links.len(), "links of routes")?;
        let count = count(links.len(), "links of a route")?;
        self.route_links.extend_from_slice(links);
        let edge = Edge {
            from,
            to,
            first,
            count,
            gateway_from: NO_POINT,
            gateway_to: NO_POINT,
        };
        self.zones[index(zone)].edges.push((edge, gateways));
        Ok(())
    }

    /// The number of something in the zone it has to lie in directly.
    fn local_in(&self, zone: u32, node: Node) -> Result<u32, Fault> {
        let place = self.place(node);
        let is_root =
            matches!(node, Node::Zone(number) if self.zones[index(number)].parent.is_none());
        if place.zone == zone && !is_root {
            return Ok(place.local);
        }
        Err(Fault::Outside {
            name: self.name_of(node),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    fn check_gateway(&self, gateway: Node, end: Node) -> Result<(), Fault> {
        let Node::Zone(zone) = end else {
            return Ok(());
        };
        let mut around = self.place(gateway).zone;
        let is_point = !matches!(gateway, Node::Zone(_));
        while around != zone {
            match self.zones[index(around)].parent {
                Some(parent) => around = parent,
                None => break,
            }
        }
        if is_point && around == zone {
            return Ok(());
        }
        Err(Fault::Gateway {
            gateway: self.name_of(gateway),
            zone: self.zones[index(zone)].name.clone(),
        })
    }

    fn place(&self, node: Node) -> Place {
        match node {
            Node::Host(host) => self.host_places[index(host)],
            Node::Router(router) => self.router_places[index(router)],
            Node::Zone(zone) => self.zones[index(zone)].place,
        }
    }

    fn name_of(&self, node: Node) -> String {
        match node {
            Node::Host(host) => self.hosts[index(host)].name.clone(),
            Node::Zone(zone) => self.zones[index(zone)].name.clone(),
            Node::Router(_) => self
                .nodes
                .iter()
                .find(|(_, other)| **other == node)
                .map_or_else(String::new, |(name, _)| name.clone()),
        }
    }

    /// The link that SimGrid gives hosts of ordinary zones for messages to themselves.
    fn default_loopback(&mut self) -> Result<Option<LinkId>, Fault> {
        let is_leaf = |draft: &Draft| {
            matches!(draft.kind, Kind::Full | Kind::Shortest(_))
                && draft
                    .members
                    .iter()
                    .any(|(_, node, _)| matches!(node, Node::Host(_)))
        };
        if !self.zones.iter().any(is_leaf) {
            return Ok(None);
        }
        let cable = Cable {
            bandwidth: BytesPerSecond::new(10e9).expect("10 GB/s is above zero"),
            latency: Seconds::ZERO,
            duplex: Duplex::FatPipe,
            bandwidth_profile: None,
            latency_profile: None,
        };
        self.add_link("__loopback__".to_owned(), &cable).map(Some)
    }

    fn routing(&mut self, draft: Draft, loopback: Option<LinkId>) -> Result<Routing, Fault> {
        let width = count(draft.members.len(), "members of a zone")?;
        let edges = draft
            .edges
            .into_iter()
            .map(|(edge, gateways)| self.resolve(edge, gateways));
        let (loops, edges) = split_loops(edges.collect());
        let is_leaf = !matches!(draft.members.first(), Some((_, Node::Zone(_), _)));
        let loops = Loops {
            default: loopback.filter(|_| is_leaf),
            edges: loops,
        };
        match draft.kind {
            Kind::None => Ok(Routing::None),
            Kind::Cluster => Ok(draft.cluster.map_or(Routing::None, Routing::Cluster)),
            Kind::Full => {
                let ends: Vec<_> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
                let uplink = |(gateway, up, down)| Uplink {
                    gateway: self.point(gateway),
                    up,
                    down,
                };
                let trunks = Trunks {
                    uplinks: draft.uplinks.into_iter().map(|it| it.map(uplink)).collect(),
                    core: draft.core,
                };
                Ok(Routing::Full(Full {
                    pairs: Pairs::new(width, &ends),
                    edges,
                    trunks,
                    loops,
                }))
            }
            Kind::Shortest(search) => {
                let (graph, made) =
                    Graph::new(width, &edges, search).map_err(|met| Fault::TooMany {
                        what: "nodes with several neighbours in a zone of shortest paths",
                        met: u64::try_from(met).unwrap_or(u64::MAX),
                        limit: u64::try_from(crate::platform::graph::CORE_MAX).unwrap_or(u64::MAX),
                    })?;
                if made != search {
                    self.warn(format!(
                        "zone `{}` is too large for Floyd's search and is searched as Dijkstra \
                         does; SimGrid may choose another of several equally short ways",
                        draft.name
                    ));
                }
                Ok(Routing::Shortest {
                    graph,
                    edges,
                    loops,
                })
            }
        }
    }

    fn resolve(&self, edge: Edge, gateways: Option<[Node; 2]>) -> Edge {
        match gateways {
            None => edge,
            Some([from, to]) => Edge {
                gateway_from: self.point(from),
                gateway_to: self.point(to),
                ..edge
            },
        }
    }

    /// The number of a host or router among the points.
    fn point(&self, node: Node) -> u32 {
        match node {
            Node::Host(host) => host,
            Node::Router(router) => {
                router + u32::try_from(self.hosts.len()).expect("hosts are numbered in 32 bits")
            }
            Node::Zone(_) => panic!("a gateway was checked to be a host or a router"),
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

/// Tells a fault about a pair its names.
fn named(fault: Fault, [from, to]: &[String; 2]) -> Fault {
    match fault {
        Fault::DuplicateRoute { .. } => Fault::DuplicateRoute {
            from: from.clone(),
            to: to.clone(),
        },
        other => other,
    }
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
