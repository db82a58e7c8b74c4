//! `<trace>` and `<trace_connect>`: profiles that stand in the file, or that it names once.

use std::collections::BTreeMap;

use bsp::HostId;
use bsp::units::Seconds;

use super::{Attribute, Element};
use crate::platform::builder::{Builder, Endpoint};
use crate::platform::error::{At, ErrorAt, PlatformErrorKind, nearest};
use crate::platform::units::{self, ProfileQuantity};
use crate::profile::{Point, Profile};

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
    let profile = read_profile(id.text, &text, period).at(at)?;
    quantity.check(id.text, &profile).at(at)?;
    Ok(profile)
}

/// The time after which a trace is repeated, if it is.
fn period(trace: Element<'_>) -> Result<Option<f64>, ErrorAt> {
    let found = trace.required("periodicity")?;
    let period = found.quantity(units::plain)?;
    if period < 0.0 || !units::is_time(period) {
        return Err(found.choice(
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

/// Reads a profile: `date value` on each line, `#` and `%` begin comments, `PERIODICITY p` repeats all
/// points every `p` seconds, `LOOPAFTER d` repeats them `d` seconds after the last. Without such a line
/// they are repeated every `period` seconds, if there is one.
fn read_profile(file: &str, text: &str, period: Option<f64>) -> Result<Profile, PlatformErrorKind> {
    let mut points: Vec<Point> = Vec::new();
    let mut repetition = period.map(Repetition::Every);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let misread = || PlatformErrorKind::ProfileLine {
            file: file.to_owned(),
            line: number + 1,
            found: line.to_owned(),
        };
        let mut words = line.split_whitespace();
        match (words.next().unwrap_or(""), words.next().unwrap_or("")) {
            ("STOCHASTIC" | "DET" | "NORM" | "UNIF" | "EXP", _) => {
                return Err(PlatformErrorKind::NotSupported {
                    what: format!("the stochastic profile `{file}`"),
                    instead: "draw it once and write down dates and values",
                });
            }
            ("PERIODICITY", length) => {
                let length = number_of(length).ok_or_else(misread)?;
                repetition = Some(Repetition::Every(length));
            }
            ("LOOPAFTER", length) => {
                let length = number_of(length).ok_or_else(misread)?;
                repetition = Some(Repetition::After(length));
            }
            (date, value) => {
                let date = number_of(date).ok_or_else(misread)?;
                let value = number_of(value).ok_or_else(misread)?;
                // Of several values at one date, the last one holds.
                if points
                    .last()
                    .is_some_and(|last| date <= last.date && last.date <= date)
                {
                    points.pop();
                }
                points.push(Point { date, value });
            }
        }
    }
    let invalid = |source| PlatformErrorKind::Profile {
        name: format!("profile `{file}`"),
        source,
    };
    let Some(repetition) = repetition else {
        return Profile::new(points, None).map_err(invalid);
    };
    let last = points.last().map_or(0.0, |point| point.date);
    let period = match repetition {
        Repetition::Every(period) => period,
        Repetition::After(delay) => last + delay,
    };
    // The last point coincides with the first of the next cycle, which overrides it.
    if 1 < points.len() && period <= last && last <= period && points[0].date <= 0.0 {
        points.pop();
    }
    let period = Seconds::new(period).expect("a sum of finite numbers read from a file is finite");
    Profile::new(points, Some(period)).map_err(invalid)
}

enum Repetition {
    Every(f64),
    After(f64),
}

/// A number of moderate size, so that sums of dates stay finite.
fn number_of(word: &str) -> Option<f64> {
    word.parse()
        .ok()
        .filter(|number: &f64| number.abs() < 1e100)
}

/// Profiles by the name of their file; `load` returns the text of a file.
pub(super) struct Profiles<'load> {
    load: &'load mut dyn FnMut(&str) -> Result<String, String>,
    known: BTreeMap<String, Profile>,
}

impl<'load> Profiles<'load> {
    pub(super) fn new(load: &'load mut dyn FnMut(&str) -> Result<String, String>) -> Self {
        Self {
            load,
            known: BTreeMap::new(),
        }
    }

    /// The profile in a file, checked to be one of `quantity`.
    pub(super) fn of(
        &mut self,
        file: Attribute<'_>,
        quantity: ProfileQuantity,
    ) -> Result<Profile, ErrorAt> {
        if !self.known.contains_key(file.text) {
            let text = (self.load)(file.text).map_err(|reason| {
                file.error(PlatformErrorKind::ProfileFile {
                    file: file.text.to_owned(),
                    reason,
                })
            })?;
            let profile = read_profile(file.text, &text, None).at(file.at)?;
            self.known.insert(file.text.to_owned(), profile);
        }
        let profile = self.known[file.text].clone();
        quantity.check(file.text, &profile).at(file.at)?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dates(text: &str) -> (Vec<(f64, f64)>, Option<f64>) {
        let profile = read_profile("p", text, None).unwrap();
        let points = profile
            .points()
            .iter()
            .map(|point| (point.date, point.value))
            .collect();
        (points, profile.period().map(Seconds::get))
    }

    #[test]
    fn comments_and_repetitions_are_read() {
        assert_eq!(
            dates("# speed\nPERIODICITY 12\n\n0 1.0\n%\n 11.0\t0.5 \n"),
            (vec![(0.0, 1.0), (11.0, 0.5)], Some(12.0))
        );
        assert_eq!(
            dates("1 0.25\n2 1.0\nLOOPAFTER 0.5\n"),
            (vec![(1.0, 0.25), (2.0, 1.0)], Some(2.5))
        );
        assert_eq!(
            dates("0 1\n5 2\n5 3\nLOOPAFTER 0"),
            (vec![(0.0, 1.0)], Some(5.0))
        );
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            read_profile("p", "0 1\n5", None).unwrap_err().to_string(),
            "profile `p`, line 2: invalid line `5`: expected `<date> <value>`"
        );
        assert_eq!(
            read_profile("p", "5 1\n4 1", None).unwrap_err().to_string(),
            "profile `p`: invalid date `4`: must be after the previous point at 5 s"
        );
        assert_eq!(
            read_profile("p", "STOCHASTIC\nDET 1 UNIF 0 1", None)
                .unwrap_err()
                .to_string(),
            "the stochastic profile `p` is not supported; draw it once and write down dates and \
         values"
        );
        assert_eq!(
            read_profile("p", "PERIODICITY 1\n0 1\n5 2", None)
                .unwrap_err()
                .to_string(),
            "profile `p`: invalid period `1`: must be longer than the 5 s from the first point to the last"
        );
    }
}
