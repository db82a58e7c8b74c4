//! `[[set]]` and `[[host]]`.

use std::collections::BTreeMap;

use bsp::HostId;
use bsp::numbers::length;

use crate::platform::builder::cluster::{ClusterHosts, ClusterNames};
use crate::platform::builder::{Builder, Duplex, Endpoint, HOSTS_MAX, ZoneRouting};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::host::{CORES, CORES_MAX};
use crate::platform::name_range::expand;
use crate::platform::tables::document::{
    Document, HostNames, HostsEntry, NamesEntry, SetTable, SpeedEntry,
};
use crate::platform::tables::topology;
use crate::platform::tables::values::{cable, error_at, quantity, undirected_cable};
use crate::platform::units;

/// A Set as the network sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetZone {
    pub(super) zone: u32,
    /// Where messages from and to other Sets leave and enter it.
    pub(super) gateway: Endpoint,
    pub(super) has_uplink: bool,
    /// Where its table names it.
    pub(super) at: usize,
}

/// Reads all Sets; returns them by name.
pub(super) fn read(
    builder: &mut Builder,
    world: u32,
    document: &Document,
) -> Result<BTreeMap<String, SetZone>, ErrorAt> {
    let mut members = BTreeMap::new();
    for table in &document.set {
        let at = table.name.span().start;
        for name in expand(table.name.get_ref()).at(at)? {
            if name.is_empty() {
                return Err(error_at(
                    &table.name,
                    PlatformErrorKind::InvalidValue {
                        key: "name",
                        met: name,
                        expected: "a name that is not empty",
                    },
                ));
            }
            let member = set(builder, world, table, &name)?;
            members.insert(name, member);
        }
    }
    for table in &document.host {
        for host in named_hosts(builder, &table.hosts)? {
            if let Some(speed) = &table.speed {
                builder.host_mut(host).speed = quantity("speed", speed, units::speed)?;
            }
            if let Some(cores) = &table.cores {
                builder.host_mut(host).cores = cores_of(cores)?;
            }
        }
    }
    Ok(members)
}

fn set(
    builder: &mut Builder,
    world: u32,
    table: &SetTable,
    name: &str,
) -> Result<SetZone, ErrorAt> {
    let at = table.name.span().start;
    let zone = builder
        .open_zone(name, Some(world), ZoneRouting::Cluster, at)
        .at(at)?;
    let names = host_names(table, name)?;
    let hosts = ClusterHosts {
        speeds: speeds(table, names.len())?,
        names,
        cores: table.cores.as_ref().map_or(Ok(1), cores_of)?,
        cable: cable(&table.link, Duplex::Split)?,
        backbone: match &table.backbone {
            Some(backbone) => Some(undirected_cable(backbone, Duplex::Shared)?),
            None => None,
        },
        loopback: match &table.loopback {
            Some(loopback) => Some(undirected_cable(loopback, Duplex::FatPipe)?),
            None => None,
        },
        limiter: match &table.limiter {
            Some(limiter) => Some(quantity("limiter", limiter, units::bandwidth)?),
            None => None,
        },
    };
    let topology = topology::read(table, hosts.names.len(), builder.fat_tree_hosts())?;
    let gateway = match topology {
        Some(topology) => builder.add_topology(zone, &hosts, topology),
        None => builder.add_cluster(zone, &hosts, &format!("{name}-router")),
    }
    .at(at)?;
    if let Some(uplink) = &table.uplink {
        let cable = cable(uplink, Duplex::Split)?;
        let wire = builder
            .add_cable(&format!("{name}_uplink"), &cable)
            .at(at)?;
        builder.add_uplink(zone, gateway, wire.towards(true), wire.towards(false));
    }
    Ok(SetZone {
        zone,
        gateway,
        has_uplink: table.uplink.is_some(),
        at,
    })
}

