//! `<trace>` and `<trace_connect>`: profiles that stand in the file, or that it names once.

use std::collections::BTreeMap;

use bsp::HostId;

use crate::platform::builder::{Builder, Endpoint};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::nearest::nearest;
use crate::platform::profile_quantity::ProfileQuantity;
use crate::platform::simgrid::element::{Attribute, Element};
use crate::platform::simgrid::profile_file;
use crate::platform::simgrid::profile_file::Profiles;
use crate::platform::units;
use crate::profile::Profile;

/// The traces of a file. They are connected when all that they may be connected with is known.
#[derive(Default)]
pub(super) struct Traces<'doc> {
    by_name: BTreeMap<&'doc str, Element<'doc>>,
    connections: Vec<Element<'doc>>,
}

impl<'doc> Traces<'doc> {
    pub(super) fn declare(&mut self, trace: Element<'doc>) -> Result<(), ErrorAt> {
        trace.allow(&["id", "file", "periodicity"])?;
        let id = trace.required("id")?;
        if self.by_name.insert(id.text, trace).is_some() {
            let (what, name) = ("trace", id.text.to_owned());
            return Err(id.error(PlatformErrorKind::Duplicate { what, name }));
        }
        Ok(())
    }

    pub(super) fn connect_later(&mut self, connection: Element<'doc>) {
        self.connections.push(connection);
    }

    /// Gives hosts and links their profiles.
    pub(super) fn connect(
        &self,
        builder: &mut Builder,
        profiles: &mut Profiles<'_>,
    ) -> Result<(), ErrorAt> {
        for connection in &self.connections {
            self.connect_one(builder, profiles, *connection)?;
        }
        Ok(())
    }

    fn connect_one(
        &self,
        builder: &mut Builder,
        profiles: &mut Profiles<'_>,
        connection: Element<'doc>,
    ) -> Result<(), ErrorAt> {
        connection.allow(&["kind", "trace", "element"])?;
        let name = connection.required("trace")?;
        let element = connection.required("element")?;
        let Some(trace) = self.by_name.get(name.text) else {
            return Err(name.error(PlatformErrorKind::Unknown {
                what: "trace",
                name: name.text.to_owned(),
                nearest: nearest(name.text, self.by_name.keys().copied()),
            }));
        };
        // The default of SimGrid's DTD.
        let kind = connection.optional("kind");
        match kind.map_or("HOST_AVAIL", |kind| kind.text) {
            "SPEED" => {
                let profile = read(*trace, profiles, ProfileQuantity::SpeedFactor)?;
                let Some(host) = computing(builder, element)? else {
                    return Ok(());
                };
                let host = builder.host_mut(host);
                set(&mut host.availability, profile, &host.name).at(element.at)
            }
            "BANDWIDTH" => {
                let profile = read(*trace, profiles, ProfileQuantity::Bandwidth)?;
                for link in builder.wire(element.text).at(element.at)?.links() {
                    let link = builder.link_mut(link);
                    set(&mut link.bandwidth_profile, profile.clone(), &link.name).at(element.at)?;
                }
                Ok(())
            }
            "LATENCY" => {
                let profile = read(*trace, profiles, ProfileQuantity::Latency)?;
                for link in builder.wire(element.text).at(element.at)?.links() {
                    let link = builder.link_mut(link);
                    set(&mut link.latency_profile, profile.clone(), &link.name).at(element.at)?;
                }
                Ok(())
            }
            "HOST_AVAIL" => {
                builder.known_machine(element.text).at(element.at)?;
                builder.warn("traces of kind HOST_AVAIL are ignored: hosts do not fail".to_owned());
                Ok(())
            }
            "LINK_AVAIL" => {
                builder.wire(element.text).at(element.at)?;
                builder.warn("traces of kind LINK_AVAIL are ignored: links do not fail".to_owned());
                Ok(())
            }
            _ => Err(connection.required("kind")?.choice(
                "kind",
                "SPEED, BANDWIDTH, LATENCY, HOST_AVAIL or LINK_AVAIL",
            )),
        }
    }
}

/// The host that an attribute names; none if it has no speed that could change.
fn computing(builder: &Builder, element: Attribute<'_>) -> Result<Option<HostId>, ErrorAt> {
    match builder.known_machine(element.text).at(element.at)? {
        Endpoint::Host(host) => Ok(Some(HostId(host))),
        Endpoint::Router(_) | Endpoint::Zone(_) => Ok(None),
    }
}

/// Reads the file of a trace, or the lines inside it.
fn read(
    trace: Element<'_>,
    profiles: &mut Profiles<'_>,
    quantity: ProfileQuantity,
) -> Result<Profile, ErrorAt> {
    if let Some(file) = trace.optional("file") {
        return profiles.of(file, quantity);
    }
    let (id, period) = (trace.required("id")?, period(trace)?);
    let (at, text) = trace.text();
    if text.trim().is_empty() {
        return Err(trace.error(PlatformErrorKind::NotSupported {
            what: "a <trace> without points".to_owned(),
            instead: "write lines of date and value inside it, or name their file in `file`",
        }));
    }
    let profile = profile_file::read(id.text, &text, period).at(at)?;
    quantity.check(id.text, &profile).at(at)?;
    Ok(profile)
}

/// The time after which a trace is repeated, if it is.
fn period(trace: Element<'_>) -> Result<Option<f64>, ErrorAt> {
    let met = trace.required("periodicity")?;
    let period = met.quantity(units::plain)?;
    if period < 0.0 || !units::is_time(period) {
        return Err(met.choice(
            "periodicity",
            "a time in seconds, or 0 if the trace is not repeated",
        ));
    }
    Ok((0.0 < period).then_some(period))
}

/// Sets the profile of a host or link that has none yet.
fn set(place: &mut Option<Profile>, profile: Profile, name: &str) -> Result<(), PlatformErrorKind> {
    if place.replace(profile).is_some() {
        let (what, name) = ("profile of", name.to_owned());
        return Err(PlatformErrorKind::Duplicate { what, name });
    }
    Ok(())
}
