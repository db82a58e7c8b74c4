//! Zones with `routing="Cluster"`: `<cabinet>`, `<backbone>` and `<host_link>`.

use bsp::SetId;
use bsp::units::{BytesPerSecond, Seconds};

use crate::platform::builder::{Builder, Cable, Duplex, Endpoint};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::host::Host;
use crate::platform::simgrid::cluster::radicals;
use crate::platform::simgrid::element::Element;
use crate::platform::units;

/// Reads a cabinet: hosts that are alike, each with a link to and from the backbone.
pub(super) fn cabinet(
    builder: &mut Builder,
    zone: u32,
    element: Element<'_>,
) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "prefix", "suffix", "radical", "speed", "bw", "lat"])?;
    element.required("id")?;
    let (prefix, suffix) = (element.required("prefix")?, element.required("suffix")?);
    let speed = element.required("speed")?.quantity(units::speed_or_none)?;
    let cable = cable(
        element.required("bw")?.quantity(units::bandwidth)?,
        element.required("lat")?.quantity(units::time)?,
    );
    for radical in radicals(element.required("radical")?)? {
        let name = format!("{}{radical}{}", prefix.text, suffix.text);
        let point = match speed {
            None => builder.add_idle_host(zone, &name).at(element.at())?,
            Some(speed) => {
                let host = Host {
                    name: name.clone(),
                    set: SetId(0),
                    speed,
                    cores: 1,
                    availability: None,
                    load: None,
                    jobs: None,
                };
                let host = builder.add_host(zone, host).at(element.at())?;
                Endpoint::Host(host.0)
            }
        };
        let mut link = |direction: &str| {
            let wire = builder.add_cable(&format!("link_{name}_{direction}"), &cable);
            wire.map(|wire| wire.towards(true)).at(element.at())
        };
        let up_and_down = [link("UP")?, link("DOWN")?];
        builder
            .add_host_link(zone, point, up_and_down)
            .at(element.at())?;
    }
    Ok(())
}

/// Reads the link that all messages of the zone cross.
pub(super) fn backbone(
    builder: &mut Builder,
    zone: u32,
    element: Element<'_>,
) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "bandwidth", "latency"])?;
    let id = element.required("id")?;
    let cable = cable(
        element.required("bandwidth")?.quantity(units::bandwidth)?,
        element.required("latency")?.quantity(units::time)?,
    );
    let wire = builder.add_cable(id.text, &cable).at(id.at)?;
    builder
        .set_backbone(zone, wire.towards(true))
        .at(element.at())
}

/// Reads which links connect a host with the backbone.
pub(super) fn host_link(
    builder: &mut Builder,
    zone: u32,
    element: Element<'_>,
) -> Result<(), ErrorAt> {
    check_zone(builder, zone, element)?;
    element.allow(&["id", "up", "down"])?;
    let id = element.required("id")?;
    let host = builder.known_machine(id.text).at(id.at)?;
    let mut links = Vec::with_capacity(2);
    for (key, is_up) in [("up", true), ("down", false)] {
        let name = element.required(key)?;
        links.push(builder.wire(name.text).at(name.at)?.towards(is_up));
    }
    builder
        .add_host_link(zone, host, [links[0], links[1]])
        .at(element.at())
}

fn check_zone(builder: &Builder, zone: u32, element: Element<'_>) -> Result<(), ErrorAt> {
    if builder.is_star(zone) {
        return Ok(());
    }
    Err(element.error(PlatformErrorKind::NotSupported {
        what: format!("<{}> in this zone", element.name()),
        instead: "it stands in a zone with routing=\"Cluster\"",
    }))
}

const fn cable(bandwidth: BytesPerSecond, latency: Seconds) -> Cable {
    Cable {
        bandwidth,
        latency,
        duplex: Duplex::Shared,
        bandwidth_profile: None,
        latency_profile: None,
    }
}
