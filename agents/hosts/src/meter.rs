//! Measures the speed of the processors of this host, the fraction of them that other programs use, and which of their
//! processes keep them busy.

mod busy_history;
mod load_scope;
mod own_memory;
mod process_sample;
mod process_table;

use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bsp::units::{InstructionsPerSecond, Seconds};
use protocol::BusyProcess;
use rustix::time::{ClockId, clock_gettime};
use sysinfo::System;

pub use load_scope::LoadScope;
pub(super) use own_memory::own_memory;

use busy_history::BusyHistory;
use process_sample::ProcessSample;

/// The processor time of this thread.
pub(super) fn thread_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    let (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec);
    let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    whole + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

/// Instructions per second of one processor of this machine, measured by a loop of known length: the fastest of several
/// runs, some 50 ms in all.
///
/// An instruction is an operation of this loop. Programs' instructions are counted in the same unit, by the time that
/// they compute, so that only the ratios between hosts matter.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "a loop takes some time")]
pub fn measured_speed() -> InstructionsPerSecond {
    let best = calibrations().min().unwrap_or(Duration::MAX);
    let seconds = best.as_secs_f64().max(1e-9);
    InstructionsPerSecond::new(f64::from(ITERATIONS * OPERATIONS) / seconds)
        .expect("a count by a time")
}

/// The processor times of several runs of the loop of known length.
pub(super) fn calibrations() -> impl Iterator<Item = Duration> {
    (0..ROUNDS).map(|_| round())
}

/// The processor time of one run.
fn round() -> Duration {
    let before = thread_time();
    let (mut integer, mut float) = (black_box(1_u64), black_box(1.0_f64));
    for _ in 0..ITERATIONS {
        integer = integer
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        float = float.mul_add(0.999_999, 0.5);
    }
    black_box((integer, float));
    thread_time().saturating_sub(before)
}

