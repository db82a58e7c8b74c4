//! Pairs of hosts without a route, and hosts that differ in their own links only.
//!
//! Hosts between which no message can tell a difference are a class. Of two classes, one pair of hosts stands for all,
//! so that the cost is that of the classes, not of the hosts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bsp::numbers::index;
use bsp::{HostId, SetId};

use super::routes::{Cluster, Edge, Full, Routes, Routing, Shortest};
use super::{Link, Platform};

/// Pairs of hosts, the sender first, between which no route leads; a host and itself are a pair, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unrouted {
    /// Number of pairs of hosts that have been looked at.
    pub pairs: u64,
    /// Number of them without a route.
    pub unrouted: u64,
    /// Whether that is all pairs of the platform. If not, there may be more.
    pub is_complete: bool,
    /// Pairs of Sets that have such hosts, in the order of the file.
    pub sets: Vec<UnroutedSets>,
}

/// Hosts of one Set that do not reach some of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnroutedSets {
    /// The Set of the sending hosts.
    pub from: SetId,
    /// The Set of the receiving hosts.
    pub to: SetId,
    /// Number of pairs of their hosts without a route.
    pub unrouted: u64,
    /// The first of them.
    pub first: (HostId, HostId),
}

/// Hosts that reach, and are reached from, the same others.
#[derive(Clone, Debug)]
struct Class {
    set: SetId,
    first: HostId,
    /// Another host of the class.
    second: Option<HostId>,
    hosts: u64,
}

/// What the routes of a host depend on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// It is named by a route between zones, or by a bypass.
    Alone(u32),
    /// Like all others of its zone.
    Any,
    /// Whether it has links to the backbone.
    Linked(bool),
    /// In a graph of shortest paths, a host of this part of it that is connected both ways.
    Part(u32),
    /// The hosts and routers from which edges come, and to which they lead.
    Neighbours(Vec<u32>, Vec<u32>),
}

impl Platform {
    /// Pairs of hosts between which no route leads.
    ///
    /// Of platforms with more than a thousand kinds of hosts, the first pairs.
    #[must_use]
    pub fn unrouted(&self) -> Unrouted {
        let classes = self.classes();
        let mut found = Unrouted {
            is_complete: true,
            ..Unrouted::default()
        };
        let mut by_sets: BTreeMap<(SetId, SetId), UnroutedSets> = BTreeMap::new();
        let mut links = Vec::new();
        let pairs = classes
            .iter()
            .flat_map(|from| classes.iter().map(move |to| (from, to)));
        for (at, (from, to)) in pairs.enumerate() {
            if LOOKUPS_MAX <= at {
                found.is_complete = false;
                break;
            }
            for (pair, count) in pairs_of(from, to) {
                found.pairs += count;
                if self.routes.find(pair.0.0, pair.1.0, &mut links) {
                    continue;
                }
                found.unrouted += count;
                match by_sets.entry((from.set, to.set)) {
                    Entry::Occupied(mut sets) => sets.get_mut().unrouted += count,
                    Entry::Vacant(place) => {
                        place.insert(UnroutedSets {
                            from: from.set,
                            to: to.set,
                            unrouted: count,
                            first: pair,
                        });
                    }
                }
            }
        }
        found.sets = by_sets.into_values().collect();
        found
    }

    /// The classes of hosts, by their first hosts.
    fn classes(&self) -> Vec<Class> {
        let kinds = self.routes.kinds(self.hosts.len());
        let mut numbers = BTreeMap::new();
        let mut classes: Vec<Class> = Vec::new();
        for (host, kind) in (0..).zip(kinds) {
            let id = HostId(host);
            let zone = self.routes.points[id.index()].zone;
            match numbers.entry((zone, kind)) {
                Entry::Occupied(number) => {
                    let class: &mut Class = &mut classes[*number.get()];
                    class.second = class.second.or(Some(id));
                    class.hosts += 1;
                }
                Entry::Vacant(place) => {
                    place.insert(classes.len());
                    classes.push(Class {
                        set: self.host(id).set,
                        first: id,
                        second: None,
                        hosts: 1,
                    });
                }
            }
        }
        classes
    }

    /// All uniform hosts, in the order of their numbers; at least two in each range.
    pub(crate) fn uniform_hosts(&self) -> Vec<UniformHosts> {
        let hosts = self.hosts.len();
        // A bypass may concern any host.
        let is_gateway = if self.routes.bypasses.is_empty() {
            self.routes.gateways(hosts)
        } else {
            vec![true; hosts]
        };
        let mut ranges: Vec<UniformHosts> = Vec::new();
        for host in (0..).take(self.hosts.len()) {
            let Some((cluster, local)) = cluster_of(&self.routes, host) else {
                continue;
            };
            if is_gateway[index(host)] {
                continue;
            }
            let first_link = cluster.first + local * cluster.stride;
            match ranges.last_mut() {
                Some(range) if self.continues(range, host, first_link, cluster.stride) => {
                    range.count += 1;
                }
                _ => ranges.push(UniformHosts {
                    first: host,
                    count: 1,
                    first_link,
                    links_per_host: cluster.stride,
                }),
            }
        }
        ranges.retain(|range| 1 < range.count);
        ranges
    }

