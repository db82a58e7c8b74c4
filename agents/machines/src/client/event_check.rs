//! Checks of the events that nodes record, before the client uses them.

use std::fmt;

use agents::{Rules, RunShape, Setup, check};
use bsp::HostId;
use protocol::NUMBER_MAX;
use record::Event;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::members;

/// What exists in a run, and which nodes record what.
pub(crate) struct EventCheck {
    rules: Rules,
    superstep_limit: u64,
    /// The number of supersteps that are over, as far as the first Manager has recorded.
    supersteps: u64,
    /// Whether processes may have written files.
    has_files: bool,
}

/// Checks of the events that the leader of a job has accepted already, when it tells a client of them.
#[derive(Debug)]
pub struct FollowedEvents(EventCheck);

impl fmt::Debug for EventCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventCheck")
            .field("supersteps", &self.supersteps)
            .finish_non_exhaustive()
    }
}

impl FollowedEvents {
    /// Those of a view of `setup`.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        Self(EventCheck::new(setup, true))
    }

    /// The event in a line.
    ///
    /// # Errors
    ///
    /// If it is not an event of such a view.
    pub fn parse(&self, line: &str) -> Result<Event, String> {
        let event = moderate(line)?;
        if let Event::Run(_) | Event::End(_) = event {
            return Err("an event that no node records".to_owned());
        }
        event.check_names(&self.0.shape())?;
        Ok(event)
    }
}

/// The event in a line.
fn moderate(line: &str) -> Result<Event, String> {
    serde_json::from_str::<ModerateEvent>(line).map_err(|error| error.to_string())?;
    serde_json::from_str(line).map_err(|error| error.to_string())
}

impl EventCheck {
    /// The checks for a run on `setup`, whose processes may write files if it `has_files`.
    pub(crate) fn new(setup: &Setup, has_files: bool) -> Self {
        let rules = members::rules(setup);
        Self {
            supersteps: rules.first_superstep(),
            rules,
            superstep_limit: setup.superstep_limit,
            has_files,
        }
    }

    /// The event in a line from the node of `host`.
    ///
    /// # Errors
    ///
    /// If it is not an event, if another node records such events, if it names a process, host, Set or superstep that does
    /// not exist, or if it is a superstep that does not follow the last one: the first one is that with which the job begins.
    pub(crate) fn parse(&mut self, host: HostId, line: &str) -> Result<Event, String> {
        let event = moderate(line)?;
        self.check(host, &event)?;
        if let Event::Superstep(superstep) = &event {
            let (found, expected) = (superstep.index, self.supersteps);
            check(found == expected, || {
                format!("superstep {found} after {expected} supersteps")
            })?;
            self.supersteps += 1;
        }
        Ok(event)
    }

    /// The shape of the run.
    pub(crate) const fn shape(&self) -> RunShape<'_> {
        RunShape {
            rules: &self.rules,
            superstep_limit: self.superstep_limit,
        }
    }

    /// Checks that the node of `host` records such events, and what they name.
    fn check(&self, host: HostId, event: &Event) -> Result<(), String> {
        event.check_names(&self.shape())?;
        let first = self.rules.first_host();
        let is_recorded_there = match event {
            Event::Superstep(_) | Event::Call(_) | Event::Checkpoint(_) => host == first,
            Event::Traced(traced) => {
                check(self.rules.traced, || "the run is not traced".to_owned())?;
                host == traced.host
            }
            Event::Evaluated(evaluated) => host == self.rules.managers[evaluated.set.index()],
            Event::Moved(moved) => host == moved.host,
            Event::Snapshot(snapshot) => {
                let (found, first) = (snapshot.superstep, self.rules.first_superstep());
                check(self.has_files, || {
                    "a file of a process, of which the job has none".to_owned()
                })?;
                check(first <= found, || {
                    format!(
                        "a file of superstep {found}, but the job begins with superstep {first}"
                    )
                })?;
                host == snapshot.host
            }
            Event::Observed(_) => true,
            // Its leader records which hosts join a job.
            Event::Join(_) | Event::Run(_) | Event::End(_) => false,
        };
        check(is_recorded_there, || {
            "an event that this node does not record".to_owned()
        })
    }
}

/// An event whose numbers are so moderate that sums of them are finite, but for notes, which may be anything: no other number is
/// computed from them.
struct ModerateEvent;

impl<'de> Deserialize<'de> for ModerateEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for ModerateEvent {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while let Some(key) = values.next_key::<String>()? {
            if key == "notes" {
                let _notes: IgnoredAny = values.next_value()?;
            } else {
                let ModerateNumbers = values.next_value()?;
            }
        }
        Ok(self)
    }
}

/// A JSON value whose numbers are so moderate that sums of them are finite.
struct ModerateNumbers;

