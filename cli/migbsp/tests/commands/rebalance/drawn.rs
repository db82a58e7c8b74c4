//! `rebalance generate`.

use std::fs;

use serde_json::Value;

use crate::rebalance::{folder, object, with_group};

#[test]
fn a_group_and_a_seed_are_an_instance() {
    let folder = folder();
    for (group, machines, processes) in [
        ("I1,1", 16, 40),
        ("I2,2", 16, 160),
        ("I4,5", 256, 640),
        ("S4,3", 64, 160),
    ] {
        let arguments = ["rebalance", "generate", "--group", group, "--seed", "5"];
        let text = folder.stdout(&arguments);
        assert_eq!(text, folder.stdout(&arguments));
        let json: Value = serde_json::from_str(&text).unwrap();
        let length = |key: &str| json[key].as_array().unwrap().len();
        assert_eq!(length("capacities"), machines);
        assert_eq!(length("cluster"), machines);
        assert_eq!(length("processes"), processes);
        assert_eq!(json["targets"], serde_json::json!([76, 80, 90]));
        assert_eq!(json["name"], format!("{group}, seed 5"));
        let other = folder.stdout(&["rebalance", "generate", "--group", group, "--seed", "6"]);
        assert_ne!(text, other);
    }
}

#[test]
fn an_instance_is_written_to_the_file_of_out() {
    let folder = folder();
    let arguments = ["rebalance", "generate", "--group", "i4.1", "--target", "85"];
    let text = folder.stdout(&arguments);
    assert!(text.contains("\"targets\": [85],\n"), "{text}");
    let quiet = folder.stdout(&[&arguments[..], &["--out", "i.json"]].concat());
    assert_eq!(quiet, "");
    assert_eq!(
        fs::read_to_string(folder.path().join("i.json")).unwrap(),
        text
    );
    assert_ne!(
        folder.stdout(&[&arguments[..], &["--literal"]].concat()),
        text
    );
    folder.fails(
        &[&arguments[..], &["--out", "nowhere/i.json"]].concat(),
        1,
        "nowhere/i.json: cannot be written: No such file or directory (os error 2)",
    );
}

#[test]
fn an_unknown_group_shows_the_valid_range() {
    for (group, words) in [
        (
            "I5,1",
            "unknown group `I5,1`, must be from I1,1 to I4,5, from S1,1 to S8,5 or from X1,1 to X2,3",
        ),
        ("I11", "must be from I1,1 to I4,5"),
        ("", "unknown group ``"),
    ] {
        let ended = folder().run(&["rebalance", "generate", "--group", group]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn usual_targets_of_groups_with_communication_are_met() {
    for group in ["X1,1", "X2,1"] {
        let folder = with_group(group);
        let json = object(&folder, &["drawn.json", "--budget", "1 Msteps"]);
        assert_eq!(json["exchanged_initial"].as_array().unwrap().len(), 4);
        for solution in json["solutions"].as_array().unwrap() {
            assert_eq!(
                solution["feasible"], true,
                "{group}: {}",
                solution["target"]
            );
            assert!(0 < solution["migrations"].as_u64().unwrap(), "{group}");
        }
    }
}
