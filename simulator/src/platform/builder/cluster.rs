//! Hosts that are alike, with regularly numbered links.

use bsp::SetId;
use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};

use crate::platform::builder::{Builder, Cable, Duplex, Endpoint, count};
use crate::platform::error::PlatformErrorKind;
use crate::platform::host::Host;
use crate::platform::index::index;
use crate::platform::location::Location;
use crate::platform::routes::Cluster;

/// Hosts that are alike, each with a cable of its own.
#[derive(Debug)]
pub(in crate::platform) struct ClusterHosts {
    /// Names of hosts, and the middle part of their links' names.
    pub(in crate::platform) names: Vec<(String, String)>,
    pub(in crate::platform) speeds: Vec<InstructionsPerSecond>,
    pub(in crate::platform) cores: u32,
    pub(in crate::platform) cable: Cable,
    pub(in crate::platform) backbone: Option<Cable>,
    pub(in crate::platform) loopback: Option<Cable>,
    pub(in crate::platform) limiter: Option<BytesPerSecond>,
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
        let first = count(self.links.len(), "links")?;
        for (local, (name, link)) in (0..).zip(&hosts.names) {
            let speed = hosts.speeds[index(local) % hosts.speeds.len()];
            let host = Host {
                name: name.clone(),
                set: SetId(0),
                speed,
                cores: hosts.cores,
                availability: None,
                load: None,
                jobs: None,
            };
            self.add_located_host(Location { zone, local }, host)?;
            self.add_host_links(&format!("{prefix}_link_{link}"), hosts)?;
        }
        let count_hosts = count(hosts.names.len(), "hosts")?;
        self.zones[index(zone)].cluster = Some(Cluster {
            hosts: count_hosts,
            backbone,
            first,
            stride: u32::from(hosts.loopback.is_some())
                + u32::from(hosts.limiter.is_some())
                + 1
                + u32::from(has_two_directions),
            has_loopback: hosts.loopback.is_some(),
            has_limiter: hosts.limiter.is_some(),
            has_two_directions,
        });
        let node = Endpoint::Router(count(self.router_locations.len(), "routers")?);
        self.name_node(router, node)?;
        self.router_locations.push(Location {
            zone,
            local: count_hosts,
        });
        Ok(node)
    }

    fn add_host_links(
        &mut self,
        name: &str,
        hosts: &ClusterHosts,
    ) -> Result<(), PlatformErrorKind> {
        if let Some(loopback) = &hosts.loopback {
            self.add_link(format!("{name}_loopback"), loopback)?;
        }
        if let Some(bandwidth) = hosts.limiter {
            let limiter = Cable {
                bandwidth,
                latency: Seconds::ZERO,
                duplex: Duplex::Shared,
                bandwidth_profile: None,
                latency_profile: None,
            };
            self.add_link(format!("{name}_limiter"), &limiter)?;
        }
        self.add_cable(name, &hosts.cable).map(|_| ())
    }
}
