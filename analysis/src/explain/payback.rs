//! What migrations gained, from the record.

use std::ops::Range;

use serde::Serialize;

use crate::amortisation::Amortisation;
use crate::explain::against::Against;
use crate::explain::durations::{SuperstepDuration, mean};
use crate::explain::history::{ExplainedCall, History};
use crate::explain::pace::Pace;

/// The gain of one call's migrations: the supersteps after it compared with the same ones without it.
///
/// On real hosts they are compared with the supersteps since the previous move, by medians of rounds, because times
/// are noisy, and so is another run.
///
/// In a simulation, where scenario i is known, a superstep without the call takes what it took there, times the ratio of the
/// supersteps since the previous call to the same ones there. So savings of earlier migrations are not
/// counted again. A ratio is used because the same placement saves less in a program whose supersteps become
/// shorter. Otherwise it is the mean of the supersteps since the previous call, which assumes that they would
/// have stayed like that and includes changes of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Payback {
    /// The basis of comparison.
    pub(super) against: Against,
    /// Mean of the supersteps since the call before, in seconds; on real hosts, the median since the previous move.
    pub(super) before_seconds: f64,
    /// Mean of the supersteps until the next call, in seconds; without the first of several if the
    /// migrant paid for its move in it. On real hosts, the median until the next move.
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
    /// Whether the migrations have paid for the call.
    pub(super) verdict: PaybackVerdict,
    /// Whether times were measured on real hosts.
    #[serde(skip)]
    pub(super) is_measured: bool,
}

/// Whether migrations have paid for their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PaybackVerdict {
    /// They have.
    Paid,
    /// They have not, as far as the record goes.
    NotPaid,
    /// Supersteps before and after them do not differ by more than they vary.
    Unknown,
}

impl PaybackVerdict {
    /// That of migrations which have paid after some supersteps, or have not.
    pub(super) const fn of<T>(paid: Option<T>) -> Self
    where
        T: Copy,
    {
        match paid {
            Some(_) => Self::Paid,
            None => Self::NotPaid,
        }
    }
}

impl Payback {
    /// Gain of the call at position `index`; `None` if no process moved or no superstep followed.
    pub(super) fn of(history: &History, index: usize) -> Option<Self> {
        let calls = &history.calls;
        let call = &calls[index];
        if call.migrations.is_empty() {
            return None;
        }
        if history.rules.is_measured {
            return Self::measured(history, index);
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
            verdict: PaybackVerdict::of(amortisation.paid_after()),
            is_measured: false,
        })
    }

    /// The same where times were measured.
    fn measured(history: &History, index: usize) -> Option<Self> {
        let calls = &history.calls;
        let call = &calls[index];
        let begin = history.place(call.summary.superstep);
        let moved = |call: &&ExplainedCall| !call.migrations.is_empty();
        let place = |call: &ExplainedCall| history.place(call.summary.superstep);
        let before = calls[..index].iter().rfind(moved).map_or(0, place)..begin;
        let next = calls[index + 1..].iter().find(moved);
        let end = history.supersteps.len();
        let after = begin..next.map_or(end, place).min(end);
        let supersteps = after.len();
        let (before, after) = (Pace::of(history, before), Pace::of(history, after));
        let before_seconds = before.median()?;
        let after_seconds = after.median()?;
        let saved = saved(history, index..index + 1, before_seconds);
        let paid_after = saved.paid_after().filter(|_| before.differs_from(&after));
        Some(Self {
            against: Against::Before,
            before_seconds,
            after_seconds,
            otherwise_seconds: before_seconds,
            cost_seconds: call.summary.cost_seconds,
            saved_seconds: saved.net() + call.summary.cost_seconds,
            supersteps,
            paid_after,
            next_move: next.map(|next| next.summary.superstep),
            verdict: if before.differs_from(&after) {
                PaybackVerdict::of(paid_after)
            } else {
                PaybackVerdict::Unknown
            },
            is_measured: true,
        })
    }

    /// Mean saving per superstep until the next call, in seconds.
    pub(super) fn gain(&self) -> f64 {
        self.otherwise_seconds - self.after_seconds
    }
}

/// What the moves of these calls saved until the next move, or the end, less what the calls that moved processes cost.
/// A superstep would have taken `before` seconds; it took the median until the next move.
pub(super) fn saved(history: &History, calls: Range<usize>, before: f64) -> Amortisation {
    let moved = |call: &&ExplainedCall| !call.migrations.is_empty();
    let all = &history.calls;
    let mut moving = all[calls.clone()].iter().filter(moved).peekable();
    let place = |call: &ExplainedCall| history.place(call.summary.superstep);
    let after = all[calls.end..].iter().find(moved);
    let end = after
        .map_or(usize::MAX, place)
        .min(history.supersteps.len());
    let mut amortisation = Amortisation::default();
    while let Some(call) = moving.next() {
        amortisation.charge(call.summary.cost_seconds);
        let until = moving.peek().map_or(end, |next| place(next).min(end));
        let range = place(call)..until;
        let pace = Pace::of(history, range.clone()).median();
        let pace = pace.or_else(|| mean(&history.supersteps, range.clone()));
        let saving = pace.map_or(0.0, |pace| before - pace);
        range.for_each(|_| amortisation.save(saving));
    }
    amortisation
}

/// Means of the supersteps before the first move, since the call before it, and after the last, in seconds; `None`
/// if no process moved or no superstep followed.
pub(super) fn means_around_moves(history: &History) -> Option<(f64, f64)> {
    let (before, after) = around_moves(history)?;
    let own = compared(history);
    Some((mean(own, before)?, mean(own, after)?))
}

