//! A record in the formats of other tools: timelines for trace viewers, tables for data analysis.
//!
//! A record is read once (`Reading::each`), as spans of time for timelines (`each_span`) or as rows for tables (`tables`).
//! A format is one file that writes spans or takes rows.

mod otlp;
mod paje;
mod perfetto;
mod tables;

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use experiments::record::{Manifest, fault};
use experiments::{Failure, Provenance};
use record::{Call, Event, EventKind, Moved, Run, Superstep, TraceReader, Traced, TracedSuperstep};

use crate::run::Placement;

pub use otlp::{AttributeValue, Trace, TraceSpan};
pub use tables::Table;

/// A timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// JSON of the trace event format, which Perfetto and Chrome read.
    Perfetto,
    /// Paje, as `pj_dump` reads it.
    Paje,
    /// Spans of OpenTelemetry, as JSON.
    Otlp,
}

/// A record, and what made it.
#[derive(Debug)]
pub struct Export {
    folder: PathBuf,
    provenance: Provenance,
    dated: Dated,
}

/// When and as what a run on real hosts was made.
#[derive(Clone, Debug, Default)]
struct Dated {
    /// When it began, since 1970.
    began: Option<Duration>,
    /// The number of its job.
    job: Option<String>,
}

impl Export {
    /// The record in `folder`, whose head is `manifest`.
    #[must_use]
    pub fn new(folder: &Path, provenance: Provenance, manifest: &Manifest) -> Self {
        let began = manifest.began;
        Self {
            folder: folder.to_path_buf(),
            provenance,
            dated: Dated {
                began: began.and_then(|began| Duration::try_from_secs_f64(began).ok()),
                job: manifest.job.clone(),
            },
        }
    }

    /// Whether it is known when the run began.
    #[must_use]
    pub const fn has_date(&self) -> bool {
        self.dated.began.is_some()
    }

    /// The trace that the run is.
    ///
    /// # Errors
    ///
    /// If the record cannot be read.
    pub fn trace(&self) -> Result<Trace, Failure> {
        otlp::trace(&self.reading()?, &self.provenance, &self.dated)
    }

    /// Passes all spans of that trace to `visit`, that of the run last.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or `visit` fails.
    pub fn each_span(
        &self,
        visit: &mut dyn FnMut(TraceSpan) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        otlp::each(self.reading()?, &self.dated, visit)
    }

    /// Whether the record has what each process did in each superstep.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn is_traced(&self) -> Result<bool, Failure> {
        Ok(self.reading()?.is_traced())
    }

    /// Writes a timeline.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or `output` refuses.
    pub fn timeline(&self, timeline: Timeline, output: &mut dyn Write) -> Result<(), Failure> {
        let (reading, provenance) = (self.reading()?, &self.provenance);
        match timeline {
            Timeline::Perfetto => perfetto::write(reading, provenance, output),
            Timeline::Paje => paje::write(reading, provenance, output),
            Timeline::Otlp => otlp::write(reading, (provenance, &self.dated), output),
        }
    }

    /// Writes a table as comma-separated values.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or lacks what the table is about, or `output` refuses.
    pub fn table(&self, table: Table, output: &mut dyn Write) -> Result<(), Failure> {
        table.write(self.reading()?, &self.provenance, output)
    }

    fn reading(&self) -> Result<Reading, Failure> {
        Reading::open(&self.folder)
    }
}

