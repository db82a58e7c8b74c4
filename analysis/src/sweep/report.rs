//! Results of a sweep, as `--format json` prints them.

use experiments::Published;
use serde::Serialize;
use settings::Node;

use crate::compare::{DoneRun, Summary, summaries};
use crate::sweep::parameter::Parameter;
use crate::sweep::shard::Shard;
use crate::sweep::swept::Swept;

/// Results of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The experiments, as they were named.
    pub experiments: Vec<String>,
    /// The parameters, in the order they were given.
    pub parameters: Vec<Parameter>,
    /// Labels of the policies.
    pub policies: Vec<String>,
    /// Label of the policy that runs scenario i, which gains are related to; `None`: there is none.
    pub reference: Option<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The part of the sweep; `None`: all.
    pub shard: Option<Shard>,
    /// By experiment, values, policy and seed.
    pub runs: Vec<Row>,
    /// By experiment, values and policy.
    pub summaries: Vec<SweptSummary>,
    /// The runs without a result, with the reasons.
    #[serde(skip)]
    pub(super) failures: Vec<String>,
    /// What made the runs, in every row of a table.
    #[serde(skip)]
    pub(super) made_by: [String; 2],
}

/// A run, with its combination, policy and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub(super) experiment: String,
    /// One for each parameter.
    pub(super) values: Vec<Node>,
    pub(super) policy: String,
    pub(super) seed: u64,
    /// Without a result, this and what follows is `None`.
    pub(super) seconds: Option<f64>,
    pub(super) supersteps: Option<u64>,
    pub(super) calls: Option<usize>,
    pub(super) migrations: Option<usize>,
    pub(super) moved_bytes: Option<u64>,
    pub(super) call_seconds: Option<f64>,
    pub(super) gain: Option<f64>,
    pub(super) attainable_seconds: Option<f64>,
    pub(super) imbalance_seconds: Option<f64>,
    /// Why the run has no result.
    pub(super) error: Option<String>,
    pub(super) configuration_sha256: String,
    /// Rows with the same one are the same run.
    pub(super) run_sha256: String,
}

/// A policy on one combination: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweptSummary {
    /// The experiment, as it was named.
    pub experiment: String,
    /// One for each parameter.
    pub values: Vec<Node>,
    /// The policy's label.
    pub policy: String,
    /// Whether the results depend on the seed.
    pub draws: bool,
    /// Number of runs with a result; without any, the means are `None`.
    pub runs: usize,
    /// Number of runs without one.
    pub failed: usize,
    /// The makespan.
    pub seconds: Option<f64>,
    /// Half the width of its 95 % confidence interval; `None` if there is one run.
    pub seconds_margin: Option<f64>,
    /// Gain as a part of the makespan of scenario i: a geometric mean over pairs of runs; `None`: there is no
    /// scenario i, or it takes no time.
    pub gain: Option<f64>,
    /// Lower end of its 95 % confidence interval; `None` if there is one run.
    pub gain_low: Option<f64>,
    /// Upper end.
    pub gain_high: Option<f64>,
    /// Rescheduling calls.
    pub calls: Option<f64>,
    /// Processes that moved.
    pub migrations: Option<f64>,
    /// Bytes of their states.
    pub moved_bytes: Option<f64>,
    /// Seconds for which processes waited for calls.
    pub call_seconds: Option<f64>,
    /// The same as a part of the makespan.
    pub overhead: Option<f64>,
}

