//! What the runs of `judge` say.

use std::path::PathBuf;

use analysis::document::{Document, Table};
use analysis::text::Layout;
use serde::Serialize;

/// One run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// What all supersteps would have taken at the best pace of the run.
    pub(crate) own_pace: f64,
    /// Ratio to what all supersteps would have taken under the best placement, where one is known.
    pub(crate) of_best: Option<f64>,
    pub(crate) calls: usize,
    pub(crate) migrations: usize,
}

/// Results by file and policy, and over all files by policy.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    results: Vec<Assessed>,
    policies: Vec<Overall>,
}

/// A run of a policy on an experiment.
#[derive(Debug, Serialize)]
struct Assessed {
    experiment: String,
    policy: String,
    seconds: f64,
    /// Ratio to no rescheduling.
    of_none: f64,
    /// Ratio to what the own best pace would have taken.
    of_own_pace: f64,
    /// Ratio to what the best placement would have taken from the start, where a search has found it.
    of_best_placement: Option<f64>,
    calls: usize,
    migrations: usize,
}

/// A policy on all experiments.
#[derive(Debug, Serialize)]
struct Overall {
    policy: String,
    of_none: Mean,
    of_own_pace: Mean,
    /// Of the experiments that have a valid file with their best placement.
    of_best_placement: Option<Mean>,
    /// Number of experiments in which it takes more than 1.02 times what no rescheduling takes.
    harmed: usize,
}

/// A geometric mean, with the greatest value and the experiment that has it.
#[derive(Debug, Serialize)]
struct Mean {
    mean: f64,
    worst: f64,
    worst_experiment: String,
}

impl Verdict {
    /// The verdict on the runs of each file, one for each policy, the first of which is no rescheduling.
    pub(crate) fn new(files: &[PathBuf], policies: Vec<String>, runs: &[Vec<Run>]) -> Self {
        let mut results = Vec::new();
        for (file, runs) in files.iter().zip(runs) {
            for (policy, run) in policies.iter().zip(runs) {
                results.push(Assessed {
                    experiment: file.display().to_string(),
                    policy: policy.clone(),
                    seconds: run.seconds,
                    of_none: run.seconds / runs[0].seconds,
                    of_own_pace: run.seconds / run.own_pace,
                    of_best_placement: run.of_best,
                    calls: run.calls,
                    migrations: run.migrations,
                });
            }
        }
        let policies = policies
            .into_iter()
            .map(|policy| Overall::new(policy, &results))
            .collect();
        Self { results, policies }
    }

    /// For people; with `is_short`, without the rows of single experiments.
    pub(crate) fn text(&self, is_short: bool) -> String {
        let mut document = Document::default();
        if !is_short {
            let rows = self.results.iter().map(|assessed| {
                vec![
                    assessed.experiment.clone(),
                    assessed.policy.clone(),
                    format!("{:.3}", assessed.seconds),
                    format!("{:.3}", assessed.of_none),
                    format!("{:.3}", assessed.of_own_pace),
                    ratio(assessed.of_best_placement),
                    assessed.calls.to_string(),
                    assessed.migrations.to_string(),
                ]
            });
            let headers = [
                "experiment",
                "policy",
                "seconds",
                "times none",
                "of own pace",
                "of best placement",
                "calls",
                "moves",
            ];
            document.table(Table::new(headers, rows));
        }
        let rows = self.policies.iter().map(|overall| {
            let best = overall.of_best_placement.as_ref();
            let means = [Some(&overall.of_none), Some(&overall.of_own_pace), best];
            let cells = means.map(|mean| {
                [
                    ratio(mean.map(|mean| mean.mean)),
                    ratio(mean.map(|mean| mean.worst)),
                ]
            });
            let mut row = vec![overall.policy.clone()];
            row.extend(cells.into_iter().flatten());
            row.push(overall.harmed.to_string());
            row
        });
        let headers = [
            "policy",
            "times none",
            "worst",
            "of own pace",
            "worst",
            "of best placement",
            "worst",
            "above 1.02",
        ];
        document.table(Table::new(headers, rows));
        document.text(Layout::default())
    }
}

impl Overall {
    fn new(policy: String, results: &[Assessed]) -> Self {
        let own: Vec<&Assessed> = results
            .iter()
            .filter(|assessed| assessed.policy == policy)
            .collect();
        let of_best = |assessed: &Assessed| assessed.of_best_placement.unwrap_or(f64::NAN);
        let mut with_best = own.clone();
        with_best.retain(|assessed| assessed.of_best_placement.is_some());
        Self {
            of_none: Mean::new(&own, |assessed| assessed.of_none),
            of_own_pace: Mean::new(&own, |assessed| assessed.of_own_pace),
            of_best_placement: (!with_best.is_empty()).then(|| Mean::new(&with_best, of_best)),
            harmed: own
                .iter()
                .filter(|assessed| 1.02 < assessed.of_none)
                .count(),
            policy,
        }
    }
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.3}"))
}

impl Mean {
    fn new(results: &[&Assessed], of: impl Fn(&Assessed) -> f64) -> Self {
        let logarithms: f64 = results.iter().map(|assessed| of(assessed).ln()).sum();
        let worst = results.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
        Self {
            mean: (logarithms / results.len() as f64).exp(),
            worst: worst.map_or(f64::NAN, |assessed| of(assessed)),
            worst_experiment: worst
                .map_or_else(String::new, |assessed| assessed.experiment.clone()),
        }
    }
}