    /// Whether a host that has these links is the next one of a range.
    fn continues(&self, range: &UniformHosts, host: u32, first_link: u32, links: u32) -> bool {
        let zone = |number: u32| self.routes.points[index(number)].zone;
        range.first + range.count == host
            && zone(range.first) == zone(host)
            && self.hosts[index(range.first)].set == self.hosts[index(host)].set
            && (0..links).all(|at| {
                are_alike(
                    &self.links[index(range.first_link + at)],
                    &self.links[index(first_link + at)],
                )
            })
    }
}

/// Pairs that stand for all pairs of hosts of two classes, and how many each stands for.
fn pairs_of(from: &Class, to: &Class) -> Vec<((HostId, HostId), u64)> {
    if from.first != to.first {
        return vec![((from.first, to.first), from.hosts * to.hosts)];
    }
    let others = from.hosts * (from.hosts - 1);
    let mut pairs = vec![((from.first, from.first), from.hosts)];
    pairs.extend(from.second.map(|second| ((from.first, second), others)));
    pairs
}

impl Routes {
    /// What the routes of each of the first `hosts` points depend on.
    fn kinds(&self, hosts: usize) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = Vec::with_capacity(hosts);
        let parts: Vec<Neighbourhoods> = self
            .zones
            .iter()
            .map(|zone| Neighbourhoods::new(&zone.routing))
            .collect();
        let mut is_named = self.gateways(hosts);
        for edge in self.bypasses.between_any_points() {
            for point in [edge.from, edge.to] {
                // A router is no host.
                if let Some(is_named) = is_named.get_mut(index(point)) {
                    *is_named = true;
                }
            }
        }
        for (point, place) in (0..).zip(&self.points[..hosts]) {
            let zone = &self.zones[index(place.zone)];
            kinds.push(match &zone.routing {
                _ if is_named[index(point)] => Kind::Alone(point),
                Routing::None | Routing::Cluster(_) | Routing::Fabric(_) => Kind::Any,
                Routing::Star(star) => Kind::Linked(star.is_connected(place.local)),
                Routing::Full(_) | Routing::Shortest(_) => {
                    parts[index(place.zone)].kind(place.local)
                }
            });
        }
        kinds
    }

    /// Whether each of the first `hosts` points is the gateway of a route: its own messages take another way there.
    pub(super) fn gateways(&self, hosts: usize) -> Vec<bool> {
        // All fields are named, so that a new one that has routes of its own is not overlooked.
        let Self {
            points: _,
            zones,
            links: _,
            bypasses,
            // Hosts of clusters have links of their own.
            loopback: _,
        } = self;
        let mut is_gateway = vec![false; hosts];
        let mut mark = |point: u32| {
            if let Some(is_gateway) = is_gateway.get_mut(index(point)) {
                *is_gateway = true;
            }
        };
        for zone in zones {
            let edges: &[Edge] = match &zone.routing {
                Routing::None | Routing::Cluster(_) | Routing::Star(_) | Routing::Fabric(_) => &[],
                Routing::Full(Full { edges, trunks, .. }) => {
                    let uplinks = trunks.uplinks.iter().flatten();
                    uplinks.for_each(|uplink| mark(uplink.gateway));
                    edges
                }
                Routing::Shortest(Shortest { edges, .. }) => edges,
            };
            for edge in edges {
                mark(edge.gateway_from);
                mark(edge.gateway_to);
            }
        }
        for edge in bypasses.between_any_zones() {
            mark(edge.gateway_from);
            mark(edge.gateway_to);
        }
        is_gateway
    }
}

/// The edges of a zone, by their ends.
enum Neighbourhoods {
    /// None that counts.
    None,
    /// By member, the ends of edges to it and from it, ascending.
    Full(Vec<[Vec<u32>; 2]>),
    /// By member, the part of the graph that it is in.
    Shortest(Vec<u32>),
}

impl Neighbourhoods {
    fn new(routing: &Routing) -> Self {
        match routing {
            Routing::None | Routing::Cluster(_) | Routing::Star(_) | Routing::Fabric(_) => {
                Self::None
            }
            Routing::Full(Full { edges, .. }) => Self::Full(neighbours(edges)),
            Routing::Shortest(Shortest { edges, .. }) => Self::Shortest(parts(&neighbours(edges))),
        }
    }

