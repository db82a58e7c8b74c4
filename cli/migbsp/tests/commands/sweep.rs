//! `sweep`: every combination, once, in the order of the values, whatever happens meanwhile.

mod faults;
mod shards;

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde_json::Value;

use crate::charts::{check_contents, check_head};
use crate::invocation::{Folder, rows};
use crate::live::under_way::UnderWay;
use crate::schemas::UNSTABLE;

/// An experiment whose processes draw their loads.
const NOISY: &str = r#"[application]
workload = "synthetic"
processes = 4
supersteps = 40

[application.synthetic]
instructions = [1e8]
memory = 1e5
dynamics = { kind = "noise", jitter = 0.3 }

[platform]
file = "two.xml"
"#;

/// 3 × 4 × 5 runs.
const SIXTY: [&str; 10] = [
    "sweep",
    "noisy.toml",
    "--set",
    "scheduler.interval=2,4,8",
    "--set",
    "application.processes=1..4",
    "--policy",
    "migbsp",
    "--seeds",
    "1..5",
];

/// 2 × 2 × 2 × 2 runs, under policies one of which is scenario i.
const SIXTEEN: [&str; 12] = [
    "sweep",
    "noisy.toml",
    "--set",
    "scheduler.interval=2,8",
    "--set",
    "application.processes=2..4:2",
    "--policy",
    "none",
    "--policy",
    "migbsp",
    "--seeds",
    "1..2",
];

fn folder() -> Folder {
    Folder::new().with("noisy.toml", NOISY)
}

