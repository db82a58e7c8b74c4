//! Finds hosts that differ in their own links only.

use bsp::numbers::index;

use crate::platform::Platform;
use crate::platform::link::Link;
use crate::platform::routes::{Cluster, Edge, Full, Routes, Routing, Shortest};

impl Platform {
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

impl Routes {
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
