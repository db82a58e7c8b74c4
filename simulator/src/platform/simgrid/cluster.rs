//! `<cluster>`: hosts that are alike, each with a link of its own to a backbone.

use bsp::units::{BytesPerSecond, Seconds};

use crate::platform::builder::cluster::ClusterHosts;
use crate::platform::builder::{Builder, Cable, Duplex, HOSTS_MAX, ZoneRouting};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::simgrid::element::{Attribute, Element};
use crate::platform::simgrid::sharing_policy::duplex;
use crate::platform::units;

/// Reads a flat cluster.
pub(super) fn read(
    builder: &mut Builder,
    element: Element<'_>,
    parent: Option<u32>,
) -> Result<(), ErrorAt> {
    check(element)?;
    let id = element.required("id")?;
    let (prefix, suffix) = (element.required("prefix")?, element.required("suffix")?);
    let radicals = radicals(element.required("radical")?)?;
    let policy = duplex(element.optional("sharing_policy"), Duplex::Split)?;
    if policy == Duplex::FatPipe {
        builder.warn(
            "sharing_policy=\"FATPIPE\" of <cluster> is honoured; SimGrid 4.1 takes it for SHARED"
                .to_owned(),
        );
    }
    let hosts = ClusterHosts {
        names: radicals
            .into_iter()
            .map(|radical| {
                (
                    format!("{}{radical}{}", prefix.text, suffix.text),
                    radical.to_string(),
                )
            })
            .collect(),
        speeds: vec![element.speed()?],
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
    let router = element.optional("router_id").map_or_else(
        || format!("{}{}_router{}", prefix.text, id.text, suffix.text),
        |router| router.text.to_owned(),
    );
    builder
        .add_cluster(zone, &hosts, &router)
        .at(element.at())?;
    Ok(())
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
    match element.optional("topology") {
        None => Ok(()),
        Some(met) if met.text == "FLAT" => Ok(()),
        Some(met) => Err(met.error(PlatformErrorKind::NotSupported {
            what: format!("topology=\"{}\"", met.text),
            instead: "clusters are FLAT: each host has a link of its own to a backbone",
        })),
    }
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
fn radicals(met: Attribute<'_>) -> Result<Vec<u32>, ErrorAt> {
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
        let total = u64::from(last - first) + 1 + u64::try_from(radicals.len()).unwrap_or(u64::MAX);
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
