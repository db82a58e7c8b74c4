//! What migrations gained: those of a call, and all of a run.

use std::ops::Range;

use bsp::numbers::position;
use model::median;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::explain::history::{ExplainedCall, History, SuperstepTimes, mean};
use crate::text::{counted, duration, rounded};

/// The basis of comparison of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum Against {
    /// The same supersteps of scenario i.
    ScenarioI,
    /// Its own supersteps before the migration, assuming that they would have stayed like that.
    Before,
}

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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Payback {
    /// The basis of comparison.
    pub(super) against: Against,
    /// Mean of the supersteps since the call before, in seconds; on real hosts, the median since the previous move.
    before_seconds: f64,
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
pub(super) fn compared(history: &History) -> &[SuperstepTimes] {
    let own = &history.supersteps;
    let number = history.baseline.as_ref().map_or(own.len(), |baseline| {
        baseline.supersteps.len().min(own.len())
    });
    &own[..number]
}

/// The total gain of a run's migrations: in a simulation compared with scenario i, on real hosts with the supersteps
/// before the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Balance {
    /// The basis of comparison. In a simulation it is scenario i, because other changes of the load count otherwise.
    pub(super) against: Against,
    /// Processes that moved, each as often as it did.
    pub(super) migrations: usize,
    /// Number of supersteps that were compared.
    pub(super) supersteps: usize,
    /// Before the first move: on real hosts the median of rounds, in a simulation the mean since the call before.
    before_seconds: Option<f64>,
    /// The same of the supersteps after the last move.
    pub(super) after_seconds: Option<f64>,
    /// What the supersteps after the last move would have taken without any, in seconds.
    pub(super) otherwise_seconds: Option<f64>,
    /// Duration of the calls that moved processes, in seconds.
    pub(super) cost_seconds: f64,
    /// Predicted duration of these calls, in seconds.
    pub(super) predicted_seconds: f64,
    /// Total time that supersteps saved, less the cost of calls, in seconds: of all calls in a simulation, on real hosts of
    /// those that moved processes. Not set: it cannot be told.
    pub(super) net_seconds: Option<f64>,
    /// Supersteps after the first move after which this was never negative.
    pub(super) paid_after: Option<usize>,
    /// The same, counted from the beginning of the run.
    paid_by: Option<usize>,
    /// On real hosts: complete rounds before the first move that count, and after the last.
    rounds_before: Option<usize>,
    /// The same after the last move.
    rounds_after: Option<usize>,
    /// Whether the moves have paid for the calls.
    pub(super) verdict: PaybackVerdict,
}

/// Migrations and calls that moved processes.
struct Moves {
    migrations: usize,
    cost: f64,
    predicted: f64,
    /// The places of the first superstep after the first move, and of the first of the run.
    begin: usize,
    first: usize,
}

impl Moves {
    fn of(history: &History) -> Option<Self> {
        let moved = |call: &&ExplainedCall| !call.migrations.is_empty();
        let calls = || history.calls.iter().filter(moved);
        let first = history.run.first_superstep();
        Some(Self {
            migrations: calls().map(|call| call.migrations.len()).sum(),
            cost: calls().map(|call| call.summary.cost_seconds).sum(),
            predicted: calls().map(|call| call.predicted_seconds).sum(),
            begin: history.place(calls().next()?.summary.superstep),
            first: position(first),
        })
    }

    /// `paid_after` and `paid_by` of moves that had paid after this number of supersteps from the first move on.
    fn paid(&self, after: Option<usize>) -> (Option<usize>, Option<usize>) {
        let by = after.map(|after| (self.begin + after).saturating_add(self.first));
        (after, by)
    }
}

impl Balance {
    /// Gain of all migrations; `None` if no process moved, no superstep followed or, in a simulation, scenario i is not
    /// known.
    pub(crate) fn of(history: &History) -> Option<Self> {
        if history.rules.is_measured {
            Self::measured(history)
        } else {
            Self::simulated(history)
        }
    }

    fn simulated(history: &History) -> Option<Self> {
        let alone = &history.baseline.as_ref()?.supersteps;
        let moves = Moves::of(history)?;
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
        // Savings before the first migration are not its own.
        let paid_after = amortisation.paid_after();
        let paid_after = paid_after.map(|paid| paid.saturating_sub(moves.begin).max(1));
        let (paid_after, paid_by) = moves.paid(paid_after);
        Some(Self {
            against: Against::ScenarioI,
            migrations: moves.migrations,
            supersteps: own.len(),
            before_seconds: Some(mean(own, before)?),
            after_seconds: Some(mean(own, after.clone())?),
            otherwise_seconds: Some(mean(alone, after)?),
            cost_seconds: moves.cost,
            predicted_seconds: moves.predicted,
            net_seconds: Some(amortisation.net()),
            paid_after,
            paid_by,
            rounds_before: None,
            rounds_after: None,
            verdict: PaybackVerdict::of(paid_after),
        })
    }

