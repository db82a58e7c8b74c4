//! What a node counts and measures, over HTTP for monitors: `/metrics` in the text format of OpenMetrics, `/healthz`, `/readyz`.
//!
//! The thread that carries messages answers, so an answer says that it does. No label names a process: the number of
//! time series depends on nodes and jobs alone.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use machines::node::JobEnd;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use protocol::transport::Counters;
use protocol::{Build, Status};
use record::Event;
use tokio::net::TcpStream;

/// What a node has counted since it started. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    jobs: Family<JobLabels, Counter>,
    supersteps: Histogram,
    computations: Histogram,
    calls: Counter,
    moves: Histogram,
    moved_bytes: Counter,
    checkpoints: Histogram,
    checkpoint_bytes: Counter,
    checkpoint_problems: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(non_camel_case_types, reason = "names of the values of a label")]
enum Outcome {
    complete,
    failed,
}

impl Default for Totals {
    fn default() -> Self {
        let jobs = Family::default();
        // They are there before the first job has ended.
        for outcome in [Outcome::complete, Outcome::failed] {
            drop(jobs.get_or_create(&JobLabels { outcome }));
        }
        let times = || Histogram::new(exponential_buckets(LEAST, 4.0, BUCKETS));
        Self {
            jobs,
            supersteps: times(),
            computations: times(),
            calls: Counter::default(),
            moves: times(),
            moved_bytes: Counter::default(),
            checkpoints: times(),
            checkpoint_bytes: Counter::default(),
            checkpoint_problems: Counter::default(),
        }
    }
}

impl Totals {
    /// Counts an event of the record that happens on this node: supersteps, calls and checkpoints do on the node of the first Set
    /// Manager, moves on that of their target.
    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                let whole = superstep.ended - superstep.started;
                self.supersteps.observe(whole.get());
                self.computations.observe(superstep.computation.get());
            }
            Event::Call(_) => {
                self.calls.inc();
            }
            Event::Moved(moved) => {
                self.moves.observe(moved.took.get());
                self.moved_bytes.inc_by(moved.bytes.0);
            }
            Event::Checkpoint(checkpoint) => {
                let whole = checkpoint.complete - checkpoint.at;
                self.checkpoints.observe(whole.get());
                self.checkpoint_bytes.inc_by(checkpoint.bytes.0);
                self.checkpoint_problems
                    .inc_by(u64::from(checkpoint.problem.is_some()));
            }
            _ => {}
        }
    }

    /// A job has ended here.
    pub(crate) fn job_ended(&self, end: &JobEnd) {
        let outcome = match end {
            JobEnd::Complete(_) => Outcome::complete,
            JobEnd::Failed(_) | JobEnd::Panicked => Outcome::failed,
        };
        self.jobs.get_or_create(&JobLabels { outcome }).inc();
    }

    fn register(&self, registry: &mut Registry) {
        registry.register("jobs", "Jobs that have ended here", self.jobs.clone());
        let mut histogram = |name: &str, help: &str, of: &Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, of.clone());
        };
        histogram(
            "superstep",
            "Duration of supersteps, on the node of the first Set Manager of a job",
            &self.supersteps,
        );
        histogram(
            "superstep_computation",
            "Longest computation of each superstep, on the node of the first Set Manager of a job",
            &self.computations,
        );
        histogram(
            "move",
            "Duration of moves of processes to this node, from packing to unpacking",
            &self.moves,
        );
        histogram(
            "checkpoint",
            "Duration of checkpoints, on the node of the first Set Manager of a job",
            &self.checkpoints,
        );
        let mut counter = |name: &str, help: &str, unit: Option<Unit>, of: &Counter| match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, of.clone()),
            None => registry.register(name, help, of.clone()),
        };
        counter(
            "calls",
            "Rescheduling calls, on the node of the first Set Manager of a job",
            None,
            &self.calls,
        );
        counter(
            "moved",
            "Bytes of the states of processes that have moved to this node",
            Some(Unit::Bytes),
            &self.moved_bytes,
        );
        counter(
            "checkpoint",
            "Bytes of the states in checkpoints, on the node of the first Set Manager of a job",
            Some(Unit::Bytes),
            &self.checkpoint_bytes,
        );
        counter(
            "checkpoint_problems",
            "Checkpoints that are not on disk although they should be",
            None,
            &self.checkpoint_problems,
        );
    }
}

/// What a node is at one moment.
pub(crate) struct Snapshot<'a> {
    pub(crate) build: &'a Build,
    pub(crate) status: &'a Status,
    pub(crate) refused: Counters,
    /// Whether it has been told to leave.
    pub(crate) is_draining: bool,
    /// When its certificate ends.
    pub(crate) expires: SystemTime,
}

