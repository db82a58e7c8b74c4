//! Hosts, links and the routes between hosts.
//!
//! Two readers, `simgrid` (XML) and `tables` (TOML), declare hosts, links, routes and zones to a `Builder`, which
//! checks and numbers them. An error of the builder is a kind and an offset; the reader turns the offset into line and
//! column. At the end the builder compiles `Routes`. A route is composed from the zones that it crosses when it is
//! asked for, so memory grows with hosts, links and declared routes, never with pairs of hosts. Names are not stored
//! twice: an index has the places of the names that hosts and links have.
//!
//! A zone routes in one of six ways (`Routing` in `routes`), unless a bypass comes first. A topology is arithmetic: it
//! visits the limiters and cables between two hosts by their numbers, stores a few numbers for each level, and no
//! switch.
//!
//! SimGrid is the reference, with the detours that its routes make: tests compare links, times of routes and ends of
//! flows with its values.
//!
//! A host of speed 0 is no `Host` but a point of the network, like a router, so nothing that places processes, plans or
//! counts processors meets it. `<config>` of a file is a layer of the experiment, between the defaults and the
//! experiment's file, so a record has what was in effect; the loopback alone is part of the platform.

mod builder;
mod error;
mod graph;
mod names;
mod routes;
mod simgrid;
mod tables;
mod topology;
mod units;
mod unrouted;

use std::collections::BTreeSet;

use bsp::numbers::index;
use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};
use bsp::{HostId, SetId};

use crate::jobs::Jobs;
use crate::network_options::ConfiguredSetting;
use crate::profile::Profile;
use builder::{Builder, ZoneRouting};
use names::Names;
use routes::Routes;
use units::ProfileQuantity;

pub use error::{PlatformError, PlatformErrorKind};
pub use names::expand;
pub use topology::TopologyProblem;
pub use units::{QuantityError, QuantityProblem, UnitSpelling, bandwidth, measures, time};
pub(crate) use unrouted::UniformHosts;
pub use unrouted::{Unrouted, UnroutedSets};

/// Hosts in Sets, links, and the routes between all hosts.
///
/// Its memory is proportional to hosts, links and declared routes.
#[derive(Debug)]
pub struct Platform {
    hosts: Vec<Host>,
    sets: Vec<Set>,
    links: Vec<Link>,
    routes: Routes,
    overheads: Overheads,
    by_name: Names<HostId>,
    idle_hosts: Vec<String>,
    settings: Vec<ConfiguredSetting>,
    warnings: Vec<String>,
}

/// The platform declares no route from one host to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no route leads from host `{from}` to host `{to}`; add one to the platform, or use other hosts"
)]
pub struct NoRoute {
    /// Name of the sending host.
    pub from: String,
    /// Name of the receiving host.
    pub to: String,
}

