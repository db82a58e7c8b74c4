//! Results of a sweep: as JSON, CSV and text, as charts, and as a page.

use std::collections::{BTreeMap, BTreeSet};

use bsp::numbers::position;
use experiments::{CsvTable, Failure, Provenance, Published};
use maud::{PreEscaped, html};
use serde::Serialize;
use serde_json::Value;
use settings::{Node, list, nearest};

use crate::chart::{Group, HeatMap, HeatPanel, Interval, Intervals, Lines, Scale, Series, Style};
use crate::compare::statistics::mean;
use crate::compare::{
    DoneRun, Results, Run, Subject, Summary, failed_of, failure, failures, percent, summaries,
};
use crate::document::{Answer, Document, Part, Table};
use crate::page::{Heading, page_of};
use crate::sweep::grid::{Grid, Parameter, Point, Shard, cell, factors, shown};
use crate::sweep::plan::{Plan, seeds};
use crate::text::{TimeUnit, counted, maybe, rounded};

/// A sweep, and the runs of it that are done.
#[derive(Clone, Debug)]
pub struct Swept {
    /// What it is.
    pub plan: Plan,
    /// Name and version of the program.
    pub(super) version: String,
    /// What tells its binary from others, in hexadecimal digits.
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Row {
    /// The experiment, as it was named.
    pub(super) experiment: String,
    /// One for each parameter.
    pub(super) values: Vec<Node>,
    /// The policy's label.
    pub(super) policy: String,
    /// Seed of its random numbers.
    pub(super) seed: u64,
    /// The makespan; without a result, this and what follows is `None`.
    pub(super) seconds: Option<f64>,
    /// Number of supersteps.
    pub(super) supersteps: Option<u64>,
    /// Rescheduling calls.
    pub(super) calls: Option<usize>,
    /// Processes that moved.
    pub(super) migrations: Option<usize>,
    /// Bytes of their states.
    pub(super) moved_bytes: Option<u64>,
    /// Seconds for which processes waited for calls.
    pub(super) call_seconds: Option<f64>,
    /// Part of the makespan of scenario i with the same seed that is saved; `None`: there is no scenario i, or it takes no time.
    pub(super) gain: Option<f64>,
    /// Computation that the best mapping of every superstep would have saved, in seconds.
    pub(super) attainable_seconds: Option<f64>,
    /// Computation that perfect balance would have saved, in seconds.
    pub(super) imbalance_seconds: Option<f64>,
    /// Why the run has no result.
    pub(super) error: Option<String>,
    /// SHA-256 of its configuration, with these values, this policy and this seed.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub(super) configuration_sha256: String,
    /// Rows with the same one are the same run.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub(super) run_sha256: String,
}

/// A policy on one combination: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    const SCHEMA: &'static str = "migbsp.sweep/1";
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

/// The experiment and the values of a combination.
fn experiment_and_values(swept: &Swept, point: usize) -> (String, Vec<Node>) {
    let (grid, point) = (&swept.plan.grid, &swept.points[point]);
    let experiment = grid.experiments[point.experiment].clone();
    (experiment, grid.values(point).cloned().collect())
}

/// The name of a column, and the cell of a run.
type RunColumn = (&'static str, fn(&Report, &Row) -> Value);

/// The columns after those of the parameters.
const COLUMNS: [RunColumn; 16] = [
    ("policy", |_, row| row.policy.as_str().into()),
    ("seed", |_, row| row.seed.into()),
    ("seconds", |_, row| row.seconds.into()),
    ("supersteps", |_, row| row.supersteps.into()),
    ("calls", |_, row| row.calls.into()),
    ("migrations", |_, row| row.migrations.into()),
    ("moved_bytes", |_, row| row.moved_bytes.into()),
    ("call_seconds", |_, row| row.call_seconds.into()),
    ("gain", |_, row| row.gain.into()),
    ("attainable_seconds", |_, row| row.attainable_seconds.into()),
    ("imbalance_seconds", |_, row| row.imbalance_seconds.into()),
    ("error", |_, row| row.error.as_deref().into()),
    ("version", |report, _| report.made_by[0].as_str().into()),
    ("build_sha256", |report, _| {
        report.made_by[1].as_str().into()
    }),
    ("configuration_sha256", |_, row| {
        row.configuration_sha256.as_str().into()
    }),
    ("run_sha256", |_, row| row.run_sha256.as_str().into()),
];

/// What a sweep will do: the number of runs, and what it goes through.
pub fn planned(plan: &Plan, subjects: &[Subject]) -> Document {
    let grid = &plan.grid;
    let runs = position(plan.runs);
    let part = maybe(grid.shard, |shard| format!(" in shard {shard}"));
    let mut document = Document::default();
    document.say(format!(
        "{}{part}: {}",
        counted(runs, "run"),
        factors(grid, plan.policies.len())
    ));
    document.table(plan_table(plan, []));
    let still = subjects.iter().filter(|subject| !subject.draws).count();
    if 0 < still && 1 < grid.seeds.len() {
        let what = counted(still, "combination");
        let first = grid.seeds[0];
        document.say(format!(
            "{what} of {} without random numbers: run with seed {first} alone.",
            subjects.len()
        ));
    }
    document
}

/// What a sweep goes through, and these further rows.
fn plan_table<'a>(plan: &'a Plan, others: impl IntoIterator<Item = (&'a str, String)>) -> Table {
    let grid = &plan.grid;
    let mut rows = vec![("experiment", grid.experiments.join(", "))];
    rows.extend(
        grid.parameters
            .iter()
            .map(|parameter| (parameter.key(), parameter.list())),
    );
    rows.extend([
        ("policy", plan.policies.join(", ")),
        ("seed", seeds(&grid.seeds)),
    ]);
    rows.extend(others);
    let cells = rows
        .into_iter()
        .map(|(name, values)| vec![name.to_owned(), values]);
    Table::new(["parameter", "values"], cells)
}

impl Report {
    /// By experiment, values and policy: means over the seeds, makespans in `unit`.
    fn table(&self, unit: TimeUnit) -> Table {
        let varying: Vec<usize> = (0..self.parameters.len())
            .filter(|place| self.parameters[*place].varies())
            .collect();
        let has_files = 1 < self.experiments.len();
        let mut headers: Vec<&str> = Vec::new();
        if has_files {
            headers.push("experiment");
        }
        headers.extend(varying.iter().map(|place| self.parameters[*place].key()));
        let first = headers.len();
        headers.extend(["policy", "runs", unit.heading(), "±"]);
        if self.reference.is_some() {
            headers.extend(["gain", "gain, 95 %"]);
        }
        headers.extend(["calls", "moves", "in calls"]);
        if !self.failures.is_empty() {
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
            row.extend(cells(self, summary, unit));
            row
        };
        Table::new(headers, self.summaries.iter().map(row)).dispensing(&dispensable)
    }

    /// The unit of its makespans.
    fn unit(&self) -> TimeUnit {
        TimeUnit::of(self.summaries.iter().filter_map(|summary| summary.seconds))
    }
}

impl Answer for Report {
    fn document(&self) -> Document {
        let unit = self.unit();
        let mut document = Document::default();
        document.table(self.table(unit).cut(ROWS, |more| {
            format!("… {} more: --all shows them", counted(more, "row"))
        }));
        document.extend(best(self, unit).into_iter().flatten());
        document.extend(failures(&self.failures));
        document
    }

    /// The values of parameters are texts.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let parameters = self.parameters.iter().map(Parameter::key);
        let header = ["experiment"].into_iter().chain(parameters);
        let header = header.chain(COLUMNS.iter().map(|(name, _)| *name));
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, header)?;
        for row in &self.runs {
            let mut cells: Vec<Value> = vec![row.experiment.as_str().into()];
            cells.extend(row.values.iter().map(|value| Value::from(cell(value))));
            cells.extend(COLUMNS.iter().map(|(_, cell)| cell(self, row)));
            table.push(&cells)?;
        }
        table.text()
    }
}

