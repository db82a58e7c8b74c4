//! Results of a sweep, for `--format json` and `csv`, and for `runs.csv`.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;
use settings::Node;

use crate::compare::{Run, Summary, summaries};
use crate::sweep::parameter::{Parameter, cell};
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
    /// What made the runs, in every row of a table.
    #[serde(skip)]
    made_by: [String; 2],
}

/// A run, with its combination, policy and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    experiment: String,
    /// One for each parameter.
    values: Vec<Node>,
    policy: String,
    seed: u64,
    seconds: f64,
    supersteps: u64,
    calls: usize,
    migrations: usize,
    moved_bytes: u64,
    call_seconds: f64,
    gain: Option<f64>,
    attainable_seconds: f64,
    imbalance_seconds: f64,
    configuration_sha256: String,
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
    /// Number of runs.
    pub runs: usize,
    /// The makespan.
    pub seconds: f64,
    /// Half the width of its 95 % confidence interval; `None` if there is one run.
    pub seconds_margin: Option<f64>,
    /// Gain as a part of the makespan of scenario i: a geometric mean over pairs of runs; `None`: there is no scenario i.
    pub gain: Option<f64>,
    /// Lower end of its 95 % confidence interval; `None` if there is one run.
    pub gain_low: Option<f64>,
    /// Upper end.
    pub gain_high: Option<f64>,
    /// Rescheduling calls.
    pub calls: f64,
    /// Processes that moved.
    pub migrations: f64,
    /// Bytes of their states.
    pub moved_bytes: f64,
    /// Seconds for which processes waited for calls.
    pub call_seconds: f64,
    /// The same as a part of the makespan.
    pub overhead: f64,
}

impl Report {
    /// The report of `swept`.
    pub fn new(swept: &Swept) -> Self {
        let (plan, grid) = (&swept.plan, &swept.plan.grid);
        let policies = plan.policies.len().max(1);
        let of_points = summaries(&swept.results);
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
            made_by: [swept.version.clone(), swept.build.clone()],
        }
    }

    /// One row per run, with a column per parameter.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let keys = self.parameters.iter().map(Parameter::key);
        let header = ["experiment"].into_iter().chain(keys).chain(COLUMNS);
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, header)?;
        for row in &self.runs {
            let values: Vec<String> = row.values.iter().map(cell).collect();
            let run = (
                row.seconds,
                row.supersteps,
                row.calls,
                row.migrations,
                row.moved_bytes,
            );
            let costs = (
                row.call_seconds,
                row.gain,
                row.attainable_seconds,
                row.imbalance_seconds,
            );
            let made_by = (&self.made_by, &row.configuration_sha256);
            table.push((
                &row.experiment,
                values,
                &row.policy,
                row.seed,
                run,
                costs,
                made_by,
            ))?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.sweep/1";
}

/// The columns after those of the parameters.
const COLUMNS: [&str; 14] = [
    "policy",
    "seed",
    "seconds",
    "supersteps",
    "calls",
    "migrations",
    "moved_bytes",
    "call_seconds",
    "gain",
    "attainable_seconds",
    "imbalance_seconds",
    "version",
    "build_sha256",
    "configuration_sha256",
];

fn rows(swept: &Swept) -> Vec<Row> {
    let mut rows = Vec::new();
    for (point, policies) in swept.results.runs.iter().enumerate() {
        for (policy, runs) in swept.results.policies.iter().zip(policies) {
            let runs = runs.iter().enumerate();
            rows.extend(runs.map(|(seed, run)| Row {
                gain: swept.gain(point, seed, run),
                ..Row::new(swept, point, policy, run)
            }));
        }
    }
    rows
}

impl Row {
    /// The run of the combination `point` under `policy`, without its gain.
    fn new(swept: &Swept, point: usize, policy: &str, run: &Run) -> Self {
        let (experiment, values) = combination(swept, point);
        Self {
            experiment,
            values,
            policy: policy.to_owned(),
            seed: run.seed,
            seconds: run.seconds,
            supersteps: run.supersteps,
            calls: run.calls,
            migrations: run.migrations,
            moved_bytes: run.moved_bytes,
            call_seconds: run.call_seconds,
            gain: None,
            attainable_seconds: run.attainable_seconds,
            imbalance_seconds: run.imbalance_seconds,
            configuration_sha256: run.configuration_sha256.clone(),
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
        seconds: summary.seconds,
        seconds_margin: summary.seconds_margin,
        gain: is_known.then_some(summary.gain),
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
    use experiments::Registry;

    #[test]
    fn a_table_has_a_row_per_run_and_a_column_per_parameter() {
        let set = ["a.x=1,\"u, v\"", "a.y=7"];
        let swept = swept(
            &set,
            &[&[&[10.0, 20.0], &[9.0, 15.0]], &[&[0.0, 4.0], &[0.0, 5.0]]],
        );
        let provenance = Provenance::of_program(&Registry::new()).unwrap();
        let csv = Report::new(&swept).csv(&provenance).unwrap();
        let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines[0],
            "experiment,a.x,a.y,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,gain,attainable_seconds,imbalance_seconds,version,build_sha256,configuration_sha256"
        );
        assert_eq!(lines.len(), 1 + 8);
        assert_eq!(
            lines[4],
            "a.toml,1,7,adaptive,2,15.0,10,2,1,1000000,0.1,0.25,2.0,4.0,migbsp 0.1.0,cd34,ab12"
        );
        assert!(
            lines[5].starts_with("a.toml,\"u, v\",7,none,1,0.0,"),
            "{}",
            lines[5]
        );
        assert!(lines[7].contains(",0.1,0.0,2.0,"), "{}", lines[7]);
    }

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
