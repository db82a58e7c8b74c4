//! The answer, as `--format json` shows it.

use crate::explain::choice::ChoiceReport;
use crate::explain::neighbours::Neighbour;
use std::collections::BTreeMap;

use experiments::{CallSummary, Published};
use serde::Serialize;

use record::ResumedRun;

use crate::explain::balance::Balance;
use crate::explain::checkpoints::ExplainedCheckpoints;
use crate::explain::forces::Forces;
use crate::explain::joins::ExplainedJoin;
use crate::explain::payback::Payback;
use crate::move_report::MoveReport;

/// The answer to a question about a run.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The folder of the record.
    pub(super) record: String,
    /// `i`, `ii` or `iii`.
    pub(super) scenario: String,
    /// Number of processes.
    pub(super) processes: usize,
    /// Number of supersteps of the run, without those before it if it resumes a job.
    pub(super) supersteps: u64,
    /// The checkpoint that the run resumes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resumed: Option<ResumedRun>,
    /// From the start to the last halt, or to the end of the last superstep if the run did not end.
    pub(super) seconds: f64,
    /// Whether the record has the whole run and its result.
    #[serde(rename = "complete")]
    pub(super) is_complete: bool,
    /// Names of the Sets.
    pub(super) sets: Vec<String>,
    /// The answer in words.
    pub(super) sentences: Vec<String>,
    /// The calls that the answer is about.
    pub(super) calls: Vec<CallReport>,
    /// The hosts that joined, or that were to join and did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) joins: Vec<ExplainedJoin>,
    /// The checkpoints, if any became complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoints: Option<ExplainedCheckpoints>,
    /// The folder of the record of scenario i that gains are compared with.
    pub(super) baseline: Option<String>,
    /// Total gain of all migrations, for a question about the run: in a simulation, if scenario i is known.
    pub(super) balance: Option<Balance>,
    /// The process in question, for a question about one.
    pub(super) process: Option<ProcessReport>,
    /// The list of the call: all of it, or the part around the process.
    pub(super) list: Vec<Row>,
    /// Potentials of the process for each Set, or of the head of the list.
    pub(crate) forces: Option<Forces>,
    /// Further commands.
    pub(super) next: Vec<String>,
}

/// The decisions of a call.
#[derive(Debug, Serialize)]
pub(super) struct CallReport {
    /// The call.
    #[serde(flatten)]
    pub(super) summary: CallSummary,
    /// Threshold of potentials, in seconds, if there is one.
    pub(super) threshold: Option<f64>,
    /// Number of processes that took part.
    pub(super) processes: usize,
    /// Number of candidates.
    pub(super) candidates: usize,
    /// Number of processes by disposition.
    pub(super) dispositions: BTreeMap<&'static str, usize>,
    /// Migrations.
    pub(super) moved: Vec<MoveReport>,
    /// Gain of the migrations.
    pub(super) payback: Option<Payback>,
    /// Costs and benefits, if the policy makes plans.
    pub(super) assessment: Option<AssessmentReport>,
}

/// Costs and benefits of a plan.
#[derive(Debug, Serialize)]
pub(super) struct AssessmentReport {
    /// Superstep time with the present placement.
    pub(super) present_seconds: f64,
    /// Superstep time with the planned placement.
    pub(super) planned_seconds: f64,
    /// Superstep time as measured since the last call, with the present placement.
    pub(super) measured_seconds: f64,
    /// Cost of the migrations.
    pub(super) cost_seconds: f64,
    /// Supersteps for which the plan is expected to stay valid.
    pub(super) horizon: f64,
    /// `admitted`, `unchanged` or `not-amortised`.
    pub(super) verdict: &'static str,
    /// Supersteps for which not to try again, after `not-amortised`.
    pub(super) pause: Option<u64>,
    /// The plans that were compared.
    pub(super) alternatives: Vec<AlternativeReport>,
    /// The hosts that were compared for one process, by plans that choose one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) choice: Option<ChoiceReport>,
}

/// A plan that was considered.
#[derive(Debug, Serialize)]
pub(super) struct AlternativeReport {
    /// The algorithm that made it.
    pub(super) name: String,
    /// Superstep time with the plan.
    pub(super) superstep_seconds: f64,
    /// Cost of its migrations.
    pub(super) cost_seconds: f64,
    /// Number of processes that would move.
    pub(super) moves: u32,
    /// Whether it was compared with staying.
    pub(super) chosen: bool,
}

/// A row of the list of a call.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// From 1.
    pub(super) position: usize,
    /// As `p21`.
    pub(super) process: String,
    /// The Set in which it runs.
    pub(super) own: String,
    /// The Set it prefers.
    pub(super) target: String,
    /// Its potential for that Set, in seconds.
    pub(super) potential: f64,
    /// Its outcome.
    pub(super) disposition: &'static str,
    /// The outcome, in words.
    #[serde(skip)]
    pub(super) note: String,
}

/// A process in a call.
#[derive(Debug, Serialize)]
pub(super) struct ProcessReport {
    /// As `p21`.
    pub(super) process: String,
    /// The call: the number of completed supersteps.
    pub(super) superstep: u64,
    /// Its host.
    pub(super) host: Option<String>,
    /// Its position in the list, from 1; `None`: it took no part.
    pub(super) position: Option<usize>,
    /// Its outcome.
    pub(super) disposition: Option<&'static str>,
    /// The Set for which its potential was highest.
    pub(super) target: Option<String>,
    /// That potential, in seconds.
    pub(super) potential: Option<f64>,
    /// Superstep times on other hosts, if they were compared.
    pub(super) times: Vec<Time>,
    /// Predicted saving, from `t1` and `t2`.
    pub(super) predicted: Option<Predicted>,
    /// Gain of the call's migrations, if the process moved.
    pub(super) payback: Option<Payback>,
    /// The processes that it exchanges messages with, where plans name hosts.
    pub(super) neighbours: Vec<Neighbour>,
    /// Processes that moved in the same call.
    pub(super) moved_with: Vec<String>,
    /// Supersteps after which it moved in the whole run.
    pub(super) moved_after: Vec<u64>,
    /// Its outcomes in all calls.
    pub(super) dispositions: BTreeMap<&'static str, usize>,
}

/// Predicted superstep time on a host, in seconds.
#[derive(Debug, Serialize)]
pub(super) struct Time {
    /// `t1`, `t2` or `runner-up`.
    pub(super) name: &'static str,
    /// The host.
    pub(super) host: String,
    /// `time(p)`, as far as it is recorded.
    pub(super) computation: Option<f64>,
    /// `B(i, j)·T`, as far as it is recorded.
    pub(super) reception: Option<f64>,
    /// `Mem(i, j)`, where it is included.
    pub(super) migration: Option<f64>,
    /// The sum.
    pub(super) seconds: f64,
}

/// Predicted saving of a migration, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Predicted {
    /// In the superstep after the migration, which pays for it; `None` where plans weigh costs separately.
    pub(super) first_seconds: Option<f64>,
    /// In every later one.
    pub(super) later_seconds: f64,
}

impl Explanation {
    /// The answer in words.
    pub(crate) fn sentences(&self) -> &[String] {
        &self.sentences
    }

    /// Costs and benefits of the plan of the only call, if the answer is about one whose policy makes plans.
    pub(super) fn assessment(&self) -> Option<&AssessmentReport> {
        match &self.calls[..] {
            [only] => only.assessment.as_ref(),
            _ => None,
        }
    }
}

impl Published for Explanation {
    const SCHEMA: &'static str = "migbsp.explain/2";
}