/// The cells after those of the combination.
fn cells(report: &Report, summary: &SweptSummary, unit: TimeUnit) -> Vec<String> {
    let time = |seconds: Option<f64>| maybe(seconds, |time| unit.text(time, 3));
    let mean = |mean: Option<f64>| maybe(mean, |mean| rounded(mean, 1));
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
        maybe(summary.overhead, percent),
    ]);
    if !report.failures.is_empty() {
        cells.push(failed_of(summary.failed, summary.runs));
    }
    cells
}

/// The combination that is best for each policy: the one with the largest gain, or the shortest makespan.
fn best(report: &Report, unit: TimeUnit) -> Option<[Part; 2]> {
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
    let table = Table::new(["policy", column, "with"], rows);
    Some([Part::Lines(title), Part::Table(table)])
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

/// Rows that are shown of a long table.
const ROWS: usize = 40;

/// The places of the one or two parameters that a chart shows: those that are `named`, else those that vary.
///
/// # Errors
///
/// If a name is no parameter that varies or is given twice, or there are none or more than two.
pub fn chart_parameters(grid: &Grid, named: &[String]) -> Result<Vec<usize>, Failure> {
    let varying: Vec<(usize, &str)> = grid
        .varying()
        .map(|(place, parameter)| (place, parameter.key()))
        .collect();
    let keys: Vec<&str> = varying.iter().map(|(_, key)| *key).collect();
    let known = || {
        if keys.is_empty() {
            "none".to_owned()
        } else {
            list(&keys)
        }
    };
    let mut places = Vec::new();
    for name in named {
        let Some((place, _)) = varying.iter().find(|(_, key)| key == name) else {
            let help = match nearest(name, &keys) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("parameters with several values: {}", known()),
            };
            let problem =
                format!("--over {name}: no parameter with several values\n  help: {help}");
            return Err(Failure::Usage(problem));
        };
        if places.contains(place) {
            return Err(Failure::Usage(format!("--over {name} is given twice")));
        }
        places.push(*place);
    }
    if named.is_empty() {
        places = varying.iter().map(|(place, _)| *place).collect();
    }
    match places.len() {
        1 | 2 => Ok(places),
        0 => Err(Failure::Usage(
            "--svg shows one or two parameters, and none has several values".to_owned(),
        )),
        count => Err(Failure::Usage(format!(
            "--svg shows one or two parameters, not {count}\n  \
             help: choose with --over KEY, or --over KEY --over KEY: {}",
            known()
        ))),
    }
}

