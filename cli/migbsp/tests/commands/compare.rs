//! `compare`: which policies are better, and how sure that is.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::charts::check_svg;
use crate::invocation::{Folder, PLATFORM, root};
use crate::live::under_way::signal;
use crate::schemas::UNSTABLE;

/// An experiment whose processes draw their loads, shorter than the other one.
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

const BOTH: [&str; 9] = [
    "compare",
    "e.toml",
    "noisy.toml",
    "--policy",
    "none",
    "--policy",
    "migbsp",
    "--seeds",
    "1..5",
];

fn folder() -> Folder {
    Folder::new().with("noisy.toml", NOISY)
}

fn object(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--format", "json"]].concat();
    serde_json::from_str(&folder.stdout(&arguments)).unwrap()
}

#[test]
fn the_object_has_the_promised_shape() {
    let json = object(&folder(), &BOTH);
    assert_eq!(json["schema"], "migbsp.compare/1");
    assert_eq!(json["reference"], "none");
    let experiments = json["experiments"].as_array().unwrap();
    assert_eq!(experiments[0]["draws"], false);
    assert_eq!(experiments[1]["draws"], true);
    assert_eq!(experiments[1]["seeds"].as_array().unwrap().len(), 5);
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 + 2 * 5);
    let summaries = json["summaries"].as_array().unwrap();
    let names: Vec<(&Value, &Value)> = summaries
        .iter()
        .map(|summary| (&summary["experiment"], &summary["policy"]))
        .collect();
    let (e, noisy) = (&Value::from("e.toml"), &Value::from("noisy.toml"));
    let (none, migbsp) = (&Value::from("none"), &Value::from("migbsp"));
    assert_eq!(
        names,
        [(e, none), (e, migbsp), (noisy, none), (noisy, migbsp)]
    );
    let moving = &summaries[3];
    for key in [
        "seconds_margin",
        "gain",
        "gain_low",
        "share_of_balance",
        "share_of_mapping",
    ] {
        assert!(moving[key].is_f64(), "{key}: {moving}");
    }
    assert!(0.0 < moving["calls"].as_f64().unwrap());
    assert!(1e5 < moving["moved_bytes"].as_f64().unwrap());
    assert!(
        summaries[1]["seconds_margin"].is_null(),
        "one run has no interval"
    );
    let pairs = json["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3, "all together, and each");
    assert_eq!(pairs[0]["experiment"], Value::Null);
    assert_eq!(pairs[0]["runs"], 1 + 5);
    assert_eq!(pairs[0]["seeds"], 5);
    let against = object(
        &folder(),
        &[&BOTH[..], &["--policy", "adaptive", "--against", "migbsp"]].concat(),
    );
    assert_eq!(against["reference"], "migbsp");
    let pairs = against["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 3 * 2);
    assert!(pairs.iter().all(|pair| pair["against"] == "migbsp"));
}

#[test]
fn runs_are_those_that_simulate_makes() {
    let folder = folder();
    let compared = object(
        &folder,
        &[
            "compare",
            "noisy.toml",
            "--policy",
            "none",
            "--policy",
            "migbsp:interval=6",
            "--seeds",
            "9",
        ],
    );
    let simulated = object(
        &folder,
        &[
            "simulate",
            "noisy.toml",
            "--set",
            "run.seed=9",
            "--set",
            "scheduler.interval=6",
        ],
    );
    for (run, scenario) in [(0, 0), (1, 2)] {
        let (compared, simulated) = (&compared["runs"][run], &simulated["runs"][scenario]);
        for key in [
            "seconds",
            "supersteps",
            "attainable_seconds",
            "imbalance_seconds",
            "moved_bytes",
        ] {
            assert_eq!(compared[key], simulated[key], "{key}");
        }
        assert_eq!(
            compared["calls"],
            simulated["calls"].as_array().unwrap().len()
        );
    }
}

#[test]
fn the_same_seeds_give_the_same_results() {
    let folder = folder();
    for format in ["table", "json", "csv"] {
        let arguments = [&BOTH[..], &["--format", format, "--svg", "gains.svg"]].concat();
        let draw = || {
            let text = folder.stdout(&arguments);
            (
                text,
                fs::read_to_string(folder.path().join("gains.svg")).unwrap(),
            )
        };
        assert_eq!(draw(), draw(), "{format}");
    }
}

#[test]
fn the_text_shows_significant_differences() {
    let folder = folder();
    let text = folder.stdout(&[&BOTH[..], &["--assert", "migbsp < 2 * none"]].concat());
    for words in [
        "e.toml, one run: the same for all seeds\n",
        "noisy.toml, 5 seeds\n",
        "All 2 experiments, geometric mean\n",
        "Significant differences: ",
        "migbsp < 2 * none: holds (",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let csv = folder.csv(&BOTH);
    assert!(csv.starts_with("experiment,policy,seed,seconds,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 2 + 2 * 5);
}

#[test]
fn the_gains_are_drawn() {
    let folder = folder();
    folder.stdout(&[&BOTH[..], &["--svg", "gains.svg"]].concat());
    let svg = fs::read_to_string(folder.path().join("gains.svg")).unwrap();
    check_svg(&svg);
    let mut rest = &*svg;
    for text in ["\nAll 2, geometric mean\n", "\ne\n", "\nnoisy\n"] {
        let (_, after) = rest
            .split_once(text)
            .unwrap_or_else(|| panic!("{text}: {svg}"));
        rest = after;
        assert!(rest.contains("\nmigbsp\n"), "{text}: {svg}");
    }
    assert!(svg.contains("Gain against none"), "{svg}");
    folder.fails(
        &[&BOTH[..], &["--svg", "nowhere/gains.svg"]].concat(),
        1,
        "nowhere/gains.svg: cannot be written: No such file or directory (os error 2)",
    );
}

#[test]
fn a_claim_that_does_not_hold_is_a_failure_after_the_results() {
    let folder = Folder::new();
    let one = ["compare", "e.toml", "--set", "application.supersteps=200"];
    let claims = [
        "--assert",
        "migbsp <= none",
        "--assert-each",
        "none <= 0.9 * migbsp",
    ];
    let ended = folder.run(&[&one[..], &claims].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stdout.contains("migbsp <= none: holds ("),
        "{ended:?}"
    );
    assert!(
        ended
            .stdout
            .contains("none <= 0.9 * migbsp on e.toml: DOES NOT HOLD ("),
        "{ended:?}"
    );
    assert!(
        ended.stderr.starts_with(
            "error: `none <= 0.9 * migbsp` does not hold on e.toml: the makespans' ratio is "
        ),
        "{ended:?}"
    );
}

#[test]
fn watching_is_a_policy_too() {
    let folder = Folder::new();
    let watching = ["--policy", "none", "--policy", "migbsp:scenario=ii"];
    let json = object(&folder, &[&["compare", "e.toml"][..], &watching].concat());
    let summary = &json["summaries"][1];
    assert_eq!(summary["migrations"], 0.0);
    assert_eq!(summary["moved_bytes"], 0.0);
    assert!(0.0 < summary["overhead"].as_f64().unwrap());
}

#[test]
fn invalid_arguments_show_the_rule_that_they_break() {
    let folder = folder();
    let check = |arguments: &[&str], words: &str| {
        let ended = folder.run(&[&["compare", "e.toml"][..], arguments].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    };
    check(&["--policy", "migbps"], "did you mean `migbsp`?");
    check(
        &["--policy", "migbsp:intervall=8"],
        "did you mean `interval`?",
    );
    check(
        &["--policy", "migbsp:planning.horizn=8"],
        "did you mean `horizon`?",
    );
    check(&["--policy", "none:interval=8"], "`none` has no parameters");
    check(
        &["--policy", "none", "--policy", "none"],
        "--policy none is given twice",
    );
    check(&["e.toml"], "e.toml is given twice; --seeds");
    check(
        &["./e.toml"],
        "./e.toml is given twice, first as e.toml; --seeds",
    );
    check(
        &["--policy", "migbsp:interval=4,interval=8"],
        "interval: given twice, as `4` and as `8`",
    );
    check(&["--seeds", "-1"], "must be seeds as in 7");
    check(&["--seeds", "5..1"], "holds no seed");
    check(
        &["--seeds", "many"],
        "must be seeds as in 7 or 1,2,5 or 1..30",
    );
    check(&["--assert", "migbsp >= none"], "must be `A <= B`");
    check(
        &["--assert", "migbsp <= absent"],
        "unknown policy `absent`, must be one of none, migbsp",
    );
    check(
        &["--against", "menon"],
        "--against menon: unknown policy, must be one of none, migbsp, adaptive",
    );
    check(
        &["--assert-each", "menon <= none"],
        "unknown policy `menon`",
    );
    check(&["--set", "run.seed=4"], "use --seeds");
    check(&["--set", "scheduler.policy=none"], "use --policy");
    check(
        &["--set", "scheduler.intervall=4"],
        "did you mean `interval`?",
    );
}

#[test]
fn an_experiment_that_is_at_fault_is_named_before_anything_is_run() {
    let folder = folder().with("broken.toml", NOISY.replace("jitter = 0.3", "jitter = 3"));
    let ended = folder.run(&["compare", "e.toml", "broken.toml", "missing.toml"]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(4), ""),
        "{ended:?}"
    );
    folder.fails(
        &["compare", "e.toml", "missing.toml"],
        4,
        "missing.toml: cannot be read: No such file or directory (os error 2)",
    );
}

#[test]
fn a_run_that_fails_is_named_and_the_others_are_made() {
    let folder = folder().with("unstable.toml", UNSTABLE);
    let both = [
        "compare",
        "unstable.toml",
        "e.toml",
        "--policy",
        "migbsp",
        "--jobs",
        "1",
    ];
    let ended = folder.run(&[&both[..], &["--seeds", "2", "--out", "runs"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let starts = "error: unstable.toml, migbsp, seed 2: ";
    assert!(ended.stderr.contains(starts), "{}", ended.stderr);
    let note = "\n  note: 1 of 2 runs failed; the others are done";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    for words in ["1 of 1 failed", "e.toml, one run", "Runs without a result"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    // What failed is not made again, unless that is asked for.
    let lines = kept(&folder);
    assert_eq!(lines[0]["schema"], "migbsp.compare-failures/1");
    let again = [&both[..], &["--seeds", "2", "--out", "runs"]].concat();
    assert_eq!(folder.run(&again).stdout, ended.stdout);
    assert_eq!(kept(&folder), lines);
    let retried = folder.run(&[&again[..], &["--retry"]].concat());
    assert_eq!((retried.code, retried.stdout), (Some(1), ended.stdout));
    assert_eq!(kept(&folder).len(), lines.len() + 1);
}

#[test]
fn a_plan_that_makes_supersteps_longer_is_taken_back() {
    // The plan sees unequal hosts, but not that the master of the barrier is in another Set then.
    let platform = root().join("conf/platforms/five.toml");
    let experiment = format!(
        r#"
            application.workload = "synthetic"
            application.processes = 20
            application.supersteps = 3000
            application.synthetic = {{ instructions = [8e7], bytes = [1000], shifts = [1], memory = 1e5 }}
            platform.file = {platform:?}
        "#
    );
    let folder = Folder::new().with("barrier.toml", experiment);
    let policies = ["--policy", "none", "--policy", "adaptive"];
    let claim = ["--assert", "adaptive <= 1.05 * none"];
    folder.stdout(&[&["compare", "barrier.toml"], &policies[..], &claim].concat());
}

/// Every run that is kept in `runs/runs.jsonl`.
fn kept(folder: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(folder.path().join("runs/runs.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_interrupted_comparison_shows_what_is_done_and_goes_on() {
    let folder = folder().with("long.toml", NOISY.replace("= 40", "= 2000"));
    let short = [
        "compare",
        "long.toml",
        "--policy",
        "none",
        "--policy",
        "migbsp",
    ];
    let all = [&short[..], &["--seeds", "1..60", "--jobs", "1"]].concat();
    let kept_runs = [&all[..], &["--out", "runs"]].concat();
    let child = folder
        .command(&kept_runs)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while kept(&folder).len() < 5 {
        std::thread::yield_now();
    }
    signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        stdout.starts_with("long.toml, ") && stdout.contains(" seeds\n"),
        "{stdout}"
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: interrupted: "), "{stderr}");
    assert!(stderr.contains(" of 120 runs are done"), "{stderr}");
    let before = kept(&folder);
    assert!((5..120).contains(&before.len()), "{}", before.len());
    assert_eq!(before[0]["schema"], "migbsp.compare-runs/1");
    // What is done is not done again, and the result is that of a comparison in one piece.
    let resumed = folder.stdout(&kept_runs);
    let after = kept(&folder);
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), 120);
    assert_eq!(resumed, folder.stdout(&all));
    assert_eq!(folder.stdout(&kept_runs), resumed);
    assert_eq!(kept(&folder).len(), 120);
}

#[test]
fn a_changed_experiment_is_run_again() {
    let folder = folder();
    let arguments = [&BOTH[..], &["--out", "runs"]].concat();
    folder.stdout(&arguments);
    assert_eq!(kept(&folder).len(), 12);
    // A comment changes nothing, a value does, and so does the platform.
    fs::write(
        folder.path().join("noisy.toml"),
        format!("# noise\n{NOISY}"),
    )
    .unwrap();
    folder.stdout(&arguments);
    assert_eq!(kept(&folder).len(), 12);
    fs::write(
        folder.path().join("noisy.toml"),
        NOISY.replace("0.3", "0.2"),
    )
    .unwrap();
    folder.stdout(&arguments);
    assert_eq!(kept(&folder).len(), 12 + 10);
    let faster = PLATFORM.replace("0.5Gf", "0.6Gf");
    fs::write(folder.path().join("two.xml"), faster).unwrap();
    let changed = folder.stdout(&arguments);
    assert_eq!(kept(&folder).len(), 12 + 10 + 12);
    assert_eq!(changed, folder.stdout(&BOTH));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = folder();
    let one = folder.stdout(&[&BOTH[..], &["--jobs", "1"]].concat());
    assert_eq!(folder.stdout(&[&BOTH[..], &["-j", "5"]].concat()), one);
    assert_eq!(
        folder.run(&[&BOTH[..], &["-j", "0"]].concat()).code,
        Some(2)
    );
}
