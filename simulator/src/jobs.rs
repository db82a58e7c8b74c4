//! Jobs that the owner of a host runs on it, and which of them are present.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use bsp::units::Seconds;

/// Jobs that the owner of a host runs on it, beside the computations of [`Engine`](crate::Engine).
///
/// A job occupies one core. Jobs share the cores of their host equally among themselves. With a period, all of them
/// arrive again after every multiple of it, and the host begins as after a period of them: it may be busy at zero.
///
/// Invariant: at least one job; arrivals are finite, not negative and do not decrease; the work of each is finite and
/// above zero; the period, if any, exceeds the last arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    jobs: Arc<[Job]>,
    period: Option<f64>,
    discipline: Discipline,
}

/// A job of an owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// When it arrives, in seconds since the run began.
    pub arrival: f64,
    /// How long it occupies a core that it has for itself, in seconds.
    pub work: f64,
}

/// What our computations leave to jobs, and jobs to our computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Jobs come first: computations have the cores that jobs leave.
    Preemptive,
    /// An operating system shares the cores: a job counts as one computation more.
    Shared,
}

/// Why a list of jobs is not valid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum JobsError {
    /// No job.
    #[error("there must be at least one job")]
    Empty,
    /// An arrival that is negative, not finite, or before the one listed before it.
    #[error("invalid arrival `{arrival}` of a job: must be finite and not before {earliest} s")]
    Arrival {
        /// The arrival.
        arrival: f64,
        /// The arrival before it, or zero.
        earliest: f64,
    },
    /// Work that is not above zero and finite.
    #[error("invalid work `{0}` of a job: must be above 0 s and finite")]
    Work(f64),
    /// A period that is not longer than the last arrival.
    #[error("invalid period `{period}`: must be longer than the {last} s until the last arrival")]
    Period {
        /// The period.
        period: f64,
        /// The last arrival.
        last: f64,
    },
}

impl Jobs {
    /// These jobs, in the order of their arrival, repeated every `period` if one is given.
    ///
    /// # Errors
    ///
    /// Names the job, or the period, that breaks the invariant.
    pub fn new(
        jobs: Vec<Job>,
        period: Option<Seconds>,
        discipline: Discipline,
    ) -> Result<Self, JobsError> {
        let mut earliest = 0.0;
        for Job { arrival, work } in &jobs {
            if !(arrival.is_finite() && earliest <= *arrival) {
                let arrival = *arrival;
                return Err(JobsError::Arrival { arrival, earliest });
            }
            if !(work.is_finite() && 0.0 < *work) {
                return Err(JobsError::Work(*work));
            }
            earliest = *arrival;
        }
        let period = period.map(Seconds::get);
        match (jobs.is_empty(), period) {
            (true, _) => Err(JobsError::Empty),
            (false, Some(period)) if period <= earliest => Err(JobsError::Period {
                period,
                last: earliest,
            }),
            (false, period) => Ok(Self {
                jobs: jobs.into(),
                period,
                discipline,
            }),
        }
    }

    /// The jobs of the first period.
    #[must_use]
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Time after which they are repeated.
    #[must_use]
    pub fn period(&self) -> Option<Seconds> {
        self.period.and_then(|period| Seconds::new(period).ok())
    }

    /// What computations leave to jobs.
    #[must_use]
    pub const fn discipline(&self) -> Discipline {
        self.discipline
    }
}

/// The jobs of the owner of one host, as time goes on.
///
/// All jobs present progress at one rate, so a single virtual clock serves them all, as in
/// [`Processor`](crate::processor::Processor): it counts the seconds of a core that a job present since the clock was
/// zero would have had. The state moves only to dates at which a job arrives or ends, or the number of computations
/// changes. So it does not depend on when it is asked.
///
/// Jobs of owners are no activities: they never keep the clock going. A host without computations is brought up to date
/// when it is asked or used.
#[derive(Debug)]
pub(crate) struct OwnerQueue {
    jobs: Jobs,
    cores: f64,
    /// How many computations of the engine run on the host.
    computations: f64,
    /// The next job to arrive: its position, and the cycle in which it does.
    next: (usize, f64),
    /// First to end first.
    present: BinaryHeap<Reverse<Present>>,
    /// The virtual clock.
    done: f64,
    /// The date of the virtual clock.
    since: f64,
    /// Seconds of cores that jobs have had until `since`.
    taken: f64,
    /// Seconds for which a process would have been without a core until `since`.
    unavailable: f64,
    /// How often a job has arrived while none was present.
    periods: u64,
    /// The latest changes, the newest last.
    history: VecDeque<Change>,
    /// How many arrivals and ends there have been since a computation could have had a core.
    standstill: usize,
}

