//! How fast workers executed their tasks, and how much their times varied.

use super::interactions::TimedInteraction;

/// How fast workers executed their tasks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// By worker; `None`: it executed no task.
    pub(super) workers: Vec<Option<WorkerRate>>,
    /// The relative standard deviation of the time per task of a worker between interactions, over all workers.
    pub(super) noise: f64,
    /// The same for interactions of a single task, if tasks vary independently.
    pub(super) noise_of_task: f64,
}

/// What a worker executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WorkerRate {
    /// Tasks of all interactions.
    pub(super) tasks: u64,
    /// The time that they took.
    pub(super) seconds: f64,
}

impl WorkerRate {
    /// Tasks per second.
    pub(super) fn rate(self) -> f64 {
        self.tasks as f64 / self.seconds
    }
}

impl Rates {
    /// The rates that `interactions` show.
    pub(super) fn of(interactions: &[TimedInteraction]) -> Self {
        let number = interactions.iter().map(|one| one.dealt.len()).max();
        let (mut squares, mut squares_of_tasks, mut degrees) = (0.0, 0.0, 0_usize);
        let mut workers = Vec::new();
        for worker in 0..number.unwrap_or(0) {
            let shares: Vec<(f64, f64)> = interactions
                .iter()
                .filter_map(|one| Some((*one.dealt.get(worker)?, *one.took.get(worker)?)))
                .filter(|(dealt, took)| 0 < *dealt && 0.0 < *took)
                .map(|(dealt, took)| (dealt as f64, took))
                .collect();
            let tasks: f64 = shares.iter().map(|(dealt, _)| dealt).sum();
            let seconds: f64 = shares.iter().map(|(_, took)| took).sum();
            if shares.is_empty() {
                workers.push(None);
                continue;
            }
            let mean = seconds / tasks;
            for (dealt, took) in &shares {
                let deviation = took / dealt / mean - 1.0;
                squares += deviation * deviation;
                squares_of_tasks += dealt * deviation * deviation;
            }
            degrees += shares.len() - 1;
            let dealt = interactions
                .iter()
                .filter_map(|one| one.dealt.get(worker).zip(one.took.get(worker)));
            let tasks = dealt.filter(|(_, took)| 0.0 < **took);
            workers.push(Some(WorkerRate {
                tasks: tasks.map(|(dealt, _)| dealt).sum(),
                seconds,
            }));
        }
        let deviation = |squares: f64| match degrees {
            0 => 0.0,
            degrees => (squares / degrees as f64).sqrt(),
        };
        let noise = deviation(squares);
        let is_rounding = noise < ROUNDING;
        Self {
            workers,
            noise: if is_rounding { 0.0 } else { noise },
            noise_of_task: if is_rounding {
                0.0
            } else {
                deviation(squares_of_tasks)
            },
        }
    }

    /// The sum of all rates.
    pub(super) fn sum(&self) -> f64 {
        self.workers.iter().flatten().map(|one| one.rate()).sum()
    }
}

/// Deviations below this part are of floating-point numbers.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn interaction(dealt: &[u64], took: &[f64]) -> TimedInteraction {
        TimedInteraction {
            superstep: 1,
            began: 0.0,
            dealt: dealt.to_vec(),
            took: took.to_vec(),
            deal: 0.0,
            execute: 0.0,
            tell: 0.0,
        }
    }

    #[test]
    fn rates_are_of_all_tasks_and_noise_is_between_interactions() {
        let steady = [
            interaction(&[4, 2, 0], &[2.0, 4.0, 0.0]),
            interaction(&[8, 3, 0], &[4.0, 6.0, 0.0]),
        ];
        let rates = Rates::of(&steady);
        assert!(rates.noise.abs() < 1e-12, "{rates:?}");
        assert!((rates.sum() - 2.5).abs() < 1e-12);
        assert_eq!(rates.workers[2], None);
        let noisy = [
            interaction(&[10], &[0.9]),
            interaction(&[10], &[1.1]),
            interaction(&[10], &[1.0]),
        ];
        let rates = Rates::of(&noisy);
        assert!((rates.noise - 0.1).abs() < 1e-12, "{rates:?}");
        assert!((rates.noise_of_task - 0.1 * 10_f64.sqrt()).abs() < 1e-12);
    }
}
