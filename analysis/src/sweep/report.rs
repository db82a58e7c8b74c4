//! Results of a sweep, as JSON, CSV and text.

use std::borrow::Cow;
use std::collections::BTreeSet;

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;
use settings::Node;

use crate::compare::{
    DoneRun, Results, Run, Subject, Summary, failed_of, failure, failures, summaries,
};
use crate::export::Cell;
use crate::sweep::grid::{Point, Shard, factors};
use crate::sweep::parameter::{Parameter, cell, shown};
use crate::sweep::plan::{Plan, seeds};
use crate::text::{Layout, TimeUnit, counted, rounded};

/// A sweep, and the runs of it that are done.
#[derive(Clone, Debug)]
pub struct Swept {
    /// What it is.
    pub plan: Plan,
    /// Name and version of the program.
    pub(super) version: String,
    /// SHA-256 of its binary.
    pub(super) build: String,
    /// The combinations with results; each is the experiment at the same place in the results.
    pub points: Vec<Point>,
    /// The results.
    pub results: Results,
}

impl Swept {
    /// Number of runs that are over under all policies, with a result or without.
    pub fn runs(&self) -> usize {
        let runs = self.results.runs.iter().flatten();
        runs.map(Vec::len).sum()
    }

    /// Number of different runs among them: policies that do not depend on a parameter have the same one for all its
    /// values.
    pub fn different_runs(&self) -> usize {
        let runs = self.results.runs.iter().flatten().flatten();
        runs.map(|run| &*run.run_sha256)
            .collect::<BTreeSet<&str>>()
            .len()
    }

    /// Whether all runs are over.
    pub fn is_complete(&self) -> bool {
        u64::try_from(self.runs()).is_ok_and(|runs| runs == self.plan.runs)
    }

    /// A message about the runs without a result; `None` if all have one.
    pub fn failure(&self) -> Option<String> {
        failure(&self.results.failures("seed"), self.runs())
    }

    /// Gain of `run`, one of the combination `point`, as a part of the makespan of scenario i with the same seed; `None`:
    /// that is not known, or is 0.
    pub(super) fn gain(&self, point: usize, run: &Run) -> Option<f64> {
        self.plan.reference.as_ref()?;
        let mut alone = self.results.of(point, self.results.reference);
        let alone = alone.find(|alone| alone.seed == run.seed)?;
        match (alone.seconds, run.seconds) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (alone, seconds) => Some(1.0 - seconds / alone),
        }
    }
}

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

/// A run, with its experiment_and_values, policy and seed.
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
    /// The run `done` of the experiment_and_values `point` under `policy`.
    fn new(swept: &Swept, point: usize, policy: &str, done: &DoneRun) -> Self {
        let (experiment, values) = experiment_and_values(swept, point);
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
    let (experiment, values) = experiment_and_values(swept, point);
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

/// The experiment and the values of a experiment_and_values.
fn experiment_and_values(swept: &Swept, point: usize) -> (String, Vec<Node>) {
    let (grid, point) = (&swept.plan.grid, &swept.points[point]);
    let experiment = grid.experiments[point.experiment].clone();
    (experiment, grid.values(point).cloned().collect())
}

impl Report {
    /// The table as CSV: the values of parameters are texts.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let parameters = self.parameters.iter().map(Parameter::key);
        let header = ["experiment"].into_iter().chain(parameters).chain(COLUMNS);
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, header)?;
        for row in &self.runs {
            let values = row.values.iter().map(cell);
            let values = values.map(|value| Cell::Text(Cow::Owned(value)));
            let mut cells = vec![text_cell(&row.experiment)];
            cells.extend(values);
            cells.extend(self.run_cells(row));
            table.push(&cells)?;
        }
        table.text()
    }

    /// The cells of [`COLUMNS`].
    fn run_cells<'a>(&'a self, row: &'a Row) -> [Cell<'a>; COLUMNS.len()] {
        let real = |value: Option<f64>| value.map_or(Cell::Missing, Cell::Real);
        let count = |value: Option<u64>| value.map_or(Cell::Missing, Cell::Integer);
        [
            text_cell(&row.policy),
            Cell::Integer(row.seed),
            real(row.seconds),
            count(row.supersteps),
            count(row.calls.map(|calls| calls as u64)),
            count(row.migrations.map(|migrations| migrations as u64)),
            count(row.moved_bytes),
            real(row.call_seconds),
            real(row.gain),
            real(row.attainable_seconds),
            real(row.imbalance_seconds),
            row.error.as_deref().map_or(Cell::Missing, text_cell),
            text_cell(&self.made_by[0]),
            text_cell(&self.made_by[1]),
            text_cell(&row.configuration_sha256),
            text_cell(&row.run_sha256),
        ]
    }
}

