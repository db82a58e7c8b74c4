//! Hosts that a topology connects.

use bsp::numbers::index;
use bsp::units::BytesPerSecond;

use crate::platform::builder::cluster::ClusterHosts;
use crate::platform::builder::{Builder, Cable, Duplex, Endpoint};
use crate::platform::error::PlatformErrorKind;
use crate::platform::routes::{Fabric, Location, Routing};
use crate::platform::topology::{NamedCable, Topology};
use crate::platform::units;

impl Builder {
    /// Hosts of the fat trees declared so far.
    pub(in crate::platform) const fn fat_tree_hosts(&self) -> u32 {
        self.numbering.fat_tree_hosts
    }

    /// Fills an empty zone with hosts in a topology; returns the first host. `hosts` has no backbone.
    pub(in crate::platform) fn add_topology(
        &mut self,
        zone: u32,
        hosts: &ClusterHosts,
        topology: Topology,
    ) -> Result<Endpoint, PlatformErrorKind> {
        let cluster = self.zones[index(zone)].name.clone();
        let mut first = None;
        let loopbacks = self.next_link()?;
        self.hosts.reserve(hosts.names.len());
        for (local, number) in (0..).zip(0..hosts.names.len()) {
            let host = self.add_cluster_host(Location { zone, local }, hosts, number)?;
            first = first.or(Some(host));
            if let Some(loopback) = &hosts.loopback {
                let name = format!("{}_loopback", hosts.names.link(&cluster, number));
                self.add_link(name, loopback)?;
            }
        }
        let limiters = self.next_link()?;
        if let Some(bandwidth) = hosts.limiter {
            // SimGrid names limiters after positions in the cluster, not after the hosts.
            for id in (0..i64::from(topology.hosts())).chain(topology.switch_ids()) {
                self.add_limiter(format!("{cluster}_link_{id}_limiter"), bandwidth)?;
            }
        }
        let cables = self.next_link()?;
        let has_two_directions = hosts.cable.duplex == Duplex::Split;
        self.links
            .reserve(index(topology.cables()) << u32::from(has_two_directions));
        self.add_cables(&cluster, &topology, &hosts.cable)?;
        self.zones[index(zone)].cluster = Some(Routing::Fabric(Fabric {
            topology,
            loopbacks: hosts.loopback.is_some().then_some(loopbacks),
            limiters: hosts.limiter.is_some().then_some(limiters),
            cables,
            has_two_directions,
        }));
        Ok(first.expect("a topology has hosts"))
    }

    fn add_cables(
        &mut self,
        cluster: &str,
        topology: &Topology,
        cable: &Cable,
    ) -> Result<(), PlatformErrorKind> {
        match topology {
            Topology::FatTree(tree) => {
                let first = self.numbering.fat_tree_cables;
                self.add_each(tree.named_cables(first), cable)?;
                self.numbering.fat_tree_cables = first + topology.cables();
                self.numbering.fat_tree_hosts += topology.hosts();
                Ok(())
            }
            Topology::Torus(torus) => self.add_each(torus.named_cables(cluster), cable),
            Topology::Dragonfly(dragonfly) => {
                let first = self.numbering.dragonfly_cables;
                self.add_each(dragonfly.named_cables(first), cable)?;
                self.numbering.dragonfly_cables = first + topology.cables();
                Ok(())
            }
        }
    }

    fn add_each(
        &mut self,
        cables: impl Iterator<Item = NamedCable>,
        like: &Cable,
    ) -> Result<(), PlatformErrorKind> {
        for NamedCable { name, width } in cables {
            let cable = Cable {
                bandwidth: wider(like.bandwidth, width)?,
                ..like.clone()
            };
            // SimGrid knows the two directions by their own names alone.
            if cable.duplex == Duplex::Split {
                self.add_link([name.as_str(), "_UP"].concat(), &cable)?;
                self.add_link([name.as_str(), "_DOWN"].concat(), &cable)?;
            } else {
                self.add_link(name, &cable)?;
            }
        }
        Ok(())
    }
}

/// The bandwidth of parallel cables together.
fn wider(bandwidth: BytesPerSecond, width: u32) -> Result<BytesPerSecond, PlatformErrorKind> {
    let total = bandwidth.get() * f64::from(width);
    BytesPerSecond::new(total)
        .ok()
        .filter(|_| units::is_rate(total))
        .ok_or_else(|| PlatformErrorKind::InvalidValue {
            key: "bandwidth of parallel cables",
            met: total.to_string(),
            expected: "from 1e-6 to 1e30 B/s",
        })
}
