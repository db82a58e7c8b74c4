//! What migrations gained: those of a call, and all of a run.

use std::collections::VecDeque;
use std::ops::Range;

use bsp::Round;
use bsp::numbers::position;
use model::median;
use record::Run;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::run::calls::{Rules, RunCall};
use crate::text::{counted, duration, rounded};

/// The basis of comparison of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Against {
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
pub(crate) struct Payback {
    /// The basis of comparison.
    pub(crate) against: Against,
    /// Mean of the supersteps since the call before, in seconds; on real hosts, the median since the previous move.
    before_seconds: f64,
    /// Mean of the supersteps until the next call, in seconds; without the first of several if the
    /// migrant paid for its move in it. On real hosts, the median until the next move.
    pub(crate) after_seconds: f64,
    /// What the same supersteps would have taken without the call, in seconds.
    pub(crate) otherwise_seconds: f64,
    /// Cost of the call, in seconds.
    pub(crate) cost_seconds: f64,
    /// Total time that the supersteps until the next migration saved, in seconds.
    pub(crate) saved_seconds: f64,
    /// Supersteps until the next call with migrations, or the end.
    pub(crate) supersteps: usize,
    /// Supersteps after which the total saving had reached the cost for good.
    pub(crate) paid_after: Option<usize>,
    /// The superstep before the next migration.
    pub(crate) next_move: Option<u64>,
    /// Whether the migrations have paid for the call.
    pub(crate) verdict: PaybackVerdict,
    /// Whether times were measured on real hosts.
    #[serde(skip)]
    pub(crate) is_measured: bool,
}

/// Whether migrations have paid for their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PaybackVerdict {
    /// They have.
    Paid,
    /// They have not, as far as the record goes.
    NotPaid,
    /// Supersteps before and after them do not differ by more than they vary.
    Unknown,
}

impl PaybackVerdict {
    /// That of migrations which have paid after some supersteps, or have not.
    const fn of(paid: Option<usize>) -> Self {
        match paid {
            Some(_) => Self::Paid,
            None => Self::NotPaid,
        }
    }
}

impl Payback {
    /// Mean saving per superstep until the next call, in seconds.
    pub(crate) fn gain(&self) -> f64 {
        self.otherwise_seconds - self.after_seconds
    }
}

/// The total gain of a run's migrations: in a simulation compared with scenario i, on real hosts with the supersteps
/// before the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Balance {
    /// The basis of comparison. In a simulation it is scenario i, because other changes of the load count otherwise.
    pub(crate) against: Against,
    /// Processes that moved, each as often as it did.
    pub(crate) migrations: usize,
    /// Number of supersteps that were compared.
    pub(crate) supersteps: usize,
    /// Before the first move: on real hosts the median of rounds, in a simulation the mean since the call before.
    before_seconds: Option<f64>,
    /// The same of the supersteps after the last move.
    pub(crate) after_seconds: Option<f64>,
    /// What the supersteps after the last move would have taken without any, in seconds.
    pub(crate) otherwise_seconds: Option<f64>,
    /// Duration of the calls that moved processes, in seconds.
    pub(crate) cost_seconds: f64,
    /// Predicted duration of these calls, in seconds.
    pub(crate) predicted_seconds: f64,
    /// Total time that supersteps saved, less the cost of calls, in seconds: of all calls in a simulation, on real hosts of
    /// those that moved processes. Not set: it cannot be told.
    pub(crate) net_seconds: Option<f64>,
    /// Supersteps after the first move after which this was never negative.
    pub(crate) paid_after: Option<usize>,
    /// The same, counted from the beginning of the run.
    paid_by: Option<usize>,
    /// On real hosts: complete rounds before the first move that count.
    rounds_before: Option<usize>,
    /// The same after the last move.
    rounds_after: Option<usize>,
    /// Whether the moves have paid for the calls.
    pub(crate) verdict: PaybackVerdict,
}

impl Balance {
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
    fn new(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { rounds }
    }

    /// Median seconds of a superstep; `None` without rounds.
    fn median(&self) -> Option<f64> {
        median(self.rounds.clone())
    }

