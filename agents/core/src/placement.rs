//! Where processes start.

use std::cmp::Reverse;

use bsp::units::Instructions;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};
use simulator::Platform;

/// The layout of processes over the hosts, as the section `[placement]` of an experiment has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementOptions {
    /// Host after host, or Set after Set.
    pub order: PlacementOrder,
    /// The number of consecutive ranks that share a host.
    pub per_host: u32,
    /// The number of hosts that are skipped first (in each Set, for [`PlacementOrder::RoundRobin`]); a layout that
    /// wraps reaches them after the last host.
    pub offset: u32,
    /// The most processes of a host; `None`: no limit, the layout wraps.
    pub max_per_host: Option<u32>,
}

/// Host after host, or Set after Set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementOrder {
    /// Hosts in the order of the platform; after the last, the first again.
    #[default]
    Fill,
    /// With one process per host, rank `r` goes to Set `r` modulo the number of Sets, each Set cycling
    /// through its hosts; with more, [`PlacementOptions::per_host`] consecutive ranks take the place of one.
    RoundRobin,
}

/// Why processes cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// Zero consecutive ranks per host.
    #[error("placement.per_host is 0; at least one process has to go to a host")]
    PerHost,
    /// Too few hosts to skip that many.
    #[error("placement.offset is {offset}, but there are only {hosts} hosts to skip")]
    Offset {
        /// The number of hosts to skip.
        offset: u32,
        /// The number of hosts.
        hosts: usize,
    },
    /// Too many processes.
    #[error(
        "{processes} processes cannot be placed on {hosts} hosts with at most {max_per_host} on each; \
         raise placement.max_per_host or take fewer processes"
    )]
    TooMany {
        /// The number of processes.
        processes: u32,
        /// The number of hosts.
        hosts: usize,
        /// The most processes of each host.
        max_per_host: u32,
    },
    /// There is room, but the layout does not use it.
    #[error(
        "the layout puts {count} processes on {host}, with at most {max_per_host} on each host; \
         raise placement.max_per_host, lower placement.per_host or take fewer processes"
    )]
    Crowded {
        /// The host with most processes, the first of several.
        host: String,
        /// Their number.
        count: u32,
        /// The most processes of each host.
        max_per_host: u32,
    },
}

impl Default for PlacementOptions {
    fn default() -> Self {
        Self {
            order: PlacementOrder::Fill,
            per_host: 1,
            offset: 0,
            max_per_host: None,
        }
    }
}

/// The host of each of `processes` processes, by rank.
///
/// # Errors
///
/// If the options cannot be satisfied.
///
/// # Panics
///
/// Never: 32 bits fit a `usize`.
pub fn placement(
    platform: &Platform,
    options: &PlacementOptions,
    processes: u32,
) -> Result<Vec<HostId>, PlacementError> {
    let per_host = usize::try_from(options.per_host).expect("u32 fits usize");
    let offset = usize::try_from(options.offset).expect("u32 fits usize");
    if per_host == 0 {
        return Err(PlacementError::PerHost);
    }
    let hosts = platform.hosts().len();
    let shortest = platform
        .sets()
        .iter()
        .map(|set| set.hosts.len())
        .min()
        .unwrap_or(0);
    let skippable = match options.order {
        PlacementOrder::Fill => hosts,
        PlacementOrder::RoundRobin => shortest,
    };
    if skippable <= offset {
        return Err(PlacementError::Offset {
            offset: options.offset,
            hosts: skippable,
        });
    }
    let ranks = 0..usize::try_from(processes).expect("u32 fits usize");
    let places: Vec<HostId> = match options.order {
        PlacementOrder::Fill => ranks
            .map(|rank| HostId::from_index((offset + rank / per_host) % hosts))
            .collect(),
        PlacementOrder::RoundRobin => {
            let sets = platform.sets();
            let place = |rank: usize| {
                let group = rank / per_host;
                let set = &sets[group % sets.len()].hosts;
                set[(offset + group / sets.len()) % set.len()]
            };
            ranks.map(place).collect()
        }
    };
    if let Some(max_per_host) = options.max_per_host {
        check(platform, &places, max_per_host)?;
    }
    Ok(places)
}

