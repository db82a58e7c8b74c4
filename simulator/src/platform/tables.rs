//! This project's own platform files: tables of Sets, links and loads in TOML.
//!
//! The format is described in `docs/reference/platforms.md`.

mod document;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bsp::numbers::length;
use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use toml::Spanned;

use super::builder::cluster::{ClusterHosts, ClusterNames};
use super::builder::{Builder, Cable, Duplex, Endpoint, HOSTS_MAX, NamedLink, Route, ZoneRouting};
use super::error::{At, ErrorAt, PlatformError, PlatformErrorKind, nearest, without_mark};
use super::names::expand;
use super::topology::{Dragonfly, FatTree, Parts, Topology, TopologyProblem, Torus};
use super::units::{self, ProfileQuantity, QuantityError};
use super::{CORES, CORES_MAX, Host, LinkId, Overhead, Platform};
use crate::profile::{Point, Profile};
use document::{
    CableTable, CongestionTable, Document, DragonflyTable, FatTreeTable, HostNames,
    HostProfileTable, HostsEntry, LinkTable, NamesEntry, PointEntry, RouteTable, Scalar, SetTable,
    SpeedEntry,
};

impl Platform {
    /// Reads a platform in TOML, as described in `docs/reference/platforms.md`.
    ///
    /// # Errors
    ///
    /// The place and the reason, if the text does not describe a platform.
    pub fn from_toml(text: &str) -> Result<Self, PlatformError> {
        read(&without_mark(text)).map_err(|error| error.locate(text))
    }
}

/// Reads a whole file.
fn read(text: &str) -> Result<Platform, ErrorAt> {
    let document: Document = toml::from_str(text).map_err(|error| ErrorAt {
        at: error.span().map_or(0, |span: Range<usize>| span.start),
        kind: PlatformErrorKind::Syntax(error.message().trim().replace('\n', "; ")),
    })?;
    let mut builder = Builder::default();
    let root = builder.open_zone(ROOT, None, ZoneRouting::Full, 0).at(0)?;
    let sets = read_sets(&mut builder, root, &document)?;
    read_network(&mut builder, root, &sets, &document)?;
    read_changes(&mut builder, &document)?;
    builder.finish()
}

/// Name of the zone around all Sets; no Set may have it.
const ROOT: &str = "";

/// A Set as the network sees it.
#[derive(Clone, Copy, Debug)]
struct SetZone {
    zone: u32,
    /// Where messages from and to other Sets leave and enter it.
    gateway: Endpoint,
    has_uplink: bool,
    /// Where its table names it.
    at: usize,
}