    /// The interval that covers the median of the source of these rounds with 95 % confidence, from their order alone;
    /// `None` if they are too few.
    fn interval(&self) -> Option<(f64, f64)> {
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
#[derive(Clone, Debug, Default)]
struct Amortisation {
    /// Savings less costs so far.
    net: f64,
    supersteps: usize,
    /// Number of supersteps after which the migrations had paid for themselves; `None`: they have not.
    paid_after: Option<usize>,
}

impl Amortisation {
    /// Subtracts the cost of a call.
    fn charge(&mut self, cost: f64) {
        self.net -= cost;
    }

    /// Adds the saving of the next superstep; a negative one is a loss.
    fn save(&mut self, seconds: f64) {
        self.net += seconds;
        self.supersteps += 1;
        if self.net < 0.0 {
            self.paid_after = None;
        } else {
            self.paid_after.get_or_insert(self.supersteps);
        }
    }
}

/// Seconds of supersteps, added in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    seconds: f64,
    number: usize,
}

impl Sum {
    /// Adds the next superstep.
    pub(crate) fn add(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.number += 1;
    }

    /// Number of supersteps.
    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    /// Seconds of one, on average; `None` without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        let number = u32::try_from(self.number).ok()?;
        (0 < number).then(|| self.seconds / f64::from(number))
    }
}

/// Supersteps of the run, and the same ones of scenario i if it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Both {
    own: Sum,
    alone: Sum,
}

impl Both {
    fn add(&mut self, own: f64, alone: Option<f64>) {
        self.own.add(own);
        if let Some(alone) = alone {
            self.alone.add(alone);
        }
    }
}

/// What migrations gained, as the run is read. Nothing of it grows with the number of supersteps but the rounds of runs on
/// real hosts: medians and their intervals are of all of them.
#[derive(Clone, Debug)]
pub(super) struct GainReading {
    first: usize,
    moves: Option<Moves>,
    basis: Basis,
}

/// What the supersteps after migrations are compared with.
#[derive(Clone, Debug)]
enum Basis {
    Simulated(Box<SimulatedGains>),
    Measured(MeasuredGains),
}

/// What migrations gained.
#[derive(Clone, Debug, Default)]
pub(super) struct Gains {
    pub(crate) balance: Option<Balance>,
    /// Means of the supersteps before the first move, since the call before it, and after the last, in seconds; `None`
    /// if no process moved or no superstep followed.
    pub(crate) around_moves: Option<(f64, f64)>,
    /// Those of calls, by their positions.
    pub(crate) paybacks: Vec<(usize, Payback)>,
}

/// Migrations and calls that moved processes.
#[derive(Clone, Copy, Debug)]
struct Moves {
    migrations: usize,
    cost: f64,
    predicted: f64,
    /// The places of the first superstep after the first move, and of the first of the run.
    begin: usize,
    first: usize,
}

impl Moves {
    /// `paid_after` and `paid_by` of moves that had paid after this number of supersteps from the first move on.
    fn paid(&self, after: Option<usize>) -> (Option<usize>, Option<usize>) {
        let by = after.map(|after| (self.begin + after).saturating_add(self.first));
        (after, by)
    }
}

impl GainReading {
    /// Nothing of `run` has been read. `has_baseline`: its supersteps come with those of scenario i.
    pub(crate) fn new(run: &Run, rules: &Rules, has_baseline: bool) -> Self {
        Self {
            first: position(run.first_superstep()),
            moves: None,
            basis: if rules.is_measured {
                Basis::Measured(MeasuredGains::new(run))
            } else {
                Basis::Simulated(Box::new(SimulatedGains::new(rules, has_baseline)))
            },
        }
    }

    /// A superstep took `own` seconds, and `alone` in scenario i, if that is known and has it.
    pub(crate) fn elapse(&mut self, own: f64, alone: Option<f64>) {
        match &mut self.basis {
            Basis::Simulated(gains) => gains.elapse(own, alone),
            Basis::Measured(gains) => gains.elapse(own),
        }
    }

