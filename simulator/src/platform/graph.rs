//! The fewest links between any two ends of a graph of edges.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use bsp::numbers::index;

use crate::platform::routes::Edge;

/// Which way a graph searches; they differ only between ways that are equally short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// Floyd and Warshall: intermediate ends in the order of the file.
    Floyd,
    /// Dijkstra: ends in the order in which routes mention them.
    Dijkstra,
}

/// Shortest paths between all ends.
///
/// An end with one neighbour is a leaf: its paths are those of the neighbour, and one edge. Only
/// the other ends, the core, take part in the search and its square of results. Ties are broken
/// as SimGrid does.
#[derive(Debug)]
pub(super) struct Graph {
    ends: Vec<End>,
    /// Number of ends in the core.
    core: u32,
    /// For each pair of the core, row by row, the last edge of the path.
    last: Vec<u32>,
}

/// How an end is searched.
#[derive(Clone, Copy, Debug)]
enum End {
    /// No edge leads to it or away.
    Isolated,
    /// Its number in the core.
    Core(u32),
    /// Its neighbour in the core; the edges to and from it, [`NO_EDGE`] if there is none.
    Leaf { neighbour: u32, out: u32, back: u32 },
}

const NO_EDGE: u32 = u32::MAX;

/// A square of more ends than this takes too much memory.
pub(super) const CORE_MAX: usize = 4096;
/// Floyd's search over more ends than this takes too long.
const FLOYD_MAX: usize = 700;

impl Graph {
    /// The paths over `edges` between `width` ends; no edge leads from an end to itself.
    ///
    /// Also returns the search made: of a large core, always Dijkstra's.
    ///
    /// # Errors
    ///
    /// The size of the core, if it is too large.
    pub(super) fn new(width: u32, edges: &[Edge], search: Search) -> Result<(Self, Search), usize> {
        let ends = ends(width, edges);
        let core: Vec<u32> = (0..width)
            .filter(|end| matches!(ends[index(*end)], End::Core(_)))
            .collect();
        if CORE_MAX < core.len() {
            return Err(core.len());
        }
        let mut inner: Vec<Vec<(u32, u32)>> = vec![Vec::new(); core.len()];
        for (edge, number) in edges.iter().zip(0..) {
            if let (End::Core(from), End::Core(to)) = (ends[index(edge.from)], ends[index(edge.to)])
            {
                inner[index(from)].push((to, number));
            }
        }
        let search = if FLOYD_MAX < core.len() {
            Search::Dijkstra
        } else {
            search
        };
        let last = match search {
            Search::Floyd => floyd(&inner, edges),
            Search::Dijkstra => {
                let order = mentions(&ends, core.len(), edges);
                (0..inner.len())
                    .flat_map(|from| dijkstra(from, &inner, edges, &order))
                    .collect()
            }
        };
        let core = u32::try_from(core.len()).expect("the core is at most CORE_MAX");
        Ok((Self { ends, core, last }, search))
    }

    /// Visits the edges of the path in reverse order; false if there is no path.
    pub(super) fn walk_back<'a>(
        &self,
        edges: &'a [Edge],
        from: u32,
        to: u32,
        mut visit: impl FnMut(&'a Edge),
    ) -> bool {
        let mut to = to;
        while to != from {
            let Some(edge) = self.last_edge(from, to) else {
                return false;
            };
            let edge = &edges[index(edge)];
            visit(edge);
            to = edge.from;
        }
        true
    }

    /// The last edge of the path.
    fn last_edge(&self, from: u32, to: u32) -> Option<u32> {
        let from_core = match self.ends[index(from)] {
            End::Isolated => return None,
            End::Core(core) => core,
            End::Leaf { out: NO_EDGE, .. } => return None,
            End::Leaf { neighbour, out, .. } => {
                if neighbour == to {
                    return Some(out);
                }
                self.core_of(neighbour)
            }
        };
        let edge = match self.ends[index(to)] {
            End::Isolated => NO_EDGE,
            End::Core(core) => self.last[index(from_core) * index(self.core) + index(core)],
            End::Leaf {
                back, neighbour, ..
            } => {
                // A leaf is reached only if its neighbour is.
                let neighbour = self.core_of(neighbour);
                let reached = from_core == neighbour
                    || self.last[index(from_core) * index(self.core) + index(neighbour)] != NO_EDGE;
                if reached { back } else { NO_EDGE }
            }
        };
        (edge != NO_EDGE).then_some(edge)
    }

