//! What migrations gained, from the record.

use std::ops::Range;

use serde::Serialize;

use crate::amortisation::Amortisation;
use crate::explain::against::Against;
use crate::explain::durations::{SuperstepDuration, mean};
use crate::explain::history::{ExplainedCall, History};

/// The gain of one call's migrations: the supersteps after it compared with the same ones without it.
///
/// Where scenario i is known, a superstep without the call takes what it took there, times the ratio of the
/// supersteps since the previous call to the same ones there. So savings of earlier migrations are not
/// counted again. A ratio is used because the same placement saves less in a program whose supersteps become
/// shorter. Otherwise it is the mean of the supersteps since the previous call, which assumes that they would
/// have stayed like that and includes changes of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Payback {
    /// The basis of comparison.
    pub(super) against: Against,
    /// Mean of the supersteps since the call before, in seconds.
    pub(super) before_seconds: f64,
    /// Mean of the supersteps until the next call, in seconds; without the first of several if the
    /// migrant paid for its move in it.
    pub(super) after_seconds: f64,
    /// What the same supersteps would have taken without the call, in seconds.
    pub(super) otherwise_seconds: f64,
    /// Cost of the call, in seconds.
    pub(super) cost_seconds: f64,
    /// Total time that the supersteps until the next migration saved, in seconds.
    pub(super) saved_seconds: f64,
    /// Supersteps until the next call with migrations, or the end.
    pub(super) supersteps: usize,
    /// Supersteps after which the total saving had reached the cost for good.
    pub(super) paid_after: Option<usize>,
    /// The superstep before the next migration.
    pub(super) next_move: Option<u64>,
}

/// The total gain of a run's migrations, compared with scenario i.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Balance {
    /// The basis of comparison: always scenario i, because other changes of the load count otherwise.
    pub(super) against: Against,
    /// Number of supersteps that both runs have.
    pub(super) supersteps: usize,
    /// Mean of the supersteps before the first move, since the call before it, in seconds.
    pub(super) before_seconds: f64,
    /// Mean of the supersteps after the last move, in seconds.
    pub(super) after_seconds: f64,
    /// Mean of the same supersteps as `after_seconds` in scenario i, in seconds.
    pub(super) otherwise_seconds: f64,
    /// Total time that supersteps saved compared with scenario i, less the cost of the calls, in seconds.
    pub(super) net_seconds: f64,
    /// The superstep from which on this was never negative.
    pub(super) paid_by: Option<usize>,
}

impl Payback {
    /// Gain of the call at position `index`; `None` if no process moved or no superstep followed.
    pub(super) fn of(history: &History, index: usize) -> Option<Self> {
        let calls = &history.calls;
        let call = &calls[index];
        if call.migrations.is_empty() {
            return None;
        }
        let begin = history.place(call.summary.superstep);
        let later = &calls[index + 1..];
        let next_call = later
            .first()
            .map(|next| history.place(next.summary.superstep));
        let next_move = later.iter().find(|next| !next.migrations.is_empty());
        let next_move = next_move.map(|next| next.summary.superstep);
        let own = compared(history);
        let before = index_before(history, index)..begin;
        let before_seconds = mean(own, before.clone())?;
        let end = own.len();
        let mut after = begin..next_call.map_or(end, |next| next.min(end));
        if history.rules.migrant_pays && 1 < after.len() {
            after.start += 1;
        }
        let after_seconds = mean(own, after.clone())?;
        let alone = history
            .baseline
            .as_ref()
            .map(|baseline| &baseline.supersteps[..]);
        let (against, share) = match alone.and_then(|alone| mean(alone, before)) {
            // Where nothing took time, nothing was saved.
            Some(there) if 0.0 < there => (Against::ScenarioI, before_seconds / there),
            Some(_) => (Against::ScenarioI, 1.0),
            None => (Against::Before, 1.0),
        };
        let otherwise_seconds = match alone {
            Some(alone) => mean(alone, after)? * share,
            None => before_seconds,
        };
        let until = next_move.map_or(end, |next| history.place(next).min(end));
        let mut saved = 0.0;
        let mut amortisation = Amortisation::default();
        amortisation.charge(call.summary.cost_seconds);
        let times = own.get(begin..until).unwrap_or_default();
        for (index, superstep) in times.iter().enumerate() {
            let otherwise =
                alone.map_or(before_seconds, |alone| alone[begin + index].seconds * share);
            let saving = otherwise - superstep.seconds;
            saved += saving;
            amortisation.save(saving);
        }
        Some(Self {
            against,
            before_seconds,
            after_seconds,
            otherwise_seconds,
            cost_seconds: call.summary.cost_seconds,
            saved_seconds: saved,
            supersteps: times.len(),
            paid_after: amortisation.paid_after(),
            next_move,
        })
    }

