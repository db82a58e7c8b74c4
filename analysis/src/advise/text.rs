//! Advice as text.

use crate::advise::report::{FarmReport, KeyChange, Measured, Recommendation, Report, shown};
use crate::text::{Layout, counted, rounded};

/// Where the time was lost, and what to change.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut text = format!(
        "{}: scenario {}, {}, {} s\n",
        report.record,
        report.scenario,
        report.workload,
        rounded(report.seconds, 3)
    );
    if let Some(farm) = &report.farm {
        text.push_str(&workers(farm, layout));
    }
    text.push_str(&losses(report, layout));
    for note in &report.notes {
        text.push_str(&format!("\n{note}"));
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    let is_predicted = report.farm.as_ref().is_none_or(FarmReport::is_faithful);
    if report.recommendations.is_empty() && is_predicted {
        text.push_str(if report.rejected.is_empty() {
            "\nNo change is predicted to save more than 1 % of this run.\n"
        } else {
            "\nNo change that was tried is better.\n"
        });
    }
    for (index, advised) in report.recommendations.iter().enumerate() {
        text.push_str(&recommendation(index + 1, advised, layout));
    }
    if !report.rejected.is_empty() {
        let row = |advised: &Recommendation| {
            let measured = advised.measured.map(|measured| measured_text(&measured));
            let verdict = advised.measured.map(|measured| measured.verdict.words());
            vec![
                advised.change.clone(),
                promised(advised),
                measured.unwrap_or_default(),
                verdict.unwrap_or_default().to_owned(),
            ]
        };
        let table = layout.table(
            &["change", "promised", "measured", ""],
            report.rejected.iter().map(row),
        );
        text.push_str(&format!("\nTried, and not better:\n\n{table}"));
    }
    text
}

/// The gain that is predicted, or its bound.
fn promised(advised: &Recommendation) -> String {
    let gain = advised.predicted_gain * 100.0;
    if advised.is_bound {
        format!("at most {gain:.1} %")
    } else {
        format!("{gain:.1} % predicted")
    }
}

/// What the runs with a change gained and took.
fn measured_text(measured: &Measured) -> String {
    let percent = |gain: f64| format!("{:.1} %", gain * 100.0);
    let seconds = rounded(measured.seconds, 3);
    let gain = measured.gain.map_or_else(|| "no gain".to_owned(), percent);
    match measured.gain_low.zip(measured.gain_high) {
        Some((low, high)) => format!(
            "{gain} measured, {} to {} ({} seeds, {seconds} s)",
            percent(low),
            percent(high),
            measured.seeds
        ),
        None => format!("{gain} measured ({seconds} s)"),
    }
}

fn workers(farm: &FarmReport, layout: Layout) -> String {
    let rows = farm.workers.iter().map(|worker| {
        vec![
            worker.process.clone(),
            worker.tasks.to_string(),
            rounded(worker.seconds, 3),
            worker
                .rate
                .map_or_else(String::new, |rate| rounded(rate, 3)),
        ]
    });
    let table = layout.table(&["worker", "tasks", "seconds", "tasks/s"], rows);
    let tasks = usize::try_from(farm.tasks).unwrap_or(usize::MAX);
    // Adding zero turns -0.0 into 0.0.
    let error = (farm.replay_error * 1e3).round() / 10.0 + 0.0;
    format!(
        "\n{} in {}; the time of a task varied by {:.2} % between them:\n\n{table}\nThe replay of the rule of the \
         record predicts {} s ({error:+.1} %).\n",
        counted(tasks, "task"),
        counted(farm.interactions, "interaction"),
        farm.noise * 100.0,
        rounded(farm.replayed_seconds, 3),
    )
}

fn losses(report: &Report, layout: Layout) -> String {
    let row = |name: &str, seconds: f64| {
        let share = seconds / report.seconds * 100.0;
        vec![
            name.to_owned(),
            rounded(seconds, 3),
            format!("{share:.1} %"),
        ]
    };
    let ideal = if report.farm.is_some() {
        "ideal: all workers are busy"
    } else {
        "ideal: mean computation"
    };
    let mut rows = vec![row(ideal, report.ideal_seconds)];
    let losses = report.losses.iter();
    let losses = losses.filter(|loss| SHOWN < loss.seconds.abs() / report.seconds);
    rows.extend(losses.map(|loss| row(loss.part, loss.seconds)));
    rows.push(row("makespan", report.seconds));
    let table = layout.table(&["part", "seconds", "share"], rows);
    format!("\nWhere the time went:\n\n{table}")
}

fn recommendation(number: usize, advised: &Recommendation, layout: Layout) -> String {
    let measured = advised.measured.as_ref();
    let measured = measured.map_or_else(String::new, |measured| {
        format!(", {}", measured_text(measured))
    });
    let promised = promised(advised);
    let mut text = format!("\n{number}. {}: {promised}{measured}\n", advised.change);
    text.push_str(&format!("   {}.\n\n", advised.reason));
    let row = |change: &KeyChange| {
        let gain = change.predicted_gain;
        vec![
            change.key.clone(),
            shown(&change.now),
            shown(&change.better),
            gain.map_or_else(String::new, |gain| format!("{:.1} %", gain * 100.0)),
        ]
    };
    text.push_str(&layout.table(
        &["key", "now", "better", "alone"],
        advised.keys.iter().map(row),
    ));
    match &advised.replaces {
        None => {
            let set: Vec<String> = advised
                .set
                .iter()
                .map(|set| format!("--set {set}"))
                .collect();
            text.push_str(&format!("\n   {}\n", set.join(" ")));
        }
        Some(table) => text.push_str(&replacement(table, &advised.keys)),
    }
    text
}

/// The table that replaces the present one in the experiment.
fn replacement(table: &str, keys: &[KeyChange]) -> String {
    let lines = keys.iter().map(|change| {
        let name = change.key.rsplit('.').next().unwrap_or_default();
        format!("   {name} = {}\n", change.better)
    });
    let lines: String = lines.collect();
    format!(
        "\n   [{table}]   # in place of the present table: the other keys belong to the present kind\n{lines}"
    )
}

/// The part of a makespan below which a loss is not shown.
const SHOWN: f64 = 5e-5;