impl Snapshot<'_> {
    /// Why the node takes no job, if it takes none.
    fn hindrance(&self) -> Option<String> {
        if self.is_draining {
            return Some("it has been told to leave".to_owned());
        }
        if self.expires <= SystemTime::now() {
            return Some("its certificate has expired".to_owned());
        }
        let abandoned = self.status.abandoned.as_ref();
        abandoned.map(|abandoned| {
            let (process, superstep) = (abandoned.rank, abandoned.superstep);
            format!("{process} still executes superstep {superstep} of a job that has ended")
        })
    }

    /// All metrics.
    fn text(&self, totals: &Totals) -> String {
        let mut registry = Registry::with_prefix("migbsp");
        totals.register(&mut registry);
        self.register_node(&mut registry);
        self.register_job(&mut registry);
        self.register_refused(&mut registry);
        let mut text = String::new();
        let encoded = text::encode(&mut text, &registry);
        debug_assert!(encoded.is_ok(), "a string has room for all of it");
        text
    }

    fn register_node(&self, registry: &mut Registry) {
        let status = self.status;
        let name = self.build.to_string();
        let build = [("version", self.build.version()), ("build", &name)];
        info(registry, "build_info", "Build of this node", &build);
        let is = |condition| if condition { 1.0 } else { 0.0 };
        let expires = self.expires.duration_since(SystemTime::UNIX_EPOCH);
        let expires = expires.map_or(0.0, |expires| expires.as_secs_f64());
        let stuck = status.abandoned.as_ref();
        let (_, minute) = status.load;
        for (name, help, unit, value) in [
            (
                "node_ready",
                "Whether it takes jobs",
                None,
                is(self.hindrance().is_none()),
            ),
            (
                "node_draining",
                "Whether it has been told to leave",
                None,
                is(self.is_draining),
            ),
            (
                "node_up",
                "Time since its start",
                Some(Unit::Seconds),
                status.up.get(),
            ),
            (
                "node_stuck",
                "Time for which a superstep has gone on since the end of its job",
                Some(Unit::Seconds),
                stuck.map_or(0.0, |abandoned| abandoned.since.get()),
            ),
            (
                "certificate_expiry_timestamp",
                "When its certificate ends, since 1970",
                Some(Unit::Seconds),
                expires,
            ),
            (
                "processors",
                "Processors of its machine",
                None,
                f64::from(status.processors),
            ),
            (
                "processor_speed",
                "Instructions per second of a processor",
                None,
                status.speed,
            ),
            (
                "background_load",
                "Fraction of its machine that other programs take, over a minute",
                None,
                minute,
            ),
            (
                "memory",
                "Memory that its process occupies",
                Some(Unit::Bytes),
                status.memory.map_or(f64::NAN, |memory| memory as f64),
            ),
        ] {
            gauge(registry, name, help, unit, value);
        }
    }

    fn register_job(&self, registry: &mut Registry) {
        let job = self.status.job.as_ref();
        let number = |number: u64| number as f64;
        gauge(
            registry,
            "jobs_running",
            "Jobs that run here: 0 or 1",
            None,
            number(u64::from(job.is_some())),
        );
        let Some(job) = job else { return };
        let number_of_job = format!("{:016x}", job.job);
        let of_job = [("job", &number_of_job[..]), ("client", &job.client)];
        info(
            registry,
            "job_info",
            "The job that runs here, and its client",
            &of_job,
        );
        let last = job.supersteps.map_or(f64::NAN, number);
        for (name, help, value) in [
            (
                "job_superstep",
                "Supersteps of the job that have begun here",
                number(job.superstep),
            ),
            (
                "job_supersteps",
                "Supersteps of the job, if its experiment says it",
                last,
            ),
            (
                "job_processes",
                "Processes of the job here",
                f64::from(job.processes),
            ),
            (
                "job_view",
                "View of the job that the node is in, 0 if it has none",
                number(job.view),
            ),
        ] {
            gauge(registry, name, help, None, value);
        }
    }

    fn register_refused(&self, registry: &mut Registry) {
        let refused = Family::<Labels, Counter>::default();
        for (reason, count) in self.refused.by_reason() {
            let reason = labels(&[("reason", reason)]);
            refused.get_or_create(&reason).inc_by(count);
        }
        registry.register(
            "refused",
            "Connections and frames that were refused",
            refused,
        );
    }
}

type Labels = Vec<(String, String)>;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn gauge(registry: &mut Registry, name: &str, help: &str, unit: Option<Unit>, value: f64) {
    let gauge = Gauge::<f64, AtomicU64>::default();
    gauge.set(value);
    match unit {
        Some(unit) => registry.register_with_unit(name, help, unit, gauge),
        None => registry.register(name, help, gauge),
    }
}

