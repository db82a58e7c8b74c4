//! Results of a comparison as text.

use std::fmt::Write as _;

use crate::compare::pairs::{Pair, Verdict};
use crate::compare::report::Report;
use crate::compare::results::Subject;
use crate::compare::summary::{Overall, Summary};
use crate::text::{Layout, data, rounded};

/// Every experiment, all of them together, the significant differences, and the claims.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    for subject in &report.experiments {
        text.push_str(&experiment(report, subject, layout));
        text.push('\n');
    }
    if 1 < report.experiments.len() {
        text.push_str(&all(report, layout));
        text.push('\n');
    }
    if 1 < report.overall.len() {
        text.push_str(&differences(report, layout));
        text.push('\n');
    }
    for checked in &report.claims {
        let holds = if checked.holds {
            "holds"
        } else {
            "DOES NOT HOLD"
        };
        let place = checked.experiment.iter().map(|name| format!(" on {name}"));
        let place: String = place.collect();
        let (claim, ratio) = (&checked.claim, checked.ratio);
        writeln!(text, "{claim}{place}: {holds} (the ratio is {ratio:.4})").expect(INFALLIBLE);
    }
    if !report.claims.is_empty() {
        text.push('\n');
    }
    let mut legend = legend(&report.reference);
    if report
        .summaries
        .iter()
        .any(|summary| summary.of_best_placement.is_some())
    {
        legend.push_str(OF_BEST_PLACEMENT);
    }
    text.push_str(&layout.paragraph(&legend));
    text
}