/// The chart over the parameters at these one or two places, as SVG: the others are averaged.
pub fn chart(swept: &Swept, over: &[usize]) -> String {
    match over {
        [x, y, ..] => heat_map(swept, *x, *y).svg(),
        [x] => match swept.plan.grid.parameters[*x].numbers() {
            Some(numbers) => lines(swept, *x, &numbers).svg(),
            None => intervals(swept, *x).svg(),
        },
        [] => Lines::default().svg(),
    }
}

/// Makespans over a parameter whose values are numbers, a line for each policy.
fn lines(swept: &Swept, over: usize, numbers: &[f64]) -> Lines {
    let parameter = &swept.plan.grid.parameters[over];
    let groups = groups(&swept.points, &[over]);
    let mut by_number: Vec<(f64, &Vec<usize>)> = groups
        .iter()
        .map(|(place, points)| (numbers[place[0]], points))
        .collect();
    by_number.sort_by(|left, right| left.0.total_cmp(&right.0));
    let results = &swept.results;
    let (mut series, mut heights) = (Vec::new(), Vec::new());
    for (policy, name) in results.policies.iter().enumerate() {
        let point = |(x, points): &(f64, &Vec<usize>)| (*x, makespan(results, points, policy));
        let points: Vec<(f64, f64)> = by_number.iter().map(point).collect();
        heights.extend(points.iter().map(|(_, height)| *height));
        series.push(Series {
            name: name.clone(),
            points,
            ..Series::default()
        });
        let ends = by_number.iter().filter_map(|(x, points)| {
            let (low, high) = spread(results, points, policy)?;
            Some([(*x, low), (*x, high)])
        });
        series.push(Series {
            points: ends.flatten().collect(),
            style: Style::Spread,
            is_paired: true,
            ..Series::default()
        });
    }
    Lines {
        title: format!("Makespan over {}", parameter.key()),
        note: note(swept, &[over], "Bars: the least and the greatest over"),
        x_label: parameter.key().to_owned(),
        y_label: "seconds".to_owned(),
        x_is_log: is_log(by_number.iter().map(|(x, _)| *x)),
        y_scale: Scale::of(&heights),
        series,
        ..Lines::default()
    }
}

/// Whether ascending numbers are positive and further and further apart, as 1, 2, 4, 8 are.
fn is_log(numbers: impl Iterator<Item = f64>) -> bool {
    let numbers: Vec<f64> = numbers.collect();
    let ([first, second, ..], [.., before, last]) = (&numbers[..], &numbers[..]) else {
        return false;
    };
    0.0 < *first && APART * (second - first) <= last - before
}