/// A job that has arrived and not ended.
#[derive(Clone, Copy, Debug)]
struct Present {
    /// What the virtual clock will show when it ends.
    end: f64,
    /// What the virtual clock showed when it arrived.
    begin: f64,
}

/// A date at which the cores that jobs have changed.
#[derive(Clone, Copy, Debug)]
struct Change {
    date: f64,
    /// Seconds of cores that jobs had had until then.
    taken: f64,
    /// Cores that jobs have from then on.
    cores: f64,
    /// Busy periods that have begun until then, this one included.
    periods: u64,
    /// Seconds for which a process would have been without a core until then, and the part of one it would be without.
    unavailable: (f64, f64),
}

impl OwnerQueue {
    /// The queue of a host with that many `cores`, at zero.
    pub(crate) fn new(jobs: Jobs, cores: u32) -> Self {
        let period = jobs.period().map(Seconds::get);
        let mut queue = Self {
            jobs,
            cores: f64::from(cores),
            computations: 0.0,
            next: (0, 0.0),
            present: BinaryHeap::new(),
            done: 0.0,
            since: 0.0,
            taken: 0.0,
            unavailable: 0.0,
            periods: 0,
            history: VecDeque::new(),
            standstill: 0,
        };
        if let Some(period) = period {
            queue.next.1 = -1.0;
            queue.since = -period;
            queue.advance(0.0);
            queue.progress(0.0);
            queue.taken = 0.0;
            queue.unavailable = 0.0;
        }
        queue.history.clear();
        queue.note();
        queue
    }

    /// Handles the arrivals and ends of jobs until `to`.
    pub(crate) fn advance(&mut self, to: f64) {
        while let Some(date) = self.next_change().filter(|date| *date <= to) {
            let ends = self.next_end().is_some_and(|end| end <= date);
            self.progress(date);
            if ends {
                self.end_first();
            } else {
                self.begin_next();
            }
            self.standstill = if self.leaves_core(date) {
                0
            } else {
                self.standstill.saturating_add(1)
            };
            self.note();
        }
    }

    /// From `at` on, that many `computations` run on the host.
    pub(crate) fn set_computations(&mut self, at: f64, computations: usize) {
        self.advance(at);
        let computations = computations as f64;
        if self.computations.to_bits() != computations.to_bits() {
            self.progress(at);
            self.computations = computations;
            self.note();
        }
    }

    /// When a job arrives or ends next, if nothing changes before.
    pub(crate) fn next_change(&self) -> Option<f64> {
        let (arrival, end) = (self.next_arrival(), self.next_end());
        match (arrival, end) {
            (Some(arrival), Some(end)) => Some(arrival.min(end)),
            (arrival, end) => arrival.or(end),
        }
    }

    /// Whether jobs seem to keep all cores for ever: they have for more arrivals and ends than a period has.
    pub(crate) fn is_stopped(&self) -> bool {
        let period = self.jobs.jobs().len().saturating_mul(STANDSTILL_PERIODS);
        period.max(STANDSTILL_MIN) < self.standstill
    }

    /// The part of a core that each computation has.
    pub(crate) fn left(&self) -> f64 {
        let jobs = self.present.len() as f64;
        match self.jobs.discipline() {
            Discipline::Preemptive => {
                let free = (self.cores - jobs).max(0.0);
                (free / self.computations.max(1.0)).min(1.0)
            }
            Discipline::Shared => (self.cores / (jobs + self.computations).max(1.0)).min(1.0),
        }
    }