    fn measured(history: &History) -> Option<Self> {
        let moves = Moves::of(history)?;
        let (_, after) = around_moves(history)?;
        let supersteps = history.supersteps.len();
        if after.start.min(supersteps) == supersteps {
            return None;
        }
        let after = Pace::of(history, after.start..supersteps);
        let before = Pace::of(history, 0..moves.begin);
        let is_told = before.differs_from(&after);
        let pace = before.median().filter(|_| is_told);
        let saved = pace.map(|before| saved(history, 0..history.calls.len(), before));
        let (paid_after, paid_by) = moves.paid(saved.as_ref().and_then(Amortisation::paid_after));
        Some(Self {
            against: Against::Before,
            migrations: moves.migrations,
            supersteps,
            before_seconds: before.median(),
            after_seconds: after.median(),
            otherwise_seconds: before.median(),
            cost_seconds: moves.cost,
            predicted_seconds: moves.predicted,
            net_seconds: saved.as_ref().map(Amortisation::net),
            paid_after,
            paid_by,
            rounds_before: Some(before.number()),
            rounds_after: Some(after.number()),
            verdict: if is_told {
                PaybackVerdict::of(paid_after)
            } else {
                PaybackVerdict::Unknown
            },
        })
    }

    /// The same in words; `length` is the number of supersteps of a round.
    pub(crate) fn sentence(&self, length: u64) -> String {
        match (self.rounds_before, self.rounds_after) {
            (Some(before), Some(after)) => self.measured_sentence(before, after, length),
            _ => self.simulated_sentence(),
        }
    }

    fn simulated_sentence(&self) -> String {
        let shown = |seconds: Option<f64>| rounded(seconds.unwrap_or_default(), 4);
        let (after, otherwise) = (shown(self.after_seconds), shown(self.otherwise_seconds));
        let net = rounded(self.net_seconds.unwrap_or_default().abs(), 3);
        let outcome = match self.paid_by {
            Some(superstep) => format!(
                "the moves had paid for all calls by superstep {superstep} and saved {net} s by the end"
            ),
            None => format!("the moves did not pay for the calls and cost {net} s by the end"),
        };
        format!(
            "After the last move a superstep took {after} s, and {otherwise} s in scenario i: {outcome}."
        )
    }

    fn measured_sentence(&self, before: usize, after: usize, length: u64) -> String {
        let moves = counted(self.migrations, "migration");
        let (cost, predicted) = (
            duration(self.cost_seconds),
            duration(self.predicted_seconds),
        );
        let rounds = |number: usize| {
            if length <= 1 {
                counted(number, "superstep")
            } else {
                format!("{} of {length} supersteps", counted(number, "round"))
            }
        };
        let paces = [
            (self.before_seconds, before, "before the first"),
            (self.after_seconds, after, "after the last"),
        ];
        let paces = paces.into_iter().filter_map(|(seconds, number, when)| {
            let seconds = duration(seconds?);
            Some(format!("{seconds} {when} (median of {})", rounds(number)))
        });
        let paces = paces.collect::<Vec<_>>().join(" and ");
        let paces = if paces.is_empty() {
            String::new()
        } else {
            format!(" A superstep took {paces}.")
        };
        let outcome = match self.verdict {
            PaybackVerdict::Paid => format!(
                "If the load has not changed, they had paid for themselves after {}.",
                counted(self.paid_after.unwrap_or_default(), "superstep")
            ),
            PaybackVerdict::NotPaid if self.before_seconds < self.after_seconds => {
                "They did not pay, or the load has changed.".to_owned()
            }
            PaybackVerdict::NotPaid => "They had not paid for themselves by the end.".to_owned(),
            PaybackVerdict::Unknown => self.unknown(before, after, &rounds),
        };
        format!(
            "{moves}: the calls cost {cost}, where {predicted} were predicted.{paces} {outcome}"
        )
    }

    /// Why there is no verdict.
    fn unknown(&self, before: usize, after: usize, rounds: &dyn Fn(usize) -> String) -> String {
        let few = [(before, "before the first"), (after, "after the last")];
        let few = few.into_iter().find(|(number, _)| *number < ROUNDS_MIN);
        let reason = match few {
            Some((number, when)) => format!(
                "Whether they paid for themselves cannot be told from {} {when}: it takes {ROUNDS_MIN}, and the first {} of a run do not count.",
                rounds(number),
                counted(COLD, "superstep")
            ),
            None => format!(
                "Whether they paid for themselves cannot be told from {} before and {after} after: these differ as much \
                 among each other.",
                rounds(before)
            ),
        };
        format!("{reason} {INSTEAD}")
    }
}

