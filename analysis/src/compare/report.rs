//! Results of a comparison, as text, JSON, CSV and as a chart.

use experiments::{Failure, Provenance, Published};
use serde::Serialize;

use crate::chart::{Group, Interval, Intervals};
use crate::compare::arguments::Claim;
use crate::compare::live::LiveConditions;
use crate::compare::results;
use crate::compare::results::{DoneRun, Overall, Pair, Results, Run, Subject, Summary, Verdict};
use crate::compare::statistics::COUNT_MAX;
use crate::document::{Answer, Document, Part, Table, csv_of_fields};
use crate::text::{TimeUnit, counted, data, maybe, rounded};

/// Results of a comparison.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// How it was made on real hosts, where a repetition takes the place of a seed; `None`: in simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveConditions>,
    /// Label of the policy that the others are compared with.
    pub reference: String,
    /// In the order they were given.
    pub experiments: Vec<Subject>,
    /// By experiment, policy and seed.
    pub runs: Vec<Row>,
    /// By experiment and policy.
    pub summaries: Vec<Summary>,
    /// By policy.
    pub overall: Vec<Overall>,
    /// On all experiments together, then on every single one.
    pub pairs: Vec<Pair>,
    /// In the order they were made.
    pub claims: Vec<CheckedClaim>,
    /// The runs without a result, with the reasons.
    #[serde(skip)]
    pub failures: Vec<String>,
}

/// A run, with its experiment, policy and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Row {
    /// The experiment, as it was named.
    experiment: String,
    /// The policy's label.
    policy: String,
    /// Seed of its random numbers; on real hosts its repetition.
    seed: u64,
    /// The makespan; without a result, this and what follows is `None`.
    seconds: Option<f64>,
    /// Number of supersteps.
    supersteps: Option<u64>,
    /// Rescheduling calls.
    calls: Option<usize>,
    /// Processes that moved.
    migrations: Option<usize>,
    /// Bytes of their states.
    moved_bytes: Option<u64>,
    /// Seconds for which processes waited for calls.
    call_seconds: Option<f64>,
    /// Computation that the best mapping of every superstep would have saved, in seconds.
    attainable_seconds: Option<f64>,
    /// Computation that perfect balance would have saved, in seconds.
    imbalance_seconds: Option<f64>,
    /// Ratio of the makespan to that of all supersteps under the best placement from the start; `None`: it is not known.
    of_best_placement: Option<f64>,
    /// Why the run has no result.
    error: Option<String>,
    /// SHA-256 of its configuration, policy and seed included.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    configuration_sha256: String,
    /// SHA-256 of all that it depends on: rows with the same one are the same run.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    run_sha256: String,
}

/// A claim, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckedClaim {
    /// The text of the claim.
    pub claim: String,
    /// The experiment that it is about; `None`: all together.
    pub experiment: Option<String>,
    /// Ratio of the left policy's makespan to the right one's: the geometric mean. `None`: there is none, and the claim
    /// does not hold.
    pub ratio: Option<f64>,
    /// The bound of the ratio.
    pub limit: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Report {
    /// The report of `results`, with `claims` about all experiments together and `claims_each` about
    /// every single one.
    pub fn new(results: &Results, claims: &[Claim], claims_each: &[Claim]) -> Self {
        let each = results::on_each(results);
        let overall = results::overall(results, &each);
        let summaries = results::summaries(results, &each);
        let mut pairs = results::over_all(results);
        pairs.extend(each);
        Self {
            live: None,
            reference: results.policies[results.reference].clone(),
            experiments: results.experiments.clone(),
            runs: rows(results),
            summaries,
            overall,
            pairs,
            claims: checked(results, claims, claims_each),
            failures: results.failures("seed"),
        }
    }

    /// The same report, of `results` on real hosts.
    pub(super) fn of_live(self, results: &Results, live: LiveConditions) -> Self {
        Self {
            live: Some(live),
            failures: results.failures(REPETITION),
            ..self
        }
    }

    /// What its values are independent by: `seed`, or `repetition` on real hosts.
    pub(super) const fn block(&self) -> &'static str {
        match self.live {
            Some(_) => REPETITION,
            None => "seed",
        }
    }

    /// A message about the runs without a result; `None` if all have one.
    pub fn failure(&self) -> Option<String> {
        failure(&self.failures, self.runs.len())
    }

    /// A message for each claim that does not hold, one a line; `None` if all hold.
    pub fn complaint(&self) -> Option<String> {
        let broken = self.claims.iter().filter(|checked| !checked.holds);
        let lines: Vec<String> = broken.map(CheckedClaim::complaint).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.compare/1";
}

