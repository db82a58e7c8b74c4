//! The mean completion time, against a queue that is simulated event by event.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::collections::VecDeque;

use bsp::units::Seconds;
use lab_rules::completion::expected;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

#[test]
fn the_mean_on_an_idle_host_is_that_of_a_queue() {
    let mut seed = 0;
    for law in Law::ALL {
        for (utilisation, dedicated) in [(0.1, 10.0), (0.3, 1.0), (0.5, 100.0), (0.7, 10.0)] {
            seed += 1;
            let mut queue = Queue::new(law, utilisation, Discipline::OwnerFirst, seed);
            check(&mut queue, dedicated, |queue| {
                queue.clear();
                queue.finish(dedicated)
            });
        }
    }
}

#[test]
fn a_host_that_shares_its_time_has_the_mean_of_an_idle_start() {
    for law in [Law::Deterministic, Law::Exponential, Law::Hyperexponential] {
        let (dedicated, utilisation) = (2.0, 0.5);
        let mut queue = Queue::new(law, utilisation, Discipline::Sharing, 7);
        check(&mut queue, dedicated, |queue| {
            // Long after the host was idle.
            queue.pass(150.0);
            queue.finish(dedicated)
        });
    }
}

/// The mean of what `draw` draws may be four standard errors off.
fn check(queue: &mut Queue, dedicated: f64, draw: impl Fn(&mut Queue) -> f64) {
    let seconds = |value| Seconds::new(value).unwrap();
    let mean = expected(seconds(dedicated), queue.utilisation, &[], Seconds::ZERO).get();
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..TASKS {
        let difference = draw(queue) - mean;
        sum += difference;
        squares += difference * difference;
    }
    let count = f64::from(TASKS);
    let (difference, error) = (sum / count, squares.sqrt() / count);
    let (law, utilisation) = (queue.law, queue.utilisation);
    assert!(
        difference.abs() <= 4.0 * error,
        "{law:?}, utilisation {utilisation}, {dedicated} s: {difference} off {mean}, where the standard error is {error}"
    );
}

const TASKS: u32 = 10_000;

/// Which of the present jobs the host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discipline {
    /// The owner's jobs, one after the other; the task, if there are none.
    OwnerFirst,
    /// All jobs and the task in equal parts.
    Sharing,
}

/// The queue of one host. Knows service times and arrivals, and nothing of busy periods.
struct Queue {
    law: Law,
    utilisation: f64,
    discipline: Discipline,
    draws: Draws,
    /// Remaining service of the present jobs, the oldest first.
    present: VecDeque<f64>,
    /// Time until the next job arrives.
    arrival: f64,
}

impl Queue {
    /// An idle host. Jobs have a mean of 1, so the rate of arrivals is `utilisation`.
    fn new(law: Law, utilisation: f64, discipline: Discipline, seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let arrival = draws.exponential(1.0 / utilisation);
        Self {
            law,
            utilisation,
            discipline,
            draws,
            present: VecDeque::new(),
            arrival,
        }
    }

    /// Makes the host idle. The next arrival stays: it has no memory.
    fn clear(&mut self) {
        self.present.clear();
    }

    /// Serves jobs alone for `time`.
    fn pass(&mut self, mut time: f64) {
        while 0.0 < time {
            let rate = self.rate(0.0);
            let next = self.served(rate).min(self.arrival).min(time);
            self.serve(next, rate);
            time -= next;
        }
    }

    /// Serves jobs and a task of the time `dedicated`; how long that takes.
    fn finish(&mut self, dedicated: f64) -> f64 {
        let (mut now, mut left) = (0.0, dedicated);
        loop {
            let progress = match self.discipline {
                Discipline::OwnerFirst if self.present.is_empty() => 1.0,
                Discipline::OwnerFirst => 0.0,
                Discipline::Sharing => self.rate(1.0),
            };
            let rate = self.rate(1.0);
            let end = if 0.0 < progress {
                left / progress
            } else {
                f64::INFINITY
            };
            let next = self.served(rate).min(self.arrival);
            if end <= next {
                self.serve(end, rate);
                return now + end;
            }
            self.serve(next, rate);
            left -= next * progress;
            now += next;
        }
    }

    /// Service per job and second, beside `tasks`.
    fn rate(&self, tasks: f64) -> f64 {
        match self.discipline {
            Discipline::OwnerFirst => 1.0,
            Discipline::Sharing => 1.0 / (tasks + self.present.len() as f64),
        }
    }

    /// Time until the next present job ends.
    fn served(&self, rate: f64) -> f64 {
        match self.discipline {
            Discipline::OwnerFirst => self.present.front().copied().unwrap_or(f64::INFINITY),
            Discipline::Sharing => {
                self.present.iter().copied().fold(f64::INFINITY, f64::min) / rate
            }
        }
    }

    /// Serves for `time`, in which at most one job ends or arrives.
    fn serve(&mut self, time: f64, rate: f64) {
        match self.discipline {
            Discipline::OwnerFirst => {
                if let Some(first) = self.present.front_mut() {
                    *first -= time;
                    if *first <= 0.0 {
                        self.present.pop_front();
                    }
                }
            }
            Discipline::Sharing => {
                for job in &mut self.present {
                    *job -= time * rate;
                }
                // What rounding leaves of a job is none.
                self.present.retain(|job| 1e-12 < *job);
            }
        }
        self.arrival -= time;
        if self.arrival <= 0.0 {
            let service = self.law.draw(&mut self.draws);
            self.present.push_back(service);
            self.arrival = self.draws.exponential(1.0 / self.utilisation);
        }
    }
}

/// A distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Deterministic,
    /// The sum of four exponential numbers.
    Erlang,
    Exponential,
    /// One of two exponential numbers, each with half of the mean; the squared coefficient of variation is 4.
    Hyperexponential,
    /// `2 / x` with `x` even from 1/100 to 1, scaled to the mean.
    Pareto,
}

/// Random numbers of a test.
struct Draws(ChaCha8Rng);

impl Draws {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        1.0 - (self.0.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

impl Law {
    const ALL: [Self; 5] = [
        Self::Deterministic,
        Self::Erlang,
        Self::Exponential,
        Self::Hyperexponential,
        Self::Pareto,
    ];

    fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Deterministic => 1.0,
            Self::Erlang => (0..4).map(|_| draws.exponential(0.25)).sum(),
            Self::Exponential => draws.exponential(1.0),
            Self::Hyperexponential => {
                let share = Self::share();
                let frequent = draws.unit() <= share;
                let half = if frequent { share } else { 1.0 - share };
                draws.exponential(0.5 / half)
            }
            Self::Pareto => {
                let x = 1.0 / RANGE + (1.0 - 1.0 / RANGE) * draws.unit();
                2.0 / x / Self::pareto_mean()
            }
        }
    }

    /// How many of the hyperexponential jobs are of the frequent kind.
    fn share() -> f64 {
        (1.0 + (3.0_f64 / 5.0).sqrt()) / 2.0
    }

    fn pareto_mean() -> f64 {
        2.0 * RANGE.ln() / (1.0 - 1.0 / RANGE)
    }
}

const RANGE: f64 = 100.0;
