//! What came of an experiment, for people.

use crate::configuration::Scenario;
use crate::output::table;
use crate::simulate::report::{Report, RunReport};

/// The scenarios, the calls that moved somebody, and what was won.
pub(crate) fn text(report: &Report) -> String {
    let mut text = format!(
        "{} processes of {} on {} ({} hosts in {} Sets), seed {}\n\n",
        report.processes, report.workload, report.platform, report.hosts, report.sets, report.seed
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
    text.push_str(&table(
        &headers,
        report.runs.iter().map(|run| scenario_row(run, alone)),
    ));
    if let Some(moving) = report.run(Scenario::Iii) {
        text.push_str(&calls(moving));
    }
    for sentence in [verdict(report), price(report)].into_iter().flatten() {
        text.push_str(&format!("\n{sentence}\n"));
    }
    text
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
        format!("{:.3}", run.seconds),
        against,
        run.calls.len().to_string(),
        run.migrations().to_string(),
    ]
}

fn calls(run: &RunReport) -> String {
    if run.migrations() == 0 {
        let calls = counted(run.calls.len());
        return format!("\nIn scenario iii nobody moved in {calls}.\n");
    }
    let mut rows = Vec::new();
    for call in &run.calls {
        for (index, migration) in call.migrations.iter().enumerate() {
            let once = |text: String| if index == 0 { text } else { String::new() };
            let next = call.superstep.saturating_add(u64::from(call.interval));
            rows.push(vec![
                once(call.superstep.to_string()),
                migration.process.clone(),
                migration.from.clone(),
                migration.to.clone(),
                format!("{:.6}", migration.potential),
                format!("{:.6}", migration.t1),
                format!("{:.6}", migration.t2),
                format!("{:.6}", migration.cost_seconds),
                once(next.to_string()),
            ]);
        }
    }
    let headers = [
        "after",
        "process",
        "from",
        "to",
        "PM [s]",
        "t1 [s]",
        "t2 [s]",
        "cost [s]",
        "next call",
    ];
    format!(
        "\nCalls of scenario iii that moved somebody:\n\n{}",
        table(&headers, rows)
    )
}

/// What rescheduling won of what could be won.
fn verdict(report: &Report) -> Option<String> {
    let (alone, moving) = (report.run(Scenario::I)?, report.run(Scenario::Iii)?);
    let won = alone.seconds - moving.seconds;
    let could = alone.attainable_seconds;
    let share = |part: f64, whole: f64| {
        if 0.0 < whole {
            format!(" ({:.1} %)", part / whole * 100.0)
        } else {
            String::new()
        }
    };
    let possible = format!(
        "the {could:.3} s that the best mapping of every superstep would have saved of computing"
    );
    Some(if 0.0 < won {
        format!(
            "Rescheduling won {won:.3} s of {possible}{}.",
            share(won, could)
        )
    } else if won < 0.0 {
        let lost = -won;
        format!(
            "Rescheduling lost {lost:.3} s{}, where it could have won some of {possible}.",
            share(lost, alone.seconds)
        )
    } else {
        format!("Rescheduling won nothing of {possible}.")
    })
}

/// What the calls cost when nobody moves.
fn price(report: &Report) -> Option<String> {
    let (alone, watching) = (report.run(Scenario::I)?, report.run(Scenario::Ii)?);
    let cost = watching.seconds - alone.seconds;
    let calls = counted(watching.calls.len());
    Some(format!("Its {calls} alone (scenario ii) cost {cost:.3} s."))
}

fn counted(calls: usize) -> String {
    format!("{calls} call{}", if calls == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::report::{CallReport, MigrationReport};

    fn run(scenario: &'static str, seconds: f64, calls: Vec<CallReport>) -> RunReport {
        RunReport {
            scenario,
            seconds,
            supersteps: 8,
            messages: 0,
            bytes: 0,
            attainable_seconds: 4.0,
            outputs_sha256: String::new(),
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
            process: process.to_owned(),
            from: "a-1".to_owned(),
            to: "b-1".to_owned(),
            potential: 0.5,
            t1: 1.0,
            t2: 1.25,
            cost_seconds: 0.125,
        });
        CallReport {
            superstep: 4,
            at: 4.0,
            cost_seconds: 0.0,
            interval: 4,
            tolerance: 0.5,
            migrations: migration.into_iter().collect(),
        }
    }

    #[test]
    fn the_text_says_who_moved_and_what_it_won() {
        let report = report(vec![
            run("i", 10.0, vec![]),
            run("ii", 10.5, vec![call(None)]),
            run("iii", 9.0, vec![call(Some("p2"))]),
        ]);
        let expected = "\
2 processes of lbm on two.toml (2 hosts in 2 Sets), seed 1

 scenario  supersteps  seconds  against i  calls  migrations
 i         8           10.000              0      0
 ii        8           10.500   +5.00 %    1      0
 iii       8           9.000    -10.00 %   1      1

Calls of scenario iii that moved somebody:

 after  process  from  to   PM [s]    t1 [s]    t2 [s]    cost [s]  next call
 4      p2       a-1   b-1  0.500000  1.000000  1.250000  0.125000  8

Rescheduling won 1.000 s of the 4.000 s that the best mapping of every superstep would have saved of computing (25.0 %).

Its 1 call alone (scenario ii) cost 0.500 s.
";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn a_scenario_alone_makes_no_comparison() {
        let text = text(&report(vec![run("iii", 9.0, vec![call(None)])]));
        assert!(text.contains("nobody moved in 1 call."), "{text}");
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
