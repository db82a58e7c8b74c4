//! Hosts that are alike, with regularly numbered links.

use bsp::SetId;
use bsp::numbers::index;
use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};

use crate::platform::builder::{Builder, Cable, Duplex, Endpoint, count};
use crate::platform::error::PlatformErrorKind;
use crate::platform::routes::{Cluster, Location, Routing};
use crate::platform::{Host, LinkId};

/// Hosts that are alike, each with a cable of its own.
#[derive(Debug)]
pub(in crate::platform) struct ClusterHosts {
    pub(in crate::platform) names: ClusterNames,
    /// Of one core, by host, repeated; none: they hold no process.
    pub(in crate::platform) speeds: Vec<InstructionsPerSecond>,
    pub(in crate::platform) cores: u32,
    pub(in crate::platform) cable: Cable,
    pub(in crate::platform) backbone: Option<Cable>,
    pub(in crate::platform) loopback: Option<Cable>,
    pub(in crate::platform) limiter: Option<BytesPerSecond>,
}

/// Names of hosts; those of their links contain the number or the name of the host.
#[derive(Debug)]
pub(in crate::platform) enum ClusterNames {
    Numbered {
        prefix: String,
        suffix: String,
        numbers: Vec<u32>,
    },
    Listed(Vec<String>),
}

impl ClusterNames {
    pub(in crate::platform) const fn len(&self) -> usize {
        match self {
            Self::Numbered { numbers, .. } => numbers.len(),
            Self::Listed(names) => names.len(),
        }
    }

    fn host(&self, number: usize) -> String {
        match self {
            Self::Numbered {
                prefix,
                suffix,
                numbers,
            } => [prefix, numbers[number].to_string().as_str(), suffix].concat(),
            Self::Listed(names) => names[number].clone(),
        }
    }

    /// The name of a host's link in a cluster.
    pub(super) fn link(&self, cluster: &str, number: usize) -> String {
        match self {
            Self::Numbered { numbers, .. } => {
                [cluster, "_link_", numbers[number].to_string().as_str()].concat()
            }
            Self::Listed(names) => [cluster, "_link_", names[number].as_str()].concat(),
        }
    }
}

impl ClusterHosts {
    /// The host with that number, in no Set yet; none if it holds no process.
    fn host(&self, number: usize) -> Option<Host> {
        let speed = self.speeds.get(number.checked_rem(self.speeds.len())?)?;
        Some(Host {
            name: self.names.host(number),
            set: SetId(0),
            speed: *speed,
            cores: self.cores,
            availability: None,
            load: None,
            jobs: None,
        })
    }
}

impl Builder {
    /// Fills an empty zone with hosts, their links and a router.
    pub(in crate::platform) fn add_cluster(
        &mut self,
        zone: u32,
        hosts: &ClusterHosts,
        router: &str,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let prefix = self.zones[index(zone)].name.clone();
        let backbone = match &hosts.backbone {
            Some(cable) => Some(self.add_link(format!("{prefix}_backbone"), cable)?),
            None => None,
        };
        let has_two_directions = hosts.cable.duplex == Duplex::Split;
        let first = self.next_link()?.0;
        let stride = u32::from(hosts.loopback.is_some())
            + u32::from(hosts.limiter.is_some())
            + 1
            + u32::from(has_two_directions);
        self.hosts.reserve(hosts.names.len());
        self.links.reserve(hosts.names.len() * index(stride));
        for (local, number) in (0..).zip(0..hosts.names.len()) {
            self.add_cluster_host(Location { zone, local }, hosts, number)?;
            self.add_host_links(&hosts.names.link(&prefix, number), hosts)?;
        }
        let count_hosts = count(hosts.names.len(), "hosts")?;
        self.zones[index(zone)].cluster = Some(Routing::Cluster(Cluster {
            hosts: count_hosts,
            backbone,
            first,
            stride,
            has_loopback: hosts.loopback.is_some(),
            has_limiter: hosts.limiter.is_some(),
            has_two_directions,
        }));
        let local = count_hosts;
        self.add_located_router(Location { zone, local }, router)
    }

    /// Adds the host with that number.
    pub(super) fn add_cluster_host(
        &mut self,
        place: Location,
        hosts: &ClusterHosts,
        number: usize,
    ) -> Result<Endpoint, PlatformErrorKind> {
        if let Some(host) = hosts.host(number) {
            let host = self.add_located_host(place, host)?;
            return Ok(Endpoint::Host(host.0));
        }
        let name = hosts.names.host(number);
        let point = self.add_located_router(place, &name)?;
        self.note_idle(point);
        Ok(point)
    }

    fn add_host_links(
        &mut self,
        name: &str,
        hosts: &ClusterHosts,
    ) -> Result<(), PlatformErrorKind> {
        if let Some(loopback) = &hosts.loopback {
            self.add_link([name, "_loopback"].concat(), loopback)?;
        }
        if let Some(bandwidth) = hosts.limiter {
            self.add_limiter([name, "_limiter"].concat(), bandwidth)?;
        }
        self.add_cable(name, &hosts.cable).map(|_| ())
    }

    pub(super) fn add_limiter(
        &mut self,
        name: String,
        bandwidth: BytesPerSecond,
    ) -> Result<LinkId, PlatformErrorKind> {
        let limiter = Cable {
            bandwidth,
            latency: Seconds::ZERO,
            duplex: Duplex::Shared,
            bandwidth_profile: None,
            latency_profile: None,
        };
        self.add_link(name, &limiter)
    }

    /// The number that the next link gets.
    pub(super) fn next_link(&self) -> Result<LinkId, PlatformErrorKind> {
        count(self.links.len(), "links").map(LinkId)
    }
}
