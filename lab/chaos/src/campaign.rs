//! Campaigns of fault simulations: many seeds, what they found, and which faults hit which steps of the protocol.

use std::time::Duration;

use agents::mutant::Mutant;
use analysis::document::{Document, Table};
use analysis::text::counted;
use bsp::numbers::{length, real};
use experiments::batch::Batch;
use experiments::{CsvTable, Failure, Provenance, Published};
use protocol::Step;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::simulation::{FaultKind, SeedOptions, SeedRun, shrink, simulate_seed};

/// Simulates `seeds`.
///
/// # Errors
///
/// None of its own: what must not happen and did is in the report.
pub(crate) fn campaign(seeds: &[u64], batch: Batch<'_>) -> Result<Report, Failure> {
    let runs = batch.run(seeds, |seed| Ok(simulate_seed(&SeedOptions::new(*seed))))?;
    let mut digest = Sha256::new();
    for run in &runs {
        digest.update(&run.digest);
    }
    let failed = runs.iter().filter(|run| !run.violations.is_empty());
    let failing = failed.map(|run| FailingSeed {
        seed: run.seed,
        violations: run.violations.clone(),
        faults: shrink(run.seed),
    });
    let nanoseconds = runs.iter().map(|run| run.nanoseconds).sum();
    Ok(Report {
        seeds: length(seeds.len()),
        completed: length(runs.iter().filter(|run| run.is_completed).count()),
        with_views: length(runs.iter().filter(|run| 0 < run.views).count()),
        views: runs.iter().map(|run| run.views.saturating_sub(1)).sum(),
        joined: runs.iter().map(|run| run.joined).sum(),
        recovered: length(
            runs.iter()
                .filter(|run| run.is_completed && 1 < run.views)
                .count(),
        ),
        attached: runs.iter().map(|run| run.attached).sum(),
        followed: runs.iter().map(|run| run.followed).sum(),
        events: runs.iter().map(|run| run.events).sum(),
        virtual_seconds: Duration::from_nanos(nanoseconds).as_secs_f64(),
        digest: hex::encode(digest.finalize()),
        coverage: Coverage::of(&runs),
        failing: failing.collect(),
        mutants: None,
    })
}

/// What the simulation of each defect finds, among `seeds`, which are tried in their order.
///
/// # Errors
///
/// As [`Batch::run`].
pub(crate) fn mutants(seeds: &[u64], batch: Batch<'_>) -> Result<Vec<FoundMutant>, Failure> {
    batch.run(&Mutant::ALL, |mutant| {
        let found = seeds.iter().find_map(|seed| {
            let run = simulate_seed(&SeedOptions {
                mutant: Some(*mutant),
                ..SeedOptions::new(*seed)
            });
            let first = run.violations.into_iter().next();
            first.map(|violation| (*seed, violation))
        });
        let (seed, violation) = found.unzip();
        Ok(FoundMutant {
            mutant: mutant.to_string(),
            seed,
            violation,
        })
    })
}

/// What a campaign of fault simulations found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// The number of seeds.
    seeds: u64,
    /// The jobs that were completed in spite of their faults.
    completed: u64,
    /// The jobs that go on when a node is lost.
    with_views: u64,
    /// The views in which they went on.
    views: u64,
    /// How often a node took part in one of these that was not in the one before: it was back.
    joined: u64,
    /// The jobs that were completed in one of these.
    recovered: u64,
    /// How often a client has attached to a job that a node leads, or has led.
    attached: u64,
    /// How many of these have followed the job to its end and have its outputs.
    followed: u64,
    /// The number of events.
    events: u64,
    /// Virtual time that passed.
    virtual_seconds: f64,
    /// SHA-256 of what happened: equal for equal seeds.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    digest: String,
    /// Which faults hit which steps of the protocol.
    coverage: Coverage,
    /// Seeds in which something happened that must not.
    failing: Vec<FailingSeed>,
    /// The defects that were tried, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mutants: Option<Vec<FoundMutant>>,
}

/// Which faults hit which steps of the protocol.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Coverage {
    /// Kinds of faults that have hit a node at a step, of all pairs.
    #[serde(rename = "pairs_met")]
    pairs_hit: u64,
    /// The number of pairs.
    pairs: u64,
    /// The faults that happened, by kind.
    faults: Vec<KindCount>,
    /// The kinds of faults: the columns of the counts.
    kinds: Vec<String>,
    /// The steps of the protocol: the rows of the counts.
    steps: Vec<String>,
    /// How often a fault of each kind hit a node at each step.
    counts: Vec<Vec<u64>>,
}

/// How many faults of a kind happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct KindCount {
    /// The kind.
    kind: String,
    /// The number of faults.
    count: u64,
}

/// A seed in which something happened that must not.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct FailingSeed {
    /// The seed.
    seed: u64,
    /// What happened.
    violations: Vec<String>,
    /// The faults of the seed that it takes, from 0.
    faults: Vec<usize>,
}

/// What the simulation of a defect found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct FoundMutant {
    /// The defect.
    mutant: String,
    /// The first seed in which it shows; `None`: in none.
    seed: Option<u64>,
    /// How it shows.
    violation: Option<String>,
}

