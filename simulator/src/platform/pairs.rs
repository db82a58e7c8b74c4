//! Numbers of edges by pair of ends.

use bsp::numbers::index;

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