/// Checks that no host gets more than `max_per_host` processes.
fn check(platform: &Platform, places: &[HostId], max_per_host: u32) -> Result<(), PlacementError> {
    let mut counts = vec![0_u32; platform.hosts().len()];
    for host in places {
        counts[host.index()] += 1;
    }
    let hosts = counts.len();
    let by_count = counts.iter().enumerate();
    let fullest = by_count.max_by_key(|(index, count)| (**count, Reverse(*index)));
    let (index, count) = fullest.map_or((0, 0), |(index, count)| (index, *count));
    if count <= max_per_host {
        return Ok(());
    }
    let room = u64::from(max_per_host).saturating_mul(u64::try_from(hosts).expect("fits 64 bits"));
    let processes = u32::try_from(places.len()).expect("ranks fit 32 bits");
    Err(if room < u64::from(processes) {
        PlacementError::TooMany {
            processes,
            hosts,
            max_per_host,
        }
    } else {
        PlacementError::Crowded {
            host: platform.hosts()[index].name.clone(),
            count,
            max_per_host,
        }
    })
}

/// The host of each process, by rank, in a job that resumes another one on hosts of these `capacities`: speed times number
/// of processors, positive. `work` is what each process computed in its last superstep; `None`: it has halted. Those stay for which
/// `stays` has a host, by rank; beyond its end there is none.
///
/// The other processes are placed by work, the largest first, each on the host whose work divided by its capacity is least
/// afterwards; of those, where there are fewest processes for its capacity; of those, on the lowest. Processes that have
/// halted are placed on the first host, whose Manager then is the first if process 0 is one of them.
///
/// # Panics
///
/// If there are no hosts, a process stays on one that does not exist, or a capacity is not a number.
#[must_use]
pub fn resumed_placement(
    work: &[Option<Instructions>],
    stays: &[Option<HostId>],
    capacities: &[f64],
) -> Vec<HostId> {
    let mut hosts = vec![(0.0, 0.0); capacities.len()];
    let mut placement = vec![HostId(0); work.len()];
    let mut running = Vec::new();
    for (index, work) in work.iter().enumerate() {
        let stays = stays.get(index).copied().flatten();
        if let Some(host) = stays {
            placement[index] = host;
        }
        match (work, stays) {
            (Some(work), Some(host)) => {
                let (load, count) = &mut hosts[host.index()];
                *load += work.as_f64();
                *count += 1.0;
            }
            (Some(work), None) => running.push((*work, Rank::from_index(index))),
            (None, _) => {}
        }
    }
    running.sort_by_key(|(work, rank)| (Reverse(*work), *rank));
    for (work, rank) in running {
        let after = |index: usize| {
            let (load, count): (f64, f64) = hosts[index];
            let capacity = capacities[index];
            [(load + work.as_f64()) / capacity, (count + 1.0) / capacity]
        };
        let compare = |one: &usize, other: &usize| {
            let [[load, count], [other_load, other_count]] = [after(*one), after(*other)];
            load.total_cmp(&other_load)
                .then(count.total_cmp(&other_count))
        };
        // Of equal ones, the first.
        let best = (0..capacities.len()).min_by(compare);
        let best = best.expect("there are hosts");
        let (load, count) = &mut hosts[best];
        *load += work.as_f64();
        *count += 1.0;
        placement[rank.index()] = HostId::from_index(best);
    }
    placement
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::test_world;

    use super::*;

    /// Sets with these numbers of hosts.
    fn platform(sets: &[u32]) -> Platform {
        let sets: Vec<_> = sets.iter().map(|hosts| (*hosts, 1, 1)).collect();
        test_world::platform(&sets)
    }

    fn options(order: PlacementOrder, per_host: u32, offset: u32) -> PlacementOptions {
        PlacementOptions {
            order,
            per_host,
            offset,
            max_per_host: None,
        }
    }

    /// Places on Sets of three and two hosts.
    fn places(options: PlacementOptions, processes: u32) -> Vec<u32> {
        let places = placement(&platform(&[3, 2]), &options, processes).unwrap();
        places.iter().map(|host| host.0).collect()
    }

    #[test]
    fn hosts_are_filled_one_after_the_other_and_wrap() {
        assert_eq!(
            places(options(PlacementOrder::Fill, 1, 0), 7),
            [0, 1, 2, 3, 4, 0, 1]
        );
        assert_eq!(
            places(options(PlacementOrder::Fill, 2, 3), 7),
            [3, 3, 4, 4, 0, 0, 1]
        );
    }

    #[test]
    fn sets_take_turns_and_each_cycles_through_its_hosts() {
        let order = PlacementOrder::RoundRobin;
        assert_eq!(places(options(order, 1, 0), 8), [0, 3, 1, 4, 2, 3, 0, 4]);
        assert_eq!(places(options(order, 2, 1), 6), [1, 1, 4, 4, 2, 2]);
    }

    #[test]
    fn options_that_cannot_be_met_say_what_would_do() {
        let fails = |options: PlacementOptions| {
            placement(&platform(&[3, 2]), &options, 6)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            fails(options(PlacementOrder::Fill, 0, 0)),
            "placement.per_host is 0; at least one process has to go to a host"
        );
        assert_eq!(
            fails(options(PlacementOrder::Fill, 1, 5)),
            "placement.offset is 5, but there are only 5 hosts to skip"
        );
        assert_eq!(
            fails(options(PlacementOrder::RoundRobin, 1, 2)),
            "placement.offset is 2, but there are only 2 hosts to skip"
        );
        let at_most = |max_per_host, per_host| PlacementOptions {
            max_per_host: Some(max_per_host),
            ..options(PlacementOrder::Fill, per_host, 0)
        };
        assert_eq!(
            fails(at_most(1, 1)),
            "6 processes cannot be placed on 5 hosts with at most 1 on each; \
             raise placement.max_per_host or take fewer processes"
        );
        assert_eq!(
            fails(at_most(2, 3)),
            "the layout puts 3 processes on s0-1, with at most 2 on each host; \
             raise placement.max_per_host, lower placement.per_host or take fewer processes"
        );
    }

    proptest! {
        #[test]
        fn every_layout_keeps_its_promises(
            sets in prop::collection::vec(1_u32..5, 1..4),
            round_robin in any::<bool>(),
            (per_host, offset) in (0_u32..4, 0_u32..6),
            processes in 0_u32..40,
            max_per_host in prop::option::of(0_u32..6),
        ) {
            let platform = platform(&sets);
            let order = if round_robin { PlacementOrder::RoundRobin } else { PlacementOrder::Fill };
            let options = PlacementOptions { max_per_host, ..options(order, per_host, offset) };
            let hosts: u32 = sets.iter().sum();
            let skippable = if round_robin { *sets.iter().min().unwrap() } else { hosts };
            let unbounded = PlacementOptions { max_per_host: None, ..options };
            let Ok(places) = placement(&platform, &unbounded, processes) else {
                prop_assert!(per_host == 0 || skippable <= offset);
                return Ok(());
            };
            prop_assert_eq!(places.len(), usize::try_from(processes).unwrap());
            let group = usize::try_from(per_host).unwrap();
            for chunk in places.chunks(group) {
                prop_assert!(chunk.iter().all(|host| *host == chunk[0]), "neighbours share a host");
            }
            let mut counts = vec![0; platform.hosts().len()];
            places.iter().for_each(|host| counts[host.index()] += 1);
            if !round_robin {
                prop_assert!(places.first().is_none_or(|host| host.0 == offset));
                let (most, least) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
                prop_assert!(most - least <= per_host, "all hosts before one twice");
            }
            let fits = counts.iter().all(|count| max_per_host.is_none_or(|max| *count <= max));
            prop_assert_eq!(placement(&platform, &options, processes).is_ok(), fits);
        }
    }

    fn check(work: &[Option<u64>], capacities: &[f64], expected: &[u32]) {
        let work: Vec<_> = work.iter().map(|work| work.map(Instructions)).collect();
        let expected: Vec<_> = expected.iter().copied().map(HostId).collect();
        let placement = resumed_placement(&work, &[], capacities);
        assert_eq!(placement, expected, "{work:?}");
        // Where it is fixed, it stays.
        let stays: Vec<_> = expected.iter().copied().map(Some).collect();
        for count in 0..=stays.len() {
            let placement = resumed_placement(&work, &stays[..count], capacities);
            assert_eq!(placement[..count], expected[..count], "{work:?}");
        }
    }

    #[test]
    fn processes_without_a_place_go_where_those_that_stay_leave_room() {
        let work = [Some(8), Some(2), Some(3), None].map(|work| work.map(Instructions));
        let stays = [Some(HostId(0)), Some(HostId(1)), None, Some(HostId(1))];
        assert_eq!(
            resumed_placement(&work, &stays, &[1.0; 2]),
            [0, 1, 1, 1].map(HostId)
        );
    }

    #[test]
    fn processes_go_where_their_work_ends_first() {
        let work = [Some(3), Some(9), None, Some(5), Some(5)];
        // 9 to the first, 5 and 3 to the second and third, which have 5 each then.
        check(&work, &[1.0; 3], &[1, 0, 0, 1, 2]);
        check(&work, &[1.0], &[0; 5]);
        // A host that is three times as fast gets 9, 5 and 3.
        check(&work, &[1.0, 3.0], &[1, 1, 0, 1, 0]);
        check(&work, &[1.0; 6], &[3, 0, 0, 1, 2]);
    }

    #[test]
    fn processes_that_computed_nothing_are_spread_by_capacity() {
        check(&[Some(0); 4], &[1.0; 2], &[0, 1, 0, 1]);
        check(&[Some(0); 3], &[1.0, 2.0], &[1, 0, 1]);
        check(&[None, Some(0), None], &[1.0; 2], &[0, 0, 0]);
    }
}
