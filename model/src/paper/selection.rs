//! Which processes are candidates for migration.

use std::fmt;

use bsp::units::Seconds;
use bsp::{Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::{Config, Heuristic, TieBreak};

/// The highest potential of one process, as Managers exchange it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Entry {
    /// The process.
    pub rank: Rank,
    /// The Set in which it runs.
    pub own: SetId,
    /// The Set for which its potential is highest; its own, if it should stay.
    pub target: SetId,
    /// That potential.
    pub potential: Seconds,
    /// Predicted time of receiving from all Sets; may break ties.
    pub receive_time: Seconds,
}

/// The candidates, and why the others are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// In the order of the list, which is that of their negotiation.
    pub candidates: Vec<Entry>,
    /// What a potential had to exceed, under [`Heuristic::Above`].
    pub threshold: Option<Seconds>,
    /// In the order of the list.
    pub passed_over: Vec<(Entry, NotSelected)>,
}

/// Why a process is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotSelected {
    /// Its potential is highest for its own Set.
    OwnSet,
    /// It would gain nothing in any Set.
    NotPositive,
    /// Its potential does not exceed the threshold.
    BelowThreshold,
    /// Another one is the head of the list.
    NotFirst,
}

/// The list all Managers compute: decreasing potential, ties as [`TieBreak`] says.
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
/// Implements `CANDIDATES` of `docs/model.md`. A process whose own Set is best, or that would gain nothing,
/// is never one. Under [`Heuristic::Best`] only the head of the list can be one.
#[must_use]
pub fn select(config: &Config, list: &[Entry]) -> Selection {
    let parameters = config.parameters();
    let threshold = match parameters.heuristic {
        Heuristic::Above => list.first().map(|entry| entry.potential * parameters.x),
        Heuristic::Best => None,
    };
    let mut selection = Selection {
        threshold,
        ..Selection::default()
    };
    for (position, entry) in list.iter().enumerate() {
        let chosen = match parameters.heuristic {
            _ if entry.target == entry.own => Err(NotSelected::OwnSet),
            _ if entry.potential <= Seconds::ZERO => Err(NotSelected::NotPositive),
            Heuristic::Above if threshold.is_some_and(|least| entry.potential <= least) => {
                Err(NotSelected::BelowThreshold)
            }
            Heuristic::Best if 0 < position => Err(NotSelected::NotFirst),
            Heuristic::Above | Heuristic::Best => Ok(()),
        };
        match chosen {
            Ok(()) => selection.candidates.push(*entry),
            Err(why) => selection.passed_over.push((*entry, why)),
        }
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
            Self::OwnSet => "its potential is highest for its own Set",
            Self::NotPositive => "it would gain nothing in any Set",
            Self::BelowThreshold => "its potential does not exceed the threshold",
            Self::NotFirst => "another process heads the list",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn config(change: impl FnOnce(&mut Parameters)) -> Config {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Config::new(parameters).unwrap()
    }

    /// A process of Set 0 that is drawn to `target`.
    fn entry(rank: u32, target: u32, potential: f64) -> Entry {
        Entry {
            rank: Rank(rank),
            own: SetId(0),
            target: SetId(target),
            potential: Seconds::new(potential).unwrap(),
            receive_time: Seconds::ZERO,
        }
    }

    fn ranks(entries: &[Entry]) -> Vec<u32> {
        entries.iter().map(|entry| entry.rank.0).collect()
    }

    fn candidates(config: &Config, entries: Vec<Entry>) -> Vec<u32> {
        ranks(&select(config, &merge(config, entries)).candidates)
    }

    #[test]
    fn one_heuristic_takes_those_near_the_highest_and_the_other_the_highest() {
        let entries = vec![
            entry(0, 1, 8.0),
            entry(1, 1, 10.0),
            entry(2, 0, 9.5),
            entry(3, 1, 8.1),
        ];
        let above = config(|parameters| parameters.heuristic = Heuristic::Above);
        let selection = select(&above, &merge(&above, entries.clone()));
        assert_eq!(ranks(&selection.candidates), [1, 3]);
        assert_eq!(selection.threshold, Some(Seconds::new(8.0).unwrap()));
        assert_eq!(
            selection.passed_over,
            [
                (entries[2], NotSelected::OwnSet),
                (entries[0], NotSelected::BelowThreshold)
            ]
        );
        assert_eq!(candidates(&Config::default(), entries), [1]);
    }

    #[test]
    fn a_process_whose_own_set_is_best_blocks_the_others() {
        let entries = vec![entry(0, 0, 9.0), entry(1, 1, 8.0), entry(2, 1, 7.0)];
        assert_eq!(candidates(&Config::default(), entries), [0_u32; 0]);
    }

    #[test]
    fn the_threshold_is_a_part_of_the_highest_of_all_potentials() {
        let above = config(|parameters| parameters.heuristic = Heuristic::Above);
        let entries = vec![entry(0, 0, 20.0), entry(1, 1, 10.0), entry(2, 1, 8.5)];
        assert_eq!(candidates(&above, entries), [0_u32; 0]);
        assert_eq!(select(&above, &[]).threshold, None);
    }

    #[test]
    fn negative_potentials_leave_no_candidates() {
        for heuristic in [Heuristic::Above, Heuristic::Best] {
            let config = config(|parameters| parameters.heuristic = heuristic);
            let entries = vec![entry(0, 1, -1.0), entry(1, 1, -0.5), entry(2, 1, 0.0)];
            assert_eq!(candidates(&config, entries), [0_u32; 0]);
        }
    }

    #[test]
    fn ties_fall_to_the_lowest_rank_or_the_shortest_reception() {
        let mut entries = vec![entry(2, 1, 1.0), entry(1, 1, 1.0), entry(0, 1, 1.0)];
        entries[0].receive_time = Seconds::new(0.1).unwrap();
        entries[1].receive_time = Seconds::new(0.1).unwrap();
        entries[2].receive_time = Seconds::new(0.2).unwrap();
        assert_eq!(
            ranks(&merge(&Config::default(), entries.clone())),
            [0, 1, 2]
        );
        let receive_time = config(|parameters| parameters.tie_break = TieBreak::ReceiveTime);
        assert_eq!(ranks(&merge(&receive_time, entries)), [1, 2, 0]);
    }

    #[test]
    fn rounding_does_not_break_a_tie() {
        let entries = vec![entry(1, 1, 0.1 + 0.2), entry(0, 1, 0.3), entry(2, 1, 0.4)];
        assert_eq!(ranks(&merge(&Config::default(), entries)), [2, 0, 1]);
    }

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let potential = prop_oneof![Just(1.0), -1.0..2.0];
        let receive_time = prop_oneof![Just(0.5), 0.0..1.0];
        let part = (0..3_u32, potential, receive_time);
        prop::collection::vec(part, 1..20).prop_map(|parts| {
            let entries = (0..).zip(parts);
            let entries = entries.map(|(rank, (target, potential, receive_time))| Entry {
                receive_time: Seconds::new(receive_time).unwrap(),
                ..entry(rank, target, potential)
            });
            entries.collect()
        })
    }

    proptest! {
        #[test]
        fn the_list_does_not_depend_on_the_order_of_arrival(
            (entries, shuffled) in entries()
                .prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle())),
            by_rank in any::<bool>(),
        ) {
            let config = config(|parameters| {
                parameters.tie_break = if by_rank { TieBreak::Rank } else { TieBreak::ReceiveTime };
            });
            prop_assert_eq!(merge(&config, entries), merge(&config, shuffled));
        }

        #[test]
        fn the_best_is_among_those_above(entries in entries(), x in 0.0..0.999_999) {
            let best = Config::default();
            let above = config(|parameters| {
                parameters.heuristic = Heuristic::Above;
                parameters.x = x;
            });
            let wide = candidates(&above, entries.clone());
            prop_assert!(candidates(&best, entries).iter().all(|rank| wide.contains(rank)));
        }

        #[test]
        fn everyone_is_a_candidate_or_has_a_reason(entries in entries(), above in any::<bool>()) {
            let config = config(|parameters| {
                parameters.heuristic = if above { Heuristic::Above } else { Heuristic::Best };
            });
            let selection = select(&config, &merge(&config, entries.clone()));
            let passed_over = selection.passed_over.iter().map(|(entry, _)| entry);
            let mut all: Vec<_> = selection.candidates.iter().chain(passed_over).copied().collect();
            all.sort_by_key(|entry| entry.rank);
            prop_assert_eq!(all, entries);
        }
    }
}
