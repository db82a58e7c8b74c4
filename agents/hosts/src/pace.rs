//! How long computations on a node last, compared with the processor time that they take.
//!
//! # The host of a platform that a node plays
//!
//! A node of `up --play` has an engine of its own, with the platform of the experiment and the jobs that its seed draws
//! for a simulation. What the node says of loads and owners' jobs is what this engine says. `docs/validation.md` has
//! what this measures.
//!
//! The program is not slowed down to a fraction of its speed. One that computes for a millisecond in every hundred
//! finds its caches empty: its computations took 1.25 to 1.5 times as long as in simulation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bsp::HostId;
use bsp::units::{self, Instructions, InstructionsPerSecond, Seconds};
use machines::{duration, seconds};
use simulator::{Activity, Engine, NetworkOptions, Platform};

/// How long computations on a node last, compared with the processor time that they take.
#[derive(Clone, Debug)]
pub enum Pace {
    /// The node gives programs a fraction of its processors.
    Share(Share),
    /// The node plays a host of a platform.
    Played(PlayedHost),
}

/// A computation that a thread has executed.
pub(super) struct Computed {
    /// The processor time that it took.
    pub(super) busy: Duration,
    pub(super) work: Instructions,
    /// The time for which it has had a processor so far.
    pub(super) held: Seconds,
}

impl Pace {
    /// What a node whose processors execute `speed` offers programs.
    pub(super) fn offered(&self, speed: InstructionsPerSecond) -> InstructionsPerSecond {
        match self {
            Self::Share(share) => {
                InstructionsPerSecond::new(speed.get() * share.get()).expect("a part of a speed")
            }
            Self::Played(host) => host.speed(),
        }
    }

    /// Sleeps until these computations end, which a thread has begun at `began` and executed one after the other, and
    /// makes the time for which each has had a processor longer by that.
    ///
    /// Returns whether they end.
    pub(super) fn rest(&self, began: Instant, computed: &mut [Computed]) -> bool {
        match self {
            Self::Share(share) if *share == Share::WHOLE => {}
            Self::Share(share) => {
                let rests = computed.iter_mut().map(|computation| {
                    let rest = share.rest(computation.busy);
                    computation.held += seconds(rest);
                    rest
                });
                thread::sleep(rests.fold(Duration::ZERO, Duration::saturating_add));
            }
            Self::Played(host) => {
                let works: Vec<Instructions> = computed.iter().map(|done| done.work).collect();
                let Some(end) = host.end(began, &works) else {
                    return false;
                };
                thread::sleep(end.saturating_duration_since(Instant::now()));
                let all = works.iter().copied().sum::<Instructions>().as_f64();
                let took = seconds(began.elapsed());
                for computation in computed.iter_mut().filter(|_| 0.0 < all) {
                    computation.held = took * (computation.work.as_f64() / all);
                }
            }
        }
        true
    }

    /// The host that is played, if one is. Computations are then worth what programs charge, and not what this machine
    /// takes for them.
    pub(super) fn played(&self) -> Option<&PlayedHost> {
        match self {
            Self::Share(_) => None,
            Self::Played(host) => Some(host),
        }
    }
}

/// The host of a platform that a node plays: programs compute at its speed, and without what its load or the jobs of its
/// owner take. Clones share it.
///
/// The computations of a superstep that this machine has executed are started together on the simulated host, at the date
/// at which they began here, with the work that the programs charged. The thread sleeps until they end there. So
/// computations and loads are here exactly what they are in a simulation, and what is neither (messages, barriers, calls,
/// moves) takes its real time.
#[derive(Clone, Debug)]
pub struct PlayedHost {
    platform: Arc<Platform>,
    host: HostId,
    run: Arc<Mutex<Run>>,
}

/// What has been played of a run.
#[derive(Debug)]
struct Run {
    engine: Engine,
    began: Instant,
    /// By how much computations took longer here than there, in all.
    late: Duration,
}