/// The columns after those of the parameters.
const COLUMNS: [&str; 16] = [
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
    "error",
    "version",
    "build_sha256",
    "configuration_sha256",
    "run_sha256",
];

fn text_cell(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

/// What a sweep will do: the number of runs, and what it goes through.
pub fn planned(plan: &Plan, subjects: &[Subject], layout: Layout) -> String {
    let grid = &plan.grid;
    let runs = usize::try_from(plan.runs).unwrap_or(usize::MAX);
    let part = grid
        .shard
        .map_or_else(String::new, |shard| format!(" in shard {shard}"));
    let mut text = format!(
        "{}{part}: {}\n\n",
        counted(runs, "run"),
        factors(grid, plan.policies.len())
    );
    let row = |parameter: &Parameter| vec![parameter.key().to_owned(), parameter.list()];
    let mut rows = vec![vec!["experiment".to_owned(), grid.experiments.join(", ")]];
    rows.extend(grid.parameters.iter().map(row));
    rows.push(vec!["policy".to_owned(), plan.policies.join(", ")]);
    rows.push(vec!["seed".to_owned(), seeds(&grid.seeds)]);
    text.push_str(&layout.table(&["parameter", "values"], rows));
    let still = subjects.iter().filter(|subject| !subject.draws).count();
    if 0 < still && 1 < grid.seeds.len() {
        let what = counted(still, "combination");
        let first = grid.seeds[0];
        text.push_str(&format!(
            "\n{what} of {} without random numbers: run with seed {first} alone.\n",
            subjects.len()
        ));
    }
    text
}

/// The results.
pub fn text(report: &Report, layout: Layout) -> String {
    let varying: Vec<usize> = (0..report.parameters.len())
        .filter(|place| report.parameters[*place].varies())
        .collect();
    let has_files = 1 < report.experiments.len();
    let mut headers: Vec<&str> = Vec::new();
    if has_files {
        headers.push("experiment");
    }
    headers.extend(varying.iter().map(|place| report.parameters[*place].key()));
    let first = headers.len();
    let unit = TimeUnit::of(
        report
            .summaries
            .iter()
            .filter_map(|summary| summary.seconds),
    );
    headers.extend(["policy", "runs", unit.heading(), "±"]);
    if report.reference.is_some() {
        headers.extend(["gain", "gain, 95 %"]);
    }
    headers.extend(["calls", "moves", "in calls"]);
    if !report.failures.is_empty() {
        headers.push("error");
    }
    // The counts and the interval first, then what the makespan shows, too.
    let dispensable: Vec<usize> = ["runs", "gain, 95 %", "in calls", "±", "calls", "moves"]
        .iter()
        .filter_map(|name| headers.iter().skip(first).position(|header| header == name))
        .map(|place| first + place)
        .collect();
    let row = |summary: &SweptSummary| {
        let mut row: Vec<String> = Vec::new();
        if has_files {
            row.push(summary.experiment.clone());
        }
        row.extend(varying.iter().map(|place| shown(&summary.values[*place])));
        row.extend(cells(report, summary, unit));
        row
    };
    let (kept, left_out) = layout.cut(report.summaries.len(), ROWS);
    let rows = report.summaries[..kept].iter().map(row);
    let mut text = layout.reduced_table(&headers, rows, &dispensable);
    if 0 < left_out {
        text.push_str(&format!(
            "… {} more: --all shows them\n",
            counted(left_out, "row")
        ));
    }
    if let Some(best) = best(report, unit, layout) {
        text.push_str(&format!("\n{best}"));
    }
    if !report.failures.is_empty() {
        text.push_str(&format!("\n{}", failures(&report.failures)));
    }
    text
}

/// The cells after those of the combination.
fn cells(report: &Report, summary: &SweptSummary, unit: TimeUnit) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or_else(String::new, |time| unit.text(time, 3));
    let mean = |mean: Option<f64>| mean.map_or_else(String::new, |mean| rounded(mean, 1));
    let mut cells = vec![
        summary.policy.clone(),
        summary.runs.to_string(),
        time(summary.seconds),
        time(summary.seconds_margin),
    ];
    if let Some(reference) = &report.reference {
        let is_compared = summary.policy != *reference;
        let compared = |text: Option<String>| text.filter(|_| is_compared).unwrap_or_default();
        cells.push(compared(summary.gain.map(percent)));
        let ends = summary.gain_low.zip(summary.gain_high);
        cells.push(compared(ends.map(|(low, high)| {
            format!("{} to {}", percent(low), percent(high))
        })));
    }
    cells.extend([
        mean(summary.calls),
        mean(summary.migrations),
        summary.overhead.map_or_else(String::new, percent),
    ]);
    if !report.failures.is_empty() {
        cells.push(failed_of(summary.failed, summary.runs));
    }
    cells
}

