//! Spans of OpenTelemetry, and these as JSON of its protocol (OTLP).
//!
//! The run is one trace: its span has those of supersteps and calls as children, and a superstep those of processes. The
//! clock is that of the client when the run began; in simulations it begins at 1970-01-01T00:00:00Z, because simulated time has no date.

use std::io::Write;
use std::time::Duration;

use bsp::{HostId, Rank};
use experiments::{Failure, Provenance};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::export::{Dated, Reading, Span, Time, each_span, refused};

/// The trace that a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its number.
    pub id: [u8; 16],
    /// What is said of all its spans.
    pub resource: Vec<(&'static str, AttributeValue)>,
}

/// A span of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpan {
    /// Its number, from 1.
    pub number: u64,
    /// The number of the span that encloses it; `None`: it is that of the run.
    pub parent: Option<u64>,
    /// What happens in it.
    pub name: &'static str,
    /// When it begins, since 1970.
    pub start: Duration,
    /// When it ends, since 1970.
    pub end: Duration,
    /// What is said of it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// Something that is said of a span or of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// Words.
    Text(String),
    /// A number.
    Number(u64),
}

/// The trace that `reading` is.
///
/// # Errors
///
/// If its description cannot be encoded.
pub(super) fn trace(
    reading: &Reading,
    provenance: &Provenance,
    dated: &Dated,
) -> Result<Trace, Failure> {
    let made_by = serde_json::to_value(provenance).map_err(Failure::run)?;
    let head = serde_json::to_vec(&reading.run).map_err(Failure::run)?;
    let mut digest = Sha256::new()
        .chain_update(made_by.to_string())
        .chain_update(head);
    let mut resource = vec![
        ("service.name", text("migbsp")),
        ("migbsp.scenario", text(&reading.run.scenario)),
        ("migbsp.provenance", text(&made_by.to_string())),
    ];
    // Two runs on hosts may begin alike, two simulations are the same then.
    if let Some(job) = &dated.job {
        digest.update(job);
        resource.push(("migbsp.job", text(job)));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&digest.finalize()[..16]);
    Ok(Trace { id, resource })
}

/// Passes all spans of the record to `visit`, that of the run last.
///
/// # Errors
///
/// If the record cannot be read, or `visit` fails.
pub(super) fn each(
    reading: Reading,
    dated: &Dated,
    visit: &mut dyn FnMut(TraceSpan) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let began = dated.began.unwrap_or_default();
    let hosts = reading.run.hosts.clone();
    let span_of = |(number, parent), name, time: Time, attributes| TraceSpan {
        number,
        parent,
        name,
        start: began + Duration::from_nanos(time.start),
        end: began + Duration::from_nanos(time.end),
        attributes,
    };
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
        visit(span_of((number, Some(parent)), name, time, attributes))
    })?;
    visit(span_of(
        (RUN, None),
        "run",
        Time { start: 0, end },
        Vec::new(),
    ))
}

/// Writes the record.
///
/// # Errors
///
/// If it cannot be read, or `output` refuses.
pub(super) fn write(
    reading: Reading,
    (provenance, dated): (&Provenance, &Dated),
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let Trace { id, resource } = trace(&reading, provenance, dated)?;
    let trace = hex::encode(id);
    let resource = json!({ "attributes": attributes(&resource) });
    let scope = json!({"name": "migbsp", "version": env!("CARGO_PKG_VERSION")});
    write!(
        output,
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":[{{\"scope\":{scope},\"spans\":["
    )
    .map_err(refused)?;
    each(reading, dated, &mut |span| {
        // That of the run comes last.
        let end = if span.parent.is_some() { ",\n" } else { "" };
        write!(output, "{}{end}", json_of(&trace, &span)).map_err(refused)
    })?;
    writeln!(output, "]}}]}}]}}").map_err(refused)
}

fn describe(
    hosts: &[String],
    span: Span<'_>,
) -> (&'static str, Vec<(&'static str, AttributeValue)>) {
    let named = |id: HostId| text(&hosts[id.index()]);
    let host = |id: HostId| ("migbsp.host", named(id));
    let process = |rank: Rank| ("migbsp.process", text(&rank.to_string()));
    let number = |key: &'static str, number: u64| (key, AttributeValue::Number(number));
    match span {
        Span::Superstep(superstep) => (
            "superstep",
            vec![
                number("migbsp.superstep", superstep.index),
                number("migbsp.messages", superstep.messages),
            ],
        ),
        Span::Call(call) => {
            let moves = u64::try_from(call.migrations.len()).unwrap_or(u64::MAX);
            let superstep = number("migbsp.superstep", call.superstep);
            ("call", vec![superstep, number("migbsp.moves", moves)])
        }
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
                ("migbsp.from", named(from)),
                number("migbsp.bytes", moved.bytes.0),
            ],
        ),
        Span::Residing(rank, id) => ("placement", vec![process(rank), host(id)]),
    }
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::Text(text.to_owned())
}

fn json_of(trace: &str, span: &TraceSpan) -> Value {
    let id = |number: u64| format!("{number:016x}");
    json!({
        "traceId": trace,
        "spanId": id(span.number),
        "parentSpanId": span.parent.map_or_else(String::new, id),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": span.start.as_nanos().to_string(),
        "endTimeUnixNano": span.end.as_nanos().to_string(),
        "attributes": attributes(&span.attributes),
    })
}

/// Attributes. Integers are strings in this form of JSON.
fn attributes(all: &[(&str, AttributeValue)]) -> Vec<Value> {
    let attribute = |(key, value): &(&str, AttributeValue)| {
        let value = match value {
            AttributeValue::Number(number) => json!({"intValue": number.to_string()}),
            AttributeValue::Text(text) => json!({"stringValue": text}),
        };
        json!({"key": key, "value": value})
    };
    all.iter().map(attribute).collect()
}

/// The span of the run.
const RUN: u64 = 1;

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u32 = 1;
