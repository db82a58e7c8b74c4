//! Where the processes of each Set send from.

use std::collections::BTreeMap;

use bsp::SetId;

use crate::Scene;

/// The Set in which most of each Set's processes are while a placement is being changed, its seat.
///
/// Which process a message came from is not known, only its Set; it is taken to come from where most of that
/// Set's processes are. Everybody may so be moved together without losing sight of who sends to whom.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    /// How many processes each Set has at present.
    members: Vec<u32>,
    /// How many of them are in another Set, by Set and other.
    away: BTreeMap<(SetId, SetId), u32>,
    /// By Set.
    seats: Vec<SetId>,
    /// How many Sets have their seat elsewhere.
    moved: usize,
}

impl Seats {
    /// As processes are placed at present.
    pub(crate) fn present(scene: &Scene) -> Self {
        let mut members = vec![0; scene.sets()];
        for host in scene.places() {
            members[scene.hosts()[*host].set.index()] += 1;
        }
        Self::new(members)
    }

    /// As each Set has so many processes.
    fn new(members: Vec<u32>) -> Self {
        Self {
            seats: (0..members.len()).map(SetId::from_index).collect(),
            members,
            away: BTreeMap::new(),
            moved: 0,
        }
    }

    /// Where the processes of `set` send from; Sets that nobody knows stay where they are.
    pub(crate) fn of(&self, set: SetId) -> SetId {
        self.seats.get(set.index()).copied().unwrap_or(set)
    }

    /// Whether every Set is its own seat.
    pub(crate) fn are_present(&self) -> bool {
        self.moved == 0
    }

    /// A process that is in `home` at present has gone from one Set to another. Whether a seat changed.
    pub(crate) fn moved(&mut self, home: SetId, from: SetId, to: SetId) -> bool {
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
        let before = std::mem::replace(&mut self.seats[home.index()], most.1);
        self.moved += usize::from(before == home && most.1 != home);
        self.moved -= usize::from(before != home && most.1 == home);
        before != most.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_where_most_are() {
        let mut seats = Seats::new(vec![3, 0]);
        let (home, other) = (SetId(0), SetId(1));
        assert!(!seats.moved(home, home, other));
        assert!(seats.are_present());
        assert!(seats.moved(home, home, other));
        assert_eq!(seats.of(home), other);
        assert!(!seats.are_present());
        assert!(!seats.moved(home, home, other));
        assert!(!seats.moved(home, other, home));
        assert!(seats.moved(home, other, home));
        assert_eq!(seats.of(home), home);
        assert!(seats.are_present());
    }
}
