//! What the events of a job say about its supersteps.

use bsp::units::Instant;
use migbsp::median;
use record::Event;

use super::rounds::{FLOPS, Measurement, Rounds};

/// The times of the supersteps of a job, in seconds.
#[derive(Clone, Debug)]
pub struct Samples {
    rounds: Rounds,
    /// The end of the last superstep.
    ended: Option<Instant>,
    /// Times of h-relations, by the position of their number of words.
    relations: Vec<Vec<f64>>,
    /// Times of the slowest computation.
    computations: Vec<f64>,
}

impl Samples {
    /// No times yet of a job that executes `rounds`.
    #[must_use]
    pub fn new(rounds: Rounds) -> Self {
        Self {
            ended: None,
            relations: vec![Vec::new(); rounds.words().len()],
            computations: Vec::new(),
            rounds,
        }
    }

    /// Takes what is needed from an event. A superstep takes from the end of the one before until its own.
    pub fn observe(&mut self, event: &Event) {
        let Event::Superstep(superstep) = event else {
            return;
        };
        let before = self.ended.replace(superstep.ended);
        match self.rounds.measurement(superstep.index) {
            Measurement::None => {}
            Measurement::Rate => self.computations.push(superstep.computation.get()),
            Measurement::Relation(position) => {
                let took = before.map(|before| (superstep.ended - before).get());
                self.relations[position].extend(took);
            }
        }
    }

    /// How often each h-relation is counted.
    pub(super) const fn repetitions(&self) -> u32 {
        self.rounds.repetitions()
    }

    /// Floating-point operations per second of the slowest process, if it has taken a time.
    pub(super) fn flops_per_second(&self) -> Option<f64> {
        let seconds = median(self.computations.clone())?;
        Some(f64::from(FLOPS) / seconds).filter(|rate| rate.is_finite())
    }

    /// Numbers of words with the median of their times.
    pub(super) fn medians(&self) -> impl Iterator<Item = (u32, f64)> {
        let words = self.rounds.words().iter().copied();
        let times = self.relations.iter().cloned().map(median);
        let both = words.zip(times);
        both.filter_map(|(words, time)| Some((words, time?)))
    }
}
