//! Spans of OpenTelemetry, as JSON of its protocol (OTLP).
//!
//! The run is one trace: its span has those of supersteps and calls as children, and a superstep those of processes. The
//! clock begins at 1970-01-01T00:00:00Z, because simulated time has no date.

use std::io::Write;

use bsp::{HostId, Rank};
use experiments::{Failure, Provenance};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

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
    let made_by = serde_json::to_value(provenance).map_err(Failure::run)?;
    let head = serde_json::to_vec(&reading.run).map_err(Failure::run)?;
    let digest = Sha256::new()
        .chain_update(made_by.to_string())
        .chain_update(head)
        .finalize();
    let trace = hex::encode(&digest[..16]);
    let hosts = reading.run.hosts.clone();
    let resource = [
        attribute("service.name", &json!("migbsp")),
        attribute("migbsp.scenario", &json!(reading.run.scenario)),
        attribute("migbsp.provenance", &json!(made_by.to_string())),
    ];
    let resource = json!({ "attributes": resource });
    let scope = json!({"name": "migbsp", "version": env!("CARGO_PKG_VERSION")});
    write!(
        output,
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":["
    )
    .map_err(refused)?;
    let (mut number, mut superstep, mut end) = (RUN, RUN, 0);
    each_span(reading, &mut |time, span| {
        number += 1;
        end = end.max(time.end);
        let parent = match span {
            Span::Superstep(_) => {
                superstep = number;
                RUN
            }
            Span::Computing(_) | Span::Exchanging(_) | Span::Waiting(_) => superstep,
            Span::Call(_) | Span::Moving(..) | Span::Residing(..) => RUN,
        };
        let (name, attributes) = describe(&hosts, span);
        let span = span_of(&trace, (number, Some(parent)), name, time, &attributes);
        writeln!(output, "{span},").map_err(refused)
    })?;
    let time = Time { start: 0, end };
    let run = span_of(&trace, (RUN, None), "run", time, &[]);
    writeln!(output, "{run}]}}]}}]}}").map_err(refused)
}

fn describe(hosts: &[String], span: Span<'_>) -> (&'static str, Vec<Value>) {
    let host = |id: HostId| attribute("migbsp.host", &json!(hosts[id.index()]));
    let process = |rank: Rank| attribute("migbsp.process", &json!(rank.to_string()));
    let number = |key: &str, number: u64| attribute(key, &json!(number));
    match span {
        Span::Superstep(superstep) => (
            "superstep",
            vec![
                number("migbsp.superstep", superstep.index),
                number("migbsp.messages", superstep.messages),
            ],
        ),
        Span::Call(call) => (
            "call",
            vec![
                number("migbsp.superstep", call.superstep),
                attribute("migbsp.moves", &json!(call.migrations.len())),
            ],
        ),
        Span::Computing(traced) => ("compute", vec![process(traced.rank), host(traced.host)]),
        Span::Exchanging(traced) => (
            "exchange",
            vec![
                process(traced.rank),
                number("migbsp.sent", traced.sent.0),
                number("migbsp.received", traced.received.0),
            ],
        ),
        Span::Waiting(traced) => ("wait", vec![process(traced.rank)]),
        Span::Moving(moved, from) => (
            "move",
            vec![
                process(moved.rank),
                host(moved.host),
                attribute("migbsp.from", &json!(hosts[from.index()])),
                number("migbsp.bytes", moved.bytes.0),
            ],
        ),
        Span::Residing(rank, id) => ("placement", vec![process(rank), host(id)]),
    }
}

/// A span; `number` and `parent` are numbers of spans, from 1.
fn span_of(
    trace: &str,
    (number, parent): (u64, Option<u64>),
    name: &str,
    time: Time,
    attributes: &[Value],
) -> Value {
    let id = |number: u64| format!("{number:016x}");
    json!({
        "traceId": trace,
        "spanId": id(number),
        "parentSpanId": parent.map_or_else(String::new, id),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": time.start.to_string(),
        "endTimeUnixNano": time.end.to_string(),
        "attributes": attributes,
    })
}

/// An attribute. Integers are strings in this form of JSON.
fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        value => json!({"stringValue": value}),
    };
    json!({"key": key, "value": value})
}

/// The span of the run.
const RUN: u64 = 1;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u32 = 1;
