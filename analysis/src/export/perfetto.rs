//! JSON of the trace event format, which Perfetto (<https://ui.perfetto.dev>) and Chrome read.
//!
//! Three groups of tracks: the run with its supersteps and calls, what each process did, and where it was. Times are in
//! microseconds, with nanoseconds as decimals.

use std::io::Write;

use bsp::{HostId, Rank};
use experiments::{Failure, Provenance};
use serde::Serialize;
use serde_json::{Value, json};

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
    let mut events = Events { output, number: 0 };
    events.begin(provenance)?;
    let processes = reading.run.placement.len();
    let hosts = reading.run.hosts.clone();
    for (group, name) in [
        (RUN, "run"),
        (PROCESSES, "processes"),
        (PLACEMENT, "hosts of processes"),
    ] {
        events.name("process_name", (group, 0), name)?;
    }
    events.name("thread_name", (RUN, SUPERSTEPS), "supersteps")?;
    events.name("thread_name", (RUN, CALLS), "calls")?;
    for rank in (0..processes).map(Rank::from_index) {
        for group in [PROCESSES, PLACEMENT] {
            events.name("thread_name", (group, track(rank)), &rank.to_string())?;
        }
    }
    each_span(reading, &mut |time, span| {
        events.push(&slice(&hosts, time, span))
    })?;
    events.end()
}

/// A slice of a track.
#[derive(Serialize)]
struct Slice<'a> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    ts: f64,
    dur: f64,
    pid: u32,
    tid: u64,
    args: Value,
}

fn slice<'a>(hosts: &'a [String], time: Time, span: Span<'_>) -> Slice<'a> {
    let host = |id: HostId| hosts[id.index()].as_str();
    let (name, category, (group, track), arguments) = match span {
        Span::Superstep(superstep) => (
            "superstep",
            "superstep",
            (RUN, SUPERSTEPS),
            json!({"superstep": superstep.index, "slowest": superstep.slowest.to_string(),
                "computation": superstep.computation, "messages": superstep.messages}),
        ),
        Span::Call(call) => (
            "call",
            "call",
            (RUN, CALLS),
            json!({"superstep": call.superstep, "moves": call.migrations.len(), "interval": call.interval}),
        ),
        Span::Computing(traced) => (
            "compute",
            "process",
            (PROCESSES, track(traced.rank)),
            json!({"superstep": traced.superstep, "host": host(traced.host)}),
        ),
        Span::Exchanging(traced) => (
            "exchange",
            "process",
            (PROCESSES, track(traced.rank)),
            json!({"superstep": traced.superstep, "sent": traced.sent, "received": traced.received}),
        ),
        Span::Waiting(traced) => (
            "wait",
            "process",
            (PROCESSES, track(traced.rank)),
            json!({"superstep": traced.superstep}),
        ),
        Span::Moving(moved, from) => (
            "move",
            "process",
            (PROCESSES, track(moved.rank)),
            json!({"from": host(from), "to": host(moved.host), "bytes": moved.bytes}),
        ),
        Span::Residing(rank, id) => (host(id), "placement", (PLACEMENT, track(rank)), json!({})),
    };
    Slice {
        name,
        cat: category,
        ph: "X",
        ts: microseconds(time.start),
        dur: microseconds(time.nanoseconds()),
        pid: group,
        tid: track,
        args: arguments,
    }
}

/// The array of events, written one by one.
struct Events<'a> {
    output: &'a mut dyn Write,
    number: u64,
}

impl Events<'_> {
    fn begin(&mut self, provenance: &Provenance) -> Result<(), Failure> {
        let made_by = serde_json::to_string(provenance).map_err(Failure::run)?;
        write!(
            self.output,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{made_by},\"traceEvents\":["
        )
        .map_err(refused)
    }

    fn name(&mut self, kind: &str, (pid, tid): (u32, u64), name: &str) -> Result<(), Failure> {
        let args = json!({ "name": name });
        self.push(&json!({"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": args}))
    }

    fn push(&mut self, event: &impl Serialize) -> Result<(), Failure> {
        let separator: &[u8] = if self.number == 0 { b"\n" } else { b",\n" };
        self.number += 1;
        self.output.write_all(separator).map_err(refused)?;
        serde_json::to_writer(&mut *self.output, event).map_err(refused)
    }

    fn end(self) -> Result<(), Failure> {
        self.output.write_all(b"\n]}\n").map_err(refused)
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// The track of a process.
fn track(rank: Rank) -> u64 {
    u64::from(rank.0) + 1
}

const RUN: u32 = 1;
const PROCESSES: u32 = 2;
const PLACEMENT: u32 = 3;
const SUPERSTEPS: u64 = 1;
const CALLS: u64 = 2;