/// A message about `failures` of `runs` runs; `None` if there are none.
pub(crate) fn failure(failures: &[String], runs: usize) -> Option<String> {
    let first = failures.first()?;
    let count = failures.len();
    Some(format!(
        "{first}\n  note: {count} of {runs} runs failed; the others are done"
    ))
}

impl CheckedClaim {
    fn line(&self) -> String {
        let holds = if self.holds { "holds" } else { "DOES NOT HOLD" };
        let place = maybe(self.experiment.as_ref(), |name| format!(" on {name}"));
        let ratio = match self.ratio {
            Some(ratio) => format!("the ratio is {ratio:.4}"),
            None => "there is no ratio".to_owned(),
        };
        format!("{}{place}: {holds} ({ratio})", self.claim)
    }

    fn complaint(&self) -> String {
        let Self {
            claim,
            ratio,
            limit,
            ..
        } = self;
        let place = match &self.experiment {
            Some(experiment) => format!("on {experiment}"),
            None => "over all experiments".to_owned(),
        };
        let found = match ratio {
            Some(ratio) => format!("the makespans' ratio is {ratio:.4}, its limit {limit}"),
            None => "the makespans have no ratio".to_owned(),
        };
        format!("`{claim}` does not hold {place}: {found}")
    }
}

const REPETITION: &str = "repetition";

fn rows(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (experiment, policies) in results.experiments.iter().zip(&results.runs) {
        for (policy, runs) in results.policies.iter().zip(policies) {
            rows.extend(runs.iter().map(|run| Row::new(experiment, policy, run)));
        }
    }
    rows
}

fn checked(results: &Results, claims: &[Claim], claims_each: &[Claim]) -> Vec<CheckedClaim> {
    let all = claims.iter().map(|claim| check(results, claim, None));
    let subjects = 0..results.experiments.len();
    let each = claims_each.iter().flat_map(|claim| {
        let single = move |experiment| check(results, claim, Some(experiment));
        subjects.clone().map(single)
    });
    all.chain(each).collect()
}

fn check(results: &Results, claim: &Claim, experiment: Option<usize>) -> CheckedClaim {
    let place = |label: &str| {
        let found = results.policies.iter().position(|policy| policy == label);
        found.expect("claims name policies that take part")
    };
    let (left, right) = (place(&claim.left), place(&claim.right));
    let ratio = results::ratio(results, experiment, left, right);
    CheckedClaim {
        claim: claim.to_string(),
        experiment: experiment.map(|index| results.experiments[index].name.clone()),
        ratio,
        limit: claim.limit,
        holds: ratio.is_some_and(|ratio| claim.holds(ratio)),
    }
}

impl Row {
    fn new(experiment: &Subject, policy: &str, done: &DoneRun) -> Self {
        let run: Option<&Run> = done.outcome.run();
        Self {
            experiment: experiment.name.clone(),
            policy: policy.to_owned(),
            seed: done.outcome.seed(),
            seconds: run.map(|run| run.seconds),
            supersteps: run.map(|run| run.supersteps),
            calls: run.map(|run| run.calls),
            migrations: run.map(|run| run.migrations),
            moved_bytes: run.map(|run| run.moved_bytes),
            call_seconds: run.map(|run| run.call_seconds),
            attainable_seconds: run.and_then(|run| run.attainable_seconds),
            imbalance_seconds: run.and_then(|run| run.imbalance_seconds),
            of_best_placement: run.and_then(|run| experiment.of_best_placement(run)),
            error: done.outcome.failed().map(|failed| failed.error.clone()),
            configuration_sha256: done.outcome.configuration_sha256().to_owned(),
            run_sha256: done.run_sha256.clone(),
        }
    }
}

