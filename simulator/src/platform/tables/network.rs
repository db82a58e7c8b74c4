//! `[[link]]`, `[[route]]`, `[core]` and `[[overhead]]`: the network between the Sets.

use std::collections::{BTreeMap, BTreeSet};

use bsp::SetId;
use bsp::units::Seconds;
use toml::Spanned;

use crate::platform::builder::{Builder, Duplex, Endpoint, NamedLink, Route};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::link::LinkId;
use crate::platform::name_range::expand;
use crate::platform::nearest::nearest;
use crate::platform::overhead::Overhead;
use crate::platform::tables::document::{CableTable, Document, LinkTable, RouteTable, Scalar};
use crate::platform::tables::sets::SetZone;
use crate::platform::tables::values::{cable, error_at, quantity, undirected_cable};
use crate::platform::units;

/// Connects the Sets. A declared route comes before a link between the two Sets, and that before
/// their uplinks.
pub(super) fn read(
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
    let mut met = BTreeSet::new();
    let mut pairs = Vec::new();
    for a in &left {
        for b in &right {
            let pair = if a < b { (a, b) } else { (b, a) };
            if a != b && met.insert(pair) {
                pairs.push([a.clone(), b.clone()]);
            }
        }
    }
    if pairs.is_empty() {
        return Err(error_at(
            between,
            PlatformErrorKind::InvalidValue {
                key: "between",
                met: format!("{} and {}", between.get_ref()[0], between.get_ref()[1]),
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
                met: from.clone(),
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
    let time = |key, met: &Option<Spanned<Scalar>>, default: Seconds| match met {
        Some(met) => quantity(key, met, units::time),
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
