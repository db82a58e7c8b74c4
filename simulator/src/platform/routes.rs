//! The way from every host to every other, composed from the zones it crosses.
//!
//! Hosts and routers are points. Every point lies in one zone that holds points only; every zone
//! but the outermost lies in one that holds zones only. Points of one zone are connected by that
//! zone. Points of different zones are connected by the innermost zone that holds both: it names a
//! gateway point inside each of the two inner zones and the links between the gateways, and the
//! way from each end to its gateway is found in the same manner.
//!
//! So memory is proportional to points and declared routes, and a lookup allocates nothing.

use bsp::numbers::index;
use smallvec::SmallVec;

use super::LinkId;
use super::graph::Graph;
use super::topology::{Crossing, Topology};

/// All zones and the points in them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    /// Where each point lies: hosts by id, then routers.
    pub(super) points: Vec<Location>,
    pub(super) zones: Vec<Zone>,
    /// The links of all edges, one after the other.
    pub(super) links: Vec<LinkId>,
    pub(super) bypasses: Bypasses,
    /// For points that reach themselves over no other link.
    pub(super) loopback: Option<LinkId>,
}

/// A part of the platform with its own way of routing.
#[derive(Debug)]
pub(super) struct Zone {
    /// Where it lies in turn; of the outermost zone, in itself.
    pub(super) place: Location,
    /// Number of zones around it.
    pub(super) depth: u32,
    pub(super) routing: Routing,
}

/// How a zone connects what lies directly in it.
#[derive(Debug)]
pub(super) enum Routing {
    /// Not at all.
    None,
    /// Every host has links of its own to a backbone.
    Cluster(Cluster),
    /// So has every host, but its links are not numbered regularly.
    Star(Star),
    /// Hosts in a regular pattern of switches.
    Fabric(Fabric),
    /// Every pair has its own edge.
    Full(Full),
    /// Pairs are connected by the fewest links.
    Shortest(Shortest),
}

/// Hosts whose links are numbered regularly, and a router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    /// Number of hosts; the router comes after them.
    pub(super) hosts: u32,
    pub(super) backbone: Option<LinkId>,
    /// First link of the first host.
    pub(super) first: u32,
    /// Links of one host: loopback, limiter, up, down, those of them that exist.
    pub(super) stride: u32,
    pub(super) has_loopback: bool,
    pub(super) has_limiter: bool,
    pub(super) has_two_directions: bool,
}

/// Edges by pair, and what connects pairs that have none.
#[derive(Debug)]
pub(super) struct Full {
    pub(super) pairs: Pairs,
    pub(super) edges: Vec<Edge>,
    pub(super) trunks: Trunks,
    pub(super) loops: Loops,
}

/// Edges and the shortest paths over them.
#[derive(Debug)]
pub(super) struct Shortest {
    pub(super) graph: Graph,
    pub(super) edges: Vec<Edge>,
    pub(super) loops: Loops,
}

/// Ways from inner zones to a common core.
#[derive(Debug, Default)]
pub(super) struct Trunks {
    /// One per inner zone; none at all if there are no trunks.
    pub(super) uplinks: Vec<Option<Uplink>>,
    pub(super) core: Option<LinkId>,
}

/// The way from one inner zone to the core and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uplink {
    pub(super) gateway: u32,
    pub(super) up: LinkId,
    pub(super) down: LinkId,
}

/// The way from a point to itself.
#[derive(Debug, Default)]
pub(super) struct Loops {
    /// For points without an edge to themselves.
    pub(super) default: Option<LinkId>,
    /// Edges from a point to itself, ascending by its number.
    pub(super) edges: Vec<Edge>,
}

