//! The host that has the copies of another's states.

use std::collections::BTreeSet;

use bsp::{HostId, SetId};

/// The buddy of every host, by host: where its states are copied in a checkpoint. `sets` has the Set of each host, and
/// the `absent` hosts are not there.
///
/// The buddy of the k-th host of a Set is the k-th host of the next Set that has hosts, counted cyclically: so a whole
/// Set may be lost. With one Set, it is the next host. A host that is absent or alone has none.
///
/// # Examples
///
/// ```
/// use agents::buddies;
/// use bsp::{HostId, SetId};
///
/// let sets = [0, 0, 0, 1, 1].map(SetId);
/// let expected = [3, 4, 3, 0, 1].map(|host| Some(HostId(host)));
/// assert_eq!(buddies(&sets, &Default::default()), expected);
/// ```
#[must_use]
pub fn buddies(sets: &[SetId], absent: &BTreeSet<HostId>) -> Vec<Option<HostId>> {
    let hosts = (0..sets.len()).map(HostId::from_index);
    let mut present: Vec<HostId> = hosts.filter(|host| !absent.contains(host)).collect();
    present.sort_by_key(|host| (sets[host.index()], *host));
    let of_sets: Vec<&[HostId]> = present
        .chunk_by(|one, other| sets[one.index()] == sets[other.index()])
        .collect();
    let mut buddies = vec![None; sets.len()];
    for (position, hosts) in of_sets.iter().enumerate() {
        for (index, host) in hosts.iter().enumerate() {
            let buddy = if of_sets.len() == 1 {
                hosts[(index + 1) % hosts.len()]
            } else {
                let next = of_sets[(position + 1) % of_sets.len()];
                next[index % next.len()]
            };
            buddies[host.index()] = Some(buddy).filter(|buddy| buddy != host);
        }
    }
    buddies
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn with_one_set_the_buddy_is_the_next_host() {
        let host = |host| Some(HostId(host));
        let none = BTreeSet::new();
        assert_eq!(buddies(&[SetId(0); 3], &none), [host(1), host(2), host(0)]);
        assert_eq!(buddies(&[SetId(0)], &none), [None]);
        let absent = BTreeSet::from([HostId(1)]);
        assert_eq!(buddies(&[SetId(0); 3], &absent), [host(2), None, host(0)]);
    }

    proptest! {
        #[test]
        fn buddies_are_other_hosts_of_other_sets_where_there_are_any(
            sets in prop::collection::vec(0_u32..4, 1..20),
            absent in prop::collection::btree_set(0_u32..20, 0..10),
        ) {
            let sets: Vec<SetId> = sets.into_iter().map(SetId).collect();
            let absent = absent.into_iter().map(HostId).collect::<BTreeSet<_>>();
            let is_there = |host: &HostId| !absent.contains(host);
            let all = (0..sets.len()).map(HostId::from_index);
            let present: Vec<HostId> = all.filter(is_there).collect();
            let kinds: BTreeSet<SetId> = present.iter().map(|host| sets[host.index()]).collect();
            let buddies = buddies(&sets, &absent);
            prop_assert_eq!(buddies.len(), sets.len());
            for (index, buddy) in buddies.into_iter().enumerate() {
                let host = HostId::from_index(index);
                prop_assert_eq!(buddy.is_some(), is_there(&host) && 1 < present.len());
                if let Some(buddy) = buddy {
                    prop_assert!(buddy != host && is_there(&buddy));
                    prop_assert_eq!(sets[buddy.index()] != sets[index], 1 < kinds.len());
                }
            }
        }
    }
}