/// The number of processors that this process of the operating system may use.
#[must_use]
pub fn processors() -> NonZeroU32 {
    let count = thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

/// The external load of this machine, second by second, and the busy processes behind it.
#[derive(Clone, Debug)]
pub(super) struct LoadMeter {
    scope: LoadScope,
    measured: Arc<Mutex<Measured>>,
}

#[derive(Debug)]
struct Measured {
    history: History,
    /// The busy processes of the last sample.
    others: Vec<BusyProcess>,
    busy: BusyHistory,
}

#[derive(Debug)]
struct History {
    /// Fractions, the latest last.
    samples: VecDeque<f64>,
    /// The load before the first sample: the average over a quarter of an hour, per processor.
    before: f64,
}

impl LoadMeter {
    /// Begins to measure once a second, until the meter is dropped.
    pub(super) fn begin(scope: LoadScope) -> Self {
        let average = System::load_average().map_or(0.0, |load| load.fifteen);
        let before = (average / f64::from(processors().get())).clamp(0.0, LOAD_MAX);
        let meter = Self {
            scope,
            measured: Arc::new(Mutex::new(Measured {
                history: History {
                    samples: VecDeque::new(),
                    before,
                },
                others: Vec::new(),
                busy: BusyHistory::new(processors().get()),
            })),
        };
        let measured = Arc::downgrade(&meter.measured);
        let watching = thread::Builder::new().name("load".to_owned());
        if let Err(error) = watching.spawn(move || watch(&measured, scope)) {
            tracing::warn!(%error, "the load of this machine is not watched");
        }
        meter
    }

    /// The processes that are no external load.
    pub(super) const fn scope(&self) -> LoadScope {
        self.scope
    }

    /// The fraction of this machine that other programs used, averaged over the last `window`.
    pub(super) fn load(&self, window: Seconds) -> f64 {
        self.measured().history.mean(window)
    }

    /// The processes out of scope that keep this machine busy, the oldest first, at most [`BusyProcess::COUNT_MAX`].
    ///
    /// A process is busy if it used at least half a processor between the last two samples. One that begins to use a
    /// whole processor is listed within 1.5 s, and one that stops is not listed any more within 1.5 s. The operating
    /// system may hide the processes of other users.
    pub(super) fn busy_others(&self) -> Vec<BusyProcess> {
        self.measured().others.clone()
    }

    /// The part of a processor that one process more would not have had in the last `window`, as [`BusyHistory::withheld`].
    pub(super) fn withheld(&self, window: Seconds) -> f64 {
        self.measured().busy.withheld(window)
    }

    /// How often busy processes began to leave no whole processor in the last `window`, as [`BusyHistory::periods`].
    pub(super) fn busy_periods(&self, window: Seconds) -> u64 {
        self.measured().busy.periods(window)
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl History {
    fn mean(&self, window: Seconds) -> f64 {
        let wanted = window.get().clamp(1.0, SAMPLES_MAX_F).ceil();
        let known = self.samples.iter().rev();
        let (mut sum, mut count) = (0.0, 0.0);
        for sample in known {
            if wanted <= count {
                break;
            }
            sum += sample;
            count += 1.0;
        }
        // Short windows do not reach into the time before the first sample.
        let missing = if window.get() < LONG {
            0.0
        } else {
            wanted - count
        };
        if count + missing == 0.0 {
            return 0.0;
        }
        (sum + missing * self.before) / (count + missing)
    }
}

fn watch(measured: &Weak<Mutex<Measured>>, scope: LoadScope) {
    let Ok(mut system) = System::new() else {
        tracing::warn!("the load of this machine is not known");
        return;
    };
    system.refresh_cpu_usage();
    let mut before = ProcessSample::take(scope);
    let mut own = own_time(&before, scope);
    loop {
        thread::sleep(PERIOD);
        let Some(measured) = measured.upgrade() else {
            return;
        };
        system.refresh_cpu_usage();
        let busy = f64::from(system.global_cpu_usage()) / 100.0;
        let sample = ProcessSample::take(scope);
        let now = own_time(&sample, scope);
        let cores = f64::from(u32::try_from(system.cpus().len().max(1)).unwrap_or(u32::MAX));
        let taken = now.saturating_sub(own).as_secs_f64() / (PERIOD.as_secs_f64() * cores);
        own = now;
        let others = sample.busy_since(&before);
        before = sample;
        let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.busy.add(others.len());
        measured.others = others;
        let samples = &mut measured.history.samples;
        if samples.len() == SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back((busy - taken).clamp(0.0, LOAD_MAX));
    }
}

/// The processor time of the processes in scope.
fn own_time(sample: &ProcessSample, scope: LoadScope) -> Duration {
    match scope {
        // More precise than the table, which counts in ticks.
        LoadScope::Process => clock(ClockId::ProcessCPUTime),
        LoadScope::Siblings => sample.own(),
    }
}

const ROUNDS: u32 = 5;
const ITERATIONS: u32 = 4_000_000;
/// Operations of an iteration: two on integers, two on floats.
const OPERATIONS: u32 = 4;
const PERIOD: Duration = Duration::from_secs(1);
/// A quarter of an hour.
const SAMPLES_MAX: usize = 900;
const SAMPLES_MAX_F: f64 = 900.0;
/// Seconds from which on a window reaches into the time before the node started.
const LONG: f64 = 300.0;
/// On a full machine processes still advance: its scheduler shares the processors.
const LOAD_MAX: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    fn history(samples: &[f64], before: f64) -> History {
        History {
            samples: samples.iter().copied().collect(),
            before,
        }
    }

    #[test]
    fn a_window_is_filled_with_what_was_before_if_it_is_long() {
        let seconds = |value| Seconds::new(value).unwrap();
        let known = history(&[0.0, 0.5, 1.0], 0.25);
        let mean = |window| known.mean(seconds(window));
        assert!((mean(1.0) - 1.0).abs() < 1e-12);
        assert!((mean(2.0) - 0.75).abs() < 1e-12);
        assert!((mean(60.0) - 0.5).abs() < 1e-12);
        let expect = (1.5 + 897.0 * 0.25) / 900.0;
        assert!((mean(900.0) - expect).abs() < 1e-12);
        assert!((mean(1e9) - expect).abs() < 1e-12);
        assert!(history(&[], 0.5).mean(seconds(1.0)).abs() < 1e-12);
    }

    #[test]
    fn a_thread_that_computes_takes_time_and_one_that_sleeps_none() {
        let before = thread_time();
        let speed = measured_speed();
        let computed = thread_time().saturating_sub(before);
        thread::sleep(Duration::from_millis(50));
        let slept = thread_time().saturating_sub(before + computed);
        assert!(slept < computed, "{slept:?}, {computed:?}");
        assert!(1e7 < speed.get() && speed.get() < 1e12, "{speed:?}");
    }
}
