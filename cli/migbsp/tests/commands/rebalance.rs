//! `rebalance`: assignments that meet levels, what levels cost, and instances.

mod checker;
mod drawn;
mod faults;
mod limits;
mod mangled;
mod paper;
mod sweep;
mod vt;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::invocation::{Folder, root};
use crate::rebalance::checker::Instance;

/// Three machines in two clusters; the first has too much to do.
pub(crate) const SMALL: &str = r#"{
  "name": "small",
  "capacities": [1, 1, 2],
  "cluster": [0, 0, 1],
  "bandwidth": {"intra": 100, "inter": 10},
  "processes": [
    [60, 1, 0],
    [50, 4, 0],
    [40, 40, 0],
    [10, 2, 1],
    [20, 8, 2]
  ],
  "targets": [60, 100]
}
"#;

/// What finds the same for good.
const IMLP: [&str; 4] = ["--algorithm", "imlp", "--budget", "10 ksteps"];

const ALGORITHMS: [&str; 8] = [
    "imlp", "islp", "mlp", "tabu", "mparv", "refine", "hyb", "best",
];

fn folder() -> Folder {
    Folder::new().with("small.json", SMALL)
}

/// With an instance of `group`.
fn with_group(group: &str) -> Folder {
    let folder = folder();
    let text = folder.stdout(&["rebalance", "generate", "--group", group, "--seed", "3"]);
    folder.with("drawn.json", text)
}

/// What the command says as JSON, whether all targets are met or not.
fn object(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments = [&["rebalance"], arguments, &["--format", "json"]].concat();
    let ended = folder.run(&arguments);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn every_assignment_is_what_it_is_said_to_be() {
    for group in ["I1,1", "I3,2", "I4,3"] {
        let folder = with_group(group);
        let instance = Instance::read(&folder.path().join("drawn.json"));
        for algorithm in ALGORITHMS {
            for cost in ["seconds", "moves"] {
                let json = object(
                    &folder,
                    &[
                        "drawn.json",
                        "--algorithm",
                        algorithm,
                        "--budget",
                        "40 ksteps",
                        "--cost",
                        cost,
                        "--target",
                        "77",
                        "--target",
                        "95",
                        "--target",
                        "70",
                    ],
                );
                assert_eq!(json["schema"], "migbsp.rebalance/1");
                assert_eq!(json["cost_unit"], cost);
                let solutions = json["solutions"].as_array().unwrap();
                let targets: Vec<f64> = solutions
                    .iter()
                    .map(|solution| solution["target"].as_f64().unwrap())
                    .collect();
                assert_eq!(targets, [77.0, 95.0, 70.0]);
                for solution in solutions {
                    instance.check(solution, cost);
                }
                assert_eq!(solutions[2]["feasible"], false, "below the ideal level");
                assert_eq!(solutions[2]["lower_bound"], Value::Null);
            }
        }
    }
}

#[test]
fn every_algorithm_meets_an_easy_level() {
    let folder = with_group("I1,2");
    for algorithm in ALGORITHMS {
        let arguments = ["drawn.json", "--algorithm", algorithm, "--target", "90"];
        let json = object(
            &folder,
            &[&arguments[..], &["--budget", "1 Msteps"]].concat(),
        );
        assert_eq!(json["solutions"][0]["feasible"], true, "{algorithm}");
    }
}

#[test]
fn the_cheapest_way_is_found_where_it_can_be_counted_out() {
    let folder = folder();
    let json = object(&folder, &["small.json", "--budget", "100 ksteps"]);
    let instance = Instance::read(&folder.path().join("small.json"));
    for solution in json["solutions"].as_array().unwrap() {
        let cheapest = instance.cheapest(solution["target"].as_f64().unwrap());
        let cost = solution["cost"].as_f64().unwrap();
        assert!((cost - cheapest).abs() < 1e-9, "{cheapest}: {solution}");
    }
}

#[test]
fn steps_give_the_same_everywhere() {
    let folder = with_group("I2,1");
    for algorithm in ALGORITHMS {
        let draw = || {
            let mut json = object(
                &folder,
                &[
                    "drawn.json",
                    "--algorithm",
                    algorithm,
                    "--budget",
                    "300 ksteps",
                    "--seed",
                    "5",
                ],
            );
            json.as_object_mut().unwrap().remove("seconds");
            for solution in json["solutions"].as_array_mut().unwrap() {
                solution.as_object_mut().unwrap().remove("seconds");
            }
            json
        };
        assert_eq!(draw(), draw(), "{algorithm}");
    }
    let arguments = ["rebalance", "small.json", "--budget", "1000 steps"];
    assert_eq!(folder.stdout(&arguments), folder.stdout(&arguments));
}

#[test]
fn the_text_shows_moves_and_machines() {
    let text = folder().stdout(&[&["rebalance", "small.json"], &IMLP[..]].concat());
    assert_eq!(text, EXPECTED, "{text}");
}

#[test]
fn long_tables_are_cut() {
    let folder = with_group("I1,3");
    let text = folder.stdout(&[
        "rebalance",
        "drawn.json",
        "--target",
        "90",
        "--budget",
        "100 ksteps",
    ]);
    assert!(
        text.contains(" more; --all or --format json shows all of them\n"),
        "{text}"
    );
    assert!(text.lines().count() < 45, "{text}");
}

#[test]
fn rows_are_moves() {
    let folder = folder();
    let csv = folder.csv(&[
        "rebalance",
        "small.json",
        "--budget",
        "10 ksteps",
        "--target",
        "60",
        "--target",
        "200",
    ]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "target,feasible,dc,cost,lower_bound,migrations,seconds,process,workload,size_mb,from,to,move_cost,name"
    );
    assert_eq!(lines.len(), 1 + 2 + 1, "{csv}");
    assert!(lines[3].starts_with("200.0,true,150.0,0.0,0.0,0,"), "{csv}");
    assert!(lines[3].ends_with(",,,,,,,"), "{csv}");
}

#[test]
fn machines_are_shown_by_the_names_that_the_instance_gives() {
    let named = SMALL.replacen(
        "\"cluster\"",
        "\"machines\": [\"ice-1\", \"ice-2\", \"rio\"], \"cluster\"",
        1,
    );
    let folder = Folder::new().with("small.json", named);
    let json = object(&folder, &[&["small.json"], &IMLP[..]].concat());
    assert_eq!(
        json["machines"],
        Value::from(["ice-1", "ice-2", "rio"].to_vec())
    );
    let solution = &json["solutions"][0];
    let places = ["rio", "ice-2", "ice-1", "ice-2", "rio"];
    assert_eq!(solution["assignment"], Value::from(places.to_vec()));
    let first = &solution["moves"][0];
    assert_eq!(
        (&first["process"], &first["from"], &first["to"]),
        (&0.into(), &"ice-1".into(), &"rio".into())
    );
    let csv = folder.csv(&[&["rebalance", "small.json"], &IMLP[..]].concat());
    assert!(csv.contains(",0,60.0,1.0,ice-1,rio,0.1,\n"), "{csv}");
    let text = folder.stdout(&[&["rebalance", "small.json"], &IMLP[..]].concat());
    assert!(text.contains("  ice-1  rio    between clusters"), "{text}");
}

#[test]
fn a_target_that_is_not_met_is_a_failure_after_the_results() {
    let folder = folder();
    let check = |target: &str, algorithm: &str, how: &str, start: &str, end: &str| {
        let mut arguments = vec!["rebalance", "small.json", "--target", target];
        arguments.extend(["--algorithm", algorithm, "--budget", "10 ksteps"]);
        let ended = folder.run(&arguments);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stdout.contains(how), "{ended:?}");
        let error = ended.stderr.trim_end();
        assert!(
            error.starts_with(&format!("error: target {target} {start}")),
            "{ended:?}"
        );
        assert!(error.ends_with(end), "{ended:?}");
    };
    check(
        "44",
        "best",
        "impossible",
        "cannot be met: perfect balance is 45.00; ",
        " was reached",
    );
    check(
        "45.5",
        "best",
        "NO",
        "is not met: best reached ",
        " within 10000 steps; a larger --budget may find more",
    );
    // It ends where no exchange helps any more.
    check(
        "45.5",
        "mlp",
        "NO",
        "is not met: mlp reached ",
        " and ended within 10000 steps; another --algorithm may find more",
    );
}

