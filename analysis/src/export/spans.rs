//! What happened in a run as spans of time, for timelines.

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use experiments::Failure;
use record::{Call, Moved, Superstep, Traced};

use crate::export::happening::{Happening, Reading};

/// A span of time, in whole nanoseconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time {
    pub(super) start: u64,
    /// At least `start`.
    pub(super) end: u64,
}

/// What a span is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span<'a> {
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
pub(super) fn each(
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
pub(super) fn phases(traced: &Traced, ended: Instant) -> [Time; 3] {
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
    pub(super) const fn nanoseconds(self) -> u64 {
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
