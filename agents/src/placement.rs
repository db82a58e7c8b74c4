//! Where processes start.

use bsp::HostId;
use serde::{Deserialize, Serialize};
use simulator::Platform;

/// How processes are laid out over the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementOptions {
    /// Host after host, or Set after Set.
    pub order: Order,
    /// So many consecutive ranks share a host before the next host is taken.
    pub per_host: u32,
    /// So many hosts are skipped first (in each Set, for [`Order::RoundRobin`]); a layout that wraps
    /// comes to them after the last.
    pub offset: u32,
    /// No host may get more processes than this; `None`: the layout wraps for ever.
    pub max_per_host: Option<u32>,
}

/// Host after host, or Set after Set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Hosts in the order of the platform; after the last, the first again.
    #[default]
    Fill,
    /// With one process per host, rank `r` goes to Set `r` modulo the number of Sets, each Set cycling
    /// through its hosts; with more, so many consecutive ranks take the place of one.
    RoundRobin,
}

/// Why processes cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// No host gets zero processes at a time.
    #[error("placement.per_host is 0; at least one process has to go to a host")]
    PerHost,
    /// There are not enough hosts to skip that many.
    #[error("placement.offset is {offset}, but there are only {hosts} hosts to skip")]
    Offset {
        /// How many hosts were to be skipped.
        offset: u32,
        /// How many there are.
        hosts: usize,
    },
    /// Too many processes.
    #[error(
        "this layout of {processes} processes over {hosts} hosts puts more than {max_per_host} on one; \
         raise placement.max_per_host, lower placement.per_host or take fewer processes"
    )]
    TooMany {
        /// How many processes there are.
        processes: u32,
        /// How many hosts there are.
        hosts: usize,
        /// How many processes each may get.
        max_per_host: u32,
    },
}

impl Default for PlacementOptions {
    fn default() -> Self {
        Self {
            order: Order::Fill,
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
/// If the options cannot be met.
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
        Order::Fill => hosts,
        Order::RoundRobin => shortest,
    };
    if skippable <= offset {
        return Err(PlacementError::Offset {
            offset: options.offset,
            hosts: skippable,
        });
    }
    let ranks = 0..usize::try_from(processes).expect("u32 fits usize");
    let places: Vec<HostId> = match options.order {
        Order::Fill => ranks
            .map(|rank| HostId::from_index((offset + rank / per_host) % hosts))
            .collect(),
        Order::RoundRobin => {
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
        let mut counts = vec![0_u32; hosts];
        for host in &places {
            counts[host.index()] += 1;
        }
        if counts.iter().any(|count| max_per_host < *count) {
            return Err(PlacementError::TooMany {
                processes,
                hosts,
                max_per_host,
            });
        }
    }
    Ok(places)
}