    fn core_of(&self, neighbour: u32) -> u32 {
        match self.ends[index(neighbour)] {
            End::Core(core) => core,
            End::Isolated | End::Leaf { .. } => panic!("the neighbour of a leaf is in the core"),
        }
    }
}

fn ends(width: u32, edges: &[Edge]) -> Vec<End> {
    // First neighbour found, and whether there is another.
    let mut neighbours: Vec<Option<(u32, bool)>> = vec![None; index(width)];
    for edge in edges {
        for (end, other) in [(edge.from, edge.to), (edge.to, edge.from)] {
            let found = neighbours[index(end)].get_or_insert((other, false));
            found.1 |= found.0 != other;
        }
    }
    let mut core = 0;
    let mut ends: Vec<End> = (0..width)
        .map(|end| match neighbours[index(end)] {
            None => End::Isolated,
            Some((neighbour, false)) => {
                let mutual = matches!(neighbours[index(neighbour)], Some((_, false)));
                if mutual && end < neighbour {
                    core += 1;
                    End::Core(core - 1)
                } else {
                    End::Leaf {
                        neighbour,
                        out: NO_EDGE,
                        back: NO_EDGE,
                    }
                }
            }
            Some((_, true)) => {
                core += 1;
                End::Core(core - 1)
            }
        })
        .collect();
    for (edge, number) in edges.iter().zip(0..) {
        if let End::Leaf { out, .. } = &mut ends[index(edge.from)] {
            *out = number;
        }
        if let End::Leaf { back, .. } = &mut ends[index(edge.to)] {
            *back = number;
        }
    }
    ends
}

/// Ranks of the core's ends in the order in which edges mention them.
fn mentions(ends: &[End], core: usize, edges: &[Edge]) -> Vec<u32> {
    let mut order = vec![u32::MAX; core];
    let mut next = 0;
    for edge in edges {
        for end in [edge.from, edge.to] {
            if let End::Core(core) = ends[index(end)]
                && order[index(core)] == u32::MAX
            {
                order[index(core)] = next;
                next += 1;
            }
        }
    }
    order
}

/// The last edges of all paths from `from`.
fn dijkstra(from: usize, inner: &[Vec<(u32, u32)>], edges: &[Edge], order: &[u32]) -> Vec<u32> {
    let mut cost = vec![u64::MAX; inner.len()];
    let mut last = vec![NO_EDGE; inner.len()];
    let mut queue = BinaryHeap::from([Reverse((0, order[from], from))]);
    cost[from] = 0;
    while let Some(Reverse((sum, _, end))) = queue.pop() {
        if cost[end] < sum {
            continue;
        }
        for (to, number) in &inner[end] {
            let to = index(*to);
            let sum = sum + u64::from(edges[index(*number)].count);
            if sum < cost[to] {
                cost[to] = sum;
                last[to] = *number;
                queue.push(Reverse((sum, order[to], to)));
            }
        }
    }
    last
}

/// The last edges of all paths, row by row.
fn floyd(inner: &[Vec<(u32, u32)>], edges: &[Edge]) -> Vec<u32> {
    let width = inner.len();
    let mut cost = vec![u64::MAX; width * width];
    let mut last = vec![NO_EDGE; width * width];
    for (from, outgoing) in inner.iter().enumerate() {
        for (to, number) in outgoing {
            cost[from * width + index(*to)] = u64::from(edges[index(*number)].count);
            last[from * width + index(*to)] = *number;
        }
    }
    for via in 0..width {
        let via_cost = cost[via * width..(via + 1) * width].to_vec();
        let via_last = last[via * width..(via + 1) * width].to_vec();
        for from in (0..width).filter(|from| *from != via) {
            let first = cost[from * width + via];
            if first == u64::MAX {
                continue;
            }
            for to in (0..width).filter(|to| *to != via && *to != from) {
                let sum = first.saturating_add(via_cost[to]);
                if sum < cost[from * width + to] {
                    cost[from * width + to] = sum;
                    last[from * width + to] = via_last[to];
                }
            }
        }
    }
    last
}

