//! The time that one task takes.

use bsp::units::Seconds;

use super::expected;
use super::interruptions::Interruptions;
use super::owner_jobs::OwnerJobs;
use super::present_jobs;

/// The time `T` from the arrival of a task at a host to its end, where the owner's jobs come first.
///
/// Equation `COMPLETION` of `docs/model.md`. The host is idle when the task arrives, unless
/// [`with_busy_start`](Self::with_busy_start) or [`with_ages`](Self::with_ages) says otherwise. Times above 10³⁰ s
/// count as that.
///
/// # Deviations
///
/// The paper prints the condition of 4-2 as `t ≥ w`. It must be `t ≥ w / τ`: a task is never faster than without
/// jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completion {
    jobs: OwnerJobs,
    /// Seconds without interruption, from zero to 10³⁰.
    dedicated: f64,
    /// Seconds before the task runs for the first time, at least zero.
    delay: f64,
}

impl Completion {
    /// A task that takes `dedicated` on the host without interruption: `w / τ`, unfinished work by capacity, which
    /// is above zero. Below zero counts as zero, and a task without work takes no time.
    #[must_use]
    pub fn new(dedicated: Seconds, jobs: &OwnerJobs) -> Self {
        Self {
            jobs: *jobs,
            dedicated: Seconds::bounded(dedicated.get().max(0.0)).get(),
            delay: 0.0,
        }
    }

    /// The same task if nothing is known of the host when it arrives: the jobs then present delay it by
    /// `Δ = λ E[X²] / (2 (1 − ρ)²)` in the mean, and the whole distribution is shifted by that. It replaces what has
    /// been said of the start.
    #[must_use]
    pub fn with_busy_start(self) -> Self {
        let rest = self.jobs.rest();
        let delay = self.jobs.arrivals() * self.jobs.second_moment() / (2.0 * rest * rest);
        self.after(delay)
    }

    /// The same task if jobs of these `ages` are present now, and it arrives after `begins`, the cost of its
    /// migration.
    ///
    /// A job is expected to take as long again as its age, and at least 2 s.
    /// Negative ages count as no job, a negative `begins` as zero. It replaces what has been said of the start.
    #[must_use]
    pub fn with_ages(self, ages: &[Seconds], begins: Seconds) -> Self {
        self.after(present_jobs::delay(ages, begins, self.jobs.utilisation()))
    }

    /// `E[T] = d / (1 − ρ)` and the delay of the start: exact for all distributions of service times.
    ///
    /// The same bits on every machine.
    #[must_use]
    pub fn mean(&self) -> Seconds {
        expected::mean(self.dedicated, self.jobs.utilisation(), self.delay)
    }

    /// `V[T] = λ d E[X²] / (1 − ρ)³`, in s²: exact for an idle start.
    ///
    /// The delay of a busy start counts as its mean and adds nothing, so the true variance is then higher; by how
    /// much, depends on the third moment of the service times.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let rest = self.jobs.rest();
        let number = self.jobs.arrivals() * self.dedicated;
        number * self.jobs.second_moment() / (rest * rest * rest)
    }

    /// `Pr(T ≤ t)`, in `[0, 1]`: equation 4-2.
    ///
    /// Zero before [`earliest`](Self::earliest), and at it `e^{−λd}`.
    #[must_use]
    pub fn probability(&self, t: Seconds) -> f64 {
        self.probability_by(self.interruptions().as_ref(), t.get())
    }

    /// The least time `t` with `Pr(T ≤ t) ≥ p`.
    ///
    /// `p` is in `[0, 1)`: below zero and NaN count as zero, and 1 or more as the next number below 1.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Seconds {
        let p = bounded_probability(p);
        let interruptions = self.interruptions();
        let reached = |t: f64| p <= self.probability_by(interruptions.as_ref(), t);
        let (mut below, mut above) = (self.earliest().get(), self.mean().get());
        if reached(below) {
            return self.earliest();
        }
        while !reached(above) {
            if Seconds::bounded(above).get() < above {
                return Seconds::bounded(above);
            }
            (below, above) = (above, 2.0 * above);
        }
        for _ in 0..HALVINGS_MAX {
            let middle = below + (above - below) / 2.0;
            if middle <= below || above <= middle {
                break;
            }
            if reached(middle) {
                above = middle;
            } else {
                below = middle;
            }
        }
        Seconds::bounded(above)
    }

    /// The time that the task takes if no job interrupts it.
    #[must_use]
    pub fn earliest(&self) -> Seconds {
        expected::mean(self.dedicated, 0.0, self.delay)
    }

    /// The distribution of what is added to [`earliest`](Self::earliest); `None` if that is nothing.
    pub(super) fn interruptions(&self) -> Option<Interruptions> {
        Interruptions::new(self.dedicated, &self.jobs)
    }

    fn after(self, delay: f64) -> Self {
        Self {
            delay: Seconds::bounded(delay).get(),
            ..self
        }
    }

    fn probability_by(&self, interruptions: Option<&Interruptions>, t: f64) -> f64 {
        let beyond = t - self.earliest().get();
        if beyond < 0.0 {
            return 0.0;
        }
        1.0 - interruptions.map_or(0.0, |sum| sum.survival(beyond))
    }
}

fn bounded_probability(p: f64) -> f64 {
    if p.is_nan() {
        0.0
    } else {
        p.clamp(0.0, 1.0 - f64::EPSILON / 2.0)
    }
}

/// Enough for any two floats to become neighbours.
const HALVINGS_MAX: u32 = 1100;

#[cfg(test)]
mod tests;
