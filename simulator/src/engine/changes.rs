//! When hosts and links change in the course of time.

use bsp::units::Instant;

use crate::calendar::Calendar;
use crate::platform::{Host, Platform};

/// The changes of the platform, apart from what is under way: what happens at one date happens in an order that does not
/// depend on them.
#[derive(Debug)]
pub(super) struct Changes {
    /// Changes of links still to come, in seconds from the beginning of the run. They are no activities: they never keep the
    /// clock going.
    pub(super) links: Calendar<u32>,
    /// Changes of the speed of hosts that compute, in seconds from the last rest, with the generation of the host.
    pub(super) speeds: Calendar<(u32, u32)>,
    /// The next change of a host, in seconds from the beginning of the run; infinite if there is none.
    pub(super) hosts: f64,
    /// The number of changes so far, as far as anything can depend on them.
    pub(super) count: u64,
    /// That number when the platform was last at rest.
    pub(super) count_rested: u64,
}

impl Changes {
    /// All changes of `platform` are to come, those at the beginning included.
    pub(super) fn new(platform: &Platform) -> Self {
        let mut links = Calendar::new();
        for (index, _) in (0_u32..)
            .zip(platform.links())
            .filter(|(_, link)| link.varies())
        {
            links.push(0.0, index);
        }
        Self {
            links,
            speeds: Calendar::new(),
            hosts: next_host_change(platform, Instant::START),
            count: 0,
            count_rested: 0,
        }
    }
}

/// The first change of a host of `platform` after `now`, in seconds; infinite if there is none.
pub(super) fn next_host_change(platform: &Platform, now: Instant) -> f64 {
    let profiles = |host: &Host| [host.availability.clone(), host.load.clone()];
    let profiles = platform.hosts().iter().flat_map(profiles).flatten();
    let dates = profiles.filter_map(|profile| profile.next_change(now));
    dates
        .map(|(date, _)| date.get())
        .fold(f64::INFINITY, f64::min)
}