impl PlayedHost {
    /// A node that plays `host`.
    ///
    /// # Panics
    ///
    /// If the platform has no such host.
    #[must_use]
    pub fn new(platform: Arc<Platform>, host: HostId) -> Self {
        assert!(host.index() < platform.hosts().len(), "no {host}");
        let run = Arc::new(Mutex::new(Run::new(&platform)));
        Self {
            platform,
            host,
            run,
        }
    }

    /// Instructions per second of the host, without load.
    pub(super) fn speed(&self) -> InstructionsPerSecond {
        self.platform.host(self.host).speed
    }

    /// Starts a run: its clock is at zero.
    pub(super) fn begin(&self) {
        *self.lock() = Run::new(&self.platform);
    }

    /// When the last of several computations ends that began at `from` and have been executed by now; `None`: the host
    /// gives them nothing for ever.
    pub(super) fn end(&self, from: Instant, works: &[Instructions]) -> Option<Instant> {
        let mut run = self.lock();
        run.advance_to(from);
        for work in works {
            run.engine.compute(self.host, *work, Activity(0));
        }
        let mut ended = Vec::new();
        while ended.len() < works.len() {
            run.engine.advance(&mut ended)?;
        }
        let end = run.began + duration(run.engine.now() - units::Instant::START);
        run.late += end.elapsed();
        Some(end)
    }

    /// By how much computations took longer on this machine than on the host, in all, since the run began.
    pub(super) fn late(&self) -> Duration {
        self.lock().late
    }

    /// The mean external load during the last `window`, as [`Engine::load`].
    pub(super) fn load(&self, window: Seconds) -> f64 {
        self.now().engine.load(self.host, window)
    }

    /// The part of a processor that the owner took during the last `window`, as [`Engine::unavailable`].
    pub(super) fn unavailable(&self, window: Seconds) -> f64 {
        self.now().engine.unavailable(self.host, window)
    }

    /// The busy periods that began during the last `window`, as [`Engine::busy_periods`].
    pub(super) fn busy_periods(&self, window: Seconds) -> u64 {
        self.now().engine.busy_periods(self.host, window)
    }

    /// The ages of the owner's jobs, as [`Engine::job_ages`].
    pub(super) fn ages(&self) -> Vec<Seconds> {
        self.now().engine.job_ages(self.host)
    }

    /// The run as it is now.
    fn now(&self) -> MutexGuard<'_, Run> {
        let mut run = self.lock();
        run.advance_to(Instant::now());
        run
    }

    /// A run is replaced or moves on to a later date; there is nothing between.
    fn lock(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run {
    fn new(platform: &Arc<Platform>) -> Self {
        Self {
            engine: Engine::new(Arc::clone(platform), NetworkOptions::default()),
            began: Instant::now(),
            late: Duration::ZERO,
        }
    }

    /// Moves the clock of the engine to `date`, unless it is there already. Nothing is under way.
    fn advance_to(&mut self, date: Instant) {
        let passed = seconds(date.saturating_duration_since(self.began));
        let left = passed - (self.engine.now() - units::Instant::START);
        if Seconds::ZERO < left {
            self.engine.wake(left, Activity(0));
            let arrived = self.engine.advance(&mut Vec::new());
            debug_assert!(arrived.is_some(), "a timer ends");
        }
    }
}

/// The fraction of a processor that a node gives to programs.
///
/// Invariant: from [`Share::LEAST`] to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self(1.0);
    /// The smallest share: with less, a superstep of a minute would take days.
    pub const LEAST: f64 = 1e-3;

    /// `fraction`, if it is in the range of shares.
    #[must_use]
    pub fn new(fraction: f64) -> Option<Self> {
        let is_share = (Self::LEAST..=1.0).contains(&fraction);
        is_share.then_some(Self(fraction))
    }

    /// The fraction.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The time that a processor rests after it was busy for `busy`.
    pub(super) fn rest(self, busy: Duration) -> Duration {
        let rest = busy.as_secs_f64() * (1.0 / self.0 - 1.0);
        Duration::try_from_secs_f64(rest).unwrap_or(Duration::MAX)
    }
}

/// The time from `since` until now.
pub(super) fn elapsed(since: Instant) -> Seconds {
    seconds(since.elapsed())
}