/// Makespans over a parameter whose values are no numbers, a bar for each policy.
fn intervals(swept: &Swept, over: usize) -> Intervals {
    let parameter = &swept.plan.grid.parameters[over];
    let results = &swept.results;
    let groups = groups(&swept.points, &[over]).into_iter();
    let group = |(place, points): (Vec<usize>, Vec<usize>)| {
        let row = |(policy, name): (usize, &String)| {
            let (low, high) = spread(results, &points, policy).unwrap_or((f64::NAN, f64::NAN));
            Interval {
                name: name.clone(),
                colour: policy,
                mean: makespan(results, &points, policy),
                low,
                high,
            }
        };
        Group {
            name: shown(&parameter.values()[place[0]]),
            rows: results.policies.iter().enumerate().map(row).collect(),
        }
    };
    Intervals {
        title: format!(
            "Makespan over {}, least and greatest over seeds",
            parameter.key()
        ),
        unit: "seconds".to_owned(),
        groups: groups.map(group).collect(),
    }
}

/// Gains over two parameters, or makespans if there is no scenario i; a panel for each policy.
fn heat_map(swept: &Swept, x: usize, y: usize) -> HeatMap {
    let grid = &swept.plan.grid;
    let results = &swept.results;
    let groups = groups(&swept.points, &[x, y]);
    let reference = swept.plan.reference.as_ref();
    let count = |parameter: usize| grid.parameters[parameter].values().len();
    let panel = |(policy, name): (usize, &String)| {
        let cell = |row: usize, column: usize| match groups.get(&vec![column, row]) {
            None => f64::NAN,
            Some(points) if reference.is_some() => 100.0 * gain(results, points, policy),
            Some(points) => makespan(results, points, policy),
        };
        let cells = |row| (0..count(x)).map(|column| cell(row, column)).collect();
        HeatPanel {
            name: name.clone(),
            cells: (0..count(y)).map(cells).collect(),
        }
    };
    let shown_policies = results.policies.iter().enumerate();
    let shown_policies = shown_policies.filter(|(_, name)| Some(*name) != reference);
    let names = |parameter: &Parameter| parameter.values().iter().map(shown).collect();
    let (x_label, y_label) = (grid.parameters[x].key(), grid.parameters[y].key());
    let (what, unit) = match reference {
        Some(reference) => (
            format!("Gain against {reference}"),
            format!("gain, % of the makespan of {reference}"),
        ),
        None => ("Makespan".to_owned(), "makespan in seconds".to_owned()),
    };
    HeatMap {
        title: what,
        note: note(swept, &[x, y], "Geometric mean over"),
        unit,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        columns: names(&grid.parameters[x]),
        rows: names(&grid.parameters[y]),
        panels: shown_policies.map(panel).collect(),
        is_around_zero: reference.is_some(),
    }
}

/// What is averaged in a chart over these parameters; `of_seeds` is said of the seeds, if there are several.
fn note(swept: &Swept, over: &[usize], of_seeds: &str) -> String {
    let grid = &swept.plan.grid;
    let mut sentences = Vec::new();
    if let [experiment] = &grid.experiments[..] {
        sentences.push(format!("{experiment}."));
    }
    let others = grid.varying().filter(|(place, _)| !over.contains(place));
    let mut others: Vec<&str> = others.map(|(_, parameter)| parameter.key()).collect();
    if 1 < grid.experiments.len() {
        others.push("experiments");
    }
    if !others.is_empty() {
        sentences.push(format!("Geometric mean over {}.", others.join(", ")));
    }
    if swept
        .results
        .experiments
        .iter()
        .any(|subject| 1 < subject.seeds.len())
    {
        sentences.push(format!("{of_seeds} {}.", counted(grid.seeds.len(), "seed")));
    }
    sentences.join(" ")
}

/// By how much larger the last distance of numbers on a logarithmic axis is than the first.
const APART: f64 = 3.0;

/// Combinations, as places in a list, by the places of their values of the parameters `over`.
pub(super) fn groups(points: &[Point], over: &[usize]) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        let key = over
            .iter()
            .map(|parameter| point.choice[*parameter])
            .collect();
        groups.entry(key).or_default().push(place);
    }
    groups
}

/// The geometric mean of makespans under `policy` over seeds and then over those of `points` with results, all of the
/// same weight; NaN if there are none.
pub(super) fn makespan(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let logarithms = logarithms(results, *point, policy);
        let logarithms: Vec<f64> = logarithms.into_iter().map(|(_, value)| value).collect();
        (!logarithms.is_empty()).then(|| mean(&logarithms))
    };
    let means: Vec<f64> = points.iter().filter_map(of).collect();
    if means.is_empty() {
        f64::NAN
    } else {
        mean(&means).exp()
    }
}

