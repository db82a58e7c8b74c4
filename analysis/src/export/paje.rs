//! Paje, the trace format of `pj_dump`, `ViTE` and `PajeNG`.
//!
//! The run is a container with supersteps and calls as states. Each process is a container in it with two kinds of
//! states: what it does, and the host where it is. Lines of a Paje file are in the order of time. On real hosts the
//! clocks of nodes differ by microseconds; a time that is earlier than that of a line before is raised to it.

use std::io::Write;

use bsp::Rank;
use experiments::{Failure, Provenance};

use crate::export::{Reading, Span, Time, each_span, refused};

/// Writes the record.
///
/// # Errors
///
/// If it cannot be read, or `output` refuses.
pub(super) fn write(
    reading: Reading,
    provenance: &Provenance,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let mut file = PajeFile {
        output,
        pending: Vec::new(),
        last: 0,
    };
    let (hosts, placement) = (reading.run.hosts.clone(), reading.placement());
    file.define(provenance, &hosts)?;
    for (rank, host) in placement.iter().enumerate() {
        let rank = Rank::from_index(rank);
        let (alias, name) = (container(rank), rank.to_string());
        file.line(format_args!("3 0 {alias} P run {}", quoted(&name)))?;
        file.line(format_args!("5 0 H {alias} h{}", host.index()))?;
    }
    let mut end = 0;
    each_span(reading, &mut |time, span| {
        end = end.max(time.end);
        match span {
            Span::Superstep(_) => {
                file.flush(time.start)?;
                file.state(time, ("R", "run"), "superstep");
            }
            Span::Call(_) => file.state(time, ("R", "run"), "call"),
            Span::Computing(traced) => file.activity(time, traced.rank, "compute"),
            Span::Exchanging(traced) => file.activity(time, traced.rank, "exchange"),
            Span::Waiting(traced) => file.activity(time, traced.rank, "wait"),
            Span::Moving(moved, _) => {
                file.activity(time, moved.rank, "move");
                let host = moved.host.index();
                let line = format!("H {} h{host}", container(moved.rank));
                file.pending.push((time.end, 5, line));
            }
            // Follows from the moves.
            Span::Residing(..) => {}
        }
        Ok(())
    })?;
    file.flush(u64::MAX)?;
    let end = seconds(end.max(file.last));
    for rank in (0..placement.len()).map(Rank::from_index) {
        file.line(format_args!("4 {end} P {}", container(rank)))?;
    }
    file.line(format_args!("4 {end} A run"))
}

struct PajeFile<'a> {
    output: &'a mut dyn Write,
    /// Lines that are not in order yet: time, event, rest of the line.
    pending: Vec<(u64, u32, String)>,
    /// The time of the last line.
    last: u64,
}