#[cfg(test)]
mod tests {
    use simulator::{Discipline, Job, Jobs};

    use super::*;

    const HOST: HostId = HostId(1);

    /// A host of 1 Ginstr/s whose owner's job has a core from 1 to 3 s.
    fn played(discipline: Discipline) -> PlayedHost {
        let text =
            "[[set]]\nname = 'a'\nhosts = 2\nspeed = ['2e9', '1e9']\nlink = { bandwidth = 1e8 }";
        let job = Job {
            arrival: 1.0,
            work: 2.0,
        };
        let jobs = Jobs::new(vec![job], None, discipline).unwrap();
        let platform = Platform::from_toml(text).unwrap();
        PlayedHost::new(Arc::new(platform.with_jobs(HOST, jobs).unwrap()), HOST)
    }

    /// How many seconds after the run began computations end that began `from` seconds after it.
    fn end(host: &PlayedHost, from: f64, works: &[u64]) -> f64 {
        let works: Vec<Instructions> = works.iter().copied().map(Instructions).collect();
        let began = host.lock().began;
        let end = host
            .end(began + Duration::from_secs_f64(from), &works)
            .unwrap();
        (end - began).as_secs_f64()
    }

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
    }

    #[test]
    fn computations_end_when_they_end_in_a_simulation() {
        let host = played(Discipline::Preemptive);
        close(host.speed().get(), 1e9);
        close(end(&host, 0.25, &[500_000_000]), 0.75);
        // A quarter of a second is left before the job comes.
        close(end(&host, 0.75, &[250_000_000, 500_000_000]), 3.5);
        close(end(&host, 10.0, &[0]), 10.0);
        // The job and two computations of the same work share the core.
        let host = played(Discipline::Shared);
        close(end(&host, 1.0, &[2_000_000_000, 2_000_000_000]), 7.0);
    }

    #[test]
    fn loads_are_those_of_the_owner_and_a_run_begins_at_zero() {
        let host = played(Discipline::Preemptive);
        let window = Seconds::new(100.0).unwrap();
        assert_eq!((host.ages(), host.busy_periods(window)), (Vec::new(), 0));
        close(end(&host, 2.0, &[1]), 3.000_000_001);
        // The clock is at the end of the computation, and the job has gone.
        close(host.load(window), 2.0 / 3.0);
        close(host.unavailable(window), 2.0 / 3.0);
        assert_eq!((host.ages(), host.busy_periods(window)), (Vec::new(), 1));
        host.begin();
        close(host.load(window), 0.0);
        assert_eq!(host.busy_periods(window), 0);
    }

    #[test]
    fn a_host_that_is_fully_loaded_for_ever_computes_nothing() {
        let text = "[[set]]\nname = 'a'\nhosts = 1\nspeed = '1e9'\nlink = { bandwidth = 1e8 }\n\
                    [[load]]\nhosts = ['a']\npoints = [[0, 1]]";
        let host = PlayedHost::new(Arc::new(Platform::from_toml(text).unwrap()), HostId(0));
        assert_eq!(host.end(Instant::now(), &[Instructions(1)]), None);
    }

    #[test]
    fn what_this_machine_takes_longer_is_late() {
        let host = played(Discipline::Preemptive);
        thread::sleep(Duration::from_millis(20));
        close(end(&host, 0.0, &[1_000_000]), 0.001);
        assert!(
            Duration::from_millis(19) <= host.late(),
            "{:?}",
            host.late()
        );
    }

    #[test]
    fn a_share_is_what_is_busy_of_the_time() {
        let busy = Duration::from_secs(3);
        for (fraction, rest) in [(1.0, 0), (0.75, 1), (0.25, 9), (0.001, 2997)] {
            let rest = Duration::from_secs(rest);
            let share = Share::new(fraction).unwrap();
            assert!(share.rest(busy).abs_diff(rest) < Duration::from_micros(1));
        }
        for fraction in [0.0, -1.0, 0.000_999, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::new(fraction), None, "{fraction}");
        }
    }
}
