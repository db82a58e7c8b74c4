//! The answer, as `--format json` shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::explain::forces::Forces;
use crate::explain::history::History;
use crate::explain::payback::{Balance, Payback};
use crate::explain::question::Question;
use crate::explain::{call, forces, overview, process};
use crate::failure::Failure;

/// The answer to a question about a run.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    /// `migbsp.explain/1`.
    pub(super) schema: &'static str,
    /// The folder of the record.
    pub(super) record: String,
    /// `i`, `ii` or `iii`.
    pub(super) scenario: String,
    /// Who rescheduled.
    pub(super) policy: String,
    /// How many processes there were.
    pub(super) processes: usize,
    /// How many supersteps they took.
    pub(super) supersteps: u64,
    /// From the start to the last halt.
    pub(super) seconds: f64,
    /// Names of the Sets.
    pub(super) sets: Vec<String>,
    /// The answer in words.
    pub(super) sentences: Vec<String>,
    /// The calls that the answer is about.
    pub(super) calls: Vec<CallReport>,
    /// What all moves won together, if the question is about the run.
    pub(super) balance: Option<Balance>,
    /// How the process stood, if the question is about one.
    pub(super) process: Option<ProcessReport>,
    /// The list of the call: all of it, or what is around the process.
    pub(super) list: Vec<Row>,
    /// What draws the process to each Set, or the head of the list.
    pub(super) forces: Option<Forces>,
    /// What might be asked next.
    pub(super) next: Vec<String>,
}

/// What was decided in a call.
#[derive(Debug, Serialize)]
pub(super) struct CallReport {
    /// How many supersteps were over.
    pub(super) superstep: u64,
    /// Simulated seconds when it began.
    pub(super) at: f64,
    /// Seconds that it kept everybody waiting.
    pub(super) cost_seconds: f64,
    /// Supersteps until the next call, if known.
    pub(super) interval: Option<u32>,
    /// The tolerance until then, if there is one.
    pub(super) tolerance: Option<f64>,
    /// What potentials had to exceed, in seconds, if there is a threshold.
    pub(super) threshold: Option<f64>,
    /// How many processes took part.
    pub(super) processes: usize,
    /// How many of them were candidates.
    pub(super) candidates: usize,
    /// How many processes there were of each fate.
    pub(super) fates: BTreeMap<&'static str, usize>,
    /// Who moved.
    pub(super) moved: Vec<Move>,
    /// What the moves won.
    pub(super) payback: Option<Payback>,
    /// What was weighed, if the policy makes plans.
    pub(super) weighed: Option<WeighedReport>,
}

/// A move.
#[derive(Debug, Serialize)]
pub(super) struct Move {
    /// As `p21`.
    pub(super) process: String,
    /// The host it left.
    pub(super) from: String,
    /// The host it went to.
    pub(super) to: String,
}

/// What was weighed in a call that made a plan.
#[derive(Debug, Serialize)]
pub(super) struct WeighedReport {
    /// How long a superstep takes as processes are placed.
    pub(super) present_seconds: f64,
    /// How long it would take as planned.
    pub(super) planned_seconds: f64,
    /// What the moves would cost.
    pub(super) cost_seconds: f64,
    /// Supersteps for which the plan is expected to stay good.
    pub(super) horizon: f64,
    /// `admitted`, `unchanged` or `not-amortised`.
    pub(super) verdict: &'static str,
    /// Supersteps for which not to try again, after `not-amortised`.
    pub(super) pause: Option<u64>,
    /// The plans that were compared.
    pub(super) alternatives: Vec<AlternativeReport>,
}

/// A plan that was thought of.
#[derive(Debug, Serialize)]
pub(super) struct AlternativeReport {
    /// What made it.
    pub(super) name: String,
    /// How long a superstep would take.
    pub(super) superstep_seconds: f64,
    /// What its moves would cost.
    pub(super) cost_seconds: f64,
    /// How many processes would move.
    pub(super) moves: u32,
    /// It is what was weighed against staying.
    pub(super) chosen: bool,
}