impl Platform {
    /// Hosts of which nothing is known but their names and Sets, as of machines that are not simulated: `sets` has the
    /// name of each Set, and those of its hosts. No route leads anywhere, and speeds, one instruction per second, have no
    /// meaning.
    ///
    /// # Errors
    ///
    /// If there are no hosts, too many, or two of one name.
    ///
    /// # Panics
    ///
    /// Never: one is above zero.
    pub fn of_names<'a>(
        sets: impl IntoIterator<Item = (&'a str, &'a [String])>,
    ) -> Result<Self, PlatformErrorKind> {
        let mut builder = Builder::default();
        let world = builder.open_zone("", None, ZoneRouting::None, 0)?;
        for (set, hosts) in sets {
            let zone = builder.open_zone(set, Some(world), ZoneRouting::None, 0)?;
            for name in hosts {
                let host = Host {
                    name: name.clone(),
                    set: SetId::default(),
                    speed: InstructionsPerSecond::new(1.0).expect("one is above zero"),
                    cores: 1,
                    availability: None,
                    load: None,
                    jobs: None,
                };
                builder.add_host(zone, host)?;
            }
        }
        builder.finish().map_err(|error| error.kind)
    }

    /// The same platform with an external `load` on `host`.
    ///
    /// # Errors
    ///
    /// If the host has a load profile or jobs already, or a value of `load` is not between 0 and 1.
    ///
    /// # Panics
    ///
    /// If `host` does not belong to this platform.
    pub fn with_load(mut self, host: HostId, load: Profile) -> Result<Self, PlatformErrorKind> {
        let host = self.unloaded(host)?;
        ProfileQuantity::Load.check(&host.name, &load)?;
        host.load = Some(load);
        Ok(self)
    }

    /// The same platform with `jobs` of the owner of `host`.
    ///
    /// # Errors
    ///
    /// If the host has jobs or a load profile already.
    ///
    /// # Panics
    ///
    /// If `host` does not belong to this platform.
    pub fn with_jobs(mut self, host: HostId, jobs: Jobs) -> Result<Self, PlatformErrorKind> {
        self.unloaded(host)?.jobs = Some(jobs);
        Ok(self)
    }

    /// The host, if it has no external load yet.
    fn unloaded(&mut self, host: HostId) -> Result<&mut Host, PlatformErrorKind> {
        let host = &mut self.hosts[host.index()];
        if host.load.is_some() || host.jobs.is_some() {
            let (what, name) = ("load of host", host.name.clone());
            return Err(PlatformErrorKind::Duplicate { what, name });
        }
        Ok(host)
    }

    /// The same platform with a changing `bandwidth` of `link`, in bytes per second.
    ///
    /// # Errors
    ///
    /// If the link has a bandwidth profile already, or a value of `bandwidth` is not positive.
    ///
    /// # Panics
    ///
    /// If `link` does not belong to this platform.
    pub fn with_bandwidth(
        mut self,
        link: LinkId,
        bandwidth: Profile,
    ) -> Result<Self, PlatformErrorKind> {
        let link = &mut self.links[link.index()];
        ProfileQuantity::Bandwidth.check(&link.name, &bandwidth)?;
        if link.bandwidth_profile.is_some() {
            let (what, name) = ("congestion of link", link.name.clone());
            return Err(PlatformErrorKind::Duplicate { what, name });
        }
        link.bandwidth_profile = Some(bandwidth);
        Ok(self)
    }

    /// Whether hosts have owners, whose jobs come and go.
    #[must_use]
    pub fn has_owners(&self) -> bool {
        self.hosts.iter().any(|host| host.jobs.is_some())
    }

    /// Whether hosts or links change in the course of time.
    #[must_use]
    pub(crate) fn varies(&self) -> bool {
        let varies =
            |host: &Host| host.jobs.is_some() || host.load.is_some() || host.availability.is_some();
        self.hosts.iter().any(varies) || self.links.iter().any(Link::varies)
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
    /// If `id` does not belong to this platform.
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
    /// If `id` does not belong to this platform.
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
        self.by_name.get(name, |id| self.host(id).name.as_str())
    }

    /// Fills `links` with the links from one host to another, in order, each as often as the
    /// message crosses it, and returns the overhead of the two hosts.
    ///
    /// # Errors
    ///
    /// If the platform declares no route between them; `links` is then empty.
    ///
    /// # Panics
    ///
    /// If a host does not belong to this platform.
    pub fn route(
        &self,
        from: HostId,
        to: HostId,
        links: &mut Vec<LinkId>,
    ) -> Result<Overhead, NoRoute> {
        if self.routes.find(from.0, to.0, links) {
            Ok(self
                .overheads
                .between(self.host(from).set, self.host(to).set))
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
    /// Considers the routes between the first hosts of all pairs of Sets, and between the first two hosts
    /// of each Set, as all hosts of a Set are connected in the same way, apart from those in a topology.
    /// Pairs without a route are ignored.
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
        between
            .difference(&inside)
            .copied()
            .filter(|link| !self.routes.is_in_topology(*link))
            .collect()
    }

    /// Names of hosts of speed 0, in the order of the file: messages may pass them, and they hold no process.
    #[must_use]
    pub fn idle_hosts(&self) -> &[String] {
        &self.idle_hosts
    }

    /// Settings of the network model that the file makes, in its order: later ones go before earlier ones.
    #[must_use]
    pub fn network_settings(&self) -> &[ConfiguredSetting] {
        &self.settings
    }

    /// What the file contains and the simulation ignores.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
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
    /// Number of cores, from 1 to 65536.
    pub cores: u32,
    /// Factor of the speed over time, not negative; 1 before the first point.
    pub availability: Option<Profile>,
    /// External load over time: the fraction, from 0 to 1, of the speed that is not available; 0 before
    /// the first point.
    pub load: Option<Profile>,
    /// Jobs of its owner; a host with jobs has no `load`.
    pub jobs: Option<Jobs>,
}

/// As many cores as hosts of a cluster may report. More would overflow sums over hosts.
const CORES_MAX: u32 = 1 << 16;
/// The rule for numbers of cores.
const CORES: &str = "a number of cores, from 1 to 65536";

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

/// A cable, or one direction of it.
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

impl Link {
    /// Whether it changes in the course of time.
    #[must_use]
    pub const fn varies(&self) -> bool {
        self.bandwidth_profile.is_some() || self.latency_profile.is_some()
    }
}

impl LinkId {
    /// The position in [`Platform::links`](crate::Platform::links).
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        index(self.0)
    }
}

/// Time that one message occupies the hosts at its two ends (`o` of `LogGP`); each host processes one
/// message at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Time the sending host is occupied.
    pub send: Seconds,
    /// Time the receiving host is occupied.
    pub receive: Seconds,
}

/// Overheads by Set, and of the pairs of Sets that have their own.
#[derive(Debug, Default)]
struct Overheads {
    /// The overhead of each Set's hosts; empty if no host has any.
    sets: Vec<Overhead>,
    /// Ascending by pair, sender first.
    pairs: Vec<((SetId, SetId), Overhead)>,
}

impl Overheads {
    /// The overhead of a message from a host of one Set to a host of another.
    fn between(&self, from: SetId, to: SetId) -> Overhead {
        if self.sets.is_empty() {
            return Overhead::default();
        }
        match self
            .pairs
            .binary_search_by_key(&(from, to), |(pair, _)| *pair)
        {
            Ok(pair) => self.pairs[pair].1,
            Err(_) => Overhead {
                send: self.sets[from.index()].send,
                receive: self.sets[to.index()].receive,
            },
        }
    }
}

#[cfg(test)]
mod tests;