impl Routes {
    /// Fills `links` with those from one point to another; false if no way is declared.
    pub(super) fn find(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> bool {
        links.clear();
        if !self.connect(from, to, links) {
            return false;
        }
        if links.is_empty() && from == to {
            links.extend(self.loopback);
        }
        !links.is_empty()
    }

    /// Whether a link is inside the topology of a zone.
    pub(super) fn is_in_topology(&self, link: LinkId) -> bool {
        let has = |zone: &Zone| matches!(&zone.routing, Routing::Fabric(it) if it.has(link));
        self.zones.iter().any(has)
    }

    /// Appends the links from one point to another; false if no way is declared.
    fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> bool {
        if let Some(edge) = self.bypass(from, to) {
            // SimGrid has a message that starts at the gateway go to the gateway, too.
            return (edge.gateway_from == NO_POINT || self.connect(from, edge.gateway_from, links))
                && self.cross(edge, links)
                && (edge.gateway_to == NO_POINT || self.connect(edge.gateway_to, to, links));
        }
        let mut source = self.points[index(from)];
        let mut target = self.points[index(to)];
        if source.zone == target.zone {
            return self.connect_points(source.zone, source.local, target.local, links);
        }
        while source.zone != target.zone {
            let (a, b) = (
                &self.zones[index(source.zone)],
                &self.zones[index(target.zone)],
            );
            if b.depth <= a.depth {
                source = a.place;
            }
            if a.depth <= b.depth {
                target = b.place;
            }
        }
        match &self.zones[index(source.zone)].routing {
            Routing::Full(full) => match full.pairs.edge(source.local, target.local) {
                Some(edge) => {
                    let edge = &full.edges[index(edge)];
                    self.approach(from, edge.gateway_from, links)
                        && self.cross(edge, links)
                        && self.approach(edge.gateway_to, to, links)
                }
                None => self.climb(
                    &full.trunks,
                    [from, to],
                    [source.local, target.local],
                    links,
                ),
            },
            Routing::Shortest(shortest) => {
                self.hop(shortest, [from, to], [source.local, target.local], links)
            }
            Routing::None | Routing::Cluster(_) | Routing::Star(_) | Routing::Fabric(_) => false,
        }
    }

    /// The bypass from one point to another, if there is one.
    fn bypass(&self, from: u32, to: u32) -> Option<&Edge> {
        if self.bypasses.is_empty() {
            return None;
        }
        let (mut source, mut target) = (self.points[index(from)].zone, self.points[index(to)].zone);
        if source == target {
            return self.bypasses.between_points(from, to);
        }
        // The zones of each end that do not contain the other, innermost first.
        let (mut sources, mut targets) = (SmallVec::<[u32; 8]>::new(), SmallVec::<[u32; 8]>::new());
        while source != target {
            let (a, b) = (&self.zones[index(source)], &self.zones[index(target)]);
            if b.depth <= a.depth {
                sources.push(source);
                source = a.place.zone;
            }
            if a.depth <= b.depth {
                targets.push(target);
                target = b.place.zone;
            }
        }
        self.bypasses.between_zones(&sources, &targets)
    }

    /// Connects two points of the zone they lie in.
    fn connect_points(&self, zone: u32, from: u32, to: u32, links: &mut Vec<LinkId>) -> bool {
        match &self.zones[index(zone)].routing {
            Routing::None => false,
            Routing::Cluster(cluster) => {
                cluster.connect(from, to, links);
                true
            }
            Routing::Star(star) => {
                star.connect(from, to, links);
                true
            }
            Routing::Fabric(fabric) => {
                fabric.connect(from, to, links);
                true
            }
            Routing::Full(Full { loops, .. }) | Routing::Shortest(Shortest { loops, .. })
                if from == to =>
            {
                match loops.edges.binary_search_by_key(&from, |edge| edge.from) {
                    Ok(edge) => self.cross(&loops.edges[edge], links),
                    Err(_) => {
                        links.extend(loops.default);
                        loops.default.is_some()
                    }
                }
            }
            Routing::Full(full) => full
                .pairs
                .edge(from, to)
                .is_some_and(|edge| self.cross(&full.edges[index(edge)], links)),
            Routing::Shortest(Shortest { graph, edges, .. }) => {
                let start = links.len();
                let found = graph.walk_back(edges, from, to, |edge| {
                    links.extend(self.links_of(edge).iter().rev());
                });
                links[start..].reverse();
                found
            }
        }
    }

    /// Connects points of two zones over the fewest links between the zones of their parent.
    fn hop(
        &self,
        Shortest { graph, edges, .. }: &Shortest,
        [from, to]: [u32; 2],
        [source, target]: [u32; 2],
        links: &mut Vec<LinkId>,
    ) -> bool {
        let mut first = NO_POINT;
        if !graph.walk_back(edges, source, target, |edge| first = edge.gateway_from)
            || !self.approach(from, first, links)
        {
            return false;
        }
        // The path is known from its end, so everything is appended backwards and turned round.
        let start = links.len();
        let (mut last, mut next) = (NO_POINT, NO_POINT);
        let mut found = true;
        graph.walk_back(edges, source, target, |edge| {
            if next == NO_POINT {
                last = edge.gateway_to;
            } else {
                let between = links.len();
                found &= self.approach(edge.gateway_to, next, links);
                links[between..].reverse();
            }
            links.extend(self.links_of(edge).iter().rev());
            next = edge.gateway_from;
        });
        links[start..].reverse();
        found && self.approach(last, to, links)
    }

    /// Connects points of two zones over their uplinks.
    fn climb(
        &self,
        trunks: &Trunks,
        [from, to]: [u32; 2],
        [source, target]: [u32; 2],
        links: &mut Vec<LinkId>,
    ) -> bool {
        let uplink = |local: u32| trunks.uplinks.get(index(local)).copied().flatten();
        let (Some(source), Some(target)) = (uplink(source), uplink(target)) else {
            return false;
        };
        if !self.approach(from, source.gateway, links) {
            return false;
        }
        links.push(source.up);
        links.extend(trunks.core);
        links.push(target.down);
        self.approach(target.gateway, to, links)
    }

    /// Connects a point with a gateway, unless it is the gateway.
    fn approach(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> bool {
        from == to || self.connect(from, to, links)
    }

    fn cross(&self, edge: &Edge, links: &mut Vec<LinkId>) -> bool {
        links.extend_from_slice(self.links_of(edge));
        true
    }

    fn links_of(&self, edge: &Edge) -> &[LinkId] {
        let first = index(edge.first);
        &self.links[first..first + index(edge.count)]
    }
}

impl Cluster {
    /// Up, backbone and down; a link crossed twice in a row by a message to its own host counts
    /// once, as in SimGrid.
    fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if from == to && self.has_loopback && from < self.hosts {
            links.push(self.link(from, 0));
            return;
        }
        let limiter = u32::from(self.has_loopback);
        let up = limiter + u32::from(self.has_limiter);
        let down = up + u32::from(self.has_two_directions);
        if from < self.hosts {
            if self.has_limiter {
                links.push(self.link(from, limiter));
            }
            links.push(self.link(from, up));
        }
        links.extend(self.backbone);
        if to < self.hosts {
            if from != to || self.has_two_directions {
                links.push(self.link(to, down));
            }
            if from != to && self.has_limiter {
                links.push(self.link(to, limiter));
            }
        }
    }

    fn link(&self, host: u32, which: u32) -> LinkId {
        LinkId(self.first + host * self.stride + which)
    }
}

/// Bypasses between points of one zone, and between zones. An edge of the latter has gateways.
#[derive(Debug, Default)]
pub(super) struct Bypasses {
    /// Ascending by their ends.
    points: Vec<Edge>,
    zones: Vec<Edge>,
}

impl Bypasses {
    /// No two edges of a list have the same ends.
    pub(super) fn new(mut points: Vec<Edge>, mut zones: Vec<Edge>) -> Self {
        points.sort_unstable_by_key(ends);
        zones.sort_unstable_by_key(ends);
        Self { points, zones }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.points.is_empty() && self.zones.is_empty()
    }

