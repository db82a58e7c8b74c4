//! Instances with pinned processes, memory, communication and phases.

use serde_json::Value;

use crate::invocation::Folder;
use crate::rebalance::object;

/// Two machines, of which the first has too much to do. Its large process may not move, and the second has the memory for
/// one more process, or for two that share a block.
const LIMITED: &str = r#"{
  "capacities": [1, 1],
  "machines": ["a", "b"],
  "cluster": [0, 0],
  "bandwidth": {"intra": 1, "inter": 1},
  "memory": [100, 10],
  "blocks": [4],
  "processes": [
    {"name": "big", "workload": 5, "size": 1, "machine": 0, "movable": false},
    {"name": "left", "workload": 2, "size": 2, "machine": 0, "memory": 3, "blocks": [0]},
    {"name": "right", "workload": 2, "size": 3, "machine": 0, "memory": 3, "blocks": [0]},
    {"workload": 2, "size": 1, "machine": 0, "memory": 11},
    [1, 1, 1]
  ],
  "edges": [[1, 2, 1000000], [1, 4, 250000]],
  "weight": 1e-6,
  "phases": [
    {"name": "7", "workloads": [1, 1, 1, 1, 1]},
    {"name": "8", "workloads": [9, 1, 1, 1, 1], "edges": [[0, 4, 500000]]}
  ]
}
"#;

const BUDGET: [&str; 2] = ["--budget", "100 ksteps"];

fn folder() -> Folder {
    Folder::new().with("i.json", LIMITED)
}

fn solution(folder: &Folder, arguments: &[&str]) -> Value {
    let arguments = [&["i.json"], arguments, &BUDGET].concat();
    object(folder, &arguments)["solutions"][0].clone()
}