    /// Mean saving per superstep until the next call, in seconds.
    pub(super) fn gain(&self) -> f64 {
        self.otherwise_seconds - self.after_seconds
    }
}

impl Balance {
    /// Gain of all migrations; `None` if no process moved, no superstep followed, or scenario i is not known.
    pub(super) fn of(history: &History) -> Option<Self> {
        let alone = &history.baseline.as_ref()?.supersteps;
        let own = compared(history);
        let (before, after) = around_moves(history)?;
        let mut pending = history.calls.iter().peekable();
        let mut amortisation = Amortisation::default();
        for (index, (own, alone)) in own.iter().zip(alone).enumerate() {
            while let Some(call) =
                pending.next_if(|call| history.place(call.summary.superstep) <= index)
            {
                amortisation.charge(call.summary.cost_seconds);
            }
            amortisation.save(alone.seconds - own.seconds);
        }
        let paid_after = amortisation.paid_after();
        let first = history.run.first_superstep();
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        Some(Self {
            against: Against::ScenarioI,
            supersteps: own.len(),
            before_seconds: mean(own, before.clone())?,
            after_seconds: mean(own, after.clone())?,
            otherwise_seconds: mean(alone, after)?,
            net_seconds: amortisation.net(),
            // Savings before the first migration are not its own.
            paid_by: paid_after
                .map(|supersteps| supersteps.max(before.end + 1).saturating_add(first)),
        })
    }
}

/// Means of the supersteps before the first move, since the call before it, and after the last, in seconds; `None`
/// if no process moved or no superstep followed.
pub(super) fn means_around_moves(history: &History) -> Option<(f64, f64)> {
    let (before, after) = around_moves(history)?;
    let own = compared(history);
    Some((mean(own, before)?, mean(own, after)?))
}

/// The supersteps before the first move, since the call before it, and those after the last.
fn around_moves(history: &History) -> Option<(Range<usize>, Range<usize>)> {
    let calls = &history.calls;
    let moved = |call: &ExplainedCall| !call.migrations.is_empty();
    let first = calls.iter().position(moved)?;
    let last = calls.iter().rposition(moved)?;
    let begin = history.place(calls[first].summary.superstep);
    let end = history.place(calls[last].summary.superstep);
    Some((
        index_before(history, first)..begin,
        end..compared(history).len(),
    ))
}

/// Start of the interval before the call at `index`.
fn index_before(history: &History, index: usize) -> usize {
    let before = index.checked_sub(1).map(|before| &history.calls[before]);
    before.map_or(0, |call| history.place(call.summary.superstep))
}