    /// All between points.
    pub(super) fn between_any_points(&self) -> &[Edge] {
        &self.points
    }

    /// All between zones.
    pub(super) fn between_any_zones(&self) -> &[Edge] {
        &self.zones
    }

    /// The bypass from one point to another of the same zone.
    fn between_points(&self, from: u32, to: u32) -> Option<&Edge> {
        find(&self.points, from, to)
    }

    /// The bypass that starts and ends closest to two points, of whose zones `from` and `to` are those
    /// that do not contain the other point, innermost first. The order of the search is SimGrid's.
    pub(super) fn between_zones(&self, from: &[u32], to: &[u32]) -> Option<&Edge> {
        let at = |i: usize, j: usize| find(&self.zones, *from.get(i)?, *to.get(j)?);
        (0..from.len().max(to.len())).find_map(|outer| {
            (0..outer)
                .find_map(|inner| at(inner, outer).or_else(|| at(outer, inner)))
                .or_else(|| at(outer, outer))
        })
    }
}

fn find(edges: &[Edge], from: u32, to: u32) -> Option<&Edge> {
    let found = edges.binary_search_by_key(&(from, to), ends).ok()?;
    Some(&edges[found])
}

const fn ends(edge: &Edge) -> (u32, u32) {
    (edge.from, edge.to)
}

/// A declared way between two things that lie directly in one zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    /// First link, in [`Routes::links`].
    pub(super) first: u32,
    pub(super) count: u32,
    /// Points at the ends; [`NO_POINT`] if the ends are points themselves.
    pub(super) gateway_from: u32,
    pub(super) gateway_to: u32,
}