#[test]
fn what_moves_keeps_pins_and_memory_and_stays_near_what_it_talks_to() {
    let folder = folder();
    let json = object(
        &folder,
        &[&["i.json", "--target", "7.5"], &BUDGET[..]].concat(),
    );
    assert_eq!(json["levels_initial"], serde_json::json!([11.25, 1.25]));
    assert_eq!(
        json["exchanged_initial"],
        serde_json::json!([250_000.0, 250_000.0])
    );
    assert_eq!(json["memory_initial"], serde_json::json!([21_000_000, 0]));
    assert_eq!(
        json["processes"],
        serde_json::json!(["big", "left", "right", "3", "4"])
    );
    let solution = &json["solutions"][0];
    // Both that share the block: 10 MB. Apart, they would exchange 1 MB between the machines.
    assert_eq!(
        solution["assignment"],
        serde_json::json!(["a", "b", "b", "a", "b"])
    );
    assert_eq!(solution["levels"], serde_json::json!([7.0, 5.0]));
    assert_eq!(solution["exchanged"], serde_json::json!([0.0, 0.0]));
    assert_eq!(
        solution["memory"],
        serde_json::json!([11_000_000, 10_000_000])
    );
    assert_eq!(solution["cost"], 5.0);
    let names: Vec<&Value> = solution["moves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["right", "left"]);
}

#[test]
fn tables_show_names_exchange_and_memory() {
    let folder = folder();
    let arguments = [&["rebalance", "i.json", "--target", "7.5"], &BUDGET[..]].concat();
    let text = folder.stdout(&arguments);
    for part in [
        "exchanged",
        "memory",
        "250 kB",
        "21 MB",
        "right",
        "left",
        "and the bytes exchanged",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let csv = folder.stdout(&[&arguments[..], &["--format", "csv"]].concat());
    assert!(csv.contains(",name\n"), "{csv}");
    assert!(csv.contains(",right\n"), "{csv}");
}

#[test]
fn the_reason_of_a_missed_target_is_named() {
    let folder = folder();
    let complaint = |target: &str| {
        let arguments = [&["rebalance", "i.json", "--target", target], &BUDGET[..]].concat();
        let ended = folder.run(&arguments);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        ended.stderr
    };
    assert_eq!(
        complaint("4.9"),
        "error: target 4.9 cannot be met: processes that may not move bring machine a to 5.00; 7.00 was reached\n"
    );
    let text = complaint("6.5");
    let relaxed = "; without processes that may not move, it reached 6.25; without limits of memory, it reached 6.25";
    assert!(text.contains(relaxed), "{text}");
}

#[test]
fn a_machine_above_its_memory_is_brought_within_it() {
    let text = LIMITED.replacen("[100, 10]", "[20, 10]", 1);
    let folder = Folder::new().with("i.json", text);
    let arguments = [&["rebalance", "i.json", "--target", "20"], &BUDGET[..]].concat();
    // Machine a holds 21 of 20 MB. Without `left`, which costs 2, it holds 18.
    let shown = folder.stdout(&arguments);
    let named = "Above its memory before any move is machine a (21 MB of 20 MB); every assignment below mends that.";
    assert!(shown.contains(named), "{shown}");
    let json = object(&folder, &arguments[1..]);
    assert_eq!(
        json["memory_limits"],
        serde_json::json!([20_000_000, 10_000_000])
    );
    assert_eq!(json["memory_exceeded"], serde_json::json!(["a"]));
    let solution = &json["solutions"][0];
    assert_eq!(solution["cost"], 2.0);
    assert_eq!(
        solution["memory"],
        serde_json::json!([18_000_000, 7_000_000])
    );
    let minimal = ["rebalance", "i.json", "--target", "min", "--max-cost", "1"];
    let ended = folder.run(&[&minimal[..], &BUDGET].concat());
    let costs = "no assignment within the limits of memory was found that costs at most 1: the cheapest costs 2.00";
    assert_eq!(
        (ended.code, ended.stderr.contains(costs)),
        (Some(3), true),
        "{ended:?}"
    );
}

#[test]
fn a_target_is_relative_to_the_ideal_level() {
    let folder = folder();
    // The ideal level is 12 by 2.
    let arguments = ["rebalance", "i.json", "--target", "125%"];
    let arguments = [&arguments[..], &BUDGET].concat();
    let shown = folder.stdout(&arguments);
    assert!(shown.contains("Target 7.50 (125%): 2 moves"), "{shown}");
    let solution = solution(&folder, &["--target", "125%"]);
    assert_eq!(
        (&solution["target"], &solution["percent_of_ideal"]),
        (&7.5.into(), &125.0.into())
    );
    let missed = folder.run(&[&["rebalance", "i.json", "--target", "50 %"], &BUDGET[..]].concat());
    let named = "error: target 3.00 (50%) cannot be met";
    assert!(
        missed.code == Some(3) && missed.stderr.starts_with(named),
        "{missed:?}"
    );
    let sweep = [
        "rebalance",
        "sweep",
        "i.json",
        "--target",
        "125%",
        "--target",
        "8",
    ];
    let sweep = folder.csv(&[&sweep[..], &BUDGET].concat());
    assert!(
        sweep.contains("\n7.5,") && sweep.contains("\n8.0,"),
        "{sweep}"
    );
}

#[test]
fn the_lowest_level_is_found_within_a_cost() {
    let folder = folder();
    let lowest = solution(&folder, &["--target", "min"]);
    assert_eq!(
        (&lowest["target"], &lowest["lowest"]),
        (&7.0.into(), &true.into())
    );
    assert_eq!((&lowest["dc"], &lowest["cost"]), (&7.0.into(), &5.0.into()));
    let cheap = solution(&folder, &["--target", "min", "--max-cost", "4.5"]);
    assert!(cheap["cost"].as_f64().unwrap() <= 4.5, "{cheap}");
    assert!(7.0 < cheap["dc"].as_f64().unwrap(), "{cheap}");
    let free = solution(&folder, &["--target", "min", "--max-cost", "0"]);
    assert_eq!(
        (&free["dc"], &free["migrations"]),
        (&11.25.into(), &0.into())
    );
    folder.fails(
        &["rebalance", "i.json", "--target", "7", "--max-cost", "1"],
        2,
        "--max-cost is a limit of `--target min`, which is not given",
    );
}

#[test]
fn a_phase_replaces_workloads_and_edges() {
    let folder = folder();
    let initial = |arguments: &[&str]| {
        let arguments = [&["i.json", "--target", "20"], arguments, &BUDGET].concat();
        object(&folder, &arguments)["levels_initial"].clone()
    };
    assert_eq!(initial(&["--phase", "7"]), serde_json::json!([4.0, 1.0]));
    assert_eq!(initial(&["--phase", "8"]), serde_json::json!([12.5, 1.5]));
    let weights = ["--phase", "8", "--weight", "0"];
    assert_eq!(initial(&weights), serde_json::json!([12.0, 1.0]));
    folder.fails(
        &["rebalance", "i.json", "--target", "9", "--phase", "9"],
        2,
        "no phase `9` in i: must be one of `7`, `8`",
    );
}

#[test]
fn invalid_limits_are_located() {
    let amount = "must be 0 or a number from 1e-15 to 1e15";
    for (from, to, message) in [
        ("[1, 2, 1000000]", "[1, 5, 1000000]", "invalid value `5` for `edges[0][1]`: must be a whole number from 0 to 4: an index into `processes`\n  --> i.json:15".to_owned()),
        ("[1, 2, 1000000]", "[1, 2, -1]", format!("invalid value `-1` for `edges[0][2]`: {amount}\n  --> i.json:15")),
        ("[1, 2, 1000000]", "[1, 2, 1e300]", format!("invalid value `1e300` for `edges[0][2]`: {amount}\n  --> i.json:15")),
        ("[1, 2, 1000000]", "[1, 2]", "`edges[0]`: 2 values, must be [process, process, bytes]\n  --> i.json:15".to_owned()),
        ("\"weight\": 1e-6", "\"weight\": -1", format!("invalid value `-1` for `weight`: {amount}\n  --> i.json:16")),
        ("[100, 10]", "[10, 10]", "`processes[3]`: process 3 occupies 11000000 bytes with its blocks: must be at most 10000000, the most that a machine may hold\n  --> i.json:12".to_owned()),
        ("[100, 10]", "[100]", "`memory`: 1 numbers, must be one for each machine: 2\n  --> i.json:6".to_owned()),
        ("\"blocks\": [4]", "\"blocks\": []", "invalid value `0` for `processes[1].blocks[0]`: must be an index into `blocks`, which has no items\n  --> i.json:10".to_owned()),
        ("\"movable\": false", "\"movable\": 0", "invalid value `0` for `processes[0].movable`: must be true or false\n  --> i.json:9".to_owned()),
        ("\"movable\"", "\"moveable\"", "unknown key `processes[0].moveable`\n  --> i.json:9\n  help: did you mean `movable`?".to_owned()),
        ("\"name\": \"left\"", "\"name\": \"big\"", "invalid value `\"big\"` for `processes[1].name`: must not be the name of another process\n  --> i.json:10".to_owned()),
        ("\"workloads\": [1, 1, 1, 1, 1]}", "\"workloads\": [1]}", "`phases[0].workloads`: 1 numbers, must be one for each process: 5\n  --> i.json:18".to_owned()),
        ("\"name\": \"8\"", "\"name\": \"7\"", "`phases`: two phases have the name `7`\n  --> i.json:17".to_owned()),
    ] {
        assert!(LIMITED.contains(from), "{from}");
        let folder = Folder::new().with("i.json", LIMITED.replacen(from, to, 1));
        folder.fails(&["rebalance", "i.json", "--target", "7"], 4, &message);
    }
}