/// Reads all Sets; returns them by name.
fn read_sets(
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
                        found: name,
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
    let topology = read_topology(table, hosts.names.len(), builder.fat_tree_hosts())?;
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
                found: "none".to_owned(),
                expected: "at least one host",
            },
        )
    };
    let too_many = |found: u64| {
        let (what, limit) = ("hosts", u64::from(HOSTS_MAX));
        error_at(
            &table.hosts,
            PlatformErrorKind::TooMany { what, found, limit },
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
                found: speeds.len(),
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

fn cores_of(cores: &Spanned<u32>) -> Result<u32, ErrorAt> {
    let found = *cores.get_ref();
    if (1..=CORES_MAX).contains(&found) {
        return Ok(found);
    }
    Err(error_at(
        cores,
        PlatformErrorKind::InvalidValue {
            key: "cores",
            found: found.to_string(),
            expected: CORES,
        },
    ))
}

/// The hosts that names, ranges and Sets stand for; each once, in file order.
fn named_hosts(builder: &Builder, names: &HostNames) -> Result<Vec<HostId>, ErrorAt> {
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

/// Connects the Sets. A declared route comes before a link between the two Sets, and that before
/// their uplinks.
fn read_network(
    builder: &mut Builder,
    world: u32,
    sets: &BTreeMap<String, SetZone>,
    document: &Document,
) -> Result<(), ErrorAt> {
    if let Some(core) = &document.core {
        let cable = undirected_cable(core, Duplex::Shared)?;
        let at = core.bandwidth.span().start;
        let wire = builder.add_cable("core", &cable).at(at)?;
        builder.set_core(world, wire.towards(true));
    }
    let mut direct = Vec::new();
    for table in &document.link {
        link(builder, sets, table, &mut direct)?;
    }
    for table in &document.route {
        route(builder, world, sets, table)?;
    }
    let mut linked = BTreeSet::new();
    for DirectLink { ends, wire, at } in direct {
        let [a, b] = ends.map(|end| end.zone);
        if !linked.insert((a.min(b), a.max(b))) {
            let [from, to] = [a, b].map(|zone| name_of(sets, zone));
            return Err(ErrorAt {
                at,
                kind: PlatformErrorKind::DuplicateRoute { from, to },
            });
        }
        for (ends, link) in [
            (ends, wire.towards(true)),
            ([ends[1], ends[0]], wire.towards(false)),
        ] {
            let nodes = ends.map(|end| Endpoint::Zone(end.zone));
            if !builder.has_route(world, nodes[0], nodes[1]) {
                let gateways = Some(ends.map(|end| end.gateway));
                let route = Route {
                    ends: nodes,
                    gateways,
                    there: vec![link],
                    back: None,
                };
                builder.add_route(world, &route).at(at)?;
            }
        }
    }
    check_connected(builder, world, sets)?;
    overheads(builder, sets, document)
}

/// A link that connects two Sets.
struct DirectLink {
    ends: [SetZone; 2],
    wire: NamedLink,
    at: usize,
}

fn link(
    builder: &mut Builder,
    sets: &BTreeMap<String, SetZone>,
    table: &LinkTable,
    direct: &mut Vec<DirectLink>,
) -> Result<(), ErrorAt> {
    let at = table.name.span().start;
    let shape = CableTable {
        bandwidth: table.bandwidth.clone(),
        latency: table.latency.clone(),
        duplex: table.duplex.clone(),
    };
    let cable = cable(&shape, Duplex::Shared)?;
    let Some(between) = &table.between else {
        builder.add_cable(table.name.get_ref(), &cable).at(at)?;
        return Ok(());
    };
    let pairs = pairs(sets, between)?;
    for [a, b] in &pairs {
        let name = match pairs.len() {
            1 => table.name.get_ref().clone(),
            _ => format!("{}-{a}-{b}", table.name.get_ref()),
        };
        let wire = builder.add_cable(&name, &cable).at(at)?;
        direct.push(DirectLink {
            ends: [sets[a], sets[b]],
            wire,
            at,
        });
    }
    Ok(())
}

/// The pairs of different Sets that two names with or without ranges stand for, each pair once.
fn pairs(
    sets: &BTreeMap<String, SetZone>,
    between: &Spanned<[String; 2]>,
) -> Result<Vec<[String; 2]>, ErrorAt> {
    let at = between.span().start;
    let [left, right] = between.get_ref();
    let (left, right) = (expand(left).at(at)?, expand(right).at(at)?);
    for name in left.iter().chain(&right) {
        member(sets, name).at(at)?;
    }
    let mut found = BTreeSet::new();
    let mut pairs = Vec::new();
    for a in &left {
        for b in &right {
            let pair = if a < b { (a, b) } else { (b, a) };
            if a != b && found.insert(pair) {
                pairs.push([a.clone(), b.clone()]);
            }
        }
    }
    if pairs.is_empty() {
        return Err(error_at(
            between,
            PlatformErrorKind::InvalidValue {
                key: "between",
                found: format!("{} and {}", between.get_ref()[0], between.get_ref()[1]),
                expected: "two different Sets",
            },
        ));
    }
    Ok(pairs)
}

fn route(
    builder: &mut Builder,
    world: u32,
    sets: &BTreeMap<String, SetZone>,
    table: &RouteTable,
) -> Result<(), ErrorAt> {
    let at = table.between.span().start;
    let [from, to] = table.between.get_ref();
    let ends = [member(sets, from).at(at)?, member(sets, to).at(at)?];
    if ends[0].zone == ends[1].zone {
        return Err(error_at(
            &table.between,
            PlatformErrorKind::InvalidValue {
                key: "between",
                found: from.clone(),
                expected: "two different Sets",
            },
        ));
    }
    let mut there = Vec::new();
    let mut back = Vec::new();
    for name in &table.links {
        let (forth, opposite) = both_ways(builder, name.get_ref()).at(name.span().start)?;
        there.push(forth);
        back.push(opposite);
    }
    back.reverse();
    let route = Route {
        ends: ends.map(|end| Endpoint::Zone(end.zone)),
        gateways: Some(ends.map(|end| end.gateway)),
        there,
        back: (!table.one_way).then_some(back),
    };
    builder.add_route(world, &route).at(at)
}

/// The link of that name, and the one for the way back: of a link with two directions the name
/// alone, or with `_UP`, is the direction it was declared in, and with `_DOWN` the other.
fn both_ways(builder: &Builder, name: &str) -> Result<(LinkId, LinkId), PlatformErrorKind> {
    if let Some(Ok(wire @ NamedLink::Pair { .. })) =
        name.strip_suffix("_UP").map(|it| builder.wire(it))
    {
        return Ok((wire.towards(true), wire.towards(false)));
    }
    if let Some(Ok(wire @ NamedLink::Pair { .. })) =
        name.strip_suffix("_DOWN").map(|it| builder.wire(it))
    {
        return Ok((wire.towards(false), wire.towards(true)));
    }
    let wire = builder.wire(name)?;
    Ok((wire.towards(true), wire.towards(false)))
}

fn check_connected(
    builder: &Builder,
    world: u32,
    sets: &BTreeMap<String, SetZone>,
) -> Result<(), ErrorAt> {
    for (from, member) in sets.iter().filter(|(_, member)| !member.has_uplink) {
        for (to, other) in sets.iter().filter(|(to, _)| *to != from) {
            let (a, b) = (Endpoint::Zone(member.zone), Endpoint::Zone(other.zone));
            if !(builder.has_route(world, a, b) && builder.has_route(world, b, a)) {
                let kind = PlatformErrorKind::Unconnected {
                    from: from.clone(),
                    to: to.clone(),
                };
                return Err(ErrorAt {
                    at: member.at,
                    kind,
                });
            }
        }
    }
    Ok(())
}

fn overheads(
    builder: &mut Builder,
    sets: &BTreeMap<String, SetZone>,
    document: &Document,
) -> Result<(), ErrorAt> {
    let time = |key, found: &Option<Spanned<Scalar>>, default: Seconds| match found {
        Some(found) => quantity(key, found, units::time),
        None => Ok(default),
    };
    let mut by_set = Vec::new();
    for table in &document.set {
        let overhead = Overhead {
            send: time("send_overhead", &table.send_overhead, Seconds::ZERO)?,
            receive: time("receive_overhead", &table.receive_overhead, Seconds::ZERO)?,
        };
        let count = expand(table.name.get_ref())
            .at(table.name.span().start)?
            .len();
        by_set.extend(std::iter::repeat_n(overhead, count));
    }
    let ids: BTreeMap<String, SetId> = (0..)
        .zip(builder.sets())
        .map(|(id, set)| (set.name.clone(), SetId(id)))
        .collect();
    let mut by_pair = BTreeMap::new();
    for table in &document.overhead {
        let at = table.between.span().start;
        let [left, right] = table.between.get_ref();
        for a in expand(left).at(at)? {
            for b in expand(right).at(at)? {
                member(sets, &a).at(at)?;
                member(sets, &b).at(at)?;
                let mut ways = vec![(ids[&a], ids[&b])];
                if !table.one_way && a != b {
                    ways.push((ids[&b], ids[&a]));
                }
                for (from, to) in ways {
                    let overhead = Overhead {
                        send: time("send", &table.send, by_set[from.index()].send)?,
                        receive: time("receive", &table.receive, by_set[to.index()].receive)?,
                    };
                    by_pair.insert((from, to), overhead);
                }
            }
        }
    }
    if !by_pair.is_empty()
        || by_set
            .iter()
            .any(|overhead| *overhead != Overhead::default())
    {
        builder.set_overheads(by_set, by_pair);
    }
    Ok(())
}

fn member(sets: &BTreeMap<String, SetZone>, name: &str) -> Result<SetZone, PlatformErrorKind> {
    sets.get(name)
        .copied()
        .ok_or_else(|| PlatformErrorKind::Unknown {
            what: "Set",
            name: name.to_owned(),
            nearest: nearest(name, sets.keys().map(String::as_str)),
        })
}

fn name_of(sets: &BTreeMap<String, SetZone>, zone: u32) -> String {
    sets.iter()
        .find(|(_, member)| member.zone == zone)
        .map_or_else(String::new, |(name, _)| name.clone())
}

/// Adds the profiles to hosts and links.
fn read_changes(builder: &mut Builder, document: &Document) -> Result<(), ErrorAt> {
    for table in &document.load {
        hosts(
            builder,
            table,
            ProfileQuantity::Load,
            "load of host",
            |host| &mut host.load,
        )?;
    }
    for table in &document.availability {
        hosts(
            builder,
            table,
            ProfileQuantity::SpeedFactor,
            "availability of host",
            |host| &mut host.availability,
        )?;
    }
    for table in &document.congestion {
        links(builder, table)?;
    }
    Ok(())
}

fn hosts(
    builder: &mut Builder,
    table: &HostProfileTable,
    meaning: ProfileQuantity,
    what: &'static str,
    slot: impl Fn(&mut Host) -> &mut Option<Profile>,
) -> Result<(), ErrorAt> {
    let read = |value: &Spanned<Scalar>| quantity("points", value, units::plain);
    let profile = profile(&table.points, table.period.as_ref(), meaning, read)?;
    for host in named_hosts(builder, &table.hosts)? {
        let host = builder.host_mut(host);
        if slot(host).replace(profile.clone()).is_some() {
            let name = host.name.clone();
            return Err(ErrorAt {
                at: table.hosts.0.span().start,
                kind: PlatformErrorKind::Duplicate { what, name },
            });
        }
    }
    Ok(())
}

fn links(builder: &mut Builder, table: &CongestionTable) -> Result<(), ErrorAt> {
    let at = table.link.span().start;
    let links: Vec<LinkId> = builder.wire(table.link.get_ref()).at(at)?.links().collect();
    let period = table.period.as_ref();
    let bandwidth = match &table.bandwidth {
        None => None,
        Some(points) => Some(profile(
            points,
            period,
            ProfileQuantity::Bandwidth,
            |value| quantity("bandwidth", value, units::bandwidth).map(BytesPerSecond::get),
        )?),
    };
    let latency = match &table.latency {
        None => None,
        Some(points) => Some(profile(
            points,
            period,
            ProfileQuantity::Latency,
            |value| quantity("latency", value, units::time).map(Seconds::get),
        )?),
    };
    for link in links {
        let link = builder.link_mut(link);
        let bandwidth_again = bandwidth.is_some() && link.bandwidth_profile.is_some();
        let latency_again = latency.is_some() && link.latency_profile.is_some();
        if bandwidth_again || latency_again {
            let name = link.name.clone();
            return Err(ErrorAt {
                at,
                kind: PlatformErrorKind::Duplicate {
                    what: "congestion of link",
                    name,
                },
            });
        }
        link.bandwidth_profile = link.bandwidth_profile.take().or_else(|| bandwidth.clone());
        link.latency_profile = link.latency_profile.take().or_else(|| latency.clone());
    }
    Ok(())
}

fn profile(
    points: &Spanned<Vec<PointEntry>>,
    period: Option<&Spanned<Scalar>>,
    meaning: ProfileQuantity,
    read: impl Fn(&Spanned<Scalar>) -> Result<f64, ErrorAt>,
) -> Result<Profile, ErrorAt> {
    let mut list = Vec::new();
    for PointEntry(date, value) in points.get_ref() {
        let date = quantity("points", date, units::time)?.get();
        list.push(Point {
            date,
            value: read(value)?,
        });
    }
    let period = match period {
        Some(period) => Some(quantity("period", period, units::time)?),
        None => None,
    };
    let profile = Profile::new(list, period).map_err(|error| {
        error_at(
            points,
            PlatformErrorKind::Profile {
                name: "points".to_owned(),
                source: error,
            },
        )
    })?;
    meaning
        .check("points", &profile)
        .map_err(|error| error_at(points, error))?;
    Ok(profile)
}

/// Reads the topology of a Set with that many hosts, if it has one; `fat_tree_hosts` belong to fat
/// trees before it in the file.
fn read_topology(
    table: &SetTable,
    hosts: usize,
    fat_tree_hosts: u32,
) -> Result<Option<Topology>, ErrorAt> {
    let mut topology = None;
    if let Some(found) = &table.fat_tree {
        let read = fat_tree(found.get_ref(), fat_tree_hosts);
        add(&mut topology, hosts, ("fat_tree", found), read)?;
    }
    if let Some(found) = &table.torus {
        let read = Torus::new(found.get_ref()).map(Topology::Torus);
        add(&mut topology, hosts, ("torus", found), read)?;
    }
    if let Some(found) = &table.dragonfly {
        let read = dragonfly(found.get_ref());
        add(&mut topology, hosts, ("dragonfly", found), read)?;
    }
    if let Some(backbone) = table.backbone.as_ref().filter(|_| topology.is_some()) {
        let key = "backbone";
        let problem = TopologyProblem::Form("left out: a Set with a topology has none");
        return Err(error_at(
            &backbone.bandwidth,
            PlatformErrorKind::Topology { key, problem },
        ));
    }
    Ok(topology)
}

/// Adds the topology of one key, unless the Set has another.
fn add<T>(
    topology: &mut Option<Topology>,
    hosts: usize,
    (key, found): (&'static str, &Spanned<T>),
    read: Result<Topology, TopologyProblem>,
) -> Result<(), ErrorAt> {
    let problem = match read.and_then(|read| read.check_hosts(hosts).map(|()| read)) {
        Ok(read) if topology.is_none() => {
            *topology = Some(read);
            return Ok(());
        }
        Ok(_) => TopologyProblem::Form("the only topology of the Set"),
        Err(problem) => problem,
    };
    Err(error_at(
        found,
        PlatformErrorKind::Topology { key, problem },
    ))
}

fn fat_tree(table: &FatTreeTable, fat_tree_hosts: u32) -> Result<Topology, TopologyProblem> {
    let single = vec![1; table.children.len()];
    let parents = table.parents.as_ref().unwrap_or(&single);
    let cables = table.cables.as_ref().unwrap_or(&single);
    FatTree::new(&table.children, parents, cables, fat_tree_hosts).map(Topology::FatTree)
}

fn dragonfly(table: &DragonflyTable) -> Result<Topology, TopologyProblem> {
    let parts = |count: u32, width: Option<u32>| Parts {
        count,
        width: width.unwrap_or(1),
    };
    Dragonfly::new(
        parts(table.groups, table.group_cables),
        parts(table.chassis, table.chassis_cables),
        parts(table.routers, table.router_cables),
        table.hosts,
    )
    .map(Topology::Dragonfly)
}

fn cable(table: &CableTable, duplex: Duplex) -> Result<Cable, ErrorAt> {
    Ok(Cable {
        bandwidth: quantity("bandwidth", &table.bandwidth, units::bandwidth)?,
        latency: match &table.latency {
            None => Seconds::ZERO,
            Some(latency) => quantity("latency", latency, units::time)?,
        },
        duplex: match &table.duplex {
            None => duplex,
            Some(found) => match found.get_ref().as_str() {
                "split" => Duplex::Split,
                "shared" => Duplex::Shared,
                "fatpipe" => Duplex::FatPipe,
                _ => {
                    return Err(error_at(
                        found,
                        PlatformErrorKind::InvalidValue {
                            key: "duplex",
                            found: found.get_ref().clone(),
                            expected: "\"split\", \"shared\" or \"fatpipe\"",
                        },
                    ));
                }
            },
        },
        bandwidth_profile: None,
        latency_profile: None,
    })
}

/// A cable that cannot have two directions.
fn undirected_cable(table: &CableTable, duplex: Duplex) -> Result<Cable, ErrorAt> {
    let cable = cable(table, duplex)?;
    match &table.duplex {
        Some(found) if cable.duplex == Duplex::Split => Err(error_at(
            found,
            PlatformErrorKind::InvalidValue {
                key: "duplex",
                found: found.get_ref().clone(),
                expected: "\"shared\" or \"fatpipe\" here",
            },
        )),
        _ => Ok(cable),
    }
}

fn quantity<T>(
    key: &'static str,
    found: &Spanned<Scalar>,
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, ErrorAt> {
    read(&found.get_ref().0)
        .map_err(|error| error_at(found, PlatformErrorKind::Quantity { key, source: error }))
}

fn error_at<T>(found: &Spanned<T>, kind: PlatformErrorKind) -> ErrorAt {
    ErrorAt {
        at: found.span().start,
        kind,
    }
}