/// The combination that is best for each policy: the one with the largest gain, or the shortest makespan.
fn best(report: &Report, unit: TimeUnit, layout: Layout) -> Option<String> {
    let has_choice = report.parameters.iter().any(Parameter::varies);
    if !has_choice && report.experiments.len() < 2 {
        return None;
    }
    let compared = |policy: &&String| Some(*policy) != report.reference.as_ref();
    let of = |policy: &String| -> Option<Vec<String>> {
        let summaries = report.summaries.iter();
        let summaries = summaries.filter(|summary| summary.policy == *policy);
        let size = |summary: &SweptSummary| match &report.reference {
            Some(_) => summary.gain,
            None => summary.seconds.map(|seconds| -seconds),
        };
        let known = summaries.filter_map(|summary| Some((summary, size(summary)?)));
        // The first of equals.
        let (best, size) = known
            .rev()
            .max_by(|(_, left), (_, right)| left.total_cmp(right))?;
        let value = match &report.reference {
            Some(_) => percent(size),
            None => unit.text(-size, 3),
        };
        Some(vec![policy.clone(), value, combination(report, best)])
    };
    let rows: Vec<Vec<String>> = report
        .policies
        .iter()
        .filter(compared)
        .filter_map(of)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let (title, column) = match &report.reference {
        Some(reference) => (format!("Largest gains against {reference}"), "gain"),
        None => ("Shortest makespans".to_owned(), unit.heading()),
    };
    let table = layout.table(&["policy", column, "with"], rows);
    Some(format!("{title}\n\n{table}"))
}

/// The experiment, if there are several, and the values that vary.
pub(super) fn combination(report: &Report, summary: &SweptSummary) -> String {
    let varying = report.parameters.iter().zip(&summary.values);
    let varying = varying.filter(|(parameter, _)| parameter.varies());
    let values = varying.map(|(parameter, value)| format!("{}={}", parameter.key(), shown(value)));
    let file = (1 < report.experiments.len()).then(|| summary.experiment.clone());
    file.into_iter()
        .chain(values)
        .collect::<Vec<String>>()
        .join(" ")
}

/// A part as a percentage; values near zero have no sign.
pub(super) fn percent(part: f64) -> String {
    let text = format!("{:.2} %", part * 100.0);
    match text.strip_prefix("-0.00") {
        Some(_) => "0.00 %".to_owned(),
        None => text,
    }
}