/// How to learn what moves gain on real hosts.
const INSTEAD: &str = "`run FILE --policy none --out DIR` records scenario i; several runs of each policy, in turn, tell \
                       a difference from noise.";

/// How long supersteps took, by complete rounds, without the first ones of the run.
///
/// Equation `PACE` of `docs/model.md`.
#[derive(Clone, Debug, PartialEq)]
struct Pace {
    /// Seconds of a superstep in each round, the shortest first.
    rounds: Vec<f64>,
}

impl Pace {
    /// The pace of the complete rounds in `range`.
    pub(super) fn of(history: &History, range: Range<usize>) -> Self {
        let supersteps = &history.supersteps;
        let round = history.run.round;
        let length = position(round.length).max(1);
        let first = history.run.first_superstep();
        let begin = range.start.max(COLD);
        let ends = range.filter(|place| {
            let index = u64::try_from(*place).map_or(u64::MAX, |place| first.saturating_add(place));
            let is_whole = (place + 1)
                .checked_sub(length)
                .is_some_and(|start| begin <= start);
            is_whole && round.ends_with(index)
        });
        let seconds = ends.filter_map(|last| {
            let of_round = supersteps.get(last + 1 - length..=last)?;
            let sum: f64 = of_round.iter().map(|superstep| superstep.seconds).sum();
            Some(sum / f64::from(u32::try_from(length).ok()?))
        });
        Self::new(seconds.collect())
    }

    fn new(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { rounds }
    }

    /// Number of rounds.
    pub(super) const fn number(&self) -> usize {
        self.rounds.len()
    }

    /// Median seconds of a superstep; `None` without rounds.
    pub(super) fn median(&self) -> Option<f64> {
        median(self.rounds.clone())
    }

    /// The interval that covers the median of the source of these rounds with 95 % confidence, from their order alone;
    /// `None` if they are too few.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let number = u32::try_from(self.rounds.len()).ok()?;
        let binomial = Binomial::new(0.5, number.into()).ok()?;
        // Some places before the first one that the tail reaches.
        let spread = 1.1 * f64::from(number).sqrt() + 1.0;
        let below = |place: &u32| f64::from(*place) < f64::from(number) / 2.0 - spread;
        let start = (0..number).take_while(below).count();
        let reaches =
            |place: &usize| u64::try_from(*place).is_ok_and(|place| TAIL <= binomial.cdf(place));
        let place = (start..self.rounds.len()).find(reaches)?;
        let low = self.rounds.get(place.checked_sub(1)?)?;
        let high = self.rounds.get(self.rounds.len() - place)?;
        Some((*low, *high))
    }

    /// Whether the two paces differ by more than they vary.
    fn differs_from(&self, other: &Self) -> bool {
        match (self.interval(), other.interval()) {
            (Some(one), Some(other)) => one.1 < other.0 || other.1 < one.0,
            _ => false,
        }
    }
}

/// The first supersteps of a run on real hosts: caches, connections and threads are cold, and they do not count.
const COLD: usize = 5;

/// The part of samples whose median is below the interval, and that of those whose median is above it.
const TAIL: f64 = 0.025;

/// Number of rounds below which there is no interval.
const ROUNDS_MIN: usize = 6;

/// Savings of supersteps less costs of calls, in seconds.
///
/// Migrations have paid for themselves after the first superstep from which on the difference is never
/// negative.
#[derive(Debug, Default)]
pub(super) struct Amortisation {
    net: f64,
    supersteps: usize,
    paid_after: Option<usize>,
}

impl Amortisation {
    /// Subtracts the cost of a call.
    pub(crate) fn charge(&mut self, cost: f64) {
        self.net -= cost;
    }

    /// Adds the saving of the next superstep; a negative one is a loss.
    pub(crate) fn save(&mut self, seconds: f64) {
        self.net += seconds;
        self.supersteps += 1;
        if self.net < 0.0 {
            self.paid_after = None;
        } else {
            self.paid_after.get_or_insert(self.supersteps);
        }
    }

    /// Savings less costs so far.
    pub(crate) const fn net(&self) -> f64 {
        self.net
    }

    /// Number of supersteps after which the migrations had paid for themselves; `None`: they have not.
    pub(crate) const fn paid_after(&self) -> Option<usize> {
        self.paid_after
    }
}

#[cfg(test)]
mod tests;