impl Coverage {
    fn of(runs: &[SeedRun]) -> Self {
        let hits: Vec<(FaultKind, Step)> = runs.iter().flat_map(|run| run.faults.clone()).collect();
        let count = |pair| length(hits.iter().filter(|hit| **hit == pair).count());
        let of_step = |step| FaultKind::ALL.map(|kind| count((kind, step))).to_vec();
        let counts: Vec<Vec<u64>> = Step::ALL.into_iter().map(of_step).collect();
        let of_kind = |(place, kind): (usize, FaultKind)| KindCount {
            kind: kind.to_string(),
            count: counts.iter().map(|counts| counts[place]).sum(),
        };
        let all = counts.iter().flatten();
        Self {
            pairs_hit: length(all.clone().filter(|count| 0 < **count).count()),
            pairs: length(all.count()),
            faults: FaultKind::ALL
                .into_iter()
                .enumerate()
                .map(of_kind)
                .collect(),
            kinds: FaultKind::ALL.iter().map(ToString::to_string).collect(),
            steps: Step::ALL.iter().map(ToString::to_string).collect(),
            counts,
        }
    }
}

impl FailingSeed {
    /// The arguments that simulate the seed again and describe what happens.
    pub(crate) fn arguments(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        let faults = match &faults[..] {
            [] => "none".to_owned(),
            faults => faults.join(","),
        };
        format!("chaos --seed {} --faults {faults} --trace", self.seed)
    }
}

impl Report {
    /// Why the campaign has failed, if it has; `own` is the name of the program.
    pub(crate) fn failure(&self, own: &str) -> Option<Failure> {
        if let Some(first) = self.failing.first() {
            let (count, arguments) = (self.failing.len(), first.arguments());
            return Some(Failure::Verification(format!(
                "{count} of {} seeds failed; `{own} {arguments}` shows the first",
                self.seeds
            )));
        }
        let mutants = self.mutants.iter().flatten();
        let missed: Vec<&str> = mutants
            .filter(|found| found.seed.is_none())
            .map(|found| found.mutant.as_str())
            .collect();
        (!missed.is_empty()).then(|| {
            let missed = missed.join(", ");
            Failure::Verification(format!("no seed shows these mutants: {missed}"))
        })
    }

    /// One row per step and kind of fault.
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        let Coverage {
            kinds,
            steps,
            counts,
            ..
        } = &self.coverage;
        for (step, counts) in steps.iter().zip(counts) {
            for (kind, count) in kinds.iter().zip(counts) {
                table.push(Row {
                    step,
                    fault: kind,
                    count: *count,
                })?;
            }
        }
        table.text()
    }
}

/// A row of the table.
#[derive(Serialize)]
struct Row<'a> {
    step: &'a str,
    fault: &'a str,
    count: u64,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.chaos/1";
}

/// The report for people; commands begin with `own`, the name of the program.
pub(crate) fn document(report: &Report, own: &str) -> Document {
    let Report {
        seeds,
        completed,
        with_views,
        views,
        joined,
        recovered,
        attached,
        followed,
        events,
        virtual_seconds,
        coverage,
        failing,
        digest,
        mutants,
    } = report;
    let hours = virtual_seconds / 3600.0;
    let mut document = Document::default();
    document.say(format!(
        "{seeds} seeds: {events} events in {hours:.1} virtual hours. {completed} jobs were completed in spite of \
         their faults, the others ended with their cause. {with_views} jobs may go on when a node is lost: they went on in {views} \
         more views, with {joined} nodes that were back, and {recovered} of them were completed after a loss. \
         Clients attached {attached} times to jobs that nodes led, and {followed} of them received the outputs."
    ));
    let faults = coverage.faults.iter();
    let faults: Vec<String> = faults
        .map(|fault| format!("{} {}", fault.count, fault.kind))
        .collect();
    document.paragraph(format!("Faults: {}.", faults.join(", ")));
    document.table(table(coverage));
    let Coverage {
        pairs_hit, pairs, ..
    } = coverage;
    let part = 100.0 * real(*pairs_hit) / real((*pairs).max(1));
    let mut lines = vec![format!(
        "{pairs_hit} of {pairs} pairs of a fault and a step were hit ({part:.0} %). Identity: {digest}"
    )];
    for seed in failing {
        failing_seed(&mut lines, seed, own);
    }
    for found in mutants.iter().flatten() {
        let mutant = &found.mutant;
        lines.push(match (&found.seed, &found.violation) {
            (Some(seed), Some(violation)) => format!("mutant {mutant}: seed {seed}: {violation}"),
            _ => format!("mutant {mutant}: not found"),
        });
    }
    if failing.is_empty() {
        lines.push("No seed failed.".to_owned());
    }
    document.say(lines.join("\n"));
    document
}

/// How often a fault of each kind hit a node at each step.
fn table(coverage: &Coverage) -> Table {
    let headers = std::iter::once("step").chain(coverage.kinds.iter().map(String::as_str));
    let headers: Vec<&str> = headers.collect();
    let rows = coverage.steps.iter().zip(&coverage.counts);
    let rows = rows.map(|(step, counts)| {
        let counts = counts.iter().map(|count| match count {
            0 => "-".to_owned(),
            count => count.to_string(),
        });
        std::iter::once(step.clone()).chain(counts).collect()
    });
    Table::new(headers, rows)
}

fn failing_seed(lines: &mut Vec<String>, failing: &FailingSeed, own: &str) {
    let FailingSeed {
        seed,
        violations,
        faults,
    } = failing;
    let count = counted(faults.len(), "fault");
    lines.push(format!("seed {seed} fails with {count}:"));
    let violations = violations.iter();
    lines.extend(violations.map(|violation| format!("  {violation}")));
    lines.push(format!("  {own} {}", failing.arguments()));
}
