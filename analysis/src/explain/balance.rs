//! What all migrations of a run gained together.

use serde::Serialize;

use crate::amortisation::Amortisation;
use crate::explain::against::Against;
use crate::explain::durations::mean;
use crate::explain::history::{ExplainedCall, History};
use crate::explain::pace::{COLD, Pace, ROUNDS_MIN};
use crate::explain::payback::{PaybackVerdict, around_moves, compared, saved};
use crate::text::{counted, duration, rounded};

/// The total gain of a run's migrations: in a simulation compared with scenario i, on real hosts with the supersteps
/// before the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Balance {
    /// The basis of comparison. In a simulation it is scenario i, because other changes of the load count otherwise.
    pub(super) against: Against,
    /// Processes that moved, each as often as it did.
    pub(super) migrations: usize,
    /// Number of supersteps that were compared.
    pub(super) supersteps: usize,
    /// Before the first move: on real hosts the median of rounds, in a simulation the mean since the call before.
    pub(super) before_seconds: Option<f64>,
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
    pub(super) paid_by: Option<usize>,
    /// On real hosts: complete rounds before the first move that count, and after the last.
    pub(super) rounds_before: Option<usize>,
    pub(super) rounds_after: Option<usize>,
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
            first: usize::try_from(first).unwrap_or(usize::MAX),
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
