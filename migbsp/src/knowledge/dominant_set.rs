//! The Set that most processes of each Set run in while a plan is being made.

use std::collections::BTreeMap;

use bsp::SetId;

use crate::Snapshot;

/// For each Set of the present placement: the Set in which most of its processes are in the placement being planned.
///
/// Reports name only the Set of a message's sender, not its rank. A message is taken to come from where most
/// processes of that Set are, so that a plan may move a whole Set and keep its messages local.
#[derive(Clone, Debug)]
pub(crate) struct DominantSets {
    /// How many processes each Set has at present.
    members: Vec<u32>,
    /// How many of them are in another Set, by Set and other.
    away: BTreeMap<(SetId, SetId), u32>,
    /// By Set.
    dominant: Vec<SetId>,
    /// How many Sets have another Set as dominant one.
    displaced: usize,
}

impl DominantSets {
    /// As processes are placed at present.
    pub(crate) fn present(snapshot: &Snapshot) -> Self {
        let mut members = vec![0; snapshot.sets()];
        for host in snapshot.places() {
            members[snapshot.hosts()[*host].set.index()] += 1;
        }
        Self::new(members)
    }

    /// For Sets with these numbers of processes.
    fn new(members: Vec<u32>) -> Self {
        Self {
            dominant: (0..members.len()).map(SetId::from_index).collect(),
            members,
            away: BTreeMap::new(),
            displaced: 0,
        }
    }

    /// The Set that the messages of `set`'s processes come from; `set` itself if it is not known.
    pub(crate) fn location(&self, set: SetId) -> SetId {
        self.dominant.get(set.index()).copied().unwrap_or(set)
    }

    /// Whether every Set dominates itself.
    pub(crate) fn are_present(&self) -> bool {
        self.displaced == 0
    }

    /// Records that a process which is in `home` at present has gone from one Set to another; returns whether a
    /// dominant Set changed.
    pub(crate) fn relocate(&mut self, home: SetId, from: SetId, to: SetId) -> bool {
        if from != home {
            let left = self.away.get_mut(&(home, from)).expect("it was there");
            *left -= 1;
            if *left == 0 {
                self.away.remove(&(home, from));
            }
        }
        if to != home {
            *self.away.entry((home, to)).or_default() += 1;
        }
        let away = self.away.range((home, SetId(0))..=(home, SetId(u32::MAX)));
        let total: u32 = away.clone().map(|(_, number)| number).sum();
        let mut most = (self.members[home.index()] - total, home);
        for ((_, set), number) in away {
            if most.0 < *number {
                most = (*number, *set);
            }
        }
        let before = std::mem::replace(&mut self.dominant[home.index()], most.1);
        self.displaced += usize::from(before == home && most.1 != home);
        self.displaced -= usize::from(before != home && most.1 == home);
        before != most.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_with_most_processes_dominates() {
        let mut sets = DominantSets::new(vec![3, 0]);
        let (home, other) = (SetId(0), SetId(1));
        assert!(!sets.relocate(home, home, other));
        assert!(sets.are_present());
        assert!(sets.relocate(home, home, other));
        assert_eq!(sets.location(home), other);
        assert!(!sets.are_present());
        assert!(!sets.relocate(home, home, other));
        assert!(!sets.relocate(home, other, home));
        assert!(sets.relocate(home, other, home));
        assert_eq!(sets.location(home), home);
        assert!(sets.are_present());
    }
}
