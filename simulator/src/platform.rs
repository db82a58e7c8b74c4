//! Hosts, links and the routes between hosts.

mod builder;
mod error;
mod graph;
mod meaning;
mod pairs;
mod routes;
mod simgrid;
mod tables;
mod units;

use std::collections::BTreeSet;

use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};
use bsp::{HostId, SetId};

use crate::platform::meaning::Meaning;
use crate::platform::routes::Routes;
use crate::profile::Profile;

pub use error::{Fault, PlatformError};
pub use units::QuantityError;

/// Hosts in Sets, links, and the way from every host to every other.
///
/// Its memory is in proportion to hosts, links and declared routes.
#[derive(Debug)]
pub struct Platform {
    hosts: Vec<Host>,
    sets: Vec<Set>,
    links: Vec<Link>,
    routes: Routes,
    overheads: Overheads,
    /// Hosts in the order of their names.
    by_name: Vec<HostId>,
    warnings: Vec<String>,
}

/// A machine that computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The name in the platform's file; unique.
    pub name: String,
    /// The Set it belongs to.
    pub set: SetId,
    /// Speed of one core.
    pub speed: InstructionsPerSecond,
    /// Number of cores, at least one.
    pub cores: u32,
    /// Factor of the speed over time, not negative; 1 before the first point.
    pub availability: Option<Profile>,
    /// Fraction, from 0 to 1, that others take away over time; 0 before the first point.
    pub load: Option<Profile>,
}

/// The hosts under one Set Manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The name in the platform's file; unique among Sets.
    pub name: String,
    /// Its hosts, ascending; at least one.
    pub hosts: Vec<HostId>,
}

/// Number of a link of a platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A wire, or one direction of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name in the platform's file; unique.
    pub name: String,
    /// Nominal bandwidth.
    pub bandwidth: BytesPerSecond,
    /// Nominal latency, not negative.
    pub latency: Seconds,
    /// Whether messages compete for the bandwidth.
    pub sharing: Sharing,
    /// Bandwidth over time, in bytes per second, not negative; the nominal one before the first
    /// point.
    pub bandwidth_profile: Option<Profile>,
    /// Latency over time, in seconds, not negative; the nominal one before the first point.
    pub latency_profile: Option<Profile>,
}

/// Whether the messages on a link compete for its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All messages together get at most the bandwidth.
    Shared,
    /// Each message alone gets at most the bandwidth.
    FatPipe,
}

/// What one message costs the hosts at its two ends, one message at a time (`o` of `LogGP`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Time the sending host is occupied.
    pub send: Seconds,
    /// Time the receiving host is occupied.
    pub receive: Seconds,
}

/// No way leads from one host to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no route leads from host `{from}` to host `{to}`")]
pub struct NoRoute {
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
}

/// Overheads by Set, and of pairs of Sets that differ.
#[derive(Debug, Default)]
struct Overheads {
    /// What each Set's hosts spend; empty if nobody spends anything.
    sets: Vec<Overhead>,
    /// Ascending by pair, sender first.
    pairs: Vec<((SetId, SetId), Overhead)>,
}

impl Platform {
    /// Reads a platform in TOML, as described in `docs/platforms.md`.
    ///
    /// # Errors
    ///
    /// Says in which line and column the text is wrong, and what would do.
    pub fn from_toml(text: &str) -> Result<Self, PlatformError> {
        tables::read(text).map_err(|misfit| misfit.locate(text))
    }

