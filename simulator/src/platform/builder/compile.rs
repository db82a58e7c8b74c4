//! Compiles the declarations of a file into routes.

use bsp::HostId;
use bsp::units::{BytesPerSecond, Seconds};

use crate::platform::Platform;
use crate::platform::builder::{Builder, Cable, Duplex, Endpoint, ZoneDraft, ZoneRouting, count};
use crate::platform::edge::Edge;
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::graph::{CORE_MAX, Graph, split_loops};
use crate::platform::index::index;
use crate::platform::link::LinkId;
use crate::platform::pairs::Pairs;
use crate::platform::routes::{Full, Loops, Routes, Routing, Shortest, Trunks, Uplink, Zone};

impl Builder {
    /// Compiles the routes.
    pub(in crate::platform) fn finish(mut self) -> Result<Platform, ErrorAt> {
        if self.hosts.is_empty() {
            return Err(ErrorAt {
                at: 0,
                kind: PlatformErrorKind::NoHosts,
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
                Endpoint::Host(host) => Some(HostId(*host)),
                Endpoint::Router(_) | Endpoint::Zone(_) => None,
            })
            .collect();
        let mut points = self.host_locations;
        points.extend(self.router_locations);
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

    /// Warns of hosts and zones that no route of their zone reaches.
    pub(in crate::platform) fn warn_of_isolated(&mut self) {
        let mut warnings = Vec::new();
        for draft in &self.zones {
            let routes = matches!(draft.routing, ZoneRouting::Full | ZoneRouting::Shortest(_));
            if !routes || draft.members.len() < 2 {
                continue;
            }
            let mut reached = vec![false; draft.members.len()];
            for (from, to) in draft.pairs.iter().filter(|(from, to)| from != to) {
                reached[index(*from)] = true;
                reached[index(*to)] = true;
            }
            let mut isolated = draft
                .members
                .iter()
                .zip(reached)
                .filter(|((_, node, _), reached)| !reached && !matches!(node, Endpoint::Router(_)))
                .map(|((name, _, _), _)| name);
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

    /// The link that SimGrid gives hosts of ordinary zones for messages to themselves.
    fn default_loopback(&mut self) -> Result<Option<LinkId>, PlatformErrorKind> {
        let is_leaf = |draft: &ZoneDraft| {
            matches!(draft.routing, ZoneRouting::Full | ZoneRouting::Shortest(_))
                && draft
                    .members
                    .iter()
                    .any(|(_, node, _)| matches!(node, Endpoint::Host(_)))
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

    fn routing(
        &mut self,
        draft: ZoneDraft,
        loopback: Option<LinkId>,
    ) -> Result<Routing, PlatformErrorKind> {
        let width = count(draft.members.len(), "members of a zone")?;
        let edges = draft
            .edges
            .into_iter()
            .map(|(edge, gateways)| self.resolve(edge, gateways));
        let (loops, edges) = split_loops(edges.collect());
        let is_leaf = !matches!(draft.members.first(), Some((_, Endpoint::Zone(_), _)));
        let loops = Loops {
            default: loopback.filter(|_| is_leaf),
            edges: loops,
        };
        match draft.routing {
            ZoneRouting::None => Ok(Routing::None),
            ZoneRouting::Cluster => Ok(draft.cluster.map_or(Routing::None, Routing::Cluster)),
            ZoneRouting::Full => {
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
            ZoneRouting::Shortest(search) => {
                let (graph, made) = Graph::new(width, &edges, search).map_err(|met| {
                    PlatformErrorKind::TooMany {
                        what: "nodes with several neighbours in a zone of shortest paths",
                        met: u64::try_from(met).unwrap_or(u64::MAX),
                        limit: u64::try_from(CORE_MAX).unwrap_or(u64::MAX),
                    }
                })?;
                if made != search {
                    self.warn(format!(
                        "zone `{}` is too large for Floyd's search and is searched as Dijkstra \
                         does; SimGrid may choose another of several equally short ways",
                        draft.name
                    ));
                }
                Ok(Routing::Shortest(Shortest {
                    graph,
                    edges,
                    loops,
                }))
            }
        }
    }

    fn resolve(&self, edge: Edge, gateways: Option<[Endpoint; 2]>) -> Edge {
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
    fn point(&self, node: Endpoint) -> u32 {
        match node {
            Endpoint::Host(host) => host,
            Endpoint::Router(router) => {
                router + u32::try_from(self.hosts.len()).expect("hosts are numbered in 32 bits")
            }
            Endpoint::Zone(_) => panic!("a gateway was checked to be a host or a router"),
        }
    }
}