/// The supersteps of the run that scenario i has, too; all of them if it is not known.
fn compared(history: &History) -> &[SuperstepDuration] {
    let own = &history.supersteps;
    let number = history.baseline.as_ref().map_or(own.len(), |baseline| {
        baseline.supersteps.len().min(own.len())
    });
    &own[..number]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use agents::record::{Extent, Migration, ResumedRun, Run};
    use bsp::units::{Instant, Seconds};
    use bsp::{HostId, Rank};

    use experiments::CallSummary;

    use super::*;
    use crate::explain::baseline::Baseline;
    use crate::explain::history::Ending;
    use crate::explain::rules::Rules;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// A call that cost a second, with or without a migration.
    fn call(superstep: u64, moved: bool) -> ExplainedCall {
        let migration = Migration {
            rank: Rank(0),
            from: HostId(0),
            to: HostId(1),
            potential: None,
            t1: seconds(1.0),
            t2: seconds(2.0),
            cost: seconds(0.5),
            per_byte: None,
        };
        ExplainedCall {
            summary: CallSummary {
                superstep,
                at: 0.0,
                cost_seconds: 1.0,
                interval: None,
                tolerance: None,
            },
            threshold: None,
            listed: 1,
            head: None,
            candidates: 0,
            dispositions: BTreeMap::new(),
            assessment: None,
            migrations: if moved { vec![migration] } else { Vec::new() },
            arrivals: Vec::new(),
            learned: None,
            remaining: None,
            asked: None,
        }
    }

    fn history(times: &[f64], calls: Vec<ExplainedCall>) -> History {
        let duration = |seconds: &f64| SuperstepDuration {
            seconds: *seconds,
            slowest: Rank(0),
        };
        History {
            folder: PathBuf::new(),
            run: Run {
                schema: String::new(),
                scenario: "iii".to_owned(),
                sets: Vec::new(),
                hosts: Vec::new(),
                members: Vec::new(),
                placement: vec!["a".to_owned()],
                round: bsp::Round::SUPERSTEP,
                resumed: None,
            },
            supersteps: times.iter().map(duration).collect(),
            baseline: None,
            unusable: None,
            calls,
            joins: Vec::new(),
            checkpoints: None,
            interactions: Vec::new(),
            end: Ending {
                failure: None,
                extent: Extent {
                    is_complete: true,
                    has_end: true,
                    supersteps: 0,
                    is_torn: false,
                },
                seconds: Instant::START,
                attainable: None,
                supersteps: 0,
            },
            rules: Rules::default(),
        }
    }

    #[test]
    fn supersteps_of_a_run_that_resumes_are_counted_from_its_first() {
        let times = [2.0, 2.0, 1.5, 1.5, 1.5, 1.5];
        let mut history = history(&times, vec![call(102, true), call(104, false)]);
        history.run.resumed = Some(ResumedRun {
            job: "ab".to_owned(),
            incarnation: 1,
            superstep: 100,
        });
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.paid_after, Some(2));
        assert_eq!(means_around_moves(&history), Some((2.0, 1.5)));
        let supersteps = history.supersteps.clone();
        history.baseline = Some(Baseline {
            folder: PathBuf::new(),
            supersteps,
            end: None,
        });
        assert_eq!(Balance::of(&history).unwrap().paid_by, None);
    }

    #[test]
    fn a_migration_is_paid_when_the_saving_reaches_the_cost() {
        let times = [2.0, 2.0, 1.5, 1.5, 1.5, 1.5];
        let history = history(&times, vec![call(2, true), call(4, false)]);
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.paid_after, Some(2));
        assert_eq!(payback.next_move, None);
        assert!((payback.gain() - 0.5).abs() < 1e-12);
        assert!((payback.saved_seconds - 2.0).abs() < 1e-12);
        assert_eq!(Payback::of(&history, 1), None);
        // Whether the load changed is not known.
        assert_eq!(Balance::of(&history), None);
        let (before, after) = means_around_moves(&history).unwrap();
        assert!((before - after - 0.5).abs() < 1e-12);
    }

    #[test]
    fn savings_after_the_next_migration_do_not_count() {
        let times = [2.0, 2.0, 1.9, 1.9, 0.5, 0.5];
        let history = history(&times, vec![call(2, true), call(4, true)]);
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!((payback.paid_after, payback.next_move), (None, Some(4)));
        assert_eq!(payback.supersteps, 2);
        assert!((payback.saved_seconds - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_migrants_payment_counts_in_the_sum_but_not_in_the_mean() {
        let times = [2.0, 2.0, 4.0, 1.0, 1.0];
        let mut history = history(&times, vec![call(2, true)]);
        history.rules.migrant_pays = true;
        let payback = Payback::of(&history, 0).unwrap();
        assert!((payback.gain() - 1.0).abs() < 1e-12);
        assert!(payback.saved_seconds.abs() < 1e-12);
        assert_eq!(payback.paid_after, None);
    }

    #[test]
    fn scenario_i_is_the_basis_if_its_record_exists() {
        let times = [1.0, 1.0, 2.0, 2.0];
        let mut history = history(&times, vec![call(2, true)]);
        let longer = |duration: &SuperstepDuration| SuperstepDuration {
            seconds: duration.seconds * 2.0,
            ..*duration
        };
        let supersteps = history.supersteps.iter().map(longer).collect();
        history.baseline = Some(Baseline {
            folder: PathBuf::new(),
            supersteps,
            end: None,
        });
        let balance = Balance::of(&history).unwrap();
        assert_eq!(balance.against, Against::ScenarioI);
        assert!((balance.net_seconds - 5.0).abs() < 1e-12);
        assert_eq!(balance.paid_by, Some(3));
    }

    /// Supersteps of scenario i.
    fn alone(times: &[f64]) -> Option<Baseline> {
        Some(Baseline {
            folder: PathBuf::new(),
            supersteps: history(times, Vec::new()).supersteps,
            end: None,
        })
    }

    #[test]
    fn supersteps_that_shorten_without_a_migration_are_no_saving() {
        let mut history = history(&[8.0, 6.0, 4.0, 2.0], vec![call(2, true)]);
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.against, Against::Before);
        assert!((payback.saved_seconds - 8.0).abs() < 1e-12);
        history.baseline = alone(&[8.0, 6.0, 4.5, 2.25]);
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.against, Against::ScenarioI);
        assert!((payback.before_seconds - 7.0).abs() < 1e-12);
        assert!((payback.otherwise_seconds - 3.375).abs() < 1e-12);
        assert!((payback.gain() - 0.375).abs() < 1e-12);
        assert!((payback.saved_seconds - 0.75).abs() < 1e-12);
        assert_eq!(payback.paid_after, None);
    }

    #[test]
    fn the_supersteps_that_both_runs_have_are_compared() {
        let mut history = history(&[2.0, 2.0, 1.0, 1.0], vec![call(2, true)]);
        for (times, supersteps, net) in [
            (&[2.0, 2.0, 2.0][..], 3, 0.0),
            (&[2.0, 2.0, 2.0, 2.0, 2.0], 4, 1.0),
        ] {
            history.baseline = alone(times);
            let balance = Balance::of(&history).unwrap();
            assert_eq!(balance.supersteps, supersteps);
            assert!((balance.net_seconds - net).abs() < 1e-12, "{balance:?}");
            assert!((balance.otherwise_seconds - 2.0).abs() < 1e-12);
            let payback = Payback::of(&history, 0).unwrap();
            assert_eq!(payback.supersteps, supersteps - 2);
        }
        // Nothing of scenario i after the move.
        history.baseline = alone(&[2.0, 2.0]);
        assert_eq!(Balance::of(&history), None);
        assert_eq!(Payback::of(&history, 0), None);
    }

    #[test]
    fn growing_load_is_no_loss_beside_scenario_i() {
        let mut history = history(&[1.0, 2.0, 2.0, 3.0, 4.0], vec![call(2, true)]);
        assert_eq!(Balance::of(&history), None);
        history.baseline = alone(&[1.0, 2.0, 4.0, 6.0, 8.0]);
        let balance = Balance::of(&history).unwrap();
        assert!((balance.net_seconds - 8.0).abs() < 1e-12);
        assert!(balance.before_seconds < balance.after_seconds);
    }

    #[test]
    fn savings_of_an_earlier_migration_are_not_counted_again() {
        let times = [8.0, 4.0, 2.0, 0.5];
        let mut history = history(&times, vec![call(1, true), call(2, true)]);
        history.baseline = alone(&[8.0, 8.0, 4.0, 2.0]);
        let first = Payback::of(&history, 0).unwrap();
        assert!((first.saved_seconds - 4.0).abs() < 1e-12);
        assert_eq!(first.paid_after, Some(1));
        // Half of the time in scenario i was saved before: 2 and 1 seconds would have remained.
        let second = Payback::of(&history, 1).unwrap();
        assert!((second.saved_seconds - 0.5).abs() < 1e-12);
        assert!((second.gain() - 0.25).abs() < 1e-12);
        assert_eq!(second.paid_after, None);
    }

    #[test]
    fn a_call_at_the_end_of_a_run_has_no_payback() {
        let history = history(&[2.0, 2.0], vec![call(2, true)]);
        assert_eq!(Payback::of(&history, 0), None);
        assert_eq!(Balance::of(&history), None);
    }
}