/// The supersteps before the first move, since the call before it, and those after the last.
pub(super) fn around_moves(history: &History) -> Option<(Range<usize>, Range<usize>)> {
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
pub(super) fn compared(history: &History) -> &[SuperstepDuration] {
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

    use bsp::units::{Instant, Seconds};
    use bsp::{HostId, Rank};
    use record::{Extent, Migration, ResumedRun, Run};

    use experiments::CallSummary;

    use super::*;
    use crate::explain::balance::Balance;
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
            predicted_seconds: 0.5,
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
        assert!((balance.net_seconds.unwrap() - 5.0).abs() < 1e-12);
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
            assert!(
                (balance.net_seconds.unwrap() - net).abs() < 1e-12,
                "{balance:?}"
            );
            assert!((balance.otherwise_seconds.unwrap() - 2.0).abs() < 1e-12);
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
        assert!((balance.net_seconds.unwrap() - 8.0).abs() < 1e-12);
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

    /// A run on real hosts whose rounds of three supersteps end with superstep 3, 6, …, and a call that moves a process
    /// after this number of supersteps: what each superstep of a round takes, in ms, before and after it.
    fn measured(call_after: u64, before: &[[f64; 3]], after: &[[f64; 3]]) -> History {
        let rounds = before.iter().chain(after).flatten();
        let milliseconds: Vec<f64> = [&50.0].into_iter().chain(rounds).copied().collect();
        let times: Vec<f64> = milliseconds.iter().map(|time| time / 1e3).collect();
        let mut history = history(&times, vec![call(call_after, true)]);
        history.calls[0].summary.cost_seconds = 0.1;
        history.calls[0].predicted_seconds = 0.05;
        history.run.round = bsp::Round { length: 3, last: 0 };
        history.rules.is_measured = true;
        history
    }

    #[test]
    fn measured_moves_are_judged_by_medians_of_rounds_without_the_cold_ones() {
        // Six supersteps count as cold: two whole rounds that begin before the sixth superstep.
        let cold = [[90.0, 90.0, 90.0]; 2];
        let before = [&cold[..], &[[5.6, 18.4, 19.1]; 7]].concat();
        let mut after = vec![[4.0, 12.0, 14.0]; 20];
        // One spike of others changes no median.
        after[3][1] = 4000.0;
        let history = measured(28, &before, &after);
        let balance = Balance::of(&history).unwrap();
        // 43.1 ms and 30 ms a round: 13.1 / 3 ms are saved in each superstep, and 100 ms are paid after 22.9 of them.
        assert!((balance.before_seconds.unwrap() * 3e3 - 43.1).abs() < 1e-9);
        assert!((balance.after_seconds.unwrap() * 3e3 - 30.0).abs() < 1e-9);
        assert_eq!((balance.paid_after, balance.paid_by), (Some(23), Some(51)));
        let net = 60.0 * 13.1 / 3e3 - 0.1;
        assert!((balance.net_seconds.unwrap() - net).abs() < 1e-9);
        assert_eq!(
            balance.sentence(3),
            "1 migration: the calls cost 100 ms, where 50 ms were predicted. A superstep took 14.4 ms before the first \
             (median of 7 rounds of 3 supersteps) and 10 ms after the last (median of 20 rounds of 3 supersteps). If the \
             load has not changed, they had paid for themselves after 23 supersteps."
        );
        let payback = Payback::of(&history, 0).unwrap();
        assert_eq!(payback.paid_after, balance.paid_after);
        assert_eq!(payback.verdict, balance.verdict);
        assert!((payback.before_seconds * 3e3 - 43.1).abs() < 1e-9);
        // Scenario i on real hosts is another noisy run.
        let mut compared = measured(28, &before, &after);
        compared.baseline = alone(&[1.0; 88]);
        assert_eq!(Balance::of(&compared), Some(balance));
        assert_eq!(Payback::of(&compared, 0), Some(payback));
    }

    #[test]
    fn few_or_noisy_rounds_give_no_verdict() {
        let after = [[4.0, 12.0, 14.0]; 20];
        // As reported: three rounds before the call after superstep 10.
        let history = measured(10, &[[5.6, 18.4, 19.1]; 3], &after);
        let balance = Balance::of(&history).unwrap();
        assert_eq!((balance.paid_after, balance.net_seconds), (None, None));
        assert_eq!(balance.verdict, PaybackVerdict::Unknown);
        assert_eq!(
            Payback::of(&history, 0).unwrap().verdict,
            PaybackVerdict::Unknown
        );
        let sentence = balance.sentence(3);
        assert!(
            sentence.contains(
                "cannot be told from 1 round of 3 supersteps before the first: it takes 6"
            ),
            "{sentence}"
        );
        // Ten rounds of 9, 12 and 15 ms a superstep: from 9 to 15 ms, with 95 % confidence.
        let noisy: Vec<[f64; 3]> = (0..10)
            .map(|index| [9.0 + 3.0 * f64::from(index % 3); 3])
            .collect();
        let before = [&[[90.0; 3]; 2], &noisy[..]].concat();
        let balance = Balance::of(&measured(37, &before, &after)).unwrap();
        assert_eq!(balance.verdict, PaybackVerdict::Unknown);
        let sentence = balance.sentence(3);
        assert!(
            sentence.contains("cannot be told from 10 rounds of 3 supersteps before and 20 after"),
            "{sentence}"
        );
        // Longer supersteps after a move are a loss, or another load.
        let lost = measured(
            28,
            &[&[[90.0; 3]; 2], &[[4.0, 12.0, 14.0]; 7][..]].concat(),
            &[[40.0; 3]; 7],
        );
        let balance = Balance::of(&lost).unwrap();
        assert_eq!(balance.verdict, PaybackVerdict::NotPaid);
        assert!(
            balance
                .sentence(3)
                .ends_with("They did not pay, or the load has changed.")
        );
    }
}
