//! The processes that have migrated, and the hosts that they occupy.

use std::collections::{BTreeMap, BTreeSet};

use bsp::{HostId, Rank};

use crate::{Config, OccupiedBy};

/// The processes that have migrated to one Set during a run, and its hosts that have taken them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrants {
    /// Hosts to which a process has migrated.
    taken: BTreeSet<HostId>,
    /// Where each process went last that is in the Set and migrated to it.
    hosts: BTreeMap<Rank, HostId>,
}

impl Migrants {
    /// The process `rank` has migrated to the `host` of this Set.
    pub fn arrive(&mut self, rank: Rank, host: HostId) {
        self.taken.insert(host);
        self.hosts.insert(rank, host);
    }

    /// The process `rank` has migrated to another Set.
    pub fn leave(&mut self, rank: Rank) {
        self.hosts.remove(&rank);
    }

    /// The hosts that take no process while one migrant per processor is the rule; `computed` says whether a process
    /// computed in the last superstep, which one that has halted did not.
    #[must_use]
    pub fn occupied(&self, config: &Config, computed: impl Fn(Rank) -> bool) -> BTreeSet<HostId> {
        let mut computing = self.hosts.iter().filter(|(rank, _)| computed(**rank));
        match config.parameters().occupied_by {
            OccupiedBy::AnyMigrant => self.taken.clone(),
            OccupiedBy::ComputingMigrant => computing.map(|(_, host)| *host).collect(),
            OccupiedBy::ComputingSet if computing.next().is_some() => self.taken.clone(),
            OccupiedBy::ComputingSet => BTreeSet::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn occupied(migrants: &Migrants, by: OccupiedBy, computing: &[u32]) -> Vec<u32> {
        let parameters = Parameters {
            occupied_by: by,
            ..Parameters::default()
        };
        let config = Config::new(parameters).unwrap();
        let hosts = migrants.occupied(&config, |rank| computing.contains(&rank.0));
        hosts.into_iter().map(|host| host.0).collect()
    }

    #[test]
    fn a_processor_is_free_again_when_its_migrant_is_idle_or_has_left() {
        let mut migrants = Migrants::default();
        migrants.arrive(Rank(3), HostId(7));
        migrants.arrive(Rank(4), HostId(8));
        let computing = OccupiedBy::ComputingMigrant;
        assert_eq!(occupied(&migrants, computing, &[3, 4]), [7, 8]);
        assert_eq!(occupied(&migrants, computing, &[4]), [8]);
        // A second migrant came while the first was idle; the first computes again.
        migrants.arrive(Rank(5), HostId(7));
        assert_eq!(occupied(&migrants, computing, &[3]), [7]);
        migrants.arrive(Rank(3), HostId(9));
        migrants.leave(Rank(5));
        assert_eq!(occupied(&migrants, computing, &[3, 4, 5]), [8, 9]);
        assert_eq!(occupied(&migrants, OccupiedBy::AnyMigrant, &[]), [7, 8, 9]);
    }

    #[test]
    fn all_processors_of_a_set_are_free_again_when_none_of_its_migrants_computes() {
        let mut migrants = Migrants::default();
        migrants.arrive(Rank(3), HostId(7));
        migrants.arrive(Rank(4), HostId(8));
        let set = OccupiedBy::ComputingSet;
        assert_eq!(occupied(&migrants, set, &[4]), [7, 8]);
        assert_eq!(occupied(&migrants, set, &[0]), [0_u32; 0]);
        migrants.leave(Rank(4));
        assert_eq!(occupied(&migrants, set, &[3]), [7, 8]);
        assert_eq!(occupied(&migrants, set, &[4]), [0_u32; 0]);
    }

    proptest! {
        #[test]
        fn every_processor_with_a_computing_migrant_has_taken_one(
            moves in prop::collection::vec((0..6_u32, 0..4_u32), 0..20),
            computing in prop::collection::vec(0..6_u32, 0..6),
        ) {
            let mut migrants = Migrants::default();
            for (rank, host) in moves {
                migrants.arrive(Rank(rank), HostId(host));
            }
            let all = occupied(&migrants, OccupiedBy::AnyMigrant, &computing);
            let set = occupied(&migrants, OccupiedBy::ComputingSet, &computing);
            let some = occupied(&migrants, OccupiedBy::ComputingMigrant, &computing);
            prop_assert!(some.iter().all(|host| set.contains(host)));
            prop_assert!(set.iter().all(|host| all.contains(host)));
            prop_assert_eq!(some.is_empty(), set.is_empty());
        }
    }
}
