//! The advice of `simulate`: runs that follow it are faster, and a balanced run gets none.

use serde_json::Value;

use crate::invocation::{Folder, root};

/// Shipped experiments whose own policy leaves much to save, with the number of pieces of advice.
const WANTING: [(&str, usize); 5] = [
    ("conf/lu.toml", 1),
    ("conf/synthetic.toml", 1),
    ("conf/dynamic/drift-few.toml", 1),
    ("conf/dynamic/heterogeneous.toml", 2),
    ("conf/dynamic/noise-few.toml", 1),
];

/// Shipped experiments whose processes are balanced at the end, or whose rest is too small for a claim.
const BALANCED: [&str; 5] = [
    "conf/heat-local.toml",
    "conf/lbm-cavity.toml",
    "conf/scripted.toml",
    "conf/synthetic-jump.toml",
    "conf/dynamic/congestion-few.toml",
];

fn simulated(file: &str, options: &[&str]) -> Value {
    let file = root().join(file);
    let first = [
        "simulate",
        file.to_str().unwrap(),
        "--format",
        "json",
        "--set",
        "scheduler.scenario=iii",
    ];
    serde_json::from_str(&Folder::new().stdout(&[&first[..], options].concat())).unwrap()
}

fn seconds(result: &Value) -> f64 {
    let runs = result["runs"].as_array().unwrap();
    runs.last().unwrap()["seconds"].as_f64().unwrap()
}

#[test]
fn a_run_that_follows_the_advice_is_faster() {
    for (file, expected) in WANTING {
        let result = simulated(file, &[]);
        let advice = result["advice"].as_array().unwrap();
        assert_eq!(advice.len(), expected, "{file}: {advice:?}");
        for advice in advice {
            let options = advice["try"].as_str().unwrap();
            let followed = simulated(file, &options.split(' ').collect::<Vec<_>>());
            assert!(
                seconds(&followed) < seconds(&result),
                "{file} {options}: {} s, before {} s",
                seconds(&followed),
                seconds(&result)
            );
        }
    }
}

#[test]
fn a_run_without_a_policy_is_advised_to_have_one() {
    let none = ["--policy", "none"];
    let result = simulated("conf/synthetic.toml", &none);
    assert_eq!(result["advice"][0]["try"], "--policy adaptive");
    let followed = simulated("conf/synthetic.toml", &["--policy", "adaptive"]);
    assert!(seconds(&followed) < seconds(&result));
}

#[test]
fn a_balanced_run_gets_no_advice() {
    for file in BALANCED {
        let result = simulated(file, &[]);
        assert_eq!(result["advice"], Value::Array(Vec::new()), "{file}");
    }
    let adaptive = simulated("conf/synthetic.toml", &["--policy", "adaptive"]);
    assert_eq!(adaptive["advice"], Value::Array(Vec::new()));
}

#[test]
fn the_text_has_the_advice_of_the_object() {
    let folder = Folder::new();
    let file = root().join("conf/synthetic.toml");
    let text = folder.stdout(&["simulate", file.to_str().unwrap()]);
    let result = simulated("conf/synthetic.toml", &[]);
    let advice = &result["advice"][0];
    let sentence = format!(
        "\n{}; try `{}`.\n",
        advice["reason"].as_str().unwrap(),
        advice["try"].as_str().unwrap()
    );
    assert!(text.ends_with(&sentence), "{text}");
}