impl<'de> Deserialize<'de> for ModerateNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for ModerateNumbers {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "numbers of a magnitude up to {NUMBER_MAX:e}")
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self, E> {
        if number.abs() <= NUMBER_MAX {
            Ok(self)
        } else {
            Err(E::invalid_value(de::Unexpected::Float(number), &self))
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while let Some(Self) = values.next_element()? {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while let Some((Self, Self)) = values.next_entry()? {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::tests::request;

    /// Process 0 runs on host 0, process 1 on host 3.
    fn event_check() -> EventCheck {
        let setup = request(None).setup;
        let managers = vec![HostId(0), HostId(3), HostId(5)];
        EventCheck {
            rules: Rules {
                managers,
                ..Rules::new(&setup)
            },
            superstep_limit: 100,
            supersteps: 3,
            has_files: true,
        }
    }

    fn check(host: u32, line: &str, expect: Result<(), &str>) {
        let parsed = event_check().parse(HostId(host), line).map(drop);
        match (parsed, expect) {
            (Ok(()), Ok(())) => {}
            (Err(problem), Err(expect)) => assert!(problem.contains(expect), "{line}: {problem}"),
            (parsed, _) => panic!("{line}: {parsed:?}"),
        }
    }

    fn superstep(index: u64, slowest: u64, ended: &str) -> String {
        format!(
            "{{\"event\":\"superstep\",\"index\":{index},\"started\":0.0,\"ended\":{ended},\"slowest\":{slowest},\
             \"computation\":0.5,\"messages\":2}}"
        )
    }

    fn moved(rank: u64, host: u64, epoch: u64) -> String {
        format!(
            "{{\"event\":\"moved\",\"at\":1.0,\"rank\":{rank},\"host\":{host},\"epoch\":{epoch},\"bytes\":1,\"took\":0.1}}"
        )
    }

    fn snapshot(superstep: u64, rank: u64, host: u64, name: &str) -> String {
        let digest = "0123456789abcdef".repeat(4);
        format!(
            "{{\"event\":\"snapshot\",\"superstep\":{superstep},\"rank\":{rank},\"host\":{host},\"name\":\"{name}\",\
             \"encoding\":\"msgpack\",\"bytes\":9,\"sha256\":\"{digest}\"}}"
        )
    }

    #[test]
    fn files_are_accepted_in_jobs_that_have_some() {
        let mut without = event_check();
        without.has_files = false;
        let problem = without.parse(HostId(3), &snapshot(7, 1, 3, "field"));
        let expected = "a file of a process, of which the job has none";
        assert_eq!(problem.unwrap_err(), expected);
    }

    #[test]
    fn events_are_accepted_from_the_nodes_that_record_them_alone() {
        check(0, &superstep(3, 1, "1.0"), Ok(()));
        check(3, &superstep(3, 1, "1.0"), Err("does not record"));
        check(3, &moved(1, 3, 1), Ok(()));
        check(0, &moved(1, 3, 1), Err("does not record"));
        check(3, &snapshot(7, 1, 3, "field"), Ok(()));
        check(0, &snapshot(7, 1, 3, "field"), Err("does not record"));
        let end = "{\"event\":\"end\",\"seconds\":1.0,\"supersteps\":1,\"messages\":0,\"bytes\":0,\"moved\":0}";
        check(0, end, Err("does not record"));
    }

    #[test]
    fn supersteps_follow_each_other_from_the_one_with_which_the_job_begins() {
        let mut event_check = event_check();
        let mut parse = |index| {
            let parsed = event_check.parse(HostId(0), &superstep(index, 1, "1.0"));
            parsed.map(drop)
        };
        for wrong in [0, 2, 4] {
            let expected = format!("superstep {wrong} after 3 supersteps");
            assert_eq!(parse(wrong), Err(expected));
        }
        assert_eq!(parse(3), Ok(()));
        assert_eq!(parse(3), Err("superstep 3 after 4 supersteps".to_owned()));
        assert_eq!(parse(4), Ok(()));
    }

    #[test]
    fn events_that_name_what_does_not_exist_are_refused() {
        check(
            0,
            &superstep(u64::MAX, 1, "1.0"),
            Err("beyond the limit of 100"),
        );
        check(
            0,
            &superstep(3, 2, "1.0"),
            Err("process 2, but there are 2"),
        );
        check(3, &moved(77, 3, 1), Err("process 77"));
        check(3, &moved(1, 77, 1), Err("host 77, but there are 6"));
        check(3, &moved(1, 3, u64::MAX), Err("beyond the limit"));
        check(3, &snapshot(7, 2, 3, "field"), Err("process 2"));
        check(3, &snapshot(101, 1, 3, "field"), Err("beyond the limit"));
        for name in ["..", "../field", "/etc/passwd", "a/b", "", "Field"] {
            let problem = "a snapshot cannot be named";
            check(3, &snapshot(7, 1, 3, name), Err(problem));
        }
        let short = snapshot(7, 1, 3, "field").replace("0123", "");
        check(3, &short, Err("64 hexadecimal digits"));
        check(0, &superstep(3, 1, "1e308"), Err("up to 1e60"));
        check(0, "{", Err("EOF"));
    }

    #[test]
    fn notes_may_have_any_numbers_and_only_names_that_can_be_displayed() {
        let noted = |notes: &str| {
            let plain = superstep(3, 1, "1.0");
            format!("{},\"notes\":{notes}}}", plain.trim_end_matches('}'))
        };
        check(0, &noted("{\"residual\":1e308}"), Ok(()));
        let several = "{\"a b\":{\"count\":2,\"sum\":\"Infinity\",\"min\":1e300,\"max\":1e308}}";
        check(0, &noted(several), Ok(()));
        check(0, &noted("{\"\\u001b[2J\":1.0}"), Err("control characters"));
        check(0, &noted("{\"\":1.0}"), Err("from 1 to 64 bytes"));
        check(0, &noted("{\"x\":\"much\"}"), Err("`Infinity`"));
        check(0, &noted("[1e61]"), Err("notes by name"));
        // Nothing else hides there.
        let nested = noted("{\"x\":1.0}").replace("\"messages\":2", "\"messages\":2,\"mean\":1e61");
        check(0, &nested, Err("up to 1e60"));
    }
}
