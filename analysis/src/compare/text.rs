//! Results of a comparison as text.

use std::fmt::Write as _;

use crate::compare::live::LiveConditions;
use crate::compare::pairs::{Pair, Verdict};
use crate::compare::report::Report;
use crate::compare::results::Subject;
use crate::compare::statistics::COUNT_MAX;
use crate::compare::summary::{Overall, Summary};
use crate::text::{Layout, TimeUnit, counted, data, rounded};

/// Every experiment, all of them together, the significant differences, the claims, and the runs that failed.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut text = String::new();
    if let Some(live) = &report.live {
        text.push_str(&layout.paragraph(&conditions(live)));
        text.push('\n');
    }
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
        let ratio = match checked.ratio {
            Some(ratio) => format!("the ratio is {ratio:.4}"),
            None => "there is no ratio".to_owned(),
        };
        let claim = &checked.claim;
        writeln!(text, "{claim}{place}: {holds} ({ratio})").expect(INFALLIBLE);
    }
    if !report.claims.is_empty() {
        text.push('\n');
    }
    if !report.failures.is_empty() {
        text.push_str(&failures(&report.failures));
        text.push('\n');
    }
    text.push_str(&layout.paragraph(&legend(report)));
    text
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
        "On {hosts} in {sets}: {repetitions}, each with all runs in an order that seed {order_seed} draws.\n"
    )
}

/// The first runs without a result, and how many more there are.
pub(crate) fn failures(failures: &[String]) -> String {
    let mut text = "Runs without a result\n\n".to_owned();
    for failure in failures.iter().take(FAILURES) {
        writeln!(text, " {failure}").expect(INFALLIBLE);
    }
    if FAILURES < failures.len() {
        writeln!(text, " … {} more", failures.len() - FAILURES).expect(INFALLIBLE);
    }
    text
}

fn experiment(report: &Report, subject: &Subject, layout: Layout) -> String {
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
    let blocks = blocks(subject, report.block());
    format!("{}, {blocks}\n\n{table}{stale}", subject.name)
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
    let shown =
        |value: Option<f64>, form: &dyn Fn(f64) -> String| value.map_or_else(String::new, form);
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
        pair.map_or_else(String::new, |pair| pair.verdict.words().to_owned()),
    ]
}

fn all(report: &Report, layout: Layout) -> String {
    let reference = &report.reference;
    let row = |overall: &Overall| {
        let is_compared = overall.policy != *reference;
        let compared = |text: String| if is_compared { text } else { String::new() };
        let ratio = overall.ratio.map(|ratio| format!("{ratio:.4}"));
        vec![
            overall.policy.clone(),
            ratio.unwrap_or_default(),
            compared(overall.gain.map_or_else(String::new, percent)),
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
    let block = report.block();
    let pairs = report.pairs.iter().filter(|pair| pair.experiment.is_none());
    let row = |pair: &Pair| {
        let interval = match (pair.ratio_low, pair.ratio_high) {
            (Some(low), Some(high)) => format!("{low:.4} to {high:.4}"),
            _ => String::new(),
        };
        let confidence = pair.confidence.filter(|_| !interval.is_empty());
        let p = pair.p_corrected.map_or_else(String::new, |p| match p {
            0.0001.. => format!("{p:.4}"),
            f64::MIN_POSITIVE.. => format!("{p:.1e}"),
            _ => "0.0000".to_owned(),
        });
        vec![
            pair.policy.clone(),
            pair.against.clone(),
            pair.seeds
                .map_or_else(String::new, |seeds| seeds.to_string()),
            pair.ratio
                .map_or_else(String::new, |ratio| format!("{ratio:.4}")),
            interval,
            confidence.map_or_else(String::new, |part| format!("{:.1} %", part * 100.0)),
            p,
            verdict(pair, block),
        ]
    };
    let blocks = format!("{block}s");
    let headers = [
        "policy", "against", &blocks, "ratio", "interval", "level", "p", "",
    ];
    let rows = layout.reduced_table(&headers, pairs.map(row), &[2, 5, 6, 4]);
    format!(
        "Significant differences: t-tests on the logarithms of makespans, a value for each {block}; p and intervals after Holm\n\n{rows}"
    )
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
         the makespan that calls take.\n"
    );
    let is_zero = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds == 0.0);
    if report
        .summaries
        .iter()
        .any(|summary| is_zero(summary.seconds))
    {
        legend.push_str("A makespan of 0 s has no ratio to others, and no gain.\n");
    }
    let mut pairs = report.pairs.iter();
    if pairs.any(|pair| pair.verdict == Verdict::NotShown) {
        legend.push_str(&format!(
            "`not shown`: {block}s alone make differences of this size; policies may differ or not.\n"
        ));
    }
    let mut summaries = report.summaries.iter();
    if summaries.any(|summary| summary.of_best_placement.is_some()) {
        legend.push_str(OF_BEST_PLACEMENT);
    }
    legend
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

/// Runs without a result that are listed.
const FAILURES: usize = 10;

const INFALLIBLE: &str = "a string takes everything";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::{fail, results};
    use crate::known_best::KnownBest;

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
 b        13.000  50.825  12.54 %  32.46 %     75.00 %     75.00 %    2.0    1.0   1 MB    0.77 %  not shown

e1, one run: the same for all seeds

 policy  seconds  ±     gain  ±  of balance  of mapping  calls  moves  moved  in calls  against a
 a        10.000                                           2.0    1.0   1 MB    1.00 %
 b        10.500     -5.00 %        75.00 %     75.00 %    2.0    1.0   1 MB    0.95 %  worse

All 2 experiments, geometric mean

 policy  times a    gain  better on  worse on
 a        1.0000
 b        0.9583  4.17 %          0         1

Significant differences: t-tests on the logarithms of makespans, a value for each seed; p and intervals after Holm

 policy  against  seeds   ratio          interval   level       p
 b       a            2  0.9583  0.7992 to 1.1491  95.0 %  0.2062  not shown: about 5 seeds would show it

b <= a: holds (the ratio is 0.9583)
b < a on e0: holds (the ratio is 0.8746)
b < a on e1: DOES NOT HOLD (the ratio is 1.0500)

± is half of a confidence interval: of makespans 95 %, of gains the level of their test. Gains are shares of
a's makespan, paired by seed; `of balance` and `of mapping` are saved shares of the computation that
perfect balance, or the best mapping of every superstep, would have saved a. `in calls` is the share of
the makespan that calls take.
`not shown`: seeds alone make differences of this size; policies may differ or not.
";

    #[test]
    fn runs_that_failed_and_makespans_of_nothing_are_not_numbers() {
        let mut results = results(&[
            (true, &[&[0.002, 0.004], &[0.001, 0.002]]),
            (false, &[&[0.0], &[1.0]]),
        ]);
        fail(&mut results, 0, 1, 0);
        let claims = ["b <= a".parse().unwrap()];
        let report = Report::new(&results, &claims, &[]);
        let text = text(&report, Layout::default());
        for words in [
            " policy     ms       ±     gain",
            " a       3.000  12.706",
            " b       2.000          50.00 %",
            "untested   1 of 2 failed\n",
            " b         1.000                 75.00 %",
            "worse\n",
            " b       a            1                             untested: one seed\n",
            "b <= a: DOES NOT HOLD (there is no ratio)",
            "Runs without a result\n\n e0, b, seed 1: out of road\n\n",
            "A makespan of 0 s has no ratio to others, and no gain.\n",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        assert_eq!(
            report.failure().unwrap(),
            "e0, b, seed 1: out of road\n  note: 1 of 6 runs failed; the others are done"
        );
    }

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