fn experiment(report: &Report, subject: &Subject, layout: Layout) -> String {
    let of = |summary: &&Summary| summary.experiment == subject.name;
    let rows = report.summaries.iter().filter(of).map(|summary| {
        let verdict = report.pairs.iter().find(|pair| {
            pair.experiment.as_deref() == Some(&subject.name)
                && pair.policy == summary.policy
                && pair.against == report.reference
        });
        summary_row(summary, verdict)
    });
    let against = format!("against {}", report.reference);
    let mut headers = vec![
        "policy",
        "seconds",
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
    let mut rows: Vec<Vec<String>> = rows.collect();
    let known = subject.best_placement.as_ref();
    if known.is_some_and(|best| best.seconds_per_superstep.is_some()) {
        headers.push("of best placement");
        for (row, summary) in rows.iter_mut().zip(report.summaries.iter().filter(of)) {
            let ratio = summary.of_best_placement;
            row.push(ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")));
        }
    }
    let table = layout.reduced_table(&headers, rows, &DISPENSABLE);
    let stale = known.filter(|best| best.seconds_per_superstep.is_none());
    let stale = stale.map_or_else(String::new, |best| {
        let file = &best.file;
        layout.paragraph(&format!(
            "\n{file} is of another experiment or an earlier form of this one.\n"
        ))
    });
    format!("{}, {}\n\n{table}{stale}", subject.name, seeds(subject))
}

fn seeds(subject: &Subject) -> String {
    match subject.seeds[..] {
        _ if !subject.draws => "one run: the same for all seeds".to_owned(),
        [seed] => format!("seed {seed}"),
        _ => format!("{} seeds", subject.seeds.len()),
    }
}

fn summary_row(summary: &Summary, pair: Option<&Pair>) -> Vec<String> {
    let margin = |margin: Option<f64>| margin.map_or_else(String::new, |margin| rounded(margin, 3));
    let gain_margin = summary.gain_high.zip(summary.gain_low);
    vec![
        summary.policy.clone(),
        rounded(summary.seconds, 3),
        margin(summary.seconds_margin),
        pair.map_or_else(String::new, |_| percent(summary.gain)),
        match (pair, gain_margin) {
            (Some(_), Some((high, low))) => percent((high - low) / 2.0),
            _ => String::new(),
        },
        share(pair, summary.share_of_balance),
        share(pair, summary.share_of_mapping),
        rounded(summary.calls, 1),
        rounded(summary.migrations, 1),
        data(summary.moved_bytes),
        percent(summary.overhead),
        pair.map_or_else(String::new, |pair| pair.verdict.words().to_owned()),
    ]
}

fn share(pair: Option<&Pair>, share: Option<f64>) -> String {
    match (pair, share) {
        (Some(_), Some(share)) => percent(share),
        _ => String::new(),
    }
}

fn all(report: &Report, layout: Layout) -> String {
    let reference = &report.reference;
    let row = |overall: &Overall| {
        let is_compared = overall.policy != *reference;
        let compared = |text: String| if is_compared { text } else { String::new() };
        vec![
            overall.policy.clone(),
            format!("{:.4}", overall.ratio),
            compared(percent(overall.gain)),
            compared(overall.better.to_string()),
            compared(overall.worse.to_string()),
        ]
    };
    let times = format!("times {reference}");
    let headers = ["policy", &times, "gain", "better on", "worse on"];
    format!(
        "All {} experiments, geometric mean\n\n{}",
        report.experiments.len(),
        layout.table(&headers, report.overall.iter().map(row))
    )
}

fn differences(report: &Report, layout: Layout) -> String {
    let pairs = report.pairs.iter().filter(|pair| pair.experiment.is_none());
    let row = |pair: &Pair| {
        let interval = match (pair.ratio_low, pair.ratio_high) {
            (Some(low), Some(high)) => format!("{low:.4} to {high:.4}"),
            _ => String::new(),
        };
        let p = pair.p_corrected.map_or_else(String::new, |p| match p {
            0.0001.. => format!("{p:.4}"),
            f64::MIN_POSITIVE.. => format!("{p:.1e}"),
            _ => "0.0000".to_owned(),
        });
        let verdict = match pair.verdict {
            Verdict::Untested => "untested: one run each".to_owned(),
            verdict => verdict.words().to_owned(),
        };
        vec![
            pair.policy.clone(),
            pair.against.clone(),
            pair.runs.to_string(),
            format!("{:.4}", pair.ratio),
            interval,
            p,
            verdict,
        ]
    };
    let headers = ["policy", "against", "pairs", "ratio", "95 %", "p", ""];
    let rows = layout.reduced_table(&headers, pairs.map(row), &[2, 5, 4]);
    format!(
        "Significant differences: t-tests on the logarithms of makespans, paired by experiment and seed; p after Holm\n\n{rows}"
    )
}

fn legend(reference: &str) -> String {
    format!(
        "± is half of a 95 % confidence interval. Gains are shares of {reference}'s makespan, paired by seed; \
         `of balance`\nand `of mapping` are shares of the computation that perfect balance, or the best mapping of \
         every superstep,\nwould have saved {reference}. `in calls` is the share of the makespan that calls take.\n"
    )
}

/// A part as a percentage; values near zero have no sign.
fn percent(part: f64) -> String {
    let text = format!("{:.2} %", part * 100.0);
    match text.strip_prefix("-0.00") {
        Some(_) => "0.00 %".to_owned(),
        None => text,
    }
}

/// Columns of an experiment that are left out where lines are short, the first one first: the share of the
/// best mapping and of balance, bytes moved, the share of calls, the margins, calls, moves.
const DISPENSABLE: [usize; 8] = [6, 5, 9, 10, 4, 2, 7, 8];

const OF_BEST_PLACEMENT: &str = "\
`of best placement` is the makespan divided by the time of all supersteps under the best placement known, from the
start.
";

const INFALLIBLE: &str = "a string takes everything";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best_placement::KnownBest;
    use crate::compare::results::tests::results;

    #[test]
    fn the_text_shows_gains_with_their_significance() {
        let results = results(&[
            (true, &[&[10.0, 20.0], &[9.0, 17.0]]),
            (false, &[&[10.0], &[10.5]]),
        ]);
        let claims = ["b <= a".parse().unwrap()];
        let each = ["b < a".parse().unwrap()];
        let text = text(&Report::new(&results, &claims, &each), Layout::default());
        assert_eq!(text, EXPECTED, "{text}");
    }

    const EXPECTED: &str = "\
e0, 2 seeds

 policy  seconds       ±     gain        ±  of balance  of mapping  calls  moves  moved  in calls  against a
 a        15.000  63.531                                              2.0    1.0   1 MB    0.67 %
 b        13.000  50.825  12.54 %  32.46 %     50.00 %    100.00 %    2.0    1.0   1 MB    0.77 %  no difference

e1, one run: the same for all seeds

 policy  seconds  ±     gain  ±  of balance  of mapping  calls  moves  moved  in calls  against a
 a        10.000                                           2.0    1.0   1 MB    1.00 %
 b        10.500     -5.00 %       -12.50 %    -25.00 %    2.0    1.0   1 MB    0.95 %  worse

All 2 experiments, geometric mean

 policy  times a    gain  better on  worse on
 a        1.0000
 b        0.9583  4.17 %          0         1

Significant differences: t-tests on the logarithms of makespans, paired by experiment and seed; p after Holm

 policy  against  pairs   ratio              95 %       p
 b       a            3  0.9583  0.7992 to 1.1491  0.2062  no difference

b <= a: holds (the ratio is 0.9583)
b < a on e0: holds (the ratio is 0.8746)
b < a on e1: DOES NOT HOLD (the ratio is 1.0500)

± is half of a 95 % confidence interval. Gains are shares of a's makespan, paired by seed; `of balance`
and `of mapping` are shares of the computation that perfect balance, or the best mapping of every superstep,
would have saved a. `in calls` is the share of the makespan that calls take.
";

    #[test]
    fn the_best_placement_has_a_column_where_it_is_known() {
        let mut results = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[8.0], &[4.0]])]);
        let known = |seconds_per_superstep| {
            Some(KnownBest {
                file: "e.best.json".to_owned(),
                seconds_per_superstep,
            })
        };
        // Ten supersteps.
        results.experiments[0].best_placement = known(Some(0.4));
        results.experiments[1].best_placement = known(None);
        let report = Report::new(&results, &[], &[]);
        let ratios: Vec<Option<f64>> = report
            .summaries
            .iter()
            .map(|of| of.of_best_placement)
            .collect();
        assert_eq!(ratios, [Some(2.5), Some(1.25), None, None]);
        let text = text(&report, Layout::default());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].ends_with("against a  of best placement"), "{text}");
        assert!(
            lines[3].ends_with("2.500") && lines[4].ends_with("1.250"),
            "{text}"
        );
        let second = text.split("e1, ").nth(1).unwrap();
        let stale = "e.best.json is of another experiment or an earlier form of this one.";
        assert!(second.contains(stale), "{text}");
        assert!(
            second.lines().nth(2).unwrap().ends_with("against a"),
            "{text}"
        );
        assert!(
            text.contains("`of best placement` is the makespan"),
            "{text}"
        );
    }

    #[test]
    fn a_single_policy_has_no_comparison() {
        let report = Report::new(&results(&[(true, &[&[10.0]])]), &[], &[]);
        let text = text(&report, Layout::default());
        assert!(text.starts_with("e0, seed 1\n"), "{text}");
        assert!(
            !text.contains("Significant differences") && !text.contains("All 1"),
            "{text}"
        );
    }
}