impl PajeFile<'_> {
    /// The definitions, and the container of the run.
    fn define(&mut self, provenance: &Provenance, hosts: &[String]) -> Result<(), Failure> {
        let made_by = serde_json::to_string(provenance).map_err(Failure::run)?;
        self.line(format_args!("# {made_by}"))?;
        for (number, (name, fields)) in EVENTS.iter().enumerate() {
            self.line(format_args!("%EventDef {name} {number}"))?;
            for field in *fields {
                self.line(format_args!("%       {field}"))?;
            }
            self.line(format_args!("%EndEventDef"))?;
        }
        for (alias, parent, name) in [("A", "0", "Run"), ("P", "A", "Process")] {
            self.line(format_args!("0 {alias} {parent} \"{name}\""))?;
        }
        let states = [
            ("R", "A", "Phase"),
            ("D", "P", "Activity"),
            ("H", "P", "Host"),
        ];
        for (alias, parent, name) in states {
            self.line(format_args!("1 {alias} {parent} \"{name}\""))?;
        }
        for (alias, kind, colour) in VALUES {
            self.line(format_args!("2 {alias} {kind} \"{alias}\" \"{colour}\""))?;
        }
        for (index, name) in hosts.iter().enumerate() {
            let colour = hue(index, hosts.len());
            let name = quoted(name);
            self.line(format_args!("2 h{index} H {name} \"{colour}\""))?;
        }
        self.line(format_args!("3 0 run A 0 \"run\""))
    }

    fn activity(&mut self, time: Time, rank: Rank, value: &str) {
        self.state(time, ("D", &container(rank)), value);
    }

    /// A state of the kind `kind` in `container`, which begins and ends.
    fn state(&mut self, time: Time, (kind, container): (&str, &str), value: &str) {
        let begun = format!("{kind} {container} {value}");
        self.pending.push((time.start, 6, begun));
        self.pending
            .push((time.end, 7, format!("{kind} {container}")));
    }

    /// Writes the lines until `time`, in order.
    fn flush(&mut self, time: u64) -> Result<(), Failure> {
        // Stable: a state ends before the next one begins at the same time.
        self.pending.sort_by_key(|(time, _, _)| *time);
        let count = self.pending.partition_point(|(at, _, _)| *at <= time);
        let rest = self.pending.split_off(count);
        for (time, event, line) in std::mem::replace(&mut self.pending, rest) {
            self.last = self.last.max(time);
            let time = seconds(self.last);
            self.line(format_args!("{event} {time} {line}"))?;
        }
        Ok(())
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), Failure> {
        writeln!(self.output, "{line}").map_err(refused)
    }
}

/// `name` as a string of the format. Its readers end a string at the next `"` and know no escape, so there is a `'` for each.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "'"))
}

fn container(rank: Rank) -> String {
    format!("r{}", rank.0)
}

/// Seconds with nanoseconds as decimals.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / NANO, nanoseconds % NANO)
}

/// One of `number` colours around the circle: red, green and blue.
fn hue(index: usize, number: usize) -> String {
    let turn = index as f64 / number.max(1) as f64;
    let part = |shift: f64| 0.5 + 0.4 * ((turn + shift) * std::f64::consts::TAU).cos();
    let (red, green, blue) = (part(0.0), part(2.0 / 3.0), part(1.0 / 3.0));
    format!("{red:.3} {green:.3} {blue:.3}")
}

const NANO: u64 = 1_000_000_000;

/// The events of the file, by number, with their fields.
const EVENTS: [(&str, &[&str]); 8] = [
    (
        "PajeDefineContainerType",
        &["Alias string", "Type string", "Name string"],
    ),
    (
        "PajeDefineStateType",
        &["Alias string", "Type string", "Name string"],
    ),
    (
        "PajeDefineEntityValue",
        &["Alias string", "Type string", "Name string", "Color color"],
    ),
    (
        "PajeCreateContainer",
        &[
            "Time date",
            "Alias string",
            "Type string",
            "Container string",
            "Name string",
        ],
    ),
    (
        "PajeDestroyContainer",
        &["Time date", "Type string", "Name string"],
    ),
    (
        "PajeSetState",
        &[
            "Time date",
            "Type string",
            "Container string",
            "Value string",
        ],
    ),
    (
        "PajePushState",
        &[
            "Time date",
            "Type string",
            "Container string",
            "Value string",
        ],
    ),
    (
        "PajePopState",
        &["Time date", "Type string", "Container string"],
    ),
];

/// The values of states, with the kind of state and a colour.
const VALUES: [(&str, &str, &str); 6] = [
    ("superstep", "R", "0.6 0.7 0.9"),
    ("call", "R", "0.9 0.6 0.1"),
    ("compute", "D", "0.2 0.5 0.8"),
    ("exchange", "D", "0.3 0.7 0.5"),
    ("wait", "D", "0.8 0.8 0.8"),
    ("move", "D", "0.8 0.3 0.2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_string() {
        for (name, text) in [
            ("n-1", "\"n-1\""),
            ("a \"b\" c", "\"a 'b' c\""),
            ("#c,d\\%'", "\"#c,d\\%'\""),
        ] {
            assert_eq!(quoted(name), text);
            assert_eq!(text.matches('"').count(), 2);
        }
    }
}