/// The gateway of what needs none.
pub(super) const NO_POINT: u32 = u32::MAX;

/// Hosts that a topology connects, and where its links are.
#[derive(Debug)]
pub(super) struct Fabric {
    pub(super) topology: Topology,
    /// The loopback of the first host; those of the others follow.
    pub(super) loopbacks: Option<LinkId>,
    /// The limiter of the first node; those of the others follow.
    pub(super) limiters: Option<LinkId>,
    /// The first link of the first cable; those of the others follow.
    pub(super) cables: LinkId,
    pub(super) has_two_directions: bool,
}

impl Fabric {
    /// Appends the links from one host to another.
    pub(super) fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        if let Some(first) = self.loopbacks.filter(|_| from == to) {
            links.push(LinkId(first.0 + from));
            return;
        }
        let per_cable = self.links_per_cable();
        self.topology.walk(from, to, |crossing| match crossing {
            Crossing::Limiter(node) => links.extend(self.limiters.map(|it| LinkId(it.0 + node))),
            Crossing::Cable { number, up } => {
                let direction = u32::from(self.has_two_directions && !up);
                links.push(LinkId(self.cables.0 + number * per_cable + direction));
            }
        });
    }

    /// Whether the link is one of its own: they have consecutive numbers, cables last.
    pub(super) fn has(&self, link: LinkId) -> bool {
        let first = self.loopbacks.or(self.limiters).unwrap_or(self.cables);
        let links = self.topology.cables() * self.links_per_cable();
        (first.0..self.cables.0 + links).contains(&link.0)
    }

    /// Whether messages of a host to itself cross no link of its own.
    pub(super) const fn lacks_loops(&self) -> bool {
        matches!(self.topology, Topology::Torus(_))
            && self.loopbacks.is_none()
            && self.limiters.is_none()
    }

    const fn links_per_cable(&self) -> u32 {
        if self.has_two_directions { 2 } else { 1 }
    }
}

/// Where a point or zone lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    /// The zone around it.
    pub(super) zone: u32,
    /// Its number in that zone.
    pub(super) local: u32,
}

/// Hosts and routers around a backbone.
#[derive(Debug, Default)]
pub(super) struct Star {
    /// The links to and from the backbone by member; none of members without.
    pub(super) members: Vec<Option<[LinkId; 2]>>,
    pub(super) backbone: Option<LinkId>,
}

impl Star {
    /// Appends the links from one member to another, each link once, as SimGrid does.
    pub(super) fn connect(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        let start = links.len();
        let (from, to) = (self.links_of(from), self.links_of(to));
        let backbone = self.backbone.filter(|_| from.is_some() || to.is_some());
        let up = from.map(|[up, _]| up);
        let down = to.map(|[_, down]| down);
        for link in [up, backbone, down].into_iter().flatten() {
            if !links[start..].contains(&link) {
                links.push(link);
            }
        }
    }

