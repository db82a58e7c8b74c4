//! Results of an experiment as text.

use crate::text::{Layout, rounded, significant};
use experiments::Report;
use experiments::RunReport;
use experiments::Scenario;

/// The scenarios, the calls with migrations, and the gain.
pub fn text(report: &Report, layout: Layout) -> String {
    let processes = usize::try_from(report.processes).unwrap_or(usize::MAX);
    let mut text = format!(
        "{} of {} on {} ({} in {}), seed {}\n\n",
        counted(processes, "process"),
        report.workload,
        report.platform,
        counted(report.hosts, "host"),
        counted(report.sets, "Set"),
        report.seed
    );
    let alone = report.run(Scenario::I);
    let headers = [
        "scenario",
        "supersteps",
        "seconds",
        "against i",
        "calls",
        "migrations",
    ];
    text.push_str(&layout.table(
        &headers,
        report.runs.iter().map(|run| scenario_row(run, alone)),
    ));
    for sentence in verified(report) {
        text.push_str(&format!("\n{}\n", shortened(sentence)));
    }
    if let Some(moving) = report.run(Scenario::Iii) {
        text.push_str(&calls(moving, layout));
    }
    for sentence in [verdict(report), price(report)].into_iter().flatten() {
        text.push_str(&format!("\n{sentence}\n"));
    }
    text
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

fn scenario_row(run: &RunReport, alone: Option<&RunReport>) -> Vec<String> {
    let against = match alone {
        Some(alone) if alone.scenario != run.scenario && 0.0 < alone.seconds => {
            format!("{:+.2} %", (run.seconds / alone.seconds - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    vec![
        run.scenario.to_owned(),
        run.supersteps.to_string(),
        rounded(run.seconds, 3),
        against,
        run.calls.len().to_string(),
        run.migrations().to_string(),
    ]
}

fn calls(run: &RunReport, layout: Layout) -> String {
    if run.migrations() == 0 {
        return match run.calls.len() {
            0 => "\nNo call was held: the run ended before the first one was due.\n".to_owned(),
            calls => {
                let calls = counted(calls, "call");
                format!("\nNo process moved in {calls} of scenario iii.\n")
            }
        };
    }
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
                migration
                    .potential
                    .map_or_else(String::new, |potential| rounded(potential, 4)),
                rounded(migration.t1, 4),
                rounded(migration.t2, 4),
                rounded(migration.cost_seconds, 4),
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
    let (shown, more) = layout.cut(rows.len(), ROWS);
    let rows = rows.into_iter().take(shown);
    let mut text = format!(
        "\nCalls of scenario iii with migrations (PM, t1, t2 and cost in seconds):\n\n{}",
        layout.reduced_table(&headers, rows, &[5, 6, 8, 4, 7])
    );
    if 0 < more {
        text.push_str(&format!(
            " … {more} more; --all or --format json shows all of them\n"
        ));
    }
    text
}

/// The gain of rescheduling, compared with the possible gain.
fn verdict(report: &Report) -> Option<String> {
    let (alone, moving) = (report.run(Scenario::I)?, report.run(Scenario::Iii)?);
    let won = alone.seconds - moving.seconds;
    let won = significant(won, alone.seconds);
    let could = significant(
        alone.attainable_seconds.unwrap_or_default(),
        alone.seconds,
    );
    let percent = |part: f64, whole: f64| format!("{:.1} %", part / whole * 100.0);
    let best = "the best mapping of every superstep would have saved";
    let (seconds, saved) = (rounded(won.abs(), 3), rounded(could, 3));
    let possible = if 0.0 < could {
        format!("{best} {saved} s of computing")
    } else {
        "no mapping computes faster".to_owned()
    };
    Some(if won < 0.0 {
        let share = percent(-won, alone.seconds);
        format!("Rescheduling lost {seconds} s ({share}); {possible}.")
    } else if won == 0.0 {
        format!("Rescheduling saved nothing; {possible}.")
    } else if won <= could {
        let share = percent(won, could);
        format!(
            "Rescheduling saved {seconds} s: {share} of the {saved} s of computing that {best}."
        )
    } else if 0.0 < could {
        let rest = "the rest is communication";
        format!("Rescheduling saved {seconds} s; {possible}, and {rest}.")
    } else {
        let all = "the saving is communication";
        format!("Rescheduling saved {seconds} s; no mapping computes faster: {all}.")
    })
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

fn counted(number: usize, name: &str) -> String {
    format!("{number} {}", plural(number, name))
}

fn plural(number: usize, name: &str) -> String {
    match (number, name.ends_with('s')) {
        (1, _) => name.to_owned(),
        (_, true) => format!("{name}es"),
        (_, false) => format!("{name}s"),
    }
}

/// Number of migrations that are shown.
const ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::{CallReport, CallSummary, MigrationReport, NamedMove};

    fn run(scenario: &'static str, seconds: f64, calls: Vec<CallReport>) -> RunReport {
        RunReport {
            scenario,
            seconds,
            supersteps: 8,
            messages: 0,
            bytes: 0,
            attainable_seconds: Some(4.0),
            imbalance_seconds: Some(4.5),
            moved_bytes: 0,
            outputs_sha256: String::new(),
            verified: None,
            calls,
        }
    }

    fn report(runs: Vec<RunReport>) -> Report {
        Report {
            schema: "migbsp.simulate/1",
            workload: "lbm".to_owned(),
            processes: 2,
            platform: "two.toml".to_owned(),
            sets: 2,
            hosts: 2,
            seed: 1,
            runs,
        }
    }

    fn call(process: Option<&str>) -> CallReport {
        let migration = process.map(|process| MigrationReport {
            step: NamedMove {
                process: process.to_owned(),
                from: "a-1".to_owned(),
                to: "b-1".to_owned(),
            },
            potential: Some(0.5),
            t1: 1.0,
            t2: 1.25,
            cost_seconds: 0.125,
        });
        CallReport {
            summary: CallSummary {
                superstep: 4,
                at: 4.0,
                cost_seconds: 0.0,
                interval: Some(4),
                tolerance: Some(0.5),
            },
            migrations: migration.into_iter().collect(),
        }
    }

    #[test]
    fn the_text_shows_migrations_and_their_gain() {
        let report = report(vec![
            run("i", 10.0, vec![]),
            run("ii", 10.5, vec![call(None)]),
            run("iii", 9.0, vec![call(Some("p2"))]),
        ]);
        let expected = "\
2 processes of lbm on two.toml (2 hosts in 2 Sets), seed 1

 scenario  supersteps  seconds  against i  calls  migrations
 i                  8   10.000                 0           0
 ii                 8   10.500    +5.00 %      1           0
 iii                8    9.000   -10.00 %      1           1

Calls of scenario iii with migrations (PM, t1, t2 and cost in seconds):

 after  process  from  to       PM      t1      t2    cost  next call
     4  p2       a-1   b-1  0.5000  1.0000  1.2500  0.1250          8

Rescheduling saved 1.000 s: 25.0 % of the 4.000 s of computing that the best mapping of every superstep would have saved.

Its 1 call alone (scenario ii) cost 0.500 s.
";
        assert_eq!(text(&report, Layout::default()), expected);
    }

    #[test]
    fn equal_outputs_are_described_once() {
        let solved = |scenario| RunReport {
            verified: Some("the answer is 42".to_owned()),
            ..run(scenario, 10.0, vec![])
        };
        let text = text(
            &report(vec![solved("i"), solved("ii"), solved("iii")]),
            Layout::default(),
        );
        assert_eq!(text.matches("\nthe answer is 42\n").count(), 1, "{text}");
    }

    #[test]
    fn long_descriptions_are_cut() {
        assert_eq!(shortened(&"é".repeat(400)), "é".repeat(400));
        let cut = "é".repeat(400) + "… (--format json shows all of it)";
        assert_eq!(shortened(&"é".repeat(401)), cut);
    }

    #[test]
    fn every_gain_has_its_sentence() {
        let check = |seconds: f64, could: f64, sentence: &str| {
            let mut alone = run("i", 10.0, vec![]);
            alone.attainable_seconds = Some(could);
            let moving = run("iii", seconds, vec![call(Some("p2"))]);
            assert_eq!(
                verdict(&report(vec![alone, moving])).as_deref(),
                Some(sentence)
            );
        };
        check(
            5.0,
            4.0,
            "Rescheduling saved 5.000 s; the best mapping of every superstep would have saved 4.000 s of computing, and the rest is communication.",
        );
        check(
            11.0,
            4.0,
            "Rescheduling lost 1.000 s (10.0 %); the best mapping of every superstep would have saved 4.000 s of computing.",
        );
        check(
            10.0,
            0.0,
            "Rescheduling saved nothing; no mapping computes faster.",
        );
        check(
            9.0,
            0.0,
            "Rescheduling saved 1.000 s; no mapping computes faster: the saving is communication.",
        );
    }

    #[test]
    fn a_run_without_calls_is_reported() {
        let mut report = report(vec![
            run("i", 1e-5, vec![]),
            run("ii", 1e-5, vec![]),
            run("iii", 1e-5, vec![]),
        ]);
        (report.processes, report.hosts, report.sets) = (1, 1, 1);
        let text = text(&report, Layout::default());
        let head = "1 process of lbm on two.toml (1 host in 1 Set), seed 1\n";
        assert!(text.starts_with(head), "{text}");
        assert!(text.contains("  1.000e-5 "), "{text}");
        assert!(text.contains("No call was held"), "{text}");
        assert!(!text.contains("scenario ii)"), "{text}");
    }

    #[test]
    fn a_single_scenario_has_no_comparison() {
        let text = text(
            &report(vec![run("iii", 9.0, vec![call(None)])]),
            Layout::default(),
        );
        assert!(
            text.contains("No process moved in 1 call of scenario iii."),
            "{text}"
        );
        assert!(!text.contains("Rescheduling"), "{text}");
    }

    #[test]
    fn csv_has_a_row_per_migration_and_per_scenario_without_any() {
        let report = report(vec![
            run("i", 10.0, vec![]),
            run("iii", 9.0, vec![call(Some("p2"))]),
        ]);
        assert_eq!(
            report.csv().unwrap(),
            "scenario,seconds,supersteps,calls,migrations,superstep,interval,tolerance,process,from,to,potential,t1,t2,cost_seconds\n\
             i,10.0,8,0,0,,,,,,,,,,\n\
             iii,9.0,8,1,1,4,4,0.5,p2,a-1,b-1,0.5,1.0,1.25,0.125\n"
        );
    }
}