impl Report {
    /// The report of `swept`.
    pub fn new(swept: &Swept) -> Self {
        let (plan, grid) = (&swept.plan, &swept.plan.grid);
        let policies = plan.policies.len().max(1);
        let of_points = summaries(&swept.results, &[]);
        let summaries = of_points.chunks(policies).enumerate();
        let summaries = summaries.flat_map(|(point, policies)| {
            policies
                .iter()
                .map(move |summary| summarised(swept, point, summary))
        });
        Self {
            experiments: grid.experiments.clone(),
            parameters: grid.parameters.clone(),
            policies: plan.policies.clone(),
            reference: plan.reference.clone(),
            seeds: grid.seeds.clone(),
            shard: grid.shard,
            runs: rows(swept),
            summaries: summaries.collect(),
            failures: swept.results.failures("seed"),
            made_by: [swept.version.clone(), swept.build.clone()],
        }
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.sweep/2";
}

fn rows(swept: &Swept) -> Vec<Row> {
    let mut rows = Vec::new();
    for (point, policies) in swept.results.runs.iter().enumerate() {
        for (policy, runs) in swept.results.policies.iter().zip(policies) {
            rows.extend(runs.iter().map(|run| Row::new(swept, point, policy, run)));
        }
    }
    rows
}

impl Row {
    /// The run `done` of the combination `point` under `policy`.
    fn new(swept: &Swept, point: usize, policy: &str, done: &DoneRun) -> Self {
        let (experiment, values) = combination(swept, point);
        let run = done.outcome.run();
        Self {
            experiment,
            values,
            policy: policy.to_owned(),
            seed: done.outcome.seed(),
            seconds: run.map(|run| run.seconds),
            supersteps: run.map(|run| run.supersteps),
            calls: run.map(|run| run.calls),
            migrations: run.map(|run| run.migrations),
            moved_bytes: run.map(|run| run.moved_bytes),
            call_seconds: run.map(|run| run.call_seconds),
            gain: run.and_then(|run| swept.gain(point, run)),
            attainable_seconds: run.and_then(|run| run.attainable_seconds),
            imbalance_seconds: run.and_then(|run| run.imbalance_seconds),
            error: done.outcome.failed().map(|failed| failed.error.clone()),
            configuration_sha256: done.outcome.configuration_sha256().to_owned(),
            run_sha256: done.run_sha256.clone(),
        }
    }
}

fn summarised(swept: &Swept, point: usize, summary: &Summary) -> SweptSummary {
    let (experiment, values) = combination(swept, point);
    let is_known = swept.plan.reference.is_some();
    SweptSummary {
        experiment,
        values,
        policy: summary.policy.clone(),
        draws: swept.results.experiments[point].draws,
        runs: summary.runs,
        failed: summary.failed,
        seconds: summary.seconds,
        seconds_margin: summary.seconds_margin,
        gain: summary.gain.filter(|_| is_known),
        gain_low: summary.gain_low.filter(|_| is_known),
        gain_high: summary.gain_high.filter(|_| is_known),
        calls: summary.calls,
        migrations: summary.migrations,
        moved_bytes: summary.moved_bytes,
        call_seconds: summary.call_seconds,
        overhead: summary.overhead,
    }
}

/// The experiment and the values of a combination.
fn combination(swept: &Swept, point: usize) -> (String, Vec<Node>) {
    let (grid, point) = (&swept.plan.grid, &swept.points[point]);
    let experiment = grid.experiments[point.experiment].clone();
    (experiment, grid.values(point).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::swept::tests::swept;

    #[test]
    fn without_scenario_i_there_are_no_gains() {
        let mut swept = swept(&["a.x=1"], &[&[&[10.0, 20.0], &[9.0, 15.0]]]);
        assert_eq!(Report::new(&swept).summaries[0].gain, Some(0.0));
        swept.plan.reference = None;
        let report = Report::new(&swept);
        assert!(report.runs.iter().all(|row| row.gain.is_none()));
        assert!(report.summaries.iter().all(|summary| summary.gain.is_none()
            && summary.gain_low.is_none()
            && summary.gain_high.is_none()));
    }

    #[test]
    fn a_sweep_without_runs_has_an_empty_report() {
        let report = Report::new(&swept(&["a.x=1"], &[]));
        assert!(report.runs.is_empty() && report.summaries.is_empty());
    }
}
