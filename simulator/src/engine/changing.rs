//! Hosts and links that change in the course of time.

use bsp::HostId;
use bsp::units::Instant;

use super::{Engine, Span};
use crate::calendar::{Calendar, Event};
use crate::platform::{Host, Platform};
use crate::profile::Profile;

impl Engine {
    /// Updates the speed of the hosts whose computations or speed changed, and schedules the end of the next
    /// computation on each.
    pub(super) fn update_hosts(&mut self) {
        let now = self.now();
        let mut stale = std::mem::take(&mut self.stale_hosts);
        for host in stale.drain(..) {
            let description = self.platform.host(HostId(host));
            let processor = &mut self.processors[host as usize];
            processor.is_stale = false;
            let generation = processor.next_generation();
            let mut owner = self.owners[host as usize].as_mut();
            if let Some(queue) = &mut owner {
                queue.set_computations(self.now, processor.running());
            }
            if processor.is_idle() {
                continue;
            }
            let date = now.max(processor.changed);
            let speed = speed(description, date);
            match &owner {
                None => processor.set_speed(self.now, speed, description.cores),
                Some(queue) => processor.set_rate(self.now, speed * queue.left()),
            }
            if let Some(end) = processor.next_end() {
                self.calendar
                    .push(end, Event::HostEnds { host, generation });
            }
            let owner = owner.filter(|queue| !queue.is_stopped());
            let owner = owner.and_then(|queue| queue.next_change());
            let change = next_change(description, date);
            let at = change.map(|change| self.epoch.until(change.get()).max(self.now));
            let is_first = |at: &f64| owner.is_none_or(|owner| *at < owner);
            let own = at.filter(is_first).and(change);
            processor.changes = own.unwrap_or(Instant::START);
            if let Some(at) = at.into_iter().chain(owner).min_by(f64::total_cmp) {
                self.changes.speeds.push(at, (host, generation));
            }
        }
        self.stale_hosts = stale;
    }

    /// Forgets events that have become obsolete, if there are many.
    pub(super) fn sweep(&mut self) {
        let (processors, network) = (&self.processors, &self.network);
        let is_of = |host: u32, generation| processors[host as usize].is_current(generation);
        self.calendar.sweep(|event| match event {
            Event::HostEnds { host, generation } => is_of(*host, *generation),
            Event::FlowEnds { flow, generation } => network.is_current(*flow, *generation),
            Event::Ends { .. } | Event::FlowLeaves { .. } | Event::FlowBegins { .. } => true,
        });
        let speeds = &mut self.changes.speeds;
        speeds.sweep(|(host, generation)| is_of(*host, *generation));
    }

    /// The speed of hosts changes now.
    pub(super) fn change_speeds(&mut self) {
        let mut changing = Vec::new();
        self.changes.speeds.pop(&mut changing);
        for (host, generation) in changing {
            let processor = &mut self.processors[host as usize];
            if processor.is_current(generation) {
                processor.changed = processor.changed.max(processor.changes);
                self.mark_stale(host);
            }
        }
    }

    /// Gives the links whose profiles have a point now their new values.
    pub(super) fn change_links(&mut self) {
        let Some(date) = self.changes.links.next() else {
            return;
        };
        self.now = self.now.max(self.epoch.until(date));
        let mut changing = Vec::new();
        self.changes.links.pop(&mut changing);
        self.changes.count += 1;
        let date = Instant::new(date).expect("dates of points are finite");
        let now = self.now().max(date);
        for index in &changing {
            let link = &self.platform.links()[*index as usize];
            let bandwidth = link
                .bandwidth_profile
                .as_ref()
                .and_then(|profile| profile.value(now));
            let latency = link
                .latency_profile
                .as_ref()
                .and_then(|profile| profile.value(now));
            self.network.change(*index as usize, bandwidth, latency);
            let later = [&link.bandwidth_profile, &link.latency_profile]
                .into_iter()
                .flatten()
                .filter_map(|profile| profile.next_change(now))
                .map(|(date, _)| date)
                .min();
            if let Some(later) = later {
                self.changes.links.push(later.get(), *index);
            }
        }
        for index in changing {
            self.network.reweigh(index as usize, self.now);
        }
    }