/// Something that happened in a run.
enum Happening<'a> {
    /// A superstep, with what each process did in it, if the run is traced.
    Superstep(&'a Superstep, Option<&'a TracedSuperstep>),
    /// A process moved from this host.
    Moved(&'a Moved, HostId),
    /// A call ended. The moves that it ordered come before it.
    Call(&'a Call),
    /// The run ended at this time, or the record does. It comes last.
    End(Instant),
}

/// A record to be read once.
struct Reading {
    folder: PathBuf,
    /// How the run began.
    run: Run,
    trace: Option<TraceReader>,
}

impl Reading {
    /// The record in `folder`.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be read.
    fn open(folder: &Path) -> Result<Self, Failure> {
        let run = record::head(folder).map_err(fault)?;
        let trace = TraceReader::open(folder, run.placement.len()).map_err(Failure::input)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            trace,
        })
    }

    /// Whether it has what each process did.
    const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Where each process starts, by rank.
    fn placement(&self) -> Vec<HostId> {
        Placement::new(&self.run).start().to_vec()
    }

    /// Passes everything that happened to `visit`, until that fails.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or `visit` fails.
    fn each(
        self,
        visit: &mut dyn FnMut(Happening<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut placement = self.placement();
        let (mut trace, mut failed, mut ended) = (self.trace, None, Instant::START);
        let mut handle = |event: Event| -> Result<(), Failure> {
            match event {
                Event::Superstep(superstep) => {
                    ended = superstep.ended;
                    let traced = trace.as_mut().map(|trace| next(trace, superstep.index));
                    visit(Happening::Superstep(&superstep, traced.transpose()?))
                }
                Event::Moved(moved) => {
                    let host = &mut placement[moved.rank.index()];
                    let from = std::mem::replace(host, moved.host);
                    visit(Happening::Moved(&moved, from))
                }
                Event::Call(call) => visit(Happening::Call(&call)),
                Event::End(end) => {
                    ended = end.seconds;
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        let wanted = |kind| {
            use EventKind::{Call, End, Moved, Superstep};
            matches!(kind, Superstep | Moved | Call | End)
        };
        let scanned = record::scan(
            &self.folder,
            |header| wanted(header.kind),
            |event| {
                if failed.is_none() {
                    failed = handle(event).err();
                }
            },
        );
        if let Some(failure) = failed {
            return Err(failure);
        }
        scanned.map_err(fault)?;
        visit(Happening::End(ended))
    }
}

/// The trace of superstep `index`, which comes next.
fn next(trace: &mut TraceReader, index: u64) -> Result<&TracedSuperstep, Failure> {
    let traced = trace.next_superstep().map_err(Failure::input)?;
    match traced {
        Some(traced) if traced.index == index => Ok(traced),
        _ => Err(Failure::input(format!(
            "trace.bin has no superstep {index}, which events.jsonl has; the record is cut off or mixed with another one"
        ))),
    }
}

/// A span of time, in whole nanoseconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Time {
    start: u64,
    /// At least `start`.
    end: u64,
}

/// What a span is.
#[derive(Clone, Copy, Debug)]
enum Span<'a> {
    /// A superstep of the run.
    Superstep(&'a Superstep),
    /// A call, of this number of moves.
    Call(&'a Call),
    /// A process computed, in this superstep.
    Computing(&'a Traced),
    /// A process exchanged its messages.
    Exchanging(&'a Traced),
    /// A process waited for the others.
    Waiting(&'a Traced),
    /// A process moved from this host.
    Moving(&'a Moved, HostId),
    /// A process was on a host, until it moved or the run ended.
    Residing(Rank, HostId),
}

/// Passes all spans of a record to `visit`. A superstep comes before the spans of its processes.
///
/// # Errors
///
/// If the record cannot be read, or `visit` fails.
fn each_span(
    reading: Reading,
    visit: &mut dyn FnMut(Time, Span<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut residences: Vec<(HostId, u64)> =
        reading.placement().iter().map(|host| (*host, 0)).collect();
    reading.each(&mut |happening| match happening {
        Happening::Superstep(superstep, traced) => {
            let time = Time::between(superstep.started, superstep.ended);
            visit(time, Span::Superstep(superstep))?;
            let processes = traced.map_or(&[][..], |traced| &traced.processes);
            processes.iter().flatten().try_for_each(|traced| {
                let [computing, exchanging, waiting] = phases(traced, superstep.ended);
                visit(computing, Span::Computing(traced))?;
                visit(exchanging, Span::Exchanging(traced))?;
                visit(waiting, Span::Waiting(traced))
            })
        }
        Happening::Moved(moved, from) => {
            let time = Time::until(moved.at, moved.took);
            let (_, since) =
                std::mem::replace(&mut residences[moved.rank.index()], (moved.host, time.end));
            let residence = Time::new(since, time.start);
            visit(residence, Span::Residing(moved.rank, from))?;
            visit(time, Span::Moving(moved, from))
        }
        Happening::Call(call) => {
            let start = nanoseconds(call.at - Instant::START);
            let time = Time::new(start, start + nanoseconds(call.cost));
            visit(time, Span::Call(call))
        }
        Happening::End(ended) => {
            let end = nanoseconds(ended - Instant::START);
            let mut residences = residences.iter().enumerate();
            residences.try_for_each(|(rank, (host, since))| {
                let time = Time::new(*since, end);
                visit(time, Span::Residing(Rank::from_index(rank), *host))
            })
        }
    })
}

/// When a process computed, exchanged and waited in a superstep that ended then.
fn phases(traced: &Traced, ended: Instant) -> [Time; 3] {
    let end = nanoseconds(ended - Instant::START);
    let started = nanoseconds(traced.started - Instant::START);
    let computed = started + nanoseconds(traced.computation);
    let exchanged = computed + nanoseconds(traced.exchange);
    [
        Time::new(started, computed),
        Time::new(computed, exchanged),
        Time::new(exchanged, end),
    ]
}

impl Time {
    fn new(start: u64, end: u64) -> Self {
        Self {
            start,
            end: end.max(start),
        }
    }

    fn between(start: Instant, end: Instant) -> Self {
        let since_start = |instant: Instant| nanoseconds(instant - Instant::START);
        Self::new(since_start(start), since_start(end))
    }

    fn until(end: Instant, took: Seconds) -> Self {
        let end = nanoseconds(end - Instant::START);
        Self::new(end.saturating_sub(nanoseconds(took)), end)
    }

    /// Its length.
    const fn nanoseconds(self) -> u64 {
        self.end - self.start
    }
}

/// Whole nanoseconds, rounded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
fn nanoseconds(time: Seconds) -> u64 {
    (time.get() * 1e9).round() as u64
}

/// The output refuses.
pub(crate) fn refused(error: impl Display) -> Failure {
    Failure::Run(format!("the output cannot be written: {error}"))
}
