//! Simulated runs of an experiment, as text.

use agents::Script;
use bsp::numbers::index;
use experiments::{Report, RunReport, Scenario};
use simulator::Platform;

use crate::document::{Document, Table};
use crate::sentences;
use crate::text::{TimeUnit, counted, maybe, rounded, significant};

/// The scenarios, the calls with migrations, and the gain.
pub fn document(report: &Report) -> Document {
    let processes = index(report.processes);
    let mut document = Document::default();
    document.say(format!(
        "{} of {} on {} ({} in {}), seed {}",
        counted(processes, "process"),
        report.workload,
        report.platform,
        counted(report.hosts, "host"),
        counted(report.sets, "Set"),
        report.seed
    ));
    let alone = report.run(Scenario::I);
    let unit = TimeUnit::of(report.runs.iter().map(|run| run.seconds));
    let headers = [
        "scenario",
        "supersteps",
        unit.heading(),
        "against i",
        "calls",
        "migrations",
    ];
    let rows = report.runs.iter().map(|run| scenario_row(run, alone, unit));
    document.table(Table::new(headers, rows));
    for sentence in verified(report) {
        document.say(shortened(sentence));
    }
    if let Some(moving) = report.run(Scenario::Iii) {
        calls(&mut document, moving);
    }
    let last = report.runs.last();
    for join in last.iter().flat_map(|run| &run.joins) {
        document.say(sentences::joined(join));
    }
    if let Some(checkpoints) = last.and_then(|run| run.checkpoints.as_ref()) {
        document.say(sentences::checkpoints(checkpoints));
    }
    for sentence in [verdict(report), price(report)].into_iter().flatten() {
        document.say(sentence);
    }
    document
}

/// The outputs' descriptions, each different one once; migrations change no output, so there is one at most.
fn verified(report: &Report) -> Vec<&str> {
    let mut sentences: Vec<&str> = report
        .runs
        .iter()
        .filter_map(|run| run.verified.as_deref())
        .collect();
    sentences.dedup();
    sentences
}

/// A text of at most some lines; an alignment may be as long as its sequences.
pub fn shortened(sentence: &str) -> String {
    const CHARACTERS: usize = 400;
    match sentence.char_indices().nth(CHARACTERS) {
        None => sentence.to_owned(),
        Some((end, _)) => format!("{}… (--format json shows all of it)", &sentence[..end]),
    }
}

fn scenario_row(run: &RunReport, alone: Option<&RunReport>, unit: TimeUnit) -> Vec<String> {
    let against = match alone {
        Some(alone) if alone.scenario != run.scenario && 0.0 < alone.seconds => {
            format!("{:+.2} %", (run.seconds / alone.seconds - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    vec![
        run.scenario.to_owned(),
        run.supersteps.to_string(),
        unit.text(run.seconds, 3),
        against,
        run.calls.len().to_string(),
        run.migrations().to_string(),
    ]
}

fn calls(document: &mut Document, run: &RunReport) {
    if run.migrations() == 0 {
        document.say(match run.calls.len() {
            0 => "No call was held: the run ended before the first one was due.".to_owned(),
            calls => {
                let calls = counted(calls, "call");
                format!("No process moved in {calls} of scenario iii.")
            }
        });
        return;
    }
    let migrations = run.calls.iter().flat_map(|call| &call.migrations);
    let unit = TimeUnit::of(migrations.flat_map(|migration| {
        let potential = migration.potential.unwrap_or_default();
        [
            potential,
            migration.t1,
            migration.t2,
            migration.cost_seconds,
        ]
    }));
    let decimals = if unit == TimeUnit::SECONDS { 4 } else { 3 };
    let time = |seconds: f64| unit.text(seconds, decimals);
    let mut rows = Vec::new();
    for call in &run.calls {
        for (index, migration) in call.migrations.iter().enumerate() {
            let once = |text: String| if index == 0 { text } else { String::new() };
            let next = call.summary.interval.map_or_else(
                || "when due".to_owned(),
                |interval| {
                    call.summary
                        .superstep
                        .saturating_add(interval.into())
                        .to_string()
                },
            );
            rows.push(vec![
                once(call.summary.superstep.to_string()),
                migration.step.process.clone(),
                migration.step.from.clone(),
                migration.step.to.clone(),
                maybe(migration.potential, time),
                time(migration.t1),
                time(migration.t2),
                time(migration.cost_seconds),
                once(next),
            ]);
        }
    }
    let headers = [
        "after",
        "process",
        "from",
        "to",
        "PM",
        "t1",
        "t2",
        "cost",
        "next call",
    ];
    let caption = format!(
        "Calls of scenario iii with migrations (PM, t1, t2 and cost in {})",
        unit.heading()
    );
    let table = Table::new(headers, rows).captioned(caption);
    document.table(table.dispensing(&[5, 6, 8, 4, 7]).cut(ROWS, more_rows));
}

/// What is said of the rows that a table leaves out.
pub(crate) fn more_rows(more: usize) -> String {
    format!(" … {more} more; --all or --format json shows all of them")
}

/// The gain of rescheduling, compared with the possible gain.
fn verdict(report: &Report) -> Option<String> {
    let (alone, moving) = (report.run(Scenario::I)?, report.run(Scenario::Iii)?);
    let could = alone.attainable_seconds.unwrap_or_default();
    Some(sentences::saved(alone.seconds, moving.seconds, could))
}

/// Whether the migrations have saved less than half of what the best mapping of every superstep would have, and
/// that is a tenth of the run or more: then a comparison of policies is worth its time.
pub fn is_wanting(report: &Report) -> bool {
    let (Some(alone), Some(moving)) = (report.run(Scenario::I), report.run(Scenario::Iii)) else {
        return false;
    };
    let could = alone.attainable_seconds.unwrap_or_default();
    alone.seconds * 0.1 <= could && alone.seconds - moving.seconds < could * 0.5
}

/// Cost of the calls without migrations.
fn price(report: &Report) -> Option<String> {
    let (alone, watching) = (report.run(Scenario::I)?, report.run(Scenario::Ii)?);
    if watching.calls.is_empty() {
        return None;
    }
    let cost = significant(watching.seconds - alone.seconds, alone.seconds);
    let cost = rounded(cost, 3);
    let calls = counted(watching.calls.len(), "call");
    Some(format!("Its {calls} alone (scenario ii) cost {cost} s."))
}

/// Number of migrations that are shown.
const ROWS: usize = 20;

/// Warnings about the orders of `script` that `runs` did not follow.
pub fn unfollowed(script: &Script, runs: &[RunReport], platform: &Platform) -> Vec<String> {
    let moving = |run: &&RunReport| run.scenario == Scenario::Iii.name();
    let Some(run) = runs.iter().find(moving) else {
        return vec!["scheduler.script has no effect: scenario iii is not run".to_owned()];
    };
    let mut warnings = Vec::new();
    for (superstep, orders) in &script.0 {
        let Some(call) = run
            .calls
            .iter()
            .find(|call| call.summary.superstep == *superstep)
        else {
            warnings.push(format!(
                "scheduler.script names superstep {superstep}, but the run is over after {}",
                run.supersteps
            ));
            continue;
        };
        for (rank, host) in orders {
            let process = rank.to_string();
            if call
                .migrations
                .iter()
                .all(|moved| moved.step.process != process)
            {
                let host = &platform.host(*host).name;
                warnings.push(format!(
                    "scheduler.script moves {process} to {host} after superstep {superstep}, but it \
                     was there already, or had halted"
                ));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
