//! Compiles the declarations of a file into routes.

use bsp::HostId;
use bsp::numbers::{index, length};

use crate::platform::builder::{Builder, Cable, Duplex, Endpoint, ZoneDraft, ZoneRouting, count};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::graph::{CORE_MAX, Graph, split_loops};
use crate::platform::names::Names;
use crate::platform::routes::{
    Edge, Full, Loops, Pairs, Routes, Routing, Shortest, Trunks, Uplink, Zone,
};
use crate::platform::{LinkId, Platform};

impl Builder {
    /// Compiles the routes.
    pub(in crate::platform) fn finish(mut self) -> Result<Platform, ErrorAt> {
        if self.hosts.is_empty() {
            return Err(ErrorAt {
                at: 0,
                kind: if self.idle_hosts.is_empty() {
                    PlatformErrorKind::NoHosts
                } else {
                    PlatformErrorKind::AllIdle
                },
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
        let bypasses = self.compile_bypasses().at(0)?;
        let mut by_name = Names::default();
        for (host, id) in self.hosts.iter().zip(0..) {
            let name_of = |id: HostId| self.hosts[id.index()].name.as_str();
            by_name.insert(&host.name, HostId(id), name_of);
        }
        let idle = self.idle_hosts.iter();
        let idle_hosts = idle.map(|router| self.router_names[index(*router)].clone());
        let idle_hosts = idle_hosts.collect();
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
                bypasses,
                loopback,
            },
            overheads: self.overheads,
            by_name,
            idle_hosts,
            settings: self.settings,
            warnings: self.warnings,
        })
    }

    /// The link that SimGrid gives hosts of ordinary zones for messages to themselves. Hosts that reach
    /// themselves over no link, which SimGrid refuses, use it, too.
    fn default_loopback(&mut self) -> Result<Option<LinkId>, PlatformErrorKind> {
        let is_host = |node: &Endpoint| matches!(node, Endpoint::Host(_));
        let needs_it = |draft: &ZoneDraft| match (draft.routing, &draft.cluster) {
            (ZoneRouting::Full | ZoneRouting::Shortest(_), _) => draft.members.iter().any(is_host),
            (ZoneRouting::Star, _) => {
                let connected = draft.star.connected(draft.members.len());
                let mut members = draft.members.iter().zip(connected);
                members.any(|(node, connected)| is_host(node) && !connected)
            }
            (ZoneRouting::Cluster, Some(Routing::Fabric(fabric))) => fabric.lacks_loops(),
            (ZoneRouting::None | ZoneRouting::Cluster, _) => false,
        };
        if !self.zones.iter().any(needs_it) {
            return Ok(None);
        }
        let cable = Cable {
            bandwidth: self.loopback.bandwidth,
            latency: self.loopback.latency,
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
        let loops = Loops {
            default: loopback.filter(|_| !draft.has_zones),
            edges: loops,
        };
        match draft.routing {
            ZoneRouting::None => Ok(Routing::None),
            ZoneRouting::Cluster => Ok(draft.cluster.unwrap_or(Routing::None)),
            ZoneRouting::Star => Ok(Routing::Star(draft.star)),
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
                let (graph, made) = Graph::new(width, &edges, search).map_err(|found| {
                    PlatformErrorKind::TooMany {
                        what: "nodes with several neighbours in a zone of shortest paths",
                        found: length(found),
                        limit: length(CORE_MAX),
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

    pub(super) fn resolve(&self, edge: Edge, gateways: Option<[Endpoint; 2]>) -> Edge {
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
    pub(super) fn point(&self, node: Endpoint) -> u32 {
        match node {
            Endpoint::Host(host) => host,
            Endpoint::Router(router) => {
                router + u32::try_from(self.hosts.len()).expect("hosts are numbered in 32 bits")
            }
            Endpoint::Zone(_) => panic!("a gateway was checked to be a host or a router"),
        }
    }
}