/// Rows that are shown of a long table.
const ROWS: usize = 40;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use experiments::Registry;

    use crate::compare::{fail, results_of};
    use crate::sweep::plan::tests::plan;

    /// Policies `none` and `adaptive` on the combinations of `set`: their makespans by seed.
    pub(crate) fn swept(set: &[&str], makespans: &[&[&[f64]]]) -> Swept {
        let seeds = makespans.first().map_or(1, |policies| policies[0].len());
        let plan = plan(set, u64::try_from(seeds).unwrap());
        let points: Vec<Point> = plan
            .grid
            .points()
            .into_iter()
            .take(makespans.len())
            .collect();
        let drawn: Vec<(bool, &[&[f64]])> = makespans.iter().map(|of| (true, *of)).collect();
        let mut results = results_of(&drawn);
        results.policies.clone_from(&plan.policies);
        for (subject, point) in results.experiments.iter_mut().zip(&points) {
            subject.name.clone_from(&point.name);
        }
        Swept {
            plan,
            version: "migbsp 0.1.0".to_owned(),
            build: "cd34".to_owned(),
            points,
            results,
        }
    }

    #[test]
    fn a_sweep_is_complete_with_all_runs_of_its_plan() {
        let all: &[&[&[f64]]] = &[&[&[10.0], &[9.0]], &[&[10.0], &[9.0]]];
        assert!(swept(&["a.x=1,2"], all).is_complete());
        let part = swept(&["a.x=1,2"], &all[..1]);
        assert_eq!((part.runs(), part.is_complete()), (2, false));
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

    #[test]
    fn a_table_has_a_row_per_run_and_a_column_per_parameter() {
        let set = ["a.x=1,\"u, v\"", "a.y=7"];
        let mut swept = swept(
            &set,
            &[&[&[10.0, 20.0], &[9.0, 15.0]], &[&[0.0, 4.0], &[0.0, 5.0]]],
        );
        fail(&mut swept.results, 0, 1, 0);
        let provenance = Provenance::of_program(&Registry::new()).unwrap();
        let csv = Report::new(&swept).csv(&provenance).unwrap();
        let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines[0],
            "experiment,a.x,a.y,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,gain,attainable_seconds,imbalance_seconds,error,version,build_sha256,configuration_sha256,run_sha256"
        );
        assert_eq!(lines.len(), 1 + 8);
        assert_eq!(
            lines[3],
            "a.toml,1,7,adaptive,1,,,,,,,,,,out of road,migbsp 0.1.0,cd34,ab12,ef56"
        );
        assert_eq!(
            lines[4],
            "a.toml,1,7,adaptive,2,15.0,10,2,1,1000000,0.1,0.25,0.5,1.0,,migbsp 0.1.0,cd34,ab12,ef56"
        );
        assert!(
            lines[5].starts_with("a.toml,\"u, v\",7,none,1,0.0,"),
            "{}",
            lines[5]
        );
        assert!(lines[7].contains(",0.1,0.0,0.5,"), "{}", lines[7]);
    }

    const MAKESPANS: [&[&[f64]]; 2] = [
        &[&[10.0, 20.0], &[9.0, 18.0]],
        &[&[10.0, 20.0], &[8.0, 16.0]],
    ];

    #[test]
    fn the_text_shows_every_combination_and_the_best_one() {
        let report = Report::new(&swept(&["a.x=2,4", "a.y=7"], &MAKESPANS));
        let text = text(&report, Layout::default());
        assert_eq!(format!("\n{text}"), EXPECTED, "{text}");
    }

    const EXPECTED: &str = "
     a.x  policy    runs  seconds       ±     gain          gain, 95 %  calls  moves  in calls
       2  none         2   15.000  63.531                                 2.0    1.0    0.67 %
       2  adaptive     2   13.500  57.178  10.00 %  10.00 % to 10.00 %    2.0    1.0    0.74 %
       4  none         2   15.000  63.531                                 2.0    1.0    0.67 %
       4  adaptive     2   12.000  50.825  20.00 %  20.00 % to 20.00 %    2.0    1.0    0.83 %

    Largest gains against none

     policy       gain  with
     adaptive  20.00 %  a.x=4
    ";

    #[test]
    fn without_scenario_i_the_shortest_makespan_is_the_best() {
        let mut swept = swept(&["a.x=2,4"], &MAKESPANS);
        swept.plan.reference = None;
        let text = text(&Report::new(&swept), Layout::default());
        assert!(!text.contains("gain"), "{text}");
        assert!(text.contains("Shortest makespans"), "{text}");
        assert!(text.contains(" none       15.000  a.x=2\n"), "{text}");
    }

    #[test]
    fn long_tables_are_cut_unless_they_are_asked_for() {
        let makespans = vec![MAKESPANS[0]; 30];
        let report = Report::new(&swept(&["a.x=1..30"], &makespans));
        let cut = text(&report, Layout::default());
        assert!(cut.contains("… 20 rows more: --all shows them"), "{cut}");
        let is_whole = true;
        let whole = text(
            &report,
            Layout {
                is_whole,
                ..Layout::default()
            },
        );
        assert!(
            60 < whole.lines().count() && !whole.contains("--all"),
            "{whole}"
        );
    }

    #[test]
    fn a_plan_shows_what_it_goes_through() {
        let mut swept = swept(&["a.x=2,4", "a.y=7"], &MAKESPANS);
        swept.results.experiments[0].draws = false;
        let text = planned(&swept.plan, &swept.results.experiments, Layout::default());
        let expected = "\
    8 runs: 2 combinations, 2 policies, 2 seeds

     parameter   values
     experiment  a.toml
     a.x         2, 4
     a.y         7
     policy      none, adaptive
     seed        1..2

    1 combination of 2 without random numbers: run with seed 1 alone.
    ";
        assert_eq!(text, expected, "{text}");
    }
}