    /// The `call` at position `index` was held.
    pub(crate) fn call(&mut self, index: usize, call: &RunCall) {
        let (cost, superstep) = (call.summary.cost_seconds, call.summary.superstep);
        let is_moving = !call.migrations.is_empty();
        if is_moving {
            let begin = position(superstep).saturating_sub(self.first);
            let moves = self.moves.get_or_insert(Moves {
                migrations: 0,
                cost: 0.0,
                predicted: 0.0,
                begin,
                first: self.first,
            });
            moves.migrations += call.migrations.len();
            moves.cost += cost;
            moves.predicted += call.predicted_seconds;
        }
        match &mut self.basis {
            Basis::Simulated(gains) => gains.call(index, (superstep, cost, is_moving)),
            Basis::Measured(gains) if is_moving => gains.settle(index, (superstep, cost)),
            Basis::Measured(_) => {}
        }
    }

    /// All of the run has been read.
    pub(crate) fn end(self) -> Gains {
        match self.basis {
            Basis::Simulated(gains) => gains.end(self.moves),
            Basis::Measured(gains) => gains.end(self.moves),
        }
    }
}

/// What migrations gained in a simulation.
#[derive(Clone, Debug, Default)]
struct SimulatedGains {
    migrant_pays: bool,
    has_baseline: bool,
    /// All supersteps of the run, and those that scenario i has, too; all if it is not known.
    supersteps: usize,
    compared: usize,
    /// The place of the last call, and what was compared since.
    called: usize,
    since_call: Both,
    has_moved: bool,
    /// The supersteps before the first move, since the call before it, if all of them were compared.
    before: Option<Both>,
    since_move: Both,
    /// The cost of a call that no compared superstep follows yet.
    charged: Option<f64>,
    /// Over all calls.
    amortisation: Amortisation,
    /// The gain of the last move.
    open: Option<OpenPayback>,
    paybacks: Vec<(usize, Payback)>,
}

/// The gain of the migrations of a call, until the next ones.
#[derive(Clone, Debug)]
struct OpenPayback {
    index: usize,
    against: Against,
    before_seconds: f64,
    /// What a superstep without the call takes of the same one of scenario i.
    share: f64,
    cost: f64,
    /// The supersteps until the next call, and the same ones without the first.
    after: Both,
    later: Both,
    is_called: bool,
    saved: f64,
    amortisation: Amortisation,
}

impl SimulatedGains {
    fn new(rules: &Rules, has_baseline: bool) -> Self {
        Self {
            migrant_pays: rules.migrant_pays,
            has_baseline,
            ..Self::default()
        }
    }

    fn elapse(&mut self, own: f64, alone: Option<f64>) {
        self.supersteps += 1;
        if self.has_baseline && alone.is_none() {
            return;
        }
        self.compared += 1;
        self.since_call.add(own, alone);
        self.since_move.add(own, alone);
        if let Some(open) = &mut self.open {
            open.elapse(own, alone);
        }
        if let Some(cost) = self.charged.take() {
            self.amortisation.charge(cost);
        }
        self.amortisation.save(alone.unwrap_or(own) - own);
    }

    fn call(&mut self, index: usize, (superstep, cost, is_moving): (u64, f64, bool)) {
        let since = self.supersteps - self.called;
        let before = Some(self.since_call).filter(|before| before.own.number == since);
        self.charged = Some(cost);
        if is_moving {
            self.settle(Some(superstep));
            let before_seconds = before.and_then(|before| Some((before, before.own.mean()?)));
            self.open = before_seconds
                .map(|(before, seconds)| OpenPayback::new(index, cost, (seconds, before.alone)));
            if !self.has_moved {
                self.before = before;
                self.has_moved = true;
            }
            self.since_move = Both::default();
        } else if let Some(open) = &mut self.open {
            open.is_called = true;
        }
        self.called = self.supersteps;
        self.since_call = Both::default();
    }

    /// The last move is over: the `next` one is after this superstep, or there is none.
    fn settle(&mut self, next: Option<u64>) {
        let Some(open) = self.open.take() else { return };
        let index = open.index;
        let payback = open.end(next, (self.migrant_pays, self.has_baseline));
        self.paybacks
            .extend(payback.map(|payback| (index, payback)));
    }

    fn end(mut self, moves: Option<Moves>) -> Gains {
        self.settle(None);
        let means = self
            .before
            .and_then(|before| before.own.mean().zip(self.since_move.own.mean()));
        Gains {
            balance: moves.and_then(|moves| self.balance(moves, means?)),
            around_moves: means,
            paybacks: self.paybacks,
        }
    }

