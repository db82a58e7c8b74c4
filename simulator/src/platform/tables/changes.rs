//! `[[load]]`, `[[availability]]` and `[[congestion]]`: changes during the run.

use bsp::units::{BytesPerSecond, Seconds};
use toml::Spanned;

use crate::platform::builder::Builder;
use crate::platform::error::{At, ErrorAt, PlatformErrorKind};
use crate::platform::host::Host;
use crate::platform::link::LinkId;
use crate::platform::profile_quantity::ProfileQuantity;
use crate::platform::tables::document::{
    CongestionTable, Document, HostProfileTable, PointEntry, Scalar,
};
use crate::platform::tables::sets::named_hosts;
use crate::platform::tables::values::{error_at, quantity};
use crate::platform::units;
use crate::profile::{Point, Profile};

/// Adds the profiles to hosts and links.
pub(super) fn read(builder: &mut Builder, document: &Document) -> Result<(), ErrorAt> {
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