/// The least and the greatest geometric mean over `points` of the makespans with the same seed; `None`: there is one
/// seed, or points have different ones.
pub(super) fn spread(results: &Results, points: &[usize], policy: usize) -> Option<(f64, f64)> {
    let all: Vec<Vec<(u64, f64)>> = points
        .iter()
        .map(|point| logarithms(results, *point, policy))
        .collect();
    let seeds = |of: &[(u64, f64)]| of.iter().map(|(seed, _)| *seed).collect::<Vec<u64>>();
    let first = seeds(all.first()?);
    if first.len() < 2 || all.iter().any(|other| seeds(other) != first) {
        return None;
    }
    let of = |seed: usize| mean(&all.iter().map(|of| of[seed].1).collect::<Vec<f64>>()).exp();
    let means = || (0..first.len()).map(of);
    Some((
        means().fold(f64::INFINITY, f64::min),
        means().fold(f64::NEG_INFINITY, f64::max),
    ))
}

/// Gain of `policy` over the reference, as a part of its makespan: the geometric mean over seeds and then over those of
/// `points` with a gain; NaN if there are none.
pub(super) fn gain(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let ratio = results.blocks(&[*point], policy, results.reference).ratio();
        ratio.map(f64::ln)
    };
    let logarithms: Vec<f64> = points.iter().filter_map(of).collect();
    if logarithms.is_empty() {
        f64::NAN
    } else {
        1.0 - mean(&logarithms).exp()
    }
}

/// The logarithms of makespans, with their seeds.
fn logarithms(results: &Results, point: usize, policy: usize) -> Vec<(u64, f64)> {
    let runs = results.of(point, policy);
    runs.map(|run| (run.seed, run.seconds.ln())).collect()
}

/// The page: what was run, charts over every parameter and every two of the first ones, and a table.
pub fn page(swept: &Swept) -> String {
    let (plan, report) = (&swept.plan, Report::new(swept));
    let runs = [
        plan.grid.shard.map(|shard| ("shard", shard.to_string())),
        Some(("runs", format!("{} of {}", swept.runs(), plan.runs))),
        Some((
            "program",
            format!("{}, build {}", swept.version, swept.build),
        )),
    ];
    let unit = report.unit();
    let mut answer = Document::default();
    answer.table(report.table(unit).cut(PAGE_ROWS, |more| {
        format!("{} more are in runs.csv.", counted(more, "row"))
    }));
    answer.extend(best(&report, unit).into_iter().flatten());
    let headings = [
        Heading::new("sweep", "Sweep"),
        Heading::new("charts", "Charts"),
        Heading::new("results", "Results"),
    ];
    let [sweep, charts, results] = &headings;
    let sections = html! {
        (sweep)
        (plan_table(plan, runs.into_iter().flatten()).page())
        (charts)
        @for svg in all_charts(swept) { figure { (PreEscaped(svg)) } }
        (results)
        (answer.page())
    };
    let title = format!("Sweep of {}", plan.grid.experiments.join(", "));
    page_of(&title, PREFACE, &headings, &sections)
}

/// Charts over every parameter that varies, then over every two of the first ones.
fn all_charts(swept: &Swept) -> Vec<String> {
    let varying: Vec<usize> = swept.plan.grid.varying().map(|(place, _)| place).collect();
    let first = &varying[..varying.len().min(PAIRED)];
    let pairs = first.iter().enumerate().flat_map(|(place, x)| {
        let others = first[place + 1..].iter();
        others.map(move |y| vec![*x, *y])
    });
    let single = varying.iter().map(|place| vec![*place]);
    single
        .chain(pairs)
        .map(|over| chart(swept, &over))
        .collect()
}

const PREFACE: &str = "Every combination of values under every policy. Makespans are means over the seeds of experiments \
    that draw random numbers, ± half of a 95 % confidence interval; gains are parts of the makespan of scenario i, \
    geometric means over pairs of runs with the same seed. In charts over one or two parameters the others are averaged.";

/// Parameters of which every two have a chart.
const PAIRED: usize = 3;
/// Rows of the table of the page.
const PAGE_ROWS: usize = 2000;

#[cfg(test)]
pub(super) mod tests;