    fn balance(&self, moves: Moves, (before, after): (f64, f64)) -> Option<Balance> {
        if !self.has_baseline {
            return None;
        }
        // Savings before the first migration are not its own.
        let paid_after = self.amortisation.paid_after;
        let paid_after = paid_after.map(|paid| paid.saturating_sub(moves.begin).max(1));
        let (paid_after, paid_by) = moves.paid(paid_after);
        Some(Balance {
            against: Against::ScenarioI,
            migrations: moves.migrations,
            supersteps: self.compared,
            before_seconds: Some(before),
            after_seconds: Some(after),
            otherwise_seconds: Some(self.since_move.alone.mean()?),
            cost_seconds: moves.cost,
            predicted_seconds: moves.predicted,
            net_seconds: Some(self.amortisation.net),
            paid_after,
            paid_by,
            rounds_before: None,
            rounds_after: None,
            verdict: PaybackVerdict::of(paid_after),
        })
    }
}

impl OpenPayback {
    /// The gain of the call at position `index`, before which a superstep took this many seconds; `alone`: the same ones in
    /// scenario i.
    fn new(index: usize, cost: f64, (before_seconds, alone): (f64, Sum)) -> Self {
        let (against, share) = match alone.mean() {
            // Where nothing took time, nothing was saved.
            Some(there) if 0.0 < there => (Against::ScenarioI, before_seconds / there),
            Some(_) => (Against::ScenarioI, 1.0),
            None => (Against::Before, 1.0),
        };
        let mut amortisation = Amortisation::default();
        amortisation.charge(cost);
        Self {
            index,
            against,
            before_seconds,
            share,
            cost,
            after: Both::default(),
            later: Both::default(),
            is_called: false,
            saved: 0.0,
            amortisation,
        }
    }

    fn elapse(&mut self, own: f64, alone: Option<f64>) {
        if !self.is_called {
            if 0 < self.after.own.number {
                self.later.add(own, alone);
            }
            self.after.add(own, alone);
        }
        let otherwise = alone.map_or(self.before_seconds, |alone| alone * self.share);
        let saving = otherwise - own;
        self.saved += saving;
        self.amortisation.save(saving);
    }

    /// The gain, if a superstep followed. The next move is after superstep `next_move`.
    fn end(
        self,
        next_move: Option<u64>,
        (migrant_pays, has_baseline): (bool, bool),
    ) -> Option<Payback> {
        let after = if migrant_pays && 0 < self.later.own.number {
            self.later
        } else {
            self.after
        };
        let after_seconds = after.own.mean()?;
        Some(Payback {
            against: self.against,
            before_seconds: self.before_seconds,
            after_seconds,
            otherwise_seconds: if has_baseline {
                after.alone.mean()? * self.share
            } else {
                self.before_seconds
            },
            cost_seconds: self.cost,
            saved_seconds: self.saved,
            supersteps: self.amortisation.supersteps,
            paid_after: self.amortisation.paid_after,
            next_move,
            verdict: PaybackVerdict::of(self.amortisation.paid_after),
            is_measured: false,
        })
    }
}

/// What migrations gained on real hosts.
#[derive(Clone, Debug)]
struct MeasuredGains {
    round: Round,
    /// The superstep that is read next, and its place.
    index: u64,
    place: usize,
    /// Seconds of the last supersteps, as many as a round has.
    last: VecDeque<f64>,
    /// The supersteps before the first move, and those after each.
    pieces: Vec<Piece>,
    /// The calls that moved processes: their positions, supersteps and costs.
    moving: Vec<(usize, u64, f64)>,
}

/// The supersteps between two moves.
#[derive(Clone, Debug, Default)]
struct Piece {
    /// The place of the first.
    begin: usize,
    all: Sum,
    /// Seconds of a superstep in each complete round that counts.
    rounds: Vec<f64>,
}

impl MeasuredGains {
    fn new(run: &Run) -> Self {
        Self {
            round: run.round,
            index: run.first_superstep(),
            place: 0,
            last: VecDeque::new(),
            pieces: vec![Piece::default()],
            moving: Vec::new(),
        }
    }