    /// The platform is at rest. Returns the number of changes so far, unless one has happened since the last rest.
    pub(super) fn rest_changes(&mut self) -> Option<u64> {
        if !self.is_after(self.changes.hosts, self.now) {
            self.changes.hosts = next_host_change(&self.platform, self.now());
            self.changes.count += 1;
        }
        let count = self.changes.count;
        let before = std::mem::replace(&mut self.changes.count_rested, count);
        (before == count).then_some(count)
    }

    /// Whether hosts and links are and stay as they were while what took `span` passed: it may be
    /// [repeated](Self::repeat).
    #[must_use]
    pub fn can_repeat(&self, span: &Span) -> bool {
        let length = span.length.get();
        let next = self
            .changes
            .links
            .next()
            .into_iter()
            .chain([self.changes.hosts]);
        span.changes == Some(self.changes.count)
            && next.into_iter().all(|change| self.is_after(change, length))
    }

    /// Whether a `change` comes after `length` seconds from the last rest, whichever way it is counted.
    fn is_after(&self, change: f64, length: f64) -> bool {
        self.epoch.after(length) < change && length < self.epoch.until(change)
    }
}

/// Instructions per second of one core at `now`, after the external load.
fn speed(host: &Host, now: Instant) -> f64 {
    let value = |profile: &Option<Profile>, initial: f64| match profile {
        Some(profile) => profile.value(now).unwrap_or(initial).max(0.0),
        None => initial,
    };
    host.speed.get() * value(&host.availability, 1.0) * (1.0 - value(&host.load, 0.0)).max(0.0)
}

/// When the speed of a host changes next; if the host is stopped, when it runs again.
fn next_change(host: &Host, now: Instant) -> Option<Instant> {
    let mut at = now;
    // Periodic profiles may change for ever and keep the host stopped all the same.
    for _ in 0..STANDSTILL_CHANGES_MAX {
        at = [&host.availability, &host.load]
            .into_iter()
            .flatten()
            .filter_map(|profile| profile.next_change(at))
            .map(|(date, _)| date)
            .min()?;
        if 0.0 < speed(host, now) || 0.0 < speed(host, at) {
            return Some(at);
        }
    }
    None
}

/// A host whose speed is still zero after this many changes counts as stopped for ever.
const STANDSTILL_CHANGES_MAX: usize = 10_000;

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
    count_rested: u64,
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
fn next_host_change(platform: &Platform, now: Instant) -> f64 {
    let profiles = |host: &Host| [host.availability.clone(), host.load.clone()];
    let profiles = platform.hosts().iter().flat_map(profiles).flatten();
    let dates = profiles.filter_map(|profile| profile.next_change(now));
    dates
        .map(|(date, _)| date.get())
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bsp::units::Instructions;

    use super::*;
    use crate::calendar::Activity;
    use crate::network_options::NetworkOptions;
    use crate::platform::Platform;

    /// A computation of thirty years on a host whose load changes every second: each change makes an end obsolete that lies
    /// far ahead.
    #[test]
    fn a_long_computation_on_a_changing_host_takes_bounded_memory() {
        let text = "[[set]]\nname = \"a\"\nhosts = 1\nspeed = \"1 Gf\"\nlink = { bandwidth = \"1 MBps\" }\n\
                [[load]]\nhosts = \"a-1\"\npoints = [[0, 0.5], [1, 0]]\nperiod = 2\n";
        let platform = Arc::new(Platform::from_toml(text).unwrap());
        let mut engine = Engine::new(platform, NetworkOptions::default());
        engine.compute(
            HostId(0),
            Instructions(1_000_000_000_000_000_000),
            Activity(0),
        );
        for _ in 0..600_000 {
            engine.step().unwrap();
        }
        assert!(500_000.0 < engine.now, "{} s", engine.now);
        assert!(
            engine.calendar.len() <= 1 << 18,
            "{} dates",
            engine.calendar.len()
        );
    }
}