/// What the file `name` in `folder` has.
#[track_caller]
fn read(folder: &Folder, name: &str) -> String {
    let file = folder.path().join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The whole lines of the runs that are kept in `out`.
fn kept(folder: &Folder, out: &str) -> Vec<String> {
    let file = folder.path().join(out).join("runs.jsonl");
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

/// Runs the command until `out` has a number of runs, and interrupts it.
#[track_caller]
fn interrupt(folder: &Folder, arguments: &[&str], out: &str, runs: usize) {
    let child = UnderWay::start(&mut folder.command(arguments));
    while kept(folder, out).len() < runs {
        assert!(!child.is_over(), "{:?}", child.ends_within(10));
        thread::yield_now();
    }
    child.signal("INT");
    let ended = child.ends_within(60);
    assert_eq!((ended.code, &*ended.stdout), (Some(130), ""), "{ended:?}");
    let words = " of 60 runs are done; the same command goes on from here\n";
    assert!(ended.stderr.starts_with("error: interrupted: ") && ended.stderr.ends_with(words));
}

#[test]
fn a_sweep_that_is_interrupted_twice_equals_one_in_a_piece() {
    let folder = folder().with("noisy.toml", NOISY.replace("= 40", "= 600"));
    let slowly = [&SIXTY[..], &["--out", "parts", "--jobs", "1"]].concat();
    interrupt(&folder, &slowly, "parts", 4);
    let first = kept(&folder, "parts");
    assert!(!folder.path().join("parts/runs.csv").exists());
    interrupt(&folder, &slowly, "parts", first.len() + 4);
    let second = kept(&folder, "parts");
    assert_eq!(second[..first.len()], first);
    assert!(second.len() < 60, "{}", second.len());
    let resumed = folder.stdout(&[&SIXTY[..], &["-o", "parts"]].concat());
    let third = kept(&folder, "parts");
    assert_eq!(third[..second.len()], second);
    // No run is made twice.
    assert_eq!(third.len(), 60);
    let whole = folder.stdout(&[&SIXTY[..], &["-o", "whole"]].concat());
    assert_eq!(resumed.replace("parts/", "whole/"), whole);
    assert_eq!(
        read(&folder, "parts/runs.csv"),
        read(&folder, "whole/runs.csv")
    );
    assert_eq!(
        rows(&read(&folder, "whole/runs.csv")).lines().count(),
        1 + 60
    );
    // A complete sweep is read again, and nothing is run.
    folder.stdout(&[&SIXTY[..], &["-o", "parts"]].concat());
    assert_eq!(kept(&folder, "parts"), third);
}

#[test]
fn a_line_that_a_dead_process_cut_off_is_run_again() {
    let folder = folder();
    let arguments = [&SIXTEEN[..], &["-o", "swept"]].concat();
    folder.stdout(&arguments);
    let (table, runs) = (
        read(&folder, "swept/runs.csv"),
        read(&folder, "swept/runs.jsonl"),
    );
    let cut = runs.lines().take(6).map(str::len).sum::<usize>() + 6 - 30;
    fs::write(folder.path().join("swept/runs.jsonl"), &runs[..cut]).unwrap();
    folder.stdout(&arguments);
    assert_eq!(read(&folder, "swept/runs.csv"), table);
    assert_eq!(kept(&folder, "swept").len(), 16);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = folder();
    for jobs in ["1", "5"] {
        let out = format!("swept-{jobs}");
        folder.stdout(&[&SIXTEEN[..], &["--jobs", jobs, "--out", &out]].concat());
    }
    assert_eq!(
        read(&folder, "swept-1/runs.csv"),
        read(&folder, "swept-5/runs.csv")
    );
}

/// Rows of a table as CSV, by the names of its columns.
fn table(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn the_table_has_a_row_per_run_in_the_order_of_the_values() {
    let folder = folder();
    let printed = folder.csv(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    assert_eq!(rows(&read(&folder, "swept/runs.csv")), printed);
    let first = "experiment,scheduler.interval,application.processes,policy,seed,seconds,";
    assert!(printed.starts_with(first), "{printed}");
    let mut expected = Vec::new();
    for interval in ["2", "8"] {
        for processes in ["2", "4"] {
            for policy in ["none", "migbsp"] {
                for seed in ["1", "2"] {
                    expected.push(format!(
                        "noisy.toml,{interval},{processes},{policy},{seed},"
                    ));
                }
            }
        }
    }
    let lines: Vec<&str> = printed.lines().skip(1).collect();
    assert_eq!(lines.len(), expected.len());
    for (line, expected) in lines.iter().zip(&expected) {
        assert!(line.starts_with(expected), "{expected}: {line}");
    }
    let version = format!("migbsp {}", env!("CARGO_PKG_VERSION"));
    for row in table(&printed) {
        assert_eq!((&row["version"], row["build_sha256"].len()), (&version, 64));
    }
}

#[test]
fn rows_are_the_runs_of_compare_with_gains_against_scenario_i() {
    let folder = folder();
    let swept = table(&folder.csv(&SIXTEEN));
    let arguments = "compare noisy.toml --policy none --policy migbsp --seeds 1..2 \
                     --set scheduler.interval=8 --set application.processes=4";
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let compared = table(&folder.csv(&arguments));
    let swept = &swept[12..];
    assert_eq!(swept.len(), compared.len());
    for (row, compared) in swept.iter().zip(&compared) {
        for name in ["seed", "seconds", "migrations", "configuration_sha256"] {
            assert_eq!(row[name], compared[name], "{name}");
        }
    }
    let number = |row: usize, name: &str| swept[row][name].parse::<f64>().unwrap();
    for (alone, moving) in [(0, 2), (1, 3)] {
        let gain = 1.0 - number(moving, "seconds") / number(alone, "seconds");
        assert!((number(moving, "gain") - gain).abs() < 1e-15);
        assert_eq!(swept[alone]["gain"], "0.0");
    }
}

#[test]
fn an_experiment_that_draws_nothing_is_run_once() {
    let folder = folder();
    let both = [
        "sweep",
        "e.toml",
        "noisy.toml",
        "--set",
        "scheduler.interval=2,4",
    ];
    let both = [&both[..], &["--policy", "none", "--seeds", "1..3"]].concat();
    let planned = folder.stdout(&[&both[..], &["--dry-run"]].concat());
    let first = "8 runs: 2 × 2 combinations, 1 policy, 3 seeds\n";
    assert!(planned.starts_with(first), "{planned}");
    let still = "2 combinations of 4 without random numbers: run with seed 1 alone.\n";
    assert!(planned.ends_with(still), "{planned}");
    for words in [
        "e.toml, noisy.toml",
        "scheduler.interval  2, 4",
        "seed                1..3",
    ] {
        assert!(planned.contains(words), "{words}: {planned}");
    }
    let table = folder.csv(&both);
    assert_eq!(table.lines().count(), 1 + 8);
    assert_eq!(table.matches("e.toml,2,none,1").count(), 1, "{table}");
}

#[test]
fn a_dry_run_counts_and_leaves_nothing() {
    let folder = folder();
    let arguments = [
        &SIXTY[..],
        &["--dry-run", "--out", "swept", "--format", "json"],
    ]
    .concat();
    let plan: Value = serde_json::from_str(&folder.stdout(&arguments)).unwrap();
    assert_eq!(plan["runs"], 60);
    assert_eq!(
        plan["parameters"][1]["values"],
        serde_json::json!([1, 2, 3, 4])
    );
    assert!(!folder.path().join("swept").exists());
}

#[test]
fn values_are_texts_arrays_and_tables_as_well() {
    let two = NOISY.replace("1e5", "2e5");
    let folder = folder().with("a,b.toml", two.replace("two.xml", "x,y.xml"));
    fs::copy(folder.path().join("two.xml"), folder.path().join("x,y.xml")).unwrap();
    let set = [
        "--set",
        "application.synthetic.instructions=[1e8],[1e8, 2e8]",
        "--set",
        "platform.file=\"x,y.xml\",two.xml",
        "--set",
        "application.synthetic.dynamics={ kind = \"noise\", jitter = 0.1 },{ kind = \"noise\", jitter = 0.2 }",
    ];
    let arguments = [
        &["sweep", "a,b.toml", "--policy", "none", "--seeds", "1"][..],
        &set,
    ]
    .concat();
    let ended = folder.run(&[&arguments[..], &["--format", "csv"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let table = rows(&ended.stdout);
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let found: Vec<Vec<String>> = reader
        .records()
        .map(|row| row.unwrap().iter().take(4).map(str::to_owned).collect())
        .collect();
    assert_eq!(found.len(), 8);
    let first = [
        "a,b.toml",
        "[100000000.0]",
        "x,y.xml",
        "{ jitter = 0.1, kind = \"noise\" }",
    ];
    assert_eq!(found[0], first);
    assert_eq!(found[7][1..3], ["[100000000.0, 200000000.0]", "two.xml"]);
}

#[test]
fn a_comparison_of_the_runs_is_the_one_that_compare_makes() {
    let folder = folder();
    let both = [
        "noisy.toml",
        "--policy",
        "none",
        "--policy",
        "migbsp",
        "--seeds",
        "1..3",
    ];
    folder.stdout(&[&["sweep"], &both[..], &["-o", "swept"]].concat());
    let compared = folder.stdout(&[&["compare"], &both[..]].concat());
    assert_eq!(folder.stdout(&["compare", "--from", "swept"]), compared);
    folder.stdout(&[&SIXTEEN[..], &["-o", "grid"]].concat());
    let claim = [
        "--assert-each",
        "migbsp <= 0.01 * none",
        "--svg",
        "gains.svg",
    ];
    let ended = folder.run(&[&["compare", "--from", "grid"][..], &claim].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let name = "noisy.toml scheduler.interval=8 application.processes=4";
    assert!(
        ended.stdout.contains(&format!("{name}, 2 seeds\n")),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("All 4 experiments"), "{ended:?}");
    assert!(
        ended.stderr.contains(&format!("does not hold on {name}")),
        "{ended:?}"
    );
    let chart = read(&folder, "gains.svg");
    let label = "\ninterval=8 processes=4\n";
    assert!(chart.contains(label), "{chart}");
}

#[test]
fn a_policy_that_does_not_depend_on_a_key_is_run_once_for_all_its_values() {
    let folder = folder();
    folder.stdout(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    let swept = table(&rows(&read(&folder, "swept/runs.csv")));
    let digest = |interval: &str, processes: &str, policy: &str, seed: &str| {
        let is_meant = |row: &&BTreeMap<String, String>| {
            row["scheduler.interval"] == interval
                && row["application.processes"] == processes
                && row["policy"] == policy
                && row["seed"] == seed
        };
        let row = swept.iter().find(is_meant).unwrap();
        (
            row["run_sha256"].clone(),
            row["configuration_sha256"].clone(),
        )
    };
    let (first, configuration) = digest("2", "2", "none", "1");
    let (second, other) = digest("8", "2", "none", "1");
    assert_eq!(first, second);
    assert_ne!(configuration, other);
    for row in [("8", "4", "none", "1"), ("8", "2", "none", "2")] {
        assert_ne!(digest(row.0, row.1, row.2, row.3).0, first);
    }
    assert_ne!(
        digest("2", "2", "migbsp", "1").0,
        digest("8", "2", "migbsp", "1").0
    );
}

#[test]
fn a_sweep_survives_runs_that_fail() {
    let folder = Folder::new().with("unstable.toml", UNSTABLE);
    let reynolds = "application.lbm-kernel.reynolds=0.1,10";
    let sweep = ["sweep", "unstable.toml", "--set", reynolds];
    let policies = ["--policy", "none", "--policy", "migbsp", "--out", "swept"];
    let ended = folder.run(&[&sweep[..], &policies].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("note: 2 of 4 runs failed"),
        "{ended:?}"
    );
    let swept = table(&rows(&read(&folder, "swept/runs.csv")));
    assert_eq!(swept.len(), 4);
    for (row, failed) in swept.iter().zip([true, true, false, false]) {
        assert_eq!(row["seconds"].is_empty(), failed, "{row:?}");
        assert_eq!(!row["error"].is_empty(), failed, "{row:?}");
    }
    assert!(ended.stdout.contains("1 of 1 failed"), "{}", ended.stdout);
    let compared = folder.run(&["compare", "--from", "swept"]);
    assert_eq!(compared.code, Some(1), "{compared:?}");
    assert!(
        compared.stdout.contains("Runs without a result"),
        "{compared:?}"
    );
}

#[test]
fn an_unfinished_sweep_is_compared_with_a_warning() {
    let folder = folder();
    folder.stdout(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    let runs = read(&folder, "swept/runs.jsonl");
    let some: String = runs.split_inclusive('\n').take(9).collect();
    fs::write(folder.path().join("swept/runs.jsonl"), some).unwrap();
    let ended = folder.run(&["compare", "--from", "swept"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains(" of 16 runs are done under all policies"),
        "{ended:?}"
    );
    fs::write(folder.path().join("swept/runs.jsonl"), "").unwrap();
    let problem = "swept: none of its 16 runs is done under all policies";
    folder.fails(&["compare", "--from", "swept"], 4, problem);
}

#[test]
fn charts_show_one_or_two_parameters_and_a_page_shows_all() {
    let folder = folder();
    let files = ["--svg", "map.svg", "--html", "page.html", "-o", "swept"];
    let printed = folder.stdout(&[&SIXTEEN[..], &files].concat());
    assert!(printed.contains("Largest gains against none"), "{printed}");
    assert!(
        printed.ends_with("\n16 runs, 12 different ones: swept/runs.csv\n"),
        "{printed}"
    );
    let map = read(&folder, "map.svg");
    check_head(&map);
    assert!(map.contains("<title>Gain against none</title>"), "{map}");
    for text in [
        "scheduler.interval",
        "application.processes",
        "migbsp",
        "2",
        "4",
        "8",
    ] {
        assert!(map.contains(&format!("\n{text}\n")), "{text}: {map}");
    }
    let over = [
        "--svg",
        "lines.svg",
        "--over",
        "scheduler.interval",
        "-o",
        "swept",
    ];
    folder.stdout(&[&SIXTEEN[..], &over].concat());
    let lines = read(&folder, "lines.svg");
    crate::charts::check_svg(&lines);
    assert!(
        lines.contains("Geometric mean over application.processes."),
        "{lines}"
    );
    let page = read(&folder, "page.html");
    check_contents(&page);
    assert_eq!(
        page.matches("<svg").count(),
        3,
        "one for each parameter, and for both"
    );
    assert!(page.contains("color-scheme: light dark"), "{page}");
    assert!(
        !page.contains("src=") && !page.contains("@import"),
        "self-contained"
    );
    // Another view of a complete sweep runs nothing.
    assert_eq!(kept(&folder, "swept").len(), 16);
}