    /// Which members have links, of `members` in all.
    pub(super) fn connected(&self, members: usize) -> Vec<bool> {
        let mut connected: Vec<bool> = self.members.iter().map(Option::is_some).collect();
        connected.resize(members, false);
        connected
    }

    /// Whether a member has links.
    pub(super) fn is_connected(&self, member: u32) -> bool {
        self.links_of(member).is_some()
    }

    fn links_of(&self, member: u32) -> Option<[LinkId; 2]> {
        self.members.get(index(member)).copied().flatten()
    }
}

/// For each ordered pair of ends, the number of its edge if it has one.
///
/// A square if most pairs have an edge or there are few ends, else a sorted list per first end, so
/// that memory stays in proportion to the edges.
#[derive(Debug)]
pub(super) enum Pairs {
    /// Row by row; [`NO_EDGE`] where there is none.
    Square { width: u32, edges: Vec<u32> },
    /// The entries of end `i` are `entries[starts[i]..starts[i + 1]]`, ascending by second end.
    Lists {
        starts: Vec<u32>,
        entries: Vec<(u32, u32)>,
    },
}

const NO_EDGE: u32 = u32::MAX;

impl Pairs {
    /// Edge `i` leads from `ends[i].0` to `ends[i].1`, both below `width`; no two edges alike.
    pub(super) fn new(width: u32, ends: &[(u32, u32)]) -> Self {
        let cells = index(width).saturating_mul(index(width));
        if cells <= SQUARE_MIN.max(SQUARE_SPARSENESS * ends.len()) {
            let mut edges = vec![NO_EDGE; cells];
            for ((from, to), edge) in ends.iter().zip(0..) {
                edges[index(*from) * index(width) + index(*to)] = edge;
            }
            return Self::Square { width, edges };
        }
        let mut sorted: Vec<(u32, u32, u32)> = ends
            .iter()
            .zip(0..)
            .map(|((from, to), edge)| (*from, *to, edge))
            .collect();
        sorted.sort_unstable();
        let mut starts = vec![0; index(width) + 1];
        for (from, _, _) in &sorted {
            starts[index(*from) + 1] += 1;
        }
        for end in 0..index(width) {
            starts[end + 1] += starts[end];
        }
        Self::Lists {
            starts,
            entries: sorted.into_iter().map(|(_, to, edge)| (to, edge)).collect(),
        }
    }

    /// The number of the edge from one end to another.
    pub(super) fn edge(&self, from: u32, to: u32) -> Option<u32> {
        match self {
            Self::Square { width, edges } => {
                let edge = *edges.get(index(from) * index(*width) + index(to))?;
                (edge != NO_EDGE).then_some(edge)
            }
            Self::Lists { starts, entries } => {
                let row = index(*starts.get(index(from))?)..index(*starts.get(index(from) + 1)?);
                let row = &entries[row];
                let found = row.binary_search_by_key(&to, |(to, _)| *to).ok()?;
                Some(row[found].1)
            }
        }
    }
}

/// Up to this many cells, a square costs nothing.
const SQUARE_MIN: usize = 4096;
/// A square may have this many cells per edge.
const SQUARE_SPARSENESS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_and_lists_agree() {
        let ends: Vec<(u32, u32)> = (0..90).map(|i| (i * 7 % 100, i * 31 % 97)).collect();
        let lists = Pairs::new(100, &ends);
        assert!(matches!(lists, Pairs::Lists { .. }));
        let square = Pairs::new(64, &[(1, 2), (2, 1), (63, 0)]);
        assert!(matches!(square, Pairs::Square { .. }));
        for (number, (from, to)) in ends.iter().enumerate() {
            assert_eq!(lists.edge(*from, *to).map(index), Some(number));
        }
        assert_eq!(lists.edge(99, 99), None);
        assert_eq!(square.edge(63, 0), Some(2));
        assert_eq!(square.edge(0, 63), None);
    }
}