/// Names of the hosts, and what their links are called after.
fn host_names(table: &SetTable, set: &str) -> Result<ClusterNames, ErrorAt> {
    let no_hosts = || {
        error_at(
            &table.hosts,
            PlatformErrorKind::InvalidValue {
                key: "hosts",
                met: "none".to_owned(),
                expected: "at least one host",
            },
        )
    };
    let too_many = |met: u64| {
        let (what, limit) = ("hosts", u64::from(HOSTS_MAX));
        error_at(
            &table.hosts,
            PlatformErrorKind::TooMany { what, met, limit },
        )
    };
    match table.hosts.get_ref() {
        HostsEntry::Names(names) if names.is_empty() => Err(no_hosts()),
        HostsEntry::Names(patterns) => {
            let mut hosts = Vec::new();
            for pattern in patterns {
                let names = expand(pattern).map_err(|error| error_at(&table.hosts, error))?;
                hosts.extend(names);
                let count = length(hosts.len());
                if u64::from(HOSTS_MAX) < count {
                    return Err(too_many(count));
                }
            }
            Ok(ClusterNames::Listed(hosts))
        }
        HostsEntry::Count(0) => Err(no_hosts()),
        HostsEntry::Count(count) => {
            let first = table.first.unwrap_or(1);
            let last = first.checked_add(count - 1).filter(|_| *count <= HOSTS_MAX);
            let Some(last) = last else {
                return Err(too_many(u64::from(*count)));
            };
            let prefix = match &table.prefix {
                Some(prefix) => prefix.replace("{set}", set),
                None => format!("{set}-"),
            };
            Ok(ClusterNames::Numbered {
                prefix,
                suffix: String::new(),
                numbers: (first..=last).collect(),
            })
        }
    }
}

fn speeds(
    table: &SetTable,
    hosts: usize,
) -> Result<Vec<bsp::units::InstructionsPerSecond>, ErrorAt> {
    let entries = match table.speed.get_ref() {
        SpeedEntry::All(speed) => std::slice::from_ref(speed),
        SpeedEntry::Each(speeds) if speeds.len() == hosts => speeds.as_slice(),
        SpeedEntry::Each(speeds) => {
            let fault_of = PlatformErrorKind::WrongLength {
                key: "speed",
                met: speeds.len(),
                hosts,
            };
            return Err(error_at(&table.speed, fault_of));
        }
    };
    entries
        .iter()
        .map(|speed| {
            units::speed(&speed.0).map_err(|error| {
                error_at(
                    &table.speed,
                    PlatformErrorKind::Quantity {
                        key: "speed",
                        source: error,
                    },
                )
            })
        })
        .collect()
}

fn cores_of(cores: &toml::Spanned<u32>) -> Result<u32, ErrorAt> {
    let met = *cores.get_ref();
    if (1..=CORES_MAX).contains(&met) {
        return Ok(met);
    }
    Err(error_at(
        cores,
        PlatformErrorKind::InvalidValue {
            key: "cores",
            met: met.to_string(),
            expected: CORES,
        },
    ))
}

/// The hosts that names, ranges and Sets stand for; each once, in file order.
pub(super) fn named_hosts(builder: &Builder, names: &HostNames) -> Result<Vec<HostId>, ErrorAt> {
    let at = names.0.span().start;
    let patterns = match names.0.get_ref() {
        NamesEntry::One(pattern) => std::slice::from_ref(pattern),
        NamesEntry::Several(patterns) => patterns.as_slice(),
    };
    let mut hosts = Vec::new();
    for pattern in patterns {
        if pattern == "*" {
            hosts.extend(
                builder
                    .sets()
                    .iter()
                    .flat_map(|set| set.hosts.iter().copied()),
            );
            continue;
        }
        for name in expand(pattern).map_err(|kind| ErrorAt { at, kind })? {
            match builder.host(&name) {
                Some(host) => hosts.push(host),
                None => {
                    let set = hosts_of_set(builder, &name);
                    hosts.extend(set.map_err(|kind| ErrorAt { at, kind })?);
                }
            }
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

fn hosts_of_set<'a>(builder: &'a Builder, name: &str) -> Result<&'a [HostId], PlatformErrorKind> {
    const WHAT: &str = "host or Set";
    match builder.node(WHAT, name)? {
        Endpoint::Zone(_) if !name.is_empty() => {
            let set = builder.sets().iter().find(|set| set.name == name);
            Ok(set.map_or(&[], |set| &set.hosts))
        }
        _ => Err(PlatformErrorKind::Unknown {
            what: WHAT,
            name: name.to_owned(),
            nearest: None,
        }),
    }
}