    /// Reads a platform in SimGrid's XML, version 4 or 4.1; `load` returns the text of the file of
    /// a profile, or says why it cannot.
    ///
    /// # Errors
    ///
    /// Says in which line and column the text is wrong, and what would do.
    pub fn from_simgrid_xml(
        text: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, PlatformError> {
        simgrid::read(text, load).map_err(|misfit| misfit.locate(text))
    }

    /// The same platform, whose `host` loses `load` to others.
    ///
    /// # Errors
    ///
    /// If the host has a load already, or a value of `load` is not between 0 and 1.
    ///
    /// # Panics
    ///
    /// If `host` is not of this platform.
    pub fn with_load(mut self, host: HostId, load: Profile) -> Result<Self, Fault> {
        let host = &mut self.hosts[host.index()];
        Meaning::Load.check(&host.name, &load)?;
        if host.load.is_some() {
            let (kind, name) = ("load of host", host.name.clone());
            return Err(Fault::Duplicate { kind, name });
        }
        host.load = Some(load);
        Ok(self)
    }

    /// The same platform, whose `link` offers `bandwidth`, in bytes per second.
    ///
    /// # Errors
    ///
    /// If the link's bandwidth changes already, or a value of `bandwidth` is not above zero.
    ///
    /// # Panics
    ///
    /// If `link` is not of this platform.
    pub fn with_bandwidth(mut self, link: LinkId, bandwidth: Profile) -> Result<Self, Fault> {
        let link = &mut self.links[link.index()];
        Meaning::Bandwidth.check(&link.name, &bandwidth)?;
        if link.bandwidth_profile.is_some() {
            let (kind, name) = ("congestion of link", link.name.clone());
            return Err(Fault::Duplicate { kind, name });
        }
        link.bandwidth_profile = Some(bandwidth);
        Ok(self)
    }

    /// All hosts, by id.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The host with that id.
    ///
    /// # Panics
    ///
    /// If `id` is not of this platform.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// All Sets, by id.
    #[must_use]
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The Set with that id.
    ///
    /// # Panics
    ///
    /// If `id` is not of this platform.
    #[must_use]
    pub fn set(&self, id: SetId) -> &Set {
        &self.sets[id.index()]
    }

    /// All links, by id.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The host of that name.
    #[must_use]
    pub fn host_by_name(&self, name: &str) -> Option<HostId> {
        let found = self
            .by_name
            .binary_search_by(|id| self.host(*id).name.as_str().cmp(name));
        found.ok().map(|position| self.by_name[position])
    }

    /// Fills `links` with the links from one host to another, in order, each as often as the
    /// message crosses it, and returns what the message costs the two hosts.
    ///
    /// # Errors
    ///
    /// If the platform declares no way between them; `links` is then empty.
    ///
    /// # Panics
    ///
    /// If a host is not of this platform.
    pub fn route(
        &self,
        from: HostId,
        to: HostId,
        links: &mut Vec<LinkId>,
    ) -> Result<Overhead, NoRoute> {
        links.clear();
        if self.routes.connect(from.0, to.0, links) {
            Ok(self.overhead(from, to))
        } else {
            links.clear();
            Err(NoRoute {
                from: self.host(from).name.clone(),
                to: self.host(to).name.clone(),
            })
        }
    }

    /// The links that messages between Sets cross and no message within a Set does, ascending.
    ///
    /// Asks for the routes between the first hosts of all pairs of Sets, and between the first two of
    /// each: hosts of a Set are connected alike. Pairs without a route count for nothing.
    #[must_use]
    pub fn links_between_sets(&self) -> Vec<LinkId> {
        let (mut route, mut inside, mut between) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for set in &self.sets {
            let first = set.hosts[0];
            for other in set.hosts.iter().take(2) {
                for (from, to) in [(first, *other), (*other, first)] {
                    if self.route(from, to, &mut route).is_ok() {
                        inside.extend(route.iter().copied());
                    }
                }
            }
            for other in self.sets.iter().filter(|other| !std::ptr::eq(*other, set)) {
                if self.route(first, other.hosts[0], &mut route).is_ok() {
                    between.extend(route.iter().copied());
                }
            }
        }
        between.difference(&inside).copied().collect()
    }

    /// What the file says and the simulation ignores.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn overhead(&self, from: HostId, to: HostId) -> Overhead {
        if self.overheads.sets.is_empty() {
            return Overhead::default();
        }
        let (from, to) = (self.host(from).set, self.host(to).set);
        match self
            .overheads
            .pairs
            .binary_search_by_key(&(from, to), |(pair, _)| *pair)
        {
            Ok(pair) => self.overheads.pairs[pair].1,
            Err(_) => Overhead {
                send: self.overheads.sets[from.index()].send,
                receive: self.overheads.sets[to.index()].receive,
            },
        }
    }
}

impl LinkId {
    /// The position in [`Platform::links`].
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        index(self.0)
    }
}

/// The position that a 32-bit number stands for.
const fn index(number: u32) -> usize {
    number as usize
}

#[cfg(test)]
mod tests;
