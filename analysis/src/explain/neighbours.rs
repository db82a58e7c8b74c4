//! The processes that a process exchanges messages with, and which of the messages cross between Sets.

use bsp::{HostId, Rank, SetId};
use serde::Serialize;

use crate::explain::history::{Detail, History};
use crate::text::counted;

/// What a process sends to and receives from another in a superstep, where plans name hosts.
#[derive(Debug, Serialize)]
pub(super) struct Neighbour {
    /// As `p21`.
    pub(super) process: String,
    /// Bytes in a superstep, both ways, as predicted.
    pub(super) bytes: f64,
    /// The host of the other process before the call, and after it.
    pub(super) before: String,
    pub(super) after: String,
    /// Whether the messages cross from Set to Set before the call, and after it.
    pub(super) crosses_before: bool,
    pub(super) crosses_after: bool,
}

/// The neighbours of `rank` in the call, the one with most bytes first.
pub(super) fn neighbours(history: &History, detail: &Detail, rank: Rank) -> Vec<Neighbour> {
    let mut bytes: Vec<(Rank, f64)> = Vec::new();
    let mut add =
        |other: Rank, exchanged: f64| match bytes.iter_mut().find(|(known, _)| *known == other) {
            Some((_, sum)) => *sum += exchanged,
            None => bytes.push((other, exchanged)),
        };
    for observed in &detail.observed {
        for edge in &observed.edges {
            if observed.rank == rank && edge.from != rank {
                add(edge.from, edge.bytes.into());
            } else if edge.from == rank {
                add(observed.rank, edge.bytes.into());
            }
        }
    }
    bytes.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let set = |host: HostId| -> Option<SetId> {
        let mut sets = detail.evaluated.iter();
        let found = sets.find(|found| {
            found
                .hosts
                .iter()
                .any(|hosts| hosts.ids().any(|id| id == host))
        });
        found.map(|found| found.set)
    };
    let places = |rank: Rank| {
        let before = detail.evaluation(rank)?.host;
        let mut moves = detail.call.migrations.iter();
        let moved = moves.find(|moved| moved.rank == rank);
        Some([before, moved.map_or(before, |moved| moved.to)])
    };
    let Some(own) = places(rank) else {
        return Vec::new();
    };
    let described = bytes.into_iter().filter_map(|(other, bytes)| {
        let others = places(other)?;
        let crosses = |when: usize| set(own[when]) != set(others[when]);
        Some(Neighbour {
            process: other.to_string(),
            bytes,
            before: history.host(others[0]),
            after: history.host(others[1]),
            crosses_before: crosses(0),
            crosses_after: crosses(1),
        })
    });
    described.collect()
}

/// A sentence about the neighbours of the process `rank`; `None` without any.
pub(super) fn sentence(rank: Rank, neighbours: &[Neighbour]) -> Option<String> {
    let first = neighbours.first()?;
    let crossing =
        |crosses: fn(&Neighbour) -> bool| neighbours.iter().filter(|one| crosses(one)).count();
    let before = crossing(|one| one.crosses_before);
    let after = crossing(|one| one.crosses_after);
    let with = counted(neighbours.len(), "process");
    let crossings = if before == after {
        format!("{before} of them in another Set")
    } else {
        format!("{before} of them in another Set before the call, and {after} after it")
    };
    Some(format!(
        "{rank} exchanges messages with {with}, most of them with {}; {crossings}.",
        first.process
    ))
}
