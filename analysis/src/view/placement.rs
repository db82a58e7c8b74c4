//! Where processes were.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};
use record::Run;

/// Where processes were: where they began, and every move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    first: u64,
    start: Vec<HostId>,
    now: Vec<HostId>,
    moves: Vec<Move>,
}

/// A process left its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The first superstep on the new host.
    pub(crate) superstep: u64,
    /// The process.
    pub(crate) rank: Rank,
    /// Its host.
    pub(crate) from: HostId,
    /// Its new host.
    pub(crate) to: HostId,
}

/// A process was on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The process.
    pub(crate) rank: Rank,
    /// The first superstep.
    pub(crate) from: u64,
    /// The superstep after the last.
    pub(crate) to: u64,
    /// The host.
    pub(crate) host: HostId,
}

impl Placement {
    /// The placement at the start of `run`.
    pub(super) fn new(run: &Run) -> Self {
        let hosts = (0..).map(HostId);
        let ids: BTreeMap<&str, HostId> = run.hosts.iter().map(String::as_str).zip(hosts).collect();
        // The reader of records has checked the names.
        let host = |name: &String| ids.get(name.as_str()).copied().unwrap_or(HostId(0));
        let start: Vec<HostId> = run.placement.iter().map(host).collect();
        Self {
            first: run.first_superstep(),
            now: start.clone(),
            start,
            moves: Vec::new(),
        }
    }

    /// Processes are on other hosts from `superstep` on.
    pub(super) fn change(&mut self, superstep: u64, moved: impl Iterator<Item = (Rank, HostId)>) {
        for (rank, to) in moved {
            let from = std::mem::replace(&mut self.now[rank.index()], to);
            self.moves.push(Move {
                superstep,
                rank,
                from,
                to,
            });
        }
    }

    /// The host of every process at the start, by rank.
    pub(crate) fn start(&self) -> &[HostId] {
        &self.start
    }

    /// The host of every process at the end, by rank.
    pub(crate) fn now(&self) -> &[HostId] {
        &self.now
    }

    /// All moves, in order.
    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The processes to show: all if there are at most `most`, else the first of those that moved.
    pub(crate) fn shown(&self, most: usize) -> Vec<Rank> {
        if self.start.len() <= most {
            return (0..).map(Rank).take(self.start.len()).collect();
        }
        let mut movers: Vec<Rank> = self.moves.iter().map(|moved| moved.rank).collect();
        movers.sort_unstable();
        movers.dedup();
        movers.truncate(most);
        movers
    }

    /// Where the processes `ranks`, which ascend, were until superstep `end`: those of each in order.
    pub(crate) fn segments(&self, ranks: &[Rank], end: u64) -> Vec<Segment> {
        let begun = ranks.iter().map(|rank| Segment {
            rank: *rank,
            from: self.first,
            to: end,
            host: self.start[rank.index()],
        });
        let mut open: Vec<Segment> = begun.collect();
        let mut closed = Vec::new();
        for moved in &self.moves {
            let Ok(row) = ranks.binary_search(&moved.rank) else {
                continue;
            };
            let segment = &mut open[row];
            if segment.from < moved.superstep {
                closed.push(Segment {
                    to: moved.superstep,
                    ..*segment
                });
            }
            *segment = Segment {
                from: moved.superstep,
                host: moved.to,
                ..*segment
            };
        }
        closed.extend(open);
        closed.retain(|segment| segment.from < segment.to);
        closed.sort_by_key(|segment| (segment.rank, segment.from));
        closed
    }
}

#[cfg(test)]
mod tests {
    use bsp::Round;

    use super::*;

    fn placement() -> Placement {
        let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
        Placement::new(&Run {
            schema: String::new(),
            scenario: "iii".to_owned(),
            sets: Vec::new(),
            hosts: names(["a", "b", "c"]),
            members: Vec::new(),
            placement: names(["c", "a", "a"]),
            round: Round::SUPERSTEP,
            resumed: None,
        })
    }

    fn moves(placement: &mut Placement, superstep: u64, moved: &[(u32, u32)]) {
        let moved = moved.iter().map(|(rank, to)| (Rank(*rank), HostId(*to)));
        placement.change(superstep, moved);
    }

    #[test]
    fn a_process_is_on_one_host_at_a_time_and_on_no_other_in_between() {
        let mut placement = placement();
        moves(&mut placement, 4, &[(0, 1), (1, 2)]);
        moves(&mut placement, 9, &[(0, 2)]);
        // A move that the end of the record follows.
        moves(&mut placement, 12, &[(2, 1)]);
        let all = placement.shown(3);
        let segments = placement.segments(&all, 12);
        let found: Vec<_> = segments
            .iter()
            .map(|segment| (segment.rank.0, segment.from, segment.to, segment.host.0))
            .collect();
        assert_eq!(
            found,
            [
                (0, 0, 4, 2),
                (0, 4, 9, 1),
                (0, 9, 12, 2),
                (1, 0, 4, 0),
                (1, 4, 12, 2),
                (2, 0, 12, 0)
            ]
        );
        assert_eq!(placement.now(), [HostId(2), HostId(2), HostId(1)]);
    }

    #[test]
    fn of_too_many_processes_those_that_moved_are_shown() {
        let mut placement = placement();
        moves(&mut placement, 4, &[(2, 1), (1, 2)]);
        moves(&mut placement, 5, &[(2, 0)]);
        assert_eq!(placement.shown(2), [Rank(1), Rank(2)]);
        assert_eq!(placement.shown(1), [Rank(1)]);
        assert_eq!(placement.shown(3).len(), 3);
    }
}