/// Edges from an end to itself, taken out of the others.
pub(super) fn split_loops(edges: Vec<Edge>) -> (Vec<Edge>, Vec<Edge>) {
    let (loops, others): (Vec<Edge>, Vec<Edge>) =
        edges.into_iter().partition(|edge| edge.from == edge.to);
    let loops: BTreeMap<u32, Edge> = loops.into_iter().map(|edge| (edge.from, edge)).collect();
    (loops.into_values().collect(), others)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::platform::routes::NO_POINT;

    /// The path of every pair by the textbook, over all ends, ties broken as SimGrid does.
    fn plain_floyd(width: usize, edges: &[Edge]) -> Vec<Vec<Option<u32>>> {
        let mut cost = vec![vec![u64::MAX; width]; width];
        let mut last = vec![vec![None; width]; width];
        for (number, edge) in (0..).zip(edges) {
            cost[index(edge.from)][index(edge.to)] = u64::from(edge.count);
            last[index(edge.from)][index(edge.to)] = Some(number);
        }
        for via in 0..width {
            for from in 0..width {
                for to in 0..width {
                    let sum = cost[from][via].saturating_add(cost[via][to]);
                    if sum < cost[from][to] {
                        cost[from][to] = sum;
                        last[from][to] = last[via][to];
                    }
                }
            }
        }
        last
    }

    /// Dijkstra's search over all ends, those first mentioned first.
    fn plain_dijkstra(width: usize, edges: &[Edge]) -> Vec<Vec<Option<u32>>> {
        let mut mentioned: Vec<usize> = Vec::new();
        for end in edges
            .iter()
            .flat_map(|edge| [edge.from, edge.to])
            .map(index)
        {
            if !mentioned.contains(&end) {
                mentioned.push(end);
            }
        }
        let mut paths = vec![vec![None; width]; width];
        for from in 0..width {
            let mut cost = vec![u64::MAX; width];
            let mut open = mentioned.clone();
            cost[from] = 0;
            while !open.is_empty() {
                let next = (0..open.len())
                    .min_by_key(|next| (cost[open[*next]], *next))
                    .unwrap();
                let end = open.remove(next);
                for (number, edge) in (0..).zip(edges).filter(|(_, it)| index(it.from) == end) {
                    let sum = cost[end].saturating_add(u64::from(edge.count));
                    if sum < cost[index(edge.to)] {
                        cost[index(edge.to)] = sum;
                        paths[from][index(edge.to)] = Some(number);
                    }
                }
            }
        }
        paths
    }

    fn graph() -> impl Strategy<Value = (u32, Vec<Edge>)> {
        (2..12_u32).prop_flat_map(|width| {
            let pair = (0..width, 0..width, 1..3_u32, any::<bool>());
            (Just(width), prop::collection::vec(pair, 0..16)).prop_map(|(width, pairs)| {
                let mut edges: BTreeMap<(u32, u32), (usize, u32)> = BTreeMap::new();
                for (number, (from, to, count, both)) in pairs.into_iter().enumerate() {
                    if from != to {
                        edges.entry((from, to)).or_insert((2 * number, count));
                        if both {
                            edges.entry((to, from)).or_insert((2 * number + 1, count));
                        }
                    }
                }
                let mut edges: Vec<_> = edges.into_iter().map(|(ends, it)| (it, ends)).collect();
                edges.sort_unstable();
                let edge = |((_, count), (from, to))| Edge {
                    from,
                    to,
                    first: 0,
                    count,
                    gateway_from: NO_POINT,
                    gateway_to: NO_POINT,
                };
                (width, edges.into_iter().map(edge).collect())
            })
        })
    }

    fn path(last: &[Vec<Option<u32>>], edges: &[Edge], from: u32, to: u32) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut end = to;
        while end != from {
            let edge = last[index(from)][index(end)]?;
            path.push(edge);
            end = edges[index(edge)].from;
        }
        Some(path)
    }

    proptest! {
        #[test]
        fn leaving_leaves_out_changes_no_path((width, edges) in graph()) {
            for search in [Search::Floyd, Search::Dijkstra] {
                let (graph, _) = Graph::new(width, &edges, search).unwrap();
                let plain = match search {
                    Search::Floyd => plain_floyd(index(width), &edges),
                    Search::Dijkstra => plain_dijkstra(index(width), &edges),
                };
                for from in 0..width {
                    for to in (0..width).filter(|to| *to != from) {
                        let mut walked = Vec::new();
                        let found = graph.walk_back(&edges, from, to, |edge| {
                            walked.push((edge.from, edge.to));
                        });
                        let expected = path(&plain, &edges, from, to).map(|path| {
                            path.into_iter()
                                .map(|edge| (edges[index(edge)].from, edges[index(edge)].to))
                                .collect::<Vec<_>>()
                        });
                        prop_assert_eq!(found.then_some(walked), expected, "{:?} {:?}", search, (from, to));
                    }
                }
            }
        }
    }
}