    /// The part of the host's cores that jobs had from `from` to `to`; what they have at `to` if no time passes between
    /// them. The state must be that at `to`.
    pub(crate) fn load(&self, from: f64, to: f64) -> f64 {
        let from = from.max(self.history.front().map_or(to, |change| change.date));
        if to <= from {
            return self.taking() / self.cores;
        }
        let now = self.taken + self.taking() * (to - self.since).max(0.0);
        let after = self.history.partition_point(|change| change.date <= from);
        let before = self.history[after.saturating_sub(1)];
        let then = before.taken + before.cores * (from - before.date);
        ((now - then) / (to - from) / self.cores).clamp(0.0, 1.0)
    }

    /// The mean of what is [unavailable](Self::unavailable) from `from` to `to`, as [`load`](Self::load).
    pub(crate) fn mean_unavailable(&self, from: f64, to: f64) -> f64 {
        let from = from.max(self.history.front().map_or(to, |change| change.date));
        if to <= from {
            return self.unavailable();
        }
        let now = self.unavailable + self.unavailable() * (to - self.since).max(0.0);
        let after = self.history.partition_point(|change| change.date <= from);
        let before = self.history[after.saturating_sub(1)];
        let then = before.unavailable.0 + before.unavailable.1 * (from - before.date);
        ((now - then) / (to - from)).clamp(0.0, 1.0)
    }

    /// The part of a core that one computation, if it were the only one, would not have.
    pub(crate) fn unavailable(&self) -> f64 {
        let jobs = self.present.len() as f64;
        let share = match self.jobs.discipline() {
            Discipline::Preemptive => self.cores - jobs,
            Discipline::Shared => self.cores / (jobs + 1.0),
        };
        1.0 - share.clamp(0.0, 1.0)
    }

    /// How often from `from` on a job has arrived while none was present, as far as that is remembered.
    pub(crate) fn periods(&self, from: f64) -> u64 {
        let after = self.history.partition_point(|change| change.date < from);
        let before = after
            .checked_sub(1)
            .map_or(0, |last| self.history[last].periods);
        self.periods - before
    }

    /// Seconds of a core that each job present has had until `at`, in no order.
    pub(crate) fn ages(&self, at: f64) -> impl Iterator<Item = f64> {
        let done = self.done + self.rate() * (at - self.since).max(0.0);
        self.present
            .iter()
            .map(move |Reverse(job)| done - job.begin)
    }

    /// Whether a computation can have a part of a core from `date` until the next change, for more than an instant.
    fn leaves_core(&self, date: f64) -> bool {
        let until = self.next_change().unwrap_or(f64::INFINITY);
        self.unavailable() < 1.0 && date + INSTANT * (1.0 + date.abs()) < until
    }

    /// The part of a core that each job has.
    fn rate(&self) -> f64 {
        let jobs = self.present.len() as f64;
        let sharing = match self.jobs.discipline() {
            Discipline::Preemptive => jobs,
            Discipline::Shared => jobs + self.computations,
        };
        (self.cores / sharing.max(1.0)).min(1.0)
    }

    /// Cores that jobs have together.
    fn taking(&self) -> f64 {
        self.rate() * self.present.len() as f64
    }

    fn next_arrival(&self) -> Option<f64> {
        let (position, cycle) = self.next;
        let job = self.jobs.jobs().get(position)?;
        let shift = self
            .jobs
            .period()
            .map_or(0.0, |period| cycle * period.get());
        Some(job.arrival + shift)
    }

    fn next_end(&self) -> Option<f64> {
        let Reverse(first) = self.present.peek()?;
        Some(self.since + (first.end - self.done).max(0.0) / self.rate())
    }

    fn progress(&mut self, to: f64) {
        let passed = (to - self.since).max(0.0);
        self.taken += self.taking() * passed;
        self.unavailable += self.unavailable() * passed;
        self.done += self.rate() * passed;
        self.since = self.since.max(to);
    }

    fn begin_next(&mut self) {
        let (position, cycle) = self.next;
        let work = self.jobs.jobs()[position].work;
        self.periods += u64::from(self.present.is_empty());
        self.present.push(Reverse(Present {
            end: self.done + work,
            begin: self.done,
        }));
        let is_last = position + 1 == self.jobs.jobs().len();
        self.next = match self.jobs.period() {
            Some(_) if is_last => (0, cycle + 1.0),
            _ => (position + 1, cycle),
        };
    }

