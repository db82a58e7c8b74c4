//! A host with its owner's jobs in a queue, event by event.

use std::collections::VecDeque;

use crate::law::{Draws, Law};

/// Which of the present jobs the host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// The owner's jobs, one after the other; the task, if there are none.
    OwnerFirst,
    /// All jobs and the task in equal parts.
    Sharing,
}

/// The queue of one host. Knows service times and arrivals, and nothing of busy periods.
#[derive(Debug)]
pub(crate) struct Queue {
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
    pub(crate) fn new(law: Law, utilisation: f64, discipline: Discipline, seed: u64) -> Self {
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
    pub(crate) fn clear(&mut self) {
        self.present.clear();
    }

    /// Serves jobs alone for `time`.
    pub(crate) fn pass(&mut self, mut time: f64) {
        while 0.0 < time {
            let rate = self.rate(0.0);
            let next = self.served(rate).min(self.arrival).min(time);
            self.serve(next, rate);
            time -= next;
        }
    }

    /// Serves jobs and a task of the time `dedicated`; how long that takes.
    pub(crate) fn finish(&mut self, dedicated: f64) -> f64 {
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
