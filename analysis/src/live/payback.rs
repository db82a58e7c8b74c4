//! The gain of migrations on real hosts, from the durations of supersteps.

use agents::record::Event;
use serde::Serialize;

use crate::amortisation::Amortisation;
use crate::text::{counted, rounded};

/// Durations of supersteps and calls during a run.
#[derive(Debug, Default)]
pub(super) struct PaybackMeter {
    /// Of each superstep, in seconds.
    supersteps: Vec<f64>,
    /// Each call with migrations.
    moving: Vec<MovingCall>,
}

/// A call with migrations.
#[derive(Clone, Copy, Debug)]
struct MovingCall {
    /// The number of complete supersteps.
    superstep: usize,
    migrations: usize,
    /// Its duration, and the predicted one, in seconds.
    cost: f64,
    predicted: f64,
}

/// The total gain of a run's migrations, compared with its supersteps before the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Payback {
    /// Processes that moved.
    migrations: usize,
    /// Median superstep before the first of them, in seconds.
    before_seconds: f64,
    /// Median superstep after the last, in seconds.
    after_seconds: f64,
    /// Duration of the calls with migrations, in seconds.
    cost_seconds: f64,
    /// Predicted duration of these calls, in seconds.
    predicted_seconds: f64,
    /// Supersteps after the first migration until all calls so far were paid for; not set: they are not.
    pub paid_after: Option<usize>,
}

impl PaybackMeter {
    /// Takes the durations from an event.
    pub(super) fn observe(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                self.supersteps
                    .push((superstep.ended - superstep.started).get());
            }
            Event::Call(call) if !call.migrations.is_empty() => {
                self.moving.push(MovingCall {
                    superstep: self.supersteps.len(),
                    migrations: call.migrations.len(),
                    cost: call.cost.get(),
                    predicted: call.predicted().get(),
                });
            }
            _ => {}
        }
    }

    /// The gain of the migrations; `None` without any, or without supersteps before or after them.
    pub(super) fn payback(&self) -> Option<Payback> {
        let (first, last) = (
            self.moving.first()?.superstep,
            self.moving.last()?.superstep,
        );
        let before_seconds = median(&self.supersteps[..first])?;
        let after_seconds = median(&self.supersteps[last..])?;
        let mut pending = self.moving.iter().peekable();
        let mut amortisation = Amortisation::default();
        for (index, seconds) in self.supersteps.iter().enumerate().skip(first) {
            while let Some(call) = pending.next_if(|call| call.superstep <= index) {
                amortisation.charge(call.cost);
            }
            amortisation.save(before_seconds - seconds);
        }
        Some(Payback {
            migrations: self.moving.iter().map(|call| call.migrations).sum(),
            before_seconds,
            after_seconds,
            cost_seconds: self.moving.iter().map(|call| call.cost).sum(),
            predicted_seconds: self.moving.iter().map(|call| call.predicted).sum(),
            paid_after: amortisation.paid_after(),
        })
    }
}

impl Payback {
    /// The same as a sentence.
    pub(super) fn sentence(&self) -> String {
        let milliseconds = |seconds: f64| rounded(seconds * 1e3, 3);
        let moves = counted(self.migrations, "migration");
        let (before, after) = (
            milliseconds(self.before_seconds),
            milliseconds(self.after_seconds),
        );
        let cost = milliseconds(self.cost_seconds);
        let predicted = milliseconds(self.predicted_seconds);
        let paid = match self.paid_after {
            Some(supersteps) => format!(
                "and had paid for themselves after {}",
                counted(supersteps, "superstep")
            ),
            None => "and have not paid for themselves".to_owned(),
        };
        format!(
            "{moves}: a superstep took {before} ms before the first and {after} ms after the last (medians); the \
             calls cost {cost} ms, where {predicted} ms were predicted, {paid}."
        )
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(supersteps: &[f64], moving: &[(usize, usize, f64)]) -> PaybackMeter {
        PaybackMeter {
            supersteps: supersteps.to_vec(),
            moving: moving
                .iter()
                .map(|(superstep, migrations, cost)| MovingCall {
                    superstep: *superstep,
                    migrations: *migrations,
                    cost: *cost,
                    predicted: cost / 2.0,
                })
                .collect(),
        }
    }

    #[test]
    fn moves_have_paid_when_what_was_saved_reaches_what_calls_cost() {
        let supersteps = [2.0, 2.0, 1.0, 1.0, 1.0, 0.5];
        let paid = |moving: &[(usize, usize, f64)]| {
            meter(&supersteps, moving).payback().unwrap().paid_after
        };
        assert_eq!(paid(&[(2, 1, 1.5)]), Some(2));
        // The second call takes the gain of the first.
        assert_eq!(paid(&[(2, 1, 1.5), (4, 2, 2.0)]), Some(4));
        assert_eq!(paid(&[(2, 1, 100.0)]), None);
        let payback = meter(&supersteps, &[(2, 1, 1.5), (4, 2, 2.0)])
            .payback()
            .unwrap();
        assert_eq!(
            payback.sentence(),
            "3 migrations: a superstep took 2000.000 ms before the first and 1000.000 ms after the last (medians); the \
             calls cost 3500.000 ms, where 1750.000 ms were predicted, and had paid for themselves after 4 supersteps."
        );
        assert_eq!(meter(&supersteps, &[]).payback(), None);
        assert_eq!(meter(&supersteps, &[(6, 1, 1.0)]).payback(), None);
    }
}
