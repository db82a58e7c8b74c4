//! The example as its users meet it, the section of the guide that shows its code, and the one of the tutorial that
//! shows what it prints.
//!
//! With `MIGBSP_UPDATE=1` the test writes what the example prints into the tutorial.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with the example's experiment and its platform.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["drift.toml", "cluster.toml"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs::copy(from, folder.path().join(name)).unwrap();
    }
    folder
}

/// The output of the example, run in `folder`.
fn policy(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_policy"));
    command.current_dir(folder).env_clear().args(arguments);
    command.output().unwrap()
}

/// What the example prints in `folder`; it has to succeed.
#[track_caller]
fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = policy(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn plans_of_one_papers_table_are_rules_of_migbsp_alone() {
    let folder = folder();
    let output = policy(
        folder.path(),
        &["simulate", "drift.toml", "--policy", "once+dsa"],
    );
    assert!(!output.status.success(), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("dsa") && errors.contains("pairwise"),
        "{errors}"
    );
}

#[test]
fn the_plan_is_compared_with_shipped_ones() {
    let folder = folder();
    let policies = [
        "none",
        "menon+greedy-refine+amortised",
        "menon+pairwise+amortised",
        "menon+pairwise+amortised:pairwise.saving=1",
    ];
    let mut arguments = vec![
        "compare",
        "drift.toml",
        "--seeds",
        "1..2",
        "--format",
        "json",
    ];
    for name in policies {
        arguments.extend(["--policy", name]);
    }
    let json: Value = serde_json::from_str(&stdout(folder.path(), &arguments)).unwrap();
    let mean = |policy: &str| {
        let runs = json["runs"].as_array().unwrap().iter();
        let runs = runs.filter(|run| run["policy"] == policy);
        runs.map(|run| run["seconds"].as_f64().unwrap())
            .sum::<f64>()
    };
    let [none, greedy, pairwise, unwilling] = policies.map(mean);
    assert!(greedy < none && pairwise < 0.9 * none, "{json}");
    assert!(pairwise < unwilling, "{json}");
}

#[test]
fn records_of_its_decisions_are_explained_and_verified() {
    let folder = folder();
    let folder = folder.path();
    let simulate = ["simulate", "drift.toml", "--out", "record"];
    stdout(folder, &simulate);
    let text = stdout(folder, &["explain", "record"]);
    assert!(text.contains("16 processes, 200 supersteps"), "{text}");
    stdout(folder, &["verify", "record"]);
}

#[test]
fn the_configuration_and_the_help_show_the_plan_and_its_parameter() {
    let folder = folder();
    let text = stdout(folder.path(), &["simulate", "drift.toml", "--print-config"]);
    assert!(text.contains("[scheduler.pairwise]"), "{text}");
    assert!(text.contains("saving = 0.1"), "{text}");
    let text = stdout(folder.path(), &["compare", "--help"]);
    for name in [
        "pairwise ",
        "pairwise.saving ",
        "greedy-refine ",
        "budgeted ",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn bad_parameters_are_named() {
    let folder = folder();
    let check = |set: &str, expected: &str| {
        let output = policy(folder.path(), &["simulate", "drift.toml", "--set", set]);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(expected), "{stderr}");
    };
    check("scheduler.pairwise.saving=2", "must be from 0 to 1");
    check("scheduler.pairwise.savings=1", "expected one of saving");
    check(
        "scheduler.policy=fixed+pairwize",
        "did you mean `pairwise`?",
    );
}

#[test]
fn the_guide_shows_the_example() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(example.join("../../docs/guide/policies.md")).unwrap();
    let (_, section) = text.split_once("## A policy of your own").unwrap();
    let blocks: Vec<&str> = section.split("```").skip(1).step_by(2).collect();
    let shown = ["src/pairwise.rs", "src/main.rs", "drift.toml"];
    for (block, name) in blocks.iter().zip(shown) {
        let (_, block) = block.split_once('\n').unwrap();
        let file = fs::read_to_string(example.join(name)).unwrap();
        assert!(file.contains(block), "{name} does not hold\n{block}");
    }
    assert!(shown.len() <= blocks.len());
}

#[test]
fn the_tutorial_shows_what_the_example_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.join("docs/guide/tutorial.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, block) = text
        .split_once("```console\n$ cargo run --release -p policy -- ")
        .unwrap();
    let (arguments, _) = block.split_once('\n').unwrap();
    let (shown, after) = block.split_once("```").unwrap();
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let printed = format!("{arguments}\n{}", stdout(&root, &words));
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        let command = "```console\n$ cargo run --release -p policy -- ";
        fs::write(&page, format!("{before}{command}{printed}```{after}")).unwrap();
        return;
    }
    assert_eq!(shown, printed);
}
