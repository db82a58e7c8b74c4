//! `export --format otlp --out http://...`: the spans of a run on their way to a collector of OpenTelemetry.

use std::path::Path;
use std::time::{Duration, SystemTime};

use analysis::export::{AttributeValue, Export, TraceSpan};
use experiments::Failure;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use tokio::runtime;

use crate::failure::CommandFailure;
use crate::output::print;

/// The address to which a collector at `text` has spans posted.
fn collector(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://");
    let rest = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
    if rest.is_none() {
        return Err(format!(
            "--out {text}: must be the address of a collector without TLS, such as http://localhost:4318; it passes spans on to others"
        ));
    }
    let address = text.trim_end_matches('/');
    if address.ends_with(PATH) {
        Ok(address.to_owned())
    } else {
        Ok(format!("{address}{PATH}"))
    }
}

/// Sends the spans of the record in `folder` to the collector at `address`, some at a time.
///
/// # Errors
///
/// If `address` is none, it is not known when the run began, the record cannot be read, or the collector does not take the spans.
pub(super) fn push(export: &Export, folder: &Path, address: &str) -> Result<(), CommandFailure> {
    let collector = &collector(address).map_err(Failure::Usage)?;
    if !export.has_date() {
        return Err(Failure::Input(format!(
            "{}: has no date, which spans in a collector need: simulated time has none, nor has the record of `attach`; \
             --format otlp writes a file whose clock begins in 1970",
            folder.display()
        ))
        .into());
    }
    let trace = export.trace()?;
    let resource = trace.resource.into_iter().map(attribute);
    // It names no more than what the record says: not this process, which is another one.
    let resource = Resource::builder_empty().with_attributes(resource).build();
    let pushing = Pushing {
        collector,
        runtime: runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Failure::run)?,
        exporter: exporter(collector, &resource)?,
    };
    let trace = TraceId::from_bytes(trace.id);
    let (mut batch, mut count) = (Vec::new(), 0_u64);
    export.each_span(&mut |span| {
        batch.push(data(trace, span));
        count += 1;
        if BATCH <= batch.len() {
            pushing.send(std::mem::take(&mut batch))?;
        }
        Ok(())
    })?;
    pushing.send(batch)?;
    print(&format!("{count} spans of trace {trace}: {collector}\n"))
}

struct Pushing<'a> {
    collector: &'a str,
    runtime: runtime::Runtime,
    exporter: SpanExporter,
}

impl Pushing<'_> {
    fn send(&self, batch: Vec<SpanData>) -> Result<(), Failure> {
        let sent = self.runtime.block_on(self.exporter.export(batch));
        sent.map_err(|error| {
            Failure::Run(format!(
                "{}: does not take spans: {error}: check that a collector listens there for OTLP over HTTP",
                self.collector
            ))
        })
    }
}

fn exporter(collector: &str, resource: &Resource) -> Result<SpanExporter, Failure> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(collector)
        .with_timeout(LIMIT)
        .build();
    let mut exporter = exporter.map_err(Failure::chain)?;
    exporter.set_resource(resource);
    Ok(exporter)
}

fn data(trace: TraceId, span: TraceSpan) -> SpanData {
    let id = SpanId::from(span.number);
    let date = |since: Duration| SystemTime::UNIX_EPOCH + since;
    SpanData {
        span_context: SpanContext::new(
            trace,
            id,
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: span.parent.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name.into(),
        start_time: date(span.start),
        end_time: date(span.end),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::builder("migbsp")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

fn attribute((key, value): (&'static str, AttributeValue)) -> KeyValue {
    match value {
        AttributeValue::Text(text) => KeyValue::new(key, text),
        AttributeValue::Number(number) => {
            // Numbers of OpenTelemetry have a sign.
            KeyValue::new(key, i64::try_from(number).unwrap_or(i64::MAX))
        }
    }
}

/// Where collectors have spans posted.
const PATH: &str = "/v1/traces";
/// Spans sent at a time: some 100 kB.
const BATCH: usize = 512;
/// The time in which a collector has to take them.
const LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_posted_to_the_path_for_them() {
        let expect = Ok("http://c:4318/v1/traces".to_owned());
        for text in ["http://c:4318", "http://c:4318/", "http://c:4318/v1/traces"] {
            assert_eq!(collector(text), expect, "{text}");
        }
        for text in [
            "localhost:4318",
            "https://c",
            "http://",
            "http:///v1/traces",
        ] {
            assert!(collector(text).is_err(), "{text}");
        }
    }
}
