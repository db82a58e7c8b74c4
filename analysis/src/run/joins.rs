//! Hosts that joined a run, with its pace before and after.

use std::collections::VecDeque;

use experiments::JoinSummary;
use record::Join;
use serde::Serialize;

use crate::run::gains::Sum;

/// A host that joined, with the pace of the run before it and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct RunJoin {
    /// The host.
    #[serde(flatten)]
    pub(crate) summary: JoinSummary,
    /// What the paces count: `tasks` of a task farm, or `supersteps`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["tasks", "supersteps"])))]
    pub(crate) counted: &'static str,
    /// A second, before the host joined.
    pub(crate) before: Option<f64>,
    /// A second, after it joined.
    pub(crate) after: Option<f64>,
}

/// The hosts that joined, or that were to join and did not, as they are read.
#[derive(Clone, Debug)]
pub(super) struct JoinReading {
    /// Number of supersteps of a round.
    length: u64,
    /// Seconds of the last supersteps.
    supersteps: VecDeque<f64>,
    /// Rounds of a task farm that have begun and are not complete.
    open: Vec<Round>,
    /// The last complete rounds, without the first of the run, in which workers are characterised.
    rounds: VecDeque<Round>,
    has_first_round: bool,
    /// Whether a task farm has noted how many tasks it dealt.
    has_tasks: bool,
    joins: Vec<JoinPaces>,
}

/// Supersteps for which a task farm has dealt tasks at once.
#[derive(Clone, Copy, Debug)]
struct Round {
    from: u64,
    tasks: f64,
    seconds: f64,
    /// Number of supersteps that are not read yet.
    left: u64,
}

/// What is known of the pace around a join.
#[derive(Clone, Debug)]
struct JoinPaces {
    superstep: u64,
    summary: JoinSummary,
    /// Supersteps, and tasks, a second.
    before: [Option<f64>; 2],
    supersteps: Sum,
    /// The rounds after it.
    rounds: Vec<Round>,
}

impl JoinReading {
    /// Nothing has been read of a run whose rounds have this `length`.
    pub(super) const fn new(length: u64) -> Self {
        Self {
            length,
            supersteps: VecDeque::new(),
            open: Vec::new(),
            rounds: VecDeque::new(),
            has_first_round: false,
            has_tasks: false,
            joins: Vec::new(),
        }
    }

    /// Superstep `index` took this many `seconds`, and began with `dealt` tasks, if a task farm says so.
    pub(super) fn elapse(&mut self, index: u64, seconds: f64, dealt: Option<f64>) {
        self.has_tasks |= dealt.is_some();
        self.open.extend(dealt.map(|tasks| Round {
            from: index,
            tasks,
            seconds: 0.0,
            left: self.length,
        }));
        for round in &mut self.open {
            round.seconds += seconds;
            round.left = round.left.saturating_sub(1);
        }
        while self.open.first().is_some_and(|round| round.left == 0) {
            let round = self.open.remove(0);
            self.complete(round);
        }
        for join in &mut self.joins {
            if join.supersteps.number() < SUPERSTEPS {
                join.supersteps.add(seconds);
            }
        }
        push(&mut self.supersteps, seconds, SUPERSTEPS);
    }

    fn complete(&mut self, round: Round) {
        for join in &mut self.joins {
            if join.superstep <= round.from && join.rounds.len() < UNTIL_PACED + ROUNDS {
                join.rounds.push(round);
            }
        }
        if self.has_first_round {
            push(&mut self.rounds, round, ROUNDS);
        }
        self.has_first_round = true;
    }

    /// A host has joined, or does not; `summary` says it.
    pub(super) fn join(&mut self, join: &Join, summary: JoinSummary) {
        let mut supersteps = Sum::default();
        self.supersteps
            .iter()
            .for_each(|last| supersteps.add(*last));
        let rounds: Vec<Round> = self.rounds.iter().copied().collect();
        self.joins.push(JoinPaces {
            superstep: join.superstep,
            summary,
            before: [per_second(&supersteps), pace(&rounds)],
            supersteps: Sum::default(),
            rounds: Vec::new(),
        });
    }

    /// All hosts that joined or were to join, in order.
    pub(super) fn end(self) -> Vec<RunJoin> {
        let has_tasks = self.has_tasks;
        let ended = |join: JoinPaces| {
            let [supersteps, tasks] = join.before;
            let after = join.rounds.get(UNTIL_PACED..).unwrap_or_default();
            let (counted, before, after) = if has_tasks {
                ("tasks", tasks, pace(after))
            } else {
                ("supersteps", supersteps, per_second(&join.supersteps))
            };
            RunJoin {
                summary: join.summary,
                counted,
                before,
                after,
            }
        };
        self.joins.into_iter().map(ended).collect()
    }
}

/// Appends to the last ones, of which there are at most `most`.
fn push<T>(last: &mut VecDeque<T>, next: T, most: usize) {
    if last.len() == most {
        last.pop_front();
    }
    last.push_back(next);
}

/// Supersteps a second.
fn per_second(supersteps: &Sum) -> Option<f64> {
    supersteps.mean().map(|seconds| 1.0 / seconds)
}

/// Tasks a second.
fn pace(rounds: &[Round]) -> Option<f64> {
    let tasks: f64 = rounds.iter().map(|round| round.tasks).sum();
    let seconds: f64 = rounds.iter().map(|round| round.seconds).sum();
    (0.0 < seconds).then(|| tasks / seconds)
}

/// The most rounds, and supersteps, of which the pace is taken.
const ROUNDS: usize = 5;
const SUPERSTEPS: usize = 10;
/// The rounds after a join in which its workers are characterised.
const UNTIL_PACED: usize = 2;
