//! Which processes are candidates for migration.

use std::fmt;

use bsp::units::Seconds;
use bsp::{Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::{BestStays, CandidateOrder, Config, Heuristic, TieBreak};

/// The highest potential of one process, as Managers exchange it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The process.
    pub rank: Rank,
    /// The Set in which it runs.
    pub own: SetId,
    /// The Set for which its potential is highest; its own, if it had better stay.
    pub target: SetId,
    /// That potential.
    pub potential: Seconds,
    /// Predicted time of receiving from all Sets; may break ties.
    pub receive_time: Seconds,
}

/// Who is a candidate, and why the others are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// In the order of their negotiation.
    pub candidates: Vec<Entry>,
    /// What a potential had to exceed, under [`Heuristic::Above`].
    pub threshold: Option<Seconds>,
    /// In the order of the list.
    pub passed_over: Vec<(Entry, NotSelected)>,
}

/// Why a process is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotSelected {
    /// It had better stay in its own Set.
    OwnSet,
    /// It would win nothing anywhere.
    NotPositive,
    /// Its potential does not exceed the threshold.
    BelowThreshold,
    /// Another one is the head of the list.
    NotFirst,
}

/// The list all Managers compute: decreasing potential, ties as configured.
///
/// Independent of the order of `entries`, as long as no rank is in them twice. A tie is everything
/// within `tie_width` of its highest potential, so that ties do not chain.
#[must_use]
pub fn merge(config: &Config, mut entries: Vec<Entry>) -> Vec<Entry> {
    let parameters = config.parameters();
    let width = parameters.tie_width;
    sort(
        &mut entries,
        width,
        &|entry| -entry.potential,
        &|tied| match parameters.tie_break {
            TieBreak::Rank => tied.sort_by_key(|entry| entry.rank),
            TieBreak::ReceiveTime => sort(tied, width, &|entry| entry.receive_time, &|tied| {
                tied.sort_by_key(|entry| entry.rank);
            }),
        },
    );
    entries
}

/// The candidates of a merged list.
///
/// Implements `CANDIDATES` of `docs/model.md`. A process that had better stay, or would win nothing,
/// is never one.
#[must_use]
pub fn select(config: &Config, list: &[Entry]) -> Selection {
    let parameters = config.parameters();
    let threshold = match parameters.heuristic {
        Heuristic::Above => list.first().map(|head| head.potential * parameters.x),
        Heuristic::Best => None,
    };
    let mut selection = Selection {
        threshold,
        ..Selection::default()
    };
    let mut is_first = true;
    for entry in list {
        let chosen = match parameters.heuristic {
            _ if entry.target == entry.own => Err(NotSelected::OwnSet),
            _ if entry.potential <= Seconds::ZERO => Err(NotSelected::NotPositive),
            Heuristic::Above if threshold.is_some_and(|least| entry.potential <= least) => {
                Err(NotSelected::BelowThreshold)
            }
            Heuristic::Best if !is_first => Err(NotSelected::NotFirst),
            Heuristic::Above | Heuristic::Best => Ok(()),
        };
        is_first &= parameters.best_stays == BestStays::Skipped && chosen.is_err();
        match chosen {
            Ok(()) => selection.candidates.push(*entry),
            Err(why) => selection.passed_over.push((*entry, why)),
        }
    }
    if parameters.candidate_order == CandidateOrder::Rank {
        selection.candidates.sort_by_key(|entry| entry.rank);
    }
    selection
}

/// Sorts by increasing `key`, and those within `width` of the least of them by `ties`.
fn sort(
    entries: &mut [Entry],
    width: Seconds,
    key: &dyn Fn(&Entry) -> Seconds,
    ties: &dyn Fn(&mut [Entry]),
) {
    entries.sort_by_key(|entry| (key(entry), entry.rank));
    let mut rest = entries;
    while let Some(head) = rest.first() {
        let end = key(head).get() + width.get();
        let length = rest.partition_point(|entry| key(entry).get() <= end);
        // A width lost to rounding still leaves the head in its own tie.
        let (tied, behind) = rest.split_at_mut(length.max(1));
        ties(tied);
        rest = behind;
    }
}

impl fmt::Display for NotSelected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OwnSet => "it had better stay in its own Set",
            Self::NotPositive => "it would win nothing anywhere",
            Self::BelowThreshold => "its potential does not exceed the threshold",
            Self::NotFirst => "another process heads the list",
        })
    }
}