impl Answer for Report {
    /// Every experiment, all of them together, the significant differences, the claims, and the runs that failed.
    fn document(&self) -> Document {
        let mut document = Document::default();
        if let Some(live) = &self.live {
            document.paragraph(conditions(live));
        }
        for subject in &self.experiments {
            document.extend(experiment(self, subject));
        }
        if 1 < self.experiments.len() {
            document.extend(all(self));
        }
        if 1 < self.overall.len() {
            document.extend(differences(self));
        }
        if !self.claims.is_empty() {
            let claims: Vec<String> = self.claims.iter().map(CheckedClaim::line).collect();
            document.say(claims.join("\n"));
        }
        document.extend(failures(&self.failures));
        document.paragraph(legend(self));
        document
    }

    /// One row per run.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv_of_fields::<Self, _>(provenance, &self.runs)
    }
}

/// How runs on real hosts were made.
fn conditions(live: &LiveConditions) -> String {
    let LiveConditions {
        hosts,
        sets,
        repetitions,
        order_seed,
        ..
    } = live;
    let repetitions = counted(*repetitions, "repetition");
    let (hosts, sets) = (counted(*hosts, "host"), counted(*sets, "Set"));
    format!(
        "On {hosts} in {sets}: {repetitions}, each with all runs in an order that seed {order_seed} draws."
    )
}

/// The first runs without a result, and how many more there are; nothing if all have one.
pub(crate) fn failures(failures: &[String]) -> Vec<Part> {
    if failures.is_empty() {
        return Vec::new();
    }
    let shown = failures.iter().take(FAILURES);
    let mut lines: Vec<String> = shown.map(|failure| format!(" {failure}")).collect();
    if FAILURES < failures.len() {
        lines.push(format!(" … {} more", failures.len() - FAILURES));
    }
    vec![
        Part::Lines("Runs without a result".to_owned()),
        Part::Lines(lines.join("\n")),
    ]
}