    fn end_first(&mut self) {
        if let Some(Reverse(first)) = self.present.pop() {
            self.done = self.done.max(first.end);
        }
        if self.present.is_empty() {
            self.done = 0.0;
        }
    }

    /// Notes what jobs have from now on, if that has changed.
    fn note(&mut self) {
        let (date, cores) = (self.since, self.taking());
        let unavailable = self.unavailable();
        let is_same = |last: &Change| {
            last.cores.to_bits() == cores.to_bits()
                && last.unavailable.1.to_bits() == unavailable.to_bits()
        };
        if self.history.back().is_some_and(is_same) {
            return;
        }
        self.history.push_back(Change {
            date,
            taken: self.taken,
            cores,
            periods: self.periods,
            unavailable: (self.unavailable, self.unavailable()),
        });
        let is_old = |next: &Change| next.date < date - REMEMBERED;
        while self.history.get(1).is_some_and(is_old) {
            self.history.pop_front();
        }
    }
}

impl Ord for Present {
    fn cmp(&self, other: &Self) -> Ordering {
        let ends = self.end.total_cmp(&other.end);
        ends.then(self.begin.total_cmp(&other.begin))
    }
}

impl PartialOrd for Present {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Present {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Present {}

/// Seconds for which the load is remembered.
const REMEMBERED: f64 = 3600.0;

/// What rounding leaves between an end and the arrival at the same date, in seconds and relative to the date.
const INSTANT: f64 = 1e-12;

/// Jobs that need less than the host has leave it a core in every period, in which each arrives once; as many end, and a
/// few of those before.
const STANDSTILL_PERIODS: usize = 8;
const STANDSTILL_MIN: usize = 10_000;

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;

    use super::{Job, *};

    fn jobs(jobs: &[(f64, f64)], period: Option<f64>) -> Result<Jobs, JobsError> {
        let jobs = jobs.iter();
        let jobs = jobs.map(|(arrival, work)| Job {
            arrival: *arrival,
            work: *work,
        });
        let period = period.map(|period| Seconds::new(period).unwrap());
        Jobs::new(jobs.collect(), period, Discipline::Shared)
    }

    #[test]
    fn invalid_jobs_are_refused() {
        assert!(jobs(&[(0.0, 1.0), (0.0, 2.0), (3.0, 0.5)], Some(3.5)).is_ok());
        assert_eq!(jobs(&[], None), Err(JobsError::Empty));
        let arrival = |arrival, earliest| Err(JobsError::Arrival { arrival, earliest });
        assert_eq!(jobs(&[(-1.0, 1.0)], None), arrival(-1.0, 0.0));
        assert_eq!(jobs(&[(2.0, 1.0), (1.0, 1.0)], None), arrival(1.0, 2.0));
        assert!(jobs(&[(f64::NAN, 1.0)], None).is_err());
        assert_eq!(jobs(&[(0.0, 0.0)], None), Err(JobsError::Work(0.0)));
        assert!(jobs(&[(0.0, f64::INFINITY)], None).is_err());
        let period = Err(JobsError::Period {
            period: 2.0,
            last: 2.0,
        });
        assert_eq!(jobs(&[(2.0, 1.0)], Some(2.0)), period);
    }

    fn queue(jobs: &[(f64, f64)], period: Option<f64>, discipline: Discipline) -> OwnerQueue {
        on_cores(1, jobs, period, discipline)
    }