    fn elapse(&mut self, seconds: f64) {
        let length = position(self.round.length).max(1);
        if self.last.len() == length {
            self.last.pop_front();
        }
        self.last.push_back(seconds);
        if let Some(piece) = self.pieces.last_mut() {
            piece.all.add(seconds);
            let begin = (self.place + 1).checked_sub(length);
            let is_whole = begin.is_some_and(|begin| piece.begin.max(COLD) <= begin);
            if is_whole && self.round.ends_with(self.index) {
                let sum: f64 = self.last.iter().sum();
                let length = u32::try_from(length).map(f64::from);
                piece.rounds.extend(length.map(|length| sum / length));
            }
        }
        self.place += 1;
        self.index = self.index.saturating_add(1);
    }

    /// The call at position `index`, after `superstep`, has moved processes.
    fn settle(&mut self, index: usize, (superstep, cost): (u64, f64)) {
        self.moving.push((index, superstep, cost));
        self.pieces.push(Piece {
            begin: self.place,
            ..Piece::default()
        });
    }

    /// What these moves saved until the next move, or the end, less what the calls that moved processes cost. A superstep
    /// would have taken `before` seconds; it took the median until the next move.
    fn saved(&self, moves: Range<usize>, before: f64) -> Amortisation {
        let mut amortisation = Amortisation::default();
        for (index, (_, _, cost)) in self
            .moving
            .iter()
            .enumerate()
            .take(moves.end)
            .skip(moves.start)
        {
            amortisation.charge(*cost);
            let piece = &self.pieces[index + 1];
            let pace = piece.pace().median().or_else(|| piece.all.mean());
            let saving = pace.map_or(0.0, |pace| before - pace);
            (0..piece.all.number).for_each(|_| amortisation.save(saving));
        }
        amortisation
    }

    fn payback(&self, index: usize) -> Option<Payback> {
        let (_, _, cost) = self.moving[index];
        let next = self.moving.get(index + 1);
        let (before, after) = (self.pieces[index].pace(), self.pieces[index + 1].pace());
        let before_seconds = before.median()?;
        let after_seconds = after.median()?;
        let saved = self.saved(index..index + 1, before_seconds);
        let differs = before.differs_from(&after);
        let paid_after = saved.paid_after.filter(|_| differs);
        Some(Payback {
            against: Against::Before,
            before_seconds,
            after_seconds,
            otherwise_seconds: before_seconds,
            cost_seconds: cost,
            saved_seconds: saved.net + cost,
            supersteps: self.pieces[index + 1].all.number,
            paid_after,
            next_move: next.map(|(_, superstep, _)| *superstep),
            verdict: if differs {
                PaybackVerdict::of(paid_after)
            } else {
                PaybackVerdict::Unknown
            },
            is_measured: true,
        })
    }

    fn balance(&self, moves: Moves) -> Option<Balance> {
        let [first, .., last] = &self.pieces[..] else {
            return None;
        };
        if last.all.number == 0 {
            return None;
        }
        let (before, after) = (first.pace(), last.pace());
        let is_told = before.differs_from(&after);
        let pace = before.median().filter(|_| is_told);
        let saved = pace.map(|before| self.saved(0..self.moving.len(), before));
        let (paid_after, paid_by) = moves.paid(saved.as_ref().and_then(|saved| saved.paid_after));
        Some(Balance {
            against: Against::Before,
            migrations: moves.migrations,
            supersteps: self.place,
            before_seconds: before.median(),
            after_seconds: after.median(),
            otherwise_seconds: before.median(),
            cost_seconds: moves.cost,
            predicted_seconds: moves.predicted,
            net_seconds: saved.as_ref().map(|saved| saved.net),
            paid_after,
            paid_by,
            rounds_before: Some(before.rounds.len()),
            rounds_after: Some(after.rounds.len()),
            verdict: if is_told {
                PaybackVerdict::of(paid_after)
            } else {
                PaybackVerdict::Unknown
            },
        })
    }

    fn end(self, moves: Option<Moves>) -> Gains {
        let paybacks = self.moving.iter().enumerate();
        let paybacks =
            paybacks.filter_map(|(place, (index, ..))| Some((*index, self.payback(place)?)));
        Gains {
            balance: moves.and_then(|moves| self.balance(moves)),
            around_moves: None,
            paybacks: paybacks.collect(),
        }
    }
}

impl Piece {
    fn pace(&self) -> Pace {
        Pace::new(self.rounds.clone())
    }
}

#[cfg(test)]
mod tests;