fn experiment(report: &Report, subject: &Subject) -> Vec<Part> {
    let summaries = report.summaries.iter();
    let summaries: Vec<&Summary> = summaries
        .filter(|summary| summary.experiment == subject.name)
        .collect();
    let unit = TimeUnit::of(summaries.iter().filter_map(|summary| summary.seconds));
    let against = format!("against {}", report.reference);
    let mut headers = vec![
        "policy",
        unit.heading(),
        "±",
        "gain",
        "±",
        "of balance",
        "of mapping",
        "calls",
        "moves",
        "moved",
        "in calls",
        &against,
    ];
    let rows = summaries.iter().map(|summary| {
        let verdict = report.pairs.iter().find(|pair| {
            pair.experiment.as_deref() == Some(&subject.name)
                && pair.policy == summary.policy
                && pair.against == report.reference
        });
        summary_row(summary, verdict, unit)
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    if summaries.iter().any(|summary| 0 < summary.failed) {
        headers.push("error");
        for (row, summary) in rows.iter_mut().zip(&summaries) {
            row.push(failed_of(summary.failed, summary.runs));
        }
    }
    let known = subject.best_placement.as_ref();
    if known.is_some_and(|best| best.seconds_per_superstep.is_some()) {
        headers.push("of best placement");
        for (row, summary) in rows.iter_mut().zip(&summaries) {
            let ratio = summary.of_best_placement;
            row.push(maybe(ratio, |ratio| format!("{ratio:.3}")));
        }
    }
    let stale = known.filter(|best| best.seconds_per_superstep.is_none());
    let stale = stale.map(|best| {
        let file = &best.file;
        Part::Paragraph(format!(
            "{file} is of another experiment or an earlier form of this one."
        ))
    });
    let blocks = blocks(subject, report.block());
    let title = Part::Lines(format!("{}, {blocks}", subject.name));
    let table = Part::Table(Table::new(headers, rows).dispensing(&DISPENSABLE));
    [title, table].into_iter().chain(stale).collect()
}

/// `2 of 5 failed`, beside `runs` with a result; nothing if none failed.
pub(crate) fn failed_of(failed: usize, runs: usize) -> String {
    match failed {
        0 => String::new(),
        _ => format!("{failed} of {} failed", failed + runs),
    }
}

fn blocks(subject: &Subject, block: &str) -> String {
    match subject.seeds[..] {
        _ if !subject.draws => "one run: the same for all seeds".to_owned(),
        [seed] => format!("{block} {seed}"),
        _ => counted(subject.seeds.len(), block),
    }
}

fn summary_row(summary: &Summary, pair: Option<&Pair>, unit: TimeUnit) -> Vec<String> {
    let shown = |value: Option<f64>, form: &dyn Fn(f64) -> String| maybe(value, form);
    let compared = |value: Option<f64>| shown(value.filter(|_| pair.is_some()), &percent);
    let ends = summary.gain_high.zip(summary.gain_low);
    let mean = |value: Option<f64>| shown(value, &|value| rounded(value, 1));
    vec![
        summary.policy.clone(),
        shown(summary.seconds, &|seconds| unit.text(seconds, 3)),
        shown(summary.seconds_margin, &|margin| unit.text(margin, 3)),
        compared(summary.gain),
        compared(ends.map(|(high, low)| (high - low) / 2.0)),
        compared(summary.share_of_balance),
        compared(summary.share_of_mapping),
        mean(summary.calls),
        mean(summary.migrations),
        shown(summary.moved_bytes, &data),
        shown(summary.overhead, &percent),
        maybe(pair, |pair| pair.verdict.words().to_owned()),
    ]
}

fn all(report: &Report) -> [Part; 2] {
    let reference = &report.reference;
    let row = |overall: &Overall| {
        let is_compared = overall.policy != *reference;
        let compared = |text: String| if is_compared { text } else { String::new() };
        let ratio = overall.ratio.map(|ratio| format!("{ratio:.4}"));
        vec![
            overall.policy.clone(),
            ratio.unwrap_or_default(),
            compared(maybe(overall.gain, percent)),
            compared(overall.better.to_string()),
            compared(overall.worse.to_string()),
        ]
    };
    let times = format!("times {reference}");
    let headers = ["policy", &times, "gain", "better on", "worse on"];
    let number = report.experiments.len();
    [
        Part::Lines(format!("All {number} experiments, geometric mean")),
        Part::Table(Table::new(headers, report.overall.iter().map(row))),
    ]
}

fn differences(report: &Report) -> [Part; 2] {
    let block = report.block();
    let pairs = report.pairs.iter().filter(|pair| pair.experiment.is_none());
    let row = |pair: &Pair| {
        let interval = match (pair.ratio_low, pair.ratio_high) {
            (Some(low), Some(high)) => format!("{low:.4} to {high:.4}"),
            _ => String::new(),
        };
        let confidence = pair.confidence.filter(|_| !interval.is_empty());
        let p = maybe(pair.p_corrected, |p| match p {
            0.0001.. => format!("{p:.4}"),
            f64::MIN_POSITIVE.. => format!("{p:.1e}"),
            _ => "0.0000".to_owned(),
        });
        vec![
            pair.policy.clone(),
            pair.against.clone(),
            maybe(pair.seeds, |seeds| seeds.to_string()),
            maybe(pair.ratio, |ratio| format!("{ratio:.4}")),
            interval,
            maybe(confidence, |part| format!("{:.1} %", part * 100.0)),
            p,
            verdict(pair, block),
        ]
    };
    let blocks = format!("{block}s");
    let headers = [
        "policy", "against", &blocks, "ratio", "interval", "level", "p", "",
    ];
    let title = format!(
        "Significant differences: t-tests on the logarithms of makespans, a value for each {block}; p and intervals after Holm"
    );
    let table = Table::new(headers, pairs.map(row)).dispensing(&[2, 5, 6, 4]);
    [Part::Lines(title), Part::Table(table)]
}

/// The verdict, with the reason if there is none, and with what would show a difference.
fn verdict(pair: &Pair, block: &str) -> String {
    let words = pair.verdict.words();
    match (pair.verdict, pair.seeds_needed) {
        (Verdict::Untested, _) if pair.runs == 0 => format!("{words}: no runs of both"),
        (Verdict::Untested, _) if pair.seeds == Some(1) => format!("{words}: one {block}"),
        (Verdict::Untested, _) => format!("{words}: 0 s has no ratio"),
        (Verdict::NotShown, Some(needed)) => {
            format!("{words}: about {needed} {block}s would show it")
        }
        (Verdict::NotShown, None) => format!("{words}: {COUNT_MAX} {block}s would not show it"),
        _ => words.to_owned(),
    }
}

fn legend(report: &Report) -> String {
    let (reference, block) = (&report.reference, report.block());
    let mut legend = format!(
        "± is half of a confidence interval: of makespans 95 %, of gains the level of their test. Gains are shares of\n\
         {reference}'s makespan, paired by {block}; `of balance` and `of mapping` are saved shares of the computation that\n\
         perfect balance, or the best mapping of every superstep, would have saved {reference}. `in calls` is the share of\n\
         the makespan that calls take."
    );
    let is_zero = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds == 0.0);
    if report
        .summaries
        .iter()
        .any(|summary| is_zero(summary.seconds))
    {
        legend.push_str("\nA makespan of 0 s has no ratio to others, and no gain.");
    }
    let mut pairs = report.pairs.iter();
    if pairs.any(|pair| pair.verdict == Verdict::NotShown) {
        legend.push_str(&format!(
            "\n`not shown`: {block}s alone make differences of this size; policies may differ or not."
        ));
    }
    let mut summaries = report.summaries.iter();
    if summaries.any(|summary| summary.of_best_placement.is_some()) {
        legend.push_str(OF_BEST_PLACEMENT);
    }
    legend
}

/// A part as a percentage; values near zero have no sign.
pub(crate) fn percent(part: f64) -> String {
    let text = format!("{:.2} %", part * 100.0);
    match text.strip_prefix("-0.00") {
        Some(_) => "0.00 %".to_owned(),
        None => text,
    }
}

/// Columns of an experiment that are left out where lines are short, the first one first: the share of the
/// best mapping and of balance, bytes moved, the share of calls, the margins, calls, moves.
const DISPENSABLE: [usize; 8] = [6, 5, 9, 10, 4, 2, 7, 8];

const OF_BEST_PLACEMENT: &str = "
`of best placement` is the makespan divided by the time of all supersteps under the best placement known, from the
start.";

/// Runs without a result that are listed.
const FAILURES: usize = 10;

/// The gain of every policy: over all experiments first, if there are several, then on each. A policy has the same
/// colour everywhere.
pub fn chart(report: &Report) -> Intervals {
    let compared = |policy: &String| *policy != report.reference;
    let policies: Vec<&str> = report.overall.iter().map(|row| &*row.policy).collect();
    let percent = |part: Option<f64>| part.map_or(f64::NAN, |part| part * 100.0);
    let all = |overall: &Overall| {
        let pair = report.pairs.iter().find(|pair| {
            pair.experiment.is_none()
                && pair.policy == overall.policy
                && pair.against == report.reference
        });
        let gain = |ratio: Option<f64>| percent(ratio.map(|ratio| 1.0 - ratio));
        Interval {
            name: overall.policy.clone(),
            colour: colour(&policies, &overall.policy),
            mean: percent(overall.gain),
            low: gain(pair.and_then(|pair| pair.ratio_high)),
            high: gain(pair.and_then(|pair| pair.ratio_low)),
        }
    };
    let single = |summary: &Summary| Interval {
        name: summary.policy.clone(),
        colour: colour(&policies, &summary.policy),
        mean: percent(summary.gain),
        low: percent(summary.gain_low),
        high: percent(summary.gain_high),
    };
    let mut groups = Vec::new();
    if 1 < report.experiments.len() {
        let overall = report.overall.iter().filter(|row| compared(&row.policy));
        groups.push(Group {
            name: format!("All {}, geometric mean", report.experiments.len()),
            rows: overall.map(all).collect(),
        });
    }
    let summaries = report.summaries.chunks(policies.len());
    for (subject, summaries) in report.experiments.iter().zip(summaries) {
        let rows = summaries.iter().filter(|row| compared(&row.policy));
        groups.push(Group {
            name: subject.label.clone(),
            rows: rows.map(single).collect(),
        });
    }
    Intervals {
        title: format!(
            "Gain against {}, with confidence intervals",
            report.reference
        ),
        unit: "% of the makespan".to_owned(),
        groups,
    }
}

/// The number of the colour of `policy`. `migbsp` and `adaptive` have theirs in all comparisons, others by their places
/// among `policies`.
fn colour(policies: &[&str], policy: &str) -> usize {
    let kept = |policy: &str| KEPT.iter().position(|kept| *kept == policy);
    kept(policy).unwrap_or_else(|| {
        let mut others = policies.iter().filter(|policy| kept(policy).is_none());
        KEPT.len() + others.position(|other| *other == policy).unwrap_or(0)
    })
}

/// Policies that have the same colour in all comparisons.
const KEPT: [&str; 2] = ["migbsp", "adaptive"];

#[cfg(test)]
mod tests;
