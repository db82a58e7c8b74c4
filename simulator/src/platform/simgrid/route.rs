//! Declared routes and bypasses.

use crate::platform::builder::{Builder, Endpoint, NamedLink, Route};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::link::LinkId;
use crate::platform::simgrid::element::Element;

/// Reads a `<route>`, a `<zoneRoute>` or a bypass.
pub(super) fn read(builder: &mut Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    let is_bypass = element.name().starts_with("bypass");
    let between_zones = matches!(
        element.name(),
        "zoneRoute" | "ASroute" | "bypassZoneRoute" | "bypassASroute"
    );
    let allowed: &[&'static str] = match (between_zones, is_bypass) {
        (true, true) => &["src", "dst", "gw_src", "gw_dst"],
        (true, false) => &["src", "dst", "gw_src", "gw_dst", "symmetrical"],
        (false, true) => &["src", "dst"],
        (false, false) => &["src", "dst", "symmetrical"],
    };
    element.allow(allowed)?;
    if !is_bypass && builder.is_star(zone) {
        return Err(element.error(PlatformErrorKind::NotSupported {
            what: format!("<{}> in a zone with routing=\"Cluster\"", element.name()),
            instead: "connect its hosts with <host_link>",
        }));
    }
    let ends = [end(builder, element, "src")?, end(builder, element, "dst")?];
    let gateways = if between_zones {
        Some([
            end(builder, element, "gw_src")?,
            end(builder, element, "gw_dst")?,
        ])
    } else {
        None
    };
    check_kinds(element, ends, between_zones)?;
    let symmetrical = match element.optional("symmetrical") {
        None => !is_bypass,
        Some(met) => match met.text {
            "YES" | "yes" => true,
            "NO" | "no" => false,
            _ => return Err(met.choice("symmetrical", "YES or NO")),
        },
    };
    let mut there = Vec::new();
    let mut back = Vec::new();
    for child in element.children() {
        let (forth, opposite) = link(builder, child, element.name())?;
        there.push(forth);
        back.push(opposite);
    }
    back.reverse();
    let route = Route {
        ends,
        gateways,
        there,
        back: symmetrical.then_some(back),
    };
    if is_bypass {
        builder.add_bypass(zone, route).at(element.at())
    } else {
        builder.add_route(zone, &route).at(element.at())
    }
}

/// Refuses zones as ends of routes between points, and points as ends of routes between zones.
fn check_kinds(
    element: Element<'_>,
    ends: [Endpoint; 2],
    between_zones: bool,
) -> Result<(), ErrorAt> {
    for (end, key) in ends.into_iter().zip(["src", "dst"]) {
        if matches!(end, Endpoint::Zone(_)) != between_zones {
            let met = element.required(key)?;
            let expected = if between_zones {
                "the name of a zone; hosts and routers are connected by <route>"
            } else {
                "the name of a host or router; zones are connected by <zoneRoute>"
            };
            return Err(met.choice(key, expected));
        }
    }
    Ok(())
}

/// The link a `<link_ctn>` names on the way there, and the one on the way back.
fn link(
    builder: &Builder,
    element: Element<'_>,
    parent: &str,
) -> Result<(LinkId, LinkId), ErrorAt> {
    if element.name() != "link_ctn" {
        return Err(element.misplaced(parent));
    }
    element.allow(&["id", "direction"])?;
    let id = element.required("id")?;
    let wire = builder.wire(id.text).at(id.at)?;
    let direction = element.optional("direction");
    let up = match direction.as_ref().map(|it| it.text) {
        None | Some("NONE") if matches!(wire, NamedLink::Pair { .. }) => {
            return Err(element.error(PlatformErrorKind::MissingDirection {
                link: id.text.to_owned(),
            }));
        }
        None | Some("NONE" | "UP") => true,
        Some("DOWN") => false,
        Some(_) => {
            let met = element.required("direction")?;
            return Err(met.choice("direction", "UP, DOWN or NONE"));
        }
    };
    Ok((wire.towards(up), wire.towards(!up)))
}

fn end(builder: &Builder, element: Element<'_>, key: &'static str) -> Result<Endpoint, ErrorAt> {
    let name = element.required(key)?;
    builder.node("host, router or zone", name.text).at(name.at)
}
