//! `<cluster>`: hosts that are alike, around a backbone or in a topology.

use bsp::numbers::length;
use bsp::units::{BytesPerSecond, Seconds};

use crate::platform::builder::cluster::{ClusterHosts, ClusterNames};
use crate::platform::builder::{Builder, Cable, Duplex, HOSTS_MAX, ZoneRouting};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::simgrid::element::{Attribute, Element};
use crate::platform::simgrid::{duplex, topology};
use crate::platform::units;

/// Reads a cluster.
pub(super) fn read(
    builder: &mut Builder,
    element: Element<'_>,
    parent: Option<u32>,
) -> Result<(), ErrorAt> {
    check(element)?;
    let id = element.required("id")?;
    let (prefix, suffix) = (element.required("prefix")?, element.required("suffix")?);
    let numbers = radicals(element.required("radical")?)?;
    let topology = topology::read(element, numbers.len(), builder.fat_tree_hosts())?;
    let policy = duplex(element.optional("sharing_policy"), Duplex::Split)?;
    if policy == Duplex::FatPipe {
        builder.warn(
            "sharing_policy=\"FATPIPE\" of <cluster> is honoured; SimGrid 4.1 takes it for SHARED"
                .to_owned(),
        );
    }
    let mut hosts = ClusterHosts {
        names: ClusterNames::Numbered {
            prefix: prefix.text.to_owned(),
            suffix: suffix.text.to_owned(),
            numbers,
        },
        speeds: element.speed()?.into_iter().collect(),
        cores: element.cores()?,
        cable: cable(
            element.required("bw")?.quantity(units::bandwidth)?,
            element.required("lat")?.quantity(units::time)?,
            policy,
        ),
        backbone: optional_cable(element, "bb_bw", "bb_lat", backbone_policy(element)?)?,
        loopback: optional_cable(element, "loopback_bw", "loopback_lat", Duplex::FatPipe)?,
        limiter: match element.optional("limiter_link") {
            None => None,
            Some(limiter) => limiter.quantity(units::bandwidth_or_none)?,
        },
    };
    let zone = builder
        .open_zone(id.text, parent, ZoneRouting::Cluster, element.at())
        .at(id.at)?;
    let Some(topology) = topology else {
        let router = element.optional("router_id").map_or_else(
            || format!("{}{}_router{}", prefix.text, id.text, suffix.text),
            |router| router.text.to_owned(),
        );
        return builder
            .add_cluster(zone, &hosts, &router)
            .map(|_| ())
            .at(element.at());
    };
    if hosts.backbone.take().is_some() || element.optional("router_id").is_some() {
        builder.warn(
            "`bb_bw`, `bb_lat` and `router_id` of a <cluster> with a topology are ignored, as SimGrid does: \
             it has no backbone, and hosts are its gateways"
                .to_owned(),
        );
    }
    builder
        .add_topology(zone, &hosts, topology)
        .map(|_| ())
        .at(element.at())
}

fn check(element: Element<'_>) -> Result<(), ErrorAt> {
    element.allow(&[
        "id",
        "prefix",
        "suffix",
        "radical",
        "speed",
        "core",
        "bw",
        "lat",
        "sharing_policy",
        "topology",
        "topo_parameters",
        "bb_bw",
        "bb_lat",
        "bb_sharing_policy",
        "router_id",
        "limiter_link",
        "loopback_bw",
        "loopback_lat",
    ])?;
    if let Some(child) = element.children().find(|child| child.name() != "prop") {
        return Err(child.misplaced("cluster"));
    }
    Ok(())
}

fn backbone_policy(element: Element<'_>) -> Result<Duplex, ErrorAt> {
    let policy = element.optional("bb_sharing_policy");
    match duplex(policy, Duplex::Shared)? {
        Duplex::Split => Err(policy
            .expect("SHARED is the default")
            .choice("bb_sharing_policy", "SHARED or FATPIPE")),
        policy => Ok(policy),
    }
}

/// A cable that exists if its bandwidth or its latency is above zero.
fn optional_cable(
    element: Element<'_>,
    bandwidth: &'static str,
    latency: &'static str,
    duplex: Duplex,
) -> Result<Option<Cable>, ErrorAt> {
    let width = match element.optional(bandwidth) {
        None => None,
        Some(bandwidth) => bandwidth.quantity(units::bandwidth_or_none)?,
    };
    let delay = match element.optional(latency) {
        None => Seconds::ZERO,
        Some(latency) => latency.quantity(units::time)?,
    };
    match width {
        Some(width) => Ok(Some(cable(width, delay, duplex))),
        None if Seconds::ZERO < delay => {
            let element_name = element.name().to_owned();
            let kind = PlatformErrorKind::MissingAttribute {
                element: element_name,
                attribute: bandwidth,
            };
            Err(element.error(kind))
        }
        None => Ok(None),
    }
}

const fn cable(bandwidth: BytesPerSecond, latency: Seconds, duplex: Duplex) -> Cable {
    Cable {
        bandwidth,
        latency,
        duplex,
        bandwidth_profile: None,
        latency_profile: None,
    }
}

/// The numbers of `1-4,6,9-11`.
pub(super) fn radicals(met: Attribute<'_>) -> Result<Vec<u32>, ErrorAt> {
    const EXPECTED: &str = "numbers and ranges separated by commas, as `1-4,6,9-11`";
    let mut radicals = Vec::new();
    for group in met.text.split(',') {
        let (first, last) = group.split_once('-').unwrap_or((group, group));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(met.choice("radical", EXPECTED));
        };
        if last < first {
            return Err(met.choice("radical", EXPECTED));
        }
        let total = u64::from(last - first) + 1 + length(radicals.len());
        if u64::from(HOSTS_MAX) < total {
            let limit = u64::from(HOSTS_MAX);
            return Err(met.error(PlatformErrorKind::TooMany {
                what: "hosts",
                met: total,
                limit,
            }));
        }
        radicals.extend(first..=last);
    }
    Ok(radicals)
}