/// A gauge that is 1: its labels are what it says.
fn info(registry: &mut Registry, name: &str, help: &str, of: &[(&str, &str)]) {
    let family = Family::<Labels, Gauge>::default();
    family.get_or_create(&labels(of)).set(1);
    registry.register(name, help, family);
}

/// What answers: `snapshot` is called with each request.
pub(crate) async fn serve(
    listener: TcpListener,
    totals: Totals,
    snapshot: impl Fn(&mut dyn FnMut(&Snapshot<'_>)) + 'static,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("no metrics are served: {error}"),
    };
    let answer = Rc::new(move |request: &Request<_>| {
        let mut answer = response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, String::new());
        snapshot(&mut |snapshot| answer = answer_to(request, snapshot, &totals));
        answer
    });
    let connections = Rc::new(Cell::new(0));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Such as too many open files: others may close theirs.
            tokio::time::sleep(RETRY).await;
            continue;
        };
        if CONNECTIONS_MAX <= connections.get() {
            continue;
        }
        connections.set(connections.get() + 1);
        let (connections, answer) = (Rc::clone(&connections), Rc::clone(&answer));
        drop(actix_rt::spawn(async move {
            serve_connection(stream, |request| answer(&request)).await;
            connections.set(connections.get() - 1);
        }));
    }
}

/// Answers the requests of a connection, which ends in a bounded time.
async fn serve_connection(
    stream: TcpStream,
    answer: impl Fn(Request<hyper::body::Incoming>) -> Response<String>,
) {
    let answering = service_fn(|request| {
        let response = answer(request);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX);
    let serving = builder.serve_connection(TokioIo::new(stream), answering);
    // That of a monitor is no error of the node.
    drop(tokio::time::timeout(CONNECTION_TIME, serving).await);
}

fn answer_to<B>(
    request: &Request<B>,
    snapshot: &Snapshot<'_>,
    totals: &Totals,
) -> Response<String> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let problem = "metrics can only be read: GET or HEAD\n";
        return response(StatusCode::METHOD_NOT_ALLOWED, TEXT, problem.to_owned());
    }
    match request.uri().path() {
        "/metrics" => {
            let text = snapshot.text(totals);
            let accepted = request.headers().get_all(ACCEPT).iter();
            let mut accepted = accepted.filter_map(|value| value.to_str().ok());
            if accepted.any(|value| value.contains(OPEN_METRICS_TYPE)) {
                response(StatusCode::OK, OPEN_METRICS, text)
            } else {
                response(StatusCode::OK, EARLIER, earlier(&text))
            }
        }
        "/healthz" => response(StatusCode::OK, TEXT, "the node runs\n".to_owned()),
        "/readyz" => match snapshot.hindrance() {
            None => response(StatusCode::OK, TEXT, "the node takes jobs\n".to_owned()),
            Some(hindrance) => response(
                StatusCode::SERVICE_UNAVAILABLE,
                TEXT,
                format!("the node takes no job: {hindrance}\n"),
            ),
        },
        _ => response(
            StatusCode::NOT_FOUND,
            TEXT,
            "there are /metrics, /healthz and /readyz\n".to_owned(),
        ),
    }
}

/// The same metrics in the text format before OpenMetrics, in which the name of a counter has its suffix everywhere, and
/// neither units nor the end are said.
fn earlier(text: &str) -> String {
    let mut counter = None;
    let mut lines: Vec<String> = Vec::new();
    // The type of a metric is said after its description.
    for line in text.lines().rev() {
        let mut words = line.splitn(4, ' ');
        let line = match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT"), ..) | (Some("#"), Some("EOF"), ..) => continue,
            (Some("#"), Some("TYPE"), Some(name), Some("counter")) => {
                counter = Some(name);
                format!("# TYPE {name}_total counter")
            }
            (Some("#"), Some("HELP"), Some(name), Some(help)) if counter == Some(name) => {
                format!("# HELP {name}_total {help}")
            }
            _ => line.to_owned(),
        };
        lines.push(line + "\n");
    }
    lines.reverse();
    lines.concat()
}

fn response(status: StatusCode, content: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let content = HeaderValue::from_static(content);
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
const EARLIER: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The upper bound of the first of [`BUCKETS`] buckets, in seconds; each next one is four times that of the one before.
const LEAST: f64 = 64e-6;
const BUCKETS: u16 = 12;
/// Connections at a time; further ones are closed.
const CONNECTIONS_MAX: u32 = 16;
/// Bytes of the head of a request, and the time in which it has to arrive.
const HEAD_MAX: usize = 16 << 10;
const HEAD_TIME: Duration = Duration::from_secs(5);
const CONNECTION_TIME: Duration = Duration::from_secs(600);
/// The time after which a connection is accepted again, when none could be.
const RETRY: Duration = Duration::from_millis(100);