    /// Hosts are alike that have the same neighbours: without themselves if they are not neighbours, with themselves if
    /// they are.
    fn kind(&self, member: u32) -> Kind {
        match self {
            Self::None => Kind::Any,
            Self::Shortest(parts) => Kind::Part(parts.get(index(member)).copied().unwrap_or(APART)),
            Self::Full(all) => {
                let [mut from, mut to] = all.get(index(member)).cloned().unwrap_or_default();
                // In a full mesh, all have the same with themselves; around a hub, without.
                if is_mesh(all, member) {
                    for list in [&mut from, &mut to] {
                        if let Err(place) = list.binary_search(&member) {
                            list.insert(place, member);
                        }
                    }
                }
                Kind::Neighbours(from, to)
            }
        }
    }
}

/// Whether a member has edges to most others: then those like it are its neighbours.
fn is_mesh(all: &[[Vec<u32>; 2]], member: u32) -> bool {
    let edges = all.get(index(member)).map_or(0, |[_, to]| to.len());
    all.len() <= 2 * edges
}

/// By member, the ends of edges to it and from it, ascending and without itself.
fn neighbours(edges: &[Edge]) -> Vec<[Vec<u32>; 2]> {
    let width = edges.iter().map(|edge| edge.from.max(edge.to)).max();
    let mut all = vec![[Vec::new(), Vec::new()]; width.map_or(0, |last| index(last) + 1)];
    for edge in edges.iter().filter(|edge| edge.from != edge.to) {
        all[index(edge.to)][0].push(edge.from);
        all[index(edge.from)][1].push(edge.to);
    }
    for list in all.iter_mut().flatten() {
        list.sort_unstable();
    }
    all
}

/// By member, the part of the graph whose members all reach each other; [`APART`] for those without edges.
///
/// Kosaraju's algorithm: parts are found from the members that a search along the edges leaves last.
fn parts(neighbours: &[[Vec<u32>; 2]]) -> Vec<u32> {
    let mut parts = vec![APART; neighbours.len()];
    for last in order_of_leaving(neighbours).into_iter().rev() {
        let has_edges = neighbours[index(last)].iter().any(|list| !list.is_empty());
        if !has_edges || parts[index(last)] != APART {
            continue;
        }
        let mut waiting = vec![last];
        parts[index(last)] = last;
        while let Some(member) = waiting.pop() {
            for from in &neighbours[index(member)][0] {
                if parts[index(*from)] == APART {
                    parts[index(*from)] = last;
                    waiting.push(*from);
                }
            }
        }
    }
    parts
}

/// The members in the order in which a depth-first search along the edges leaves them.
fn order_of_leaving(neighbours: &[[Vec<u32>; 2]]) -> Vec<u32> {
    let mut is_met = vec![false; neighbours.len()];
    let mut order = Vec::with_capacity(neighbours.len());
    for start in (0..).take(neighbours.len()) {
        if std::mem::replace(&mut is_met[index(start)], true) {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some((member, next)) = path.last_mut() {
            match neighbours[index(*member)][1].get(*next) {
                None => {
                    order.push(*member);
                    path.pop();
                }
                Some(to) => {
                    *next += 1;
                    if !std::mem::replace(&mut is_met[index(*to)], true) {
                        path.push((*to, 0));
                    }
                }
            }
        }
    }
    order
}

/// The part of members without edges.
const APART: u32 = u32::MAX;
/// Most pairs of classes that are looked up.
const LOOKUPS_MAX: usize = 1_000_000;

/// The cluster of a host, and its number there, if it is in one.
fn cluster_of(routes: &Routes, host: u32) -> Option<(&Cluster, u32)> {
    let place = routes.points[index(host)];
    match &routes.zones[index(place.zone)].routing {
        Routing::Cluster(cluster) => Some((cluster, place.local)),
        Routing::None
        | Routing::Star(_)
        | Routing::Fabric(_)
        | Routing::Full(_)
        | Routing::Shortest(_) => None,
    }
}

fn are_alike(a: &Link, b: &Link) -> bool {
    a.bandwidth == b.bandwidth && a.latency == b.latency && a.sharing == b.sharing
}

/// Consecutive hosts of one cluster and one Set whose own links have the same values. Their routes to a host outside
/// differ in their own links only, and so do their routes to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UniformHosts {
    /// Number of the first host.
    pub(crate) first: u32,
    /// Number of hosts.
    pub(crate) count: u32,
    /// Number of the first host's first link; the other hosts' links follow.
    pub(crate) first_link: u32,
    pub(crate) links_per_host: u32,
}

#[cfg(test)]
mod tests;
