//! Measures the speed of the processors of this host, the fraction of them that other programs use, and which of their
//! processes keep them busy.

mod process_table;

use std::collections::VecDeque;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use bsp::units::{InstructionsPerSecond, Seconds};
use machines::{Execution, HostMeter, seconds};
use process_table::ProcessSample;
use protocol::BusyProcess;
use rustix::time::{ClockId, clock_gettime};
use sysinfo::{MemoryRefreshKind, Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::Machine;

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

    /// The part of a processor that one process more would not have had in the last `window`, as [`BusyHistory::unavailable`].
    pub(super) fn unavailable(&self, window: Seconds) -> f64 {
        self.measured().busy.unavailable(window)
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
        LoadScope::Process => clock(ClockId::ProcessCPUTime) + sample.descendants(),
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

/// How many processes of other programs were busy, second by second.
#[derive(Debug)]
struct BusyHistory {
    processors: u32,
    /// The latest last.
    counts: VecDeque<u32>,
}

impl BusyHistory {
    /// Nothing yet, on a machine with that many processors.
    const fn new(processors: u32) -> Self {
        Self {
            processors,
            counts: VecDeque::new(),
        }
    }

    /// Adds the count of another second.
    fn add(&mut self, count: usize) {
        if self.counts.len() == BUSY_SAMPLES_MAX {
            self.counts.pop_front();
        }
        self.counts
            .push_back(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// The part of a processor that one process more would not have had in the last `window`, if the system shares the
    /// processors equally; in the last second, if the window is shorter.
    fn unavailable(&self, window: Seconds) -> f64 {
        let processors = f64::from(self.processors);
        let unavailable = |count: u32| (1.0 - processors / (f64::from(count) + 1.0)).max(0.0);
        let (mut sum, mut seconds) = (0.0, 0.0);
        for count in self.last(window) {
            sum += unavailable(count);
            seconds += 1.0;
        }
        if seconds == 0.0 { 0.0 } else { sum / seconds }
    }

    /// How often in the last `window` all processors began to be busy: one process more would not have had a whole one.
    /// Whether they were busy before the first count is not known.
    fn periods(&self, window: Seconds) -> u64 {
        let is_busy = |count: u32| self.processors <= count;
        let latest_first = self.last(window);
        let before = self.counts.iter().rev().copied().skip(1);
        let begins = latest_first.zip(before);
        let begins = begins.filter(|(count, before)| is_busy(*count) && !is_busy(*before));
        begins.fold(0, |periods, _| periods + 1)
    }

    /// The counts in the last `window`, one at least, the latest first.
    fn last(&self, window: Seconds) -> impl Iterator<Item = u32> {
        let whole = window.get().ceil().max(1.0);
        let wanted = move |index: &usize| (*index as f64) < whole;
        let counts = self.counts.iter().rev().copied().enumerate();
        counts
            .take_while(move |(index, _)| wanted(index))
            .map(|(_, count)| count)
    }
}

/// An hour.
const BUSY_SAMPLES_MAX: usize = 3600;

/// The processes of the operating system whose computation does not count as external load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadScope {
    /// This process of the operating system, and those that it has started: executors of external programs.
    Process,
    /// All processes with the same parent, and those that they have started: the nodes of a trial on one machine.
    Siblings,
}

/// Bytes of memory that processes can still be given on this machine, or in the control group of this process, if the operating
/// system says it.
pub(crate) fn available_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    let kind = MemoryRefreshKind::nothing().with_ram();
    system.refresh_memory_specifics(kind);
    // It is 0 where it is not known.
    let available = Some(system.available_memory()).filter(|available| 0 < *available)?;
    // Its page cache gives way.
    let limited = system.cgroup_limits();
    let limited = limited.map(|limits| limits.total_memory.saturating_sub(limits.rss));
    Some(limited.map_or(available, |limited| limited.min(available)))
}

/// Bytes of memory that this process occupies, if the operating system says it.
pub(crate) fn own_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    let own = Pid::from_u32(process::id());
    let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, kind);
    system.process(own).map(sysinfo::Process::memory)
}

impl HostMeter for Machine {
    fn free_memory(&self) -> Option<u64> {
        available_memory()
    }

    fn offered(&self, factor: f64) -> InstructionsPerSecond {
        self.giving(self.processors, factor).offered()
    }

    fn counts(&self) -> bool {
        self.processor.counted.is_some()
    }

    fn is_a_host(&self) -> bool {
        Self::is_a_host(self)
    }

    fn load(&self, window: Seconds) -> f64 {
        match self.pace.played() {
            Some(played) => played.load(window),
            None => self.load.load(window),
        }
    }

    fn unavailable(&self, window: Seconds) -> f64 {
        match self.pace.played() {
            Some(played) => played.unavailable(window),
            None if Self::is_a_host(self) => self.load.unavailable(window),
            None => self.load.load(window),
        }
    }

    fn busy_periods(&self, window: Seconds) -> u64 {
        match self.pace.played() {
            Some(played) => played.busy_periods(window),
            None if Self::is_a_host(self) => self.load.busy_periods(window),
            None => 0,
        }
    }

    fn ages(&self) -> Vec<Seconds> {
        match self.pace.played() {
            Some(played) => played.ages(),
            None if Self::is_a_host(self) => {
                let others = self.load.busy_others();
                others.iter().map(BusyProcess::age).collect()
            }
            None => Vec::new(),
        }
    }

    fn overhead(&self) -> Seconds {
        // The thread that carries messages is the one that calls this.
        seconds(thread_time())
    }

    fn oldest_execution(&self) -> Option<Execution> {
        self.executions.oldest()
    }

    fn count(&self, event: &record::Event) {
        self.totals.count(event);
    }
}

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

    mod busy_history {
        use super::*;

        fn history(processors: u32, counts: &[usize]) -> BusyHistory {
            let mut history = BusyHistory::new(processors);
            for count in counts {
                history.add(*count);
            }
            history
        }

        fn seconds(value: f64) -> Seconds {
            Seconds::new(value).unwrap()
        }

        #[test]
        fn processes_take_what_an_equal_share_does_not_leave() {
            let unavailable = |processors, counts: &[usize], window| {
                history(processors, counts).unavailable(seconds(window))
            };
            assert!((unavailable(1, &[1], 0.0) - 0.5).abs() < 1e-12);
            assert!((unavailable(1, &[3, 0], 0.0)).abs() < 1e-12);
            assert!((unavailable(1, &[3, 0], 2.0) - 0.375).abs() < 1e-12);
            assert!((unavailable(2, &[1, 1], 10.0)).abs() < 1e-12);
            assert!((unavailable(2, &[9, 3, 2], 2.0) - (0.5 + 1.0 / 3.0) / 2.0).abs() < 1e-12);
            assert!(unavailable(2, &[], 10.0).abs() < 1e-12);
        }

        #[test]
        fn a_period_begins_when_no_whole_processor_is_left() {
            let counts = [2, 2, 0, 1, 2, 3, 0, 0, 2];
            let periods =
                |processors, window| history(processors, &counts).periods(seconds(window));
            assert_eq!(periods(2, 100.0), 2);
            assert_eq!(periods(2, 5.0), 2);
            assert_eq!(periods(2, 4.0), 1);
            assert_eq!(periods(1, 100.0), 2);
            assert_eq!(periods(4, 100.0), 0);
        }
    }

    #[test]
    fn memory_that_is_written_is_occupied() {
        let before = own_memory().unwrap();
        let written = black_box(vec![1_u8; 64 << 20]);
        let after = own_memory().unwrap();
        assert!(before + (60 << 20) < after, "{before} {after}");
        drop(written);
    }
}