    fn on_cores(
        cores: u32,
        jobs: &[(f64, f64)],
        period: Option<f64>,
        discipline: Discipline,
    ) -> OwnerQueue {
        let jobs = jobs.iter().map(|(arrival, work)| Job {
            arrival: *arrival,
            work: *work,
        });
        let period = period.map(|period| Seconds::new(period).unwrap());
        let jobs = Jobs::new(jobs.collect(), period, discipline).unwrap();
        OwnerQueue::new(jobs, cores)
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn jobs_share_the_core_and_leave_none_of_it_if_they_come_first() {
        // The first has the core until 2, then half of it: it ends at 6, the second at 7.
        let jobs = [(1.0, 3.0), (2.0, 3.0)];
        let mut queue = queue(&jobs, None, Discipline::Preemptive);
        close(queue.left(), 1.0);
        let mut dates = Vec::new();
        while let Some(date) = queue.next_change() {
            dates.push(date);
            queue.advance(date);
            close(queue.left(), if date < 7.0 { 0.0 } else { 1.0 });
            close(queue.load(0.5, date), (date - 1.0).min(6.0) / (date - 0.5));
        }
        assert_eq!(dates, [1.0, 2.0, 6.0, 7.0]);
        close(queue.load(0.0, 10.0), 0.6);
        close(queue.load(8.0, 8.0), 0.0);
    }

    #[test]
    fn a_shared_core_is_shared_with_computations_as_with_jobs() {
        let mut queue = queue(&[(0.0, 2.0), (0.0, 2.0)], None, Discipline::Shared);
        queue.advance(0.0);
        queue.set_computations(0.0, 2);
        close(queue.left(), 0.25);
        queue.set_computations(2.0, 1);
        close(queue.left(), 1.0 / 3.0);
        // Both have had half a second, and need one and a half more.
        let ages: Vec<f64> = queue.ages(5.0).collect();
        assert!(ages.iter().all(|age| (age - 1.5).abs() < 1e-9), "{ages:?}");
        close(queue.next_change().unwrap(), 6.5);
        close(queue.load(0.0, 5.0), (2.0 * 0.5 + 3.0 * 2.0 / 3.0) / 5.0);
    }

    #[test]
    fn cores_that_jobs_do_not_need_are_left() {
        let jobs = [(0.0, 4.0), (0.0, 4.0), (0.0, 4.0)];
        let mut queue = on_cores(4, &jobs, None, Discipline::Preemptive);
        queue.advance(0.0);
        queue.set_computations(0.0, 2);
        close(queue.left(), 0.5);
        queue.set_computations(0.0, 1);
        close(queue.left(), 1.0);
        close(queue.load(0.0, 0.0), 0.75);
    }

    #[test]
    fn jobs_of_the_end_of_a_period_are_present_when_it_begins() {
        // Two of its four seconds of work are left after ten seconds.
        let mut queue = queue(&[(8.0, 4.0)], Some(10.0), Discipline::Shared);
        let ages: Vec<f64> = queue.ages(0.0).collect();
        assert_eq!(ages, [2.0]);
        close(queue.next_change().unwrap(), 2.0);
        queue.advance(1000.0);
        close(queue.load(0.0, 1000.0), 0.4);
        close(queue.load(988.0, 992.0), 1.0);
    }

    #[test]
    fn jobs_that_need_all_cores_stop_the_host_and_others_do_not() {
        let is_stopped = |cores, jobs: &[(f64, f64)], period| {
            let mut queue = on_cores(cores, jobs, Some(period), Discipline::Preemptive);
            queue.advance(1e5);
            queue.is_stopped()
        };
        // Rounding leaves nothing between the end of a job and the next arrival.
        assert!(is_stopped(1, &[(0.1, 0.7), (0.8, 0.3)], 1.0));
        assert!(is_stopped(1, &[(0.0, 2.0)], 1.0));
        assert!(is_stopped(2, &[(0.3, 1.0), (0.3, 1.0)], 1.0));
        assert!(!is_stopped(1, &[(0.1, 0.7), (0.8, 0.299)], 1.0));
        assert!(!is_stopped(2, &[(0.3, 1.0), (0.3, 0.9)], 1.0));
        let mut shared = queue(&[(0.0, 1.0)], Some(1.0), Discipline::Shared);
        shared.set_computations(0.0, 1);
        shared.advance(1e4);
        assert!(!shared.is_stopped());
    }

    #[test]
    fn the_state_does_not_depend_on_when_it_is_asked() {
        let jobs = [(0.1, 0.7), (0.3, 1.3), (1.1, 0.4), (2.9, 0.35)];
        let mut often = queue(&jobs, Some(4.3), Discipline::Shared);
        let mut once = queue(&jobs, Some(4.3), Discipline::Shared);
        for step in 0..1000_u32 {
            often.advance(f64::from(step) / 7.0);
        }
        once.advance(999.0 / 7.0);
        let state = |queue: &OwnerQueue| (queue.done.to_bits(), queue.taken.to_bits());
        assert_eq!(state(&often), state(&once));
    }
}
