//! Declared routes with priority over all others.

use crate::platform::edge::Edge;

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
    pub(super) fn between_points(&self, from: u32, to: u32) -> Option<&Edge> {
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