/// A row of the list of a call.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// From 1.
    pub(super) position: usize,
    /// As `p21`.
    pub(super) process: String,
    /// The Set it runs in.
    pub(super) own: String,
    /// The Set it prefers.
    pub(super) target: String,
    /// Its potential for that Set, in seconds.
    pub(super) potential: f64,
    /// What became of it.
    pub(super) fate: &'static str,
    /// The same, for people.
    #[serde(skip)]
    pub(super) note: String,
}

/// How a process stood in a call.
#[derive(Debug, Serialize)]
pub(super) struct ProcessReport {
    /// As `p21`.
    pub(super) process: String,
    /// Which call: how many supersteps were over.
    pub(super) superstep: u64,
    /// Where it ran.
    pub(super) host: Option<String>,
    /// Its place in the list, from 1; `None`: it took no part.
    pub(super) position: Option<usize>,
    /// What became of it.
    pub(super) fate: Option<&'static str>,
    /// The Set for which its potential was highest.
    pub(super) target: Option<String>,
    /// That potential, in seconds.
    pub(super) potential: Option<f64>,
    /// What a superstep takes elsewhere, if that was compared.
    pub(super) times: Vec<Time>,
    /// Whether `t1` includes what the process itself computes, as `t2` does.
    pub(super) own_work_counts: bool,
    /// What `t1` and `t2` promise.
    pub(super) predicted: Option<Predicted>,
    /// What the moves of the call won, if the process moved.
    pub(super) payback: Option<Payback>,
    /// Who moved in the same call.
    pub(super) moved_with: Vec<String>,
    /// After which supersteps it moved in the whole run.
    pub(super) moved_after: Vec<u64>,
    /// What became of it in all calls.
    pub(super) fates: BTreeMap<&'static str, usize>,
}

/// What a superstep takes on a host, in seconds.
#[derive(Debug, Serialize)]
pub(super) struct Time {
    /// `t1`, `t2` or `runner-up`.
    pub(super) name: &'static str,
    /// The host.
    pub(super) host: String,
    /// `time(p)`, as far as it is recorded.
    pub(super) computation: Option<f64>,
    /// `B(i, j)·T`, likewise.
    pub(super) reception: Option<f64>,
    /// `Mem(i, j)`, where it is part of it.
    pub(super) migration: Option<f64>,
    /// The sum.
    pub(super) seconds: f64,
}

/// What a move promises to save, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Predicted {
    /// In the superstep after the move, which pays for it; `None` where plans weigh costs apart.
    pub(super) first_seconds: Option<f64>,
    /// In every later one.
    pub(super) later_seconds: f64,
}

/// The answer to `question` about `history`.
///
/// # Errors
///
/// If the record is not readable any more.
pub(super) fn answer(history: &History, question: &Question) -> Result<Explanation, Failure> {
    let mut answer = Explanation {
        schema: "migbsp.explain/1",
        record: history.folder.display().to_string(),
        scenario: history.run.scenario.clone(),
        policy: history.rules.policy.clone(),
        processes: history.run.placement.len(),
        supersteps: history.end.supersteps,
        seconds: history.end.seconds.get(),
        sets: history.run.sets.clone(),
        sentences: Vec::new(),
        calls: Vec::new(),
        balance: None,
        process: None,
        list: Vec::new(),
        forces: None,
        next: Vec::new(),
    };
    match *question {
        Question::Run => overview::explain(&mut answer, history),
        Question::Call(index) => call::explain(&mut answer, history, index)?,
        Question::Process {
            rank,
            call: Some(index),
            is_named,
        } => process::explain(&mut answer, history, (rank, index, is_named))?,
        Question::Process {
            rank, call: None, ..
        } => answer.sentences.push(format!(
            "{rank} stayed on {}: no call was held in the {} supersteps of this run.",
            history.run.placement[rank.index()],
            history.end.supersteps
        )),
    }
    Ok(answer)
}

impl Explanation {
    /// A chart of it.
    pub(super) fn svg(&self, history: &History) -> String {
        match &self.forces {
            Some(forces) => forces.svg(),
            None => forces::supersteps(history),
        }
    }
}
