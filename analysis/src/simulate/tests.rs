use super::*;
use crate::text::Layout;
use experiments::{CallReport, CallSummary, MigrationReport, NamedMove, Provenance, Registry};

fn run(scenario: &'static str, seconds: f64, calls: Vec<CallReport>) -> RunReport {
    RunReport {
        builds: Vec::new(),
        transfers: None,
        scenario,
        seconds,
        supersteps: 8,
        messages: 0,
        bytes: 0,
        attainable_seconds: Some(4.0),
        imbalance_seconds: Some(4.5),
        moved_bytes: 0,
        outputs_sha256: String::new(),
        joins: Vec::new(),
        checkpoints: None,
        verified: None,
        calls,
    }
}

fn report(runs: Vec<RunReport>) -> Report {
    Report {
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
    assert_eq!(document(&report).text(Layout::default()), expected);
}

#[test]
fn equal_outputs_are_described_once() {
    let solved = |scenario| RunReport {
        verified: Some("the answer is 42".to_owned()),
        ..run(scenario, 10.0, vec![])
    };
    let text =
        document(&report(vec![solved("i"), solved("ii"), solved("iii")])).text(Layout::default());
    assert_eq!(text.matches("\nthe answer is 42\n").count(), 1, "{text}");
}

#[test]
fn long_descriptions_are_cut() {
    assert_eq!(shortened(&"é".repeat(400)), "é".repeat(400));
    let cut = "é".repeat(400) + "… (--format json shows all of it)";
    assert_eq!(shortened(&"é".repeat(401)), cut);
}

#[test]
fn a_small_part_of_a_large_saving_is_wanting() {
    let of = |could: f64, seconds: f64| {
        let mut alone = run("i", 10.0, vec![]);
        alone.attainable_seconds = Some(could);
        is_wanting(&report(vec![alone, run("iii", seconds, vec![])]))
    };
    assert!(of(4.0, 8.5) && of(4.0, 11.0));
    assert!(!of(4.0, 7.5), "more than half is saved");
    assert!(!of(0.9, 10.0), "little is to be saved");
    assert!(!of(0.0, 10.0));
    assert!(!is_wanting(&report(vec![run("iii", 10.0, vec![])])));
}

#[test]
fn what_is_within_rounding_is_nothing() {
    let mut alone = run("i", 10.0, vec![]);
    alone.attainable_seconds = Some(6.577e-16);
    let moving = run("iii", 10.0 + 1e-15, vec![call(Some("p2"))]);
    assert_eq!(
        verdict(&report(vec![alone, moving])).as_deref(),
        Some("Rescheduling saved nothing; no mapping computes faster.")
    );
}

#[test]
fn many_migrations_are_cut() {
    let mut many = call(Some("p2"));
    many.migrations = (0..28).flat_map(|_| call(Some("p2")).migrations).collect();
    let report = report(vec![run("i", 10.0, vec![]), run("iii", 9.0, vec![many])]);
    let short = document(&report).text(Layout::default());
    assert_eq!(short.matches(" p2 ").count(), 20, "{short}");
    assert!(
        short.contains(" … 8 more; --all or --format json shows all of them\n"),
        "{short}"
    );
    let layout = Layout {
        is_whole: true,
        ..Layout::default()
    };
    let whole = document(&report).text(layout);
    assert_eq!(whole.matches(" p2 ").count(), 28, "{whole}");
    assert!(!whole.contains('…'), "{whole}");
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
    let text = document(&report).text(Layout::default());
    let head = "1 process of lbm on two.toml (1 host in 1 Set), seed 1\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains(" supersteps      us "), "{text}");
    assert!(text.contains("  10.000 "), "{text}");
    assert!(text.contains("No call was held"), "{text}");
    assert!(!text.contains("scenario ii)"), "{text}");
}

#[test]
fn a_single_scenario_has_no_comparison() {
    let text = document(&report(vec![run("iii", 9.0, vec![call(None)])])).text(Layout::default());
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
    let provenance = Provenance::of_program(&Registry::new()).unwrap();
    let csv = report.csv(&provenance).unwrap();
    let rows = csv.split_inclusive('\n');
    let rows: String = rows.filter(|row| !row.starts_with("# ")).collect();
    assert_eq!(
        rows,
        "scenario,seconds,supersteps,calls,migrations,superstep,interval,tolerance,process,from,to,potential,t1,t2,cost_seconds\n\
             i,10.0,8,0,0,,,,,,,,,,\n\
             iii,9.0,8,1,1,4,4,0.5,p2,a-1,b-1,0.5,1.0,1.25,0.125\n"
    );
}
