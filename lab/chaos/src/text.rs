//! What a campaign of fault simulations found, for people.

use std::fmt::Write;

use super::report::{ChaosReport, Coverage, FailingSeed};
use analysis::text::{Layout, counted};

/// The report as text; commands begin with `own`, the name of the program.
#[must_use]
pub fn text(report: &ChaosReport, own: &str, layout: Layout) -> String {
    let ChaosReport {
        seeds,
        completed,
        events,
        virtual_seconds,
        coverage,
        failing,
        digest,
        mutants,
    } = report;
    let hours = virtual_seconds / 3600.0;
    let mut text = format!(
        "{seeds} seeds: {events} events in {hours:.1} virtual hours. {completed} jobs were completed in spite of \
         their faults, the others ended with their cause.\n\n"
    );
    let faults = coverage.faults.iter();
    let faults: Vec<String> = faults
        .map(|fault| format!("{} {}", fault.count, fault.kind))
        .collect();
    text += &layout.paragraph(&format!("Faults: {}.", faults.join(", ")));
    text += "\n\n";
    text += &table(coverage, layout);
    let Coverage {
        pairs_met, pairs, ..
    } = coverage;
    let met = f64::from(u32::try_from(*pairs_met).unwrap_or(u32::MAX));
    let all = f64::from(u32::try_from((*pairs).max(1)).unwrap_or(u32::MAX));
    let part = 100.0 * met / all;
    writeln!(
        text,
        "\n{pairs_met} of {pairs} pairs of a fault and a step were met ({part:.0} %). Identity: {digest}"
    )
    .unwrap_or_default();
    for seed in failing {
        failing_seed(&mut text, seed, own);
    }
    for found in mutants.iter().flatten() {
        let mutant = &found.mutant;
        match (&found.seed, &found.violation) {
            (Some(seed), Some(violation)) => {
                writeln!(text, "mutant {mutant}: seed {seed}: {violation}").unwrap_or_default();
            }
            _ => writeln!(text, "mutant {mutant}: not found").unwrap_or_default(),
        }
    }
    if failing.is_empty() {
        text += "No seed failed.\n";
    }
    text
}

/// How often a fault of each kind hit a node at each step.
fn table(coverage: &Coverage, layout: Layout) -> String {
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
    layout.table(&headers, rows)
}

fn failing_seed(text: &mut String, failing: &FailingSeed, own: &str) {
    let FailingSeed {
        seed,
        violations,
        faults,
    } = failing;
    let count = counted(faults.len(), "fault");
    writeln!(text, "seed {seed} fails with {count}:").unwrap_or_default();
    for violation in violations {
        writeln!(text, "  {violation}").unwrap_or_default();
    }
    writeln!(text, "  {own} {}", failing.arguments()).unwrap_or_default();
}