#[test]
fn an_instance_may_come_from_stdin() {
    let folder = folder();
    let mut command = folder.command(&[&["rebalance", "-"], &IMLP[..]].concat());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(SMALL.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), EXPECTED);
    folder.fails(
        &["rebalance", "-"],
        4,
        "invalid JSON: EOF while parsing a value\n  --> stdin:1:0",
    );
}

#[test]
fn help_leads_on() {
    let folder = folder();
    let help = folder.stdout(&["rebalance", "--help"]);
    for words in [
        "sweep",
        "generate",
        "Exit codes:",
        "3  a target is not met",
        "lab/docs/rebalancing.md",
    ] {
        assert!(help.contains(words), "{words}: {help}");
    }
    for command in ["sweep", "generate", "import", "export"] {
        let help = folder.stdout(&["rebalance", command, "--help"]);
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn every_shipped_instance_is_one() {
    let folder = folder();
    let mut count = 0;
    for entry in fs::read_dir(root().join("conf/rebalance")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Of vt, whose files are imported first.
            continue;
        }
        let json = object(&folder, &[path.to_str().unwrap(), "--budget", "10 Msteps"]);
        let instance = Instance::read(&path);
        for solution in json["solutions"].as_array().unwrap() {
            assert_eq!(solution["feasible"], true, "{}: {solution}", path.display());
            instance.check(solution, "seconds");
        }
        count += 1;
    }
    assert_eq!(count, 3);
}

const EXPECTED: &str = "\
small: 5 processes on 3 machines in 2 clusters, highest level 150.00, perfect balance 45.00

 target  level  met  cost s  at least  moves
     60  60.00  yes   0.140     0.140      2
    100  90.00  yes   0.100  1.000e-2      1

Target 60: 2 moves, the most expensive first

 process  workload  size MB  from  to  way               cost s
       0      60.0     1.00     0   2  between clusters   0.100
       1      50.0     4.00     0   1  inside a cluster   0.040

Machines by initial level

 machine  cluster  capacity  processes  after   level  after
       0        0     1.000          3      1  150.00  40.00
       1        0     1.000          1      2   10.00  60.00
       2        1     2.000          1      2   10.00  40.00

Target 100: 1 move, the most expensive first

 process  workload  size MB  from  to  way               cost s
       0      60.0     1.00     0   2  between clusters   0.100

Machines by initial level

 machine  cluster  capacity  processes  after   level  after
       0        0     1.000          3      2  150.00  90.00
       1        0     1.000          1      1   10.00  10.00
       2        1     2.000          1      2   10.00  40.00

Found by imlp, 10000 steps for each target, seed 1. A level is workload by capacity;
`at least` is what no assignment that meets the target costs less than.
";
