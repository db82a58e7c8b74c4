//! The example as its users meet it, and README.md: its code is the example's, and what it shows is what the example
//! prints.
//!
//! With `MIGBSP_UPDATE=1` the test writes what commands print into README.md.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A folder with these files of the example.
fn folder(names: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in names {
        fs::copy(example().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// The output of the example, run in `folder`.
fn pagerank(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagerank"));
    command.current_dir(folder).env_clear().args(arguments);
    command.output().unwrap()
}

/// What the example prints in `folder`, where it has to succeed.
#[track_caller]
fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = pagerank(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn outputs_are_the_same_with_and_without_moves() {
    let folder = folder(&FILES);
    let simulate = ["simulate", "pagerank.toml", "--policy", "migbsp"];
    let more = ["--out", "runs", "--outputs", "result/", "--format", "json"];
    let printed = stdout(folder.path(), &[&simulate[..], &more].concat());
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let runs = printed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        let verified = run["verified"].as_str().unwrap();
        assert!(verified.starts_with("the ranks sum to 1"), "{verified}");
        assert!(run["outputs_sha256"].is_string(), "{run}");
        assert_eq!(run["outputs_sha256"], runs[0]["outputs_sha256"]);
    }
    let calls = runs[2]["calls"].as_array().unwrap();
    let mut moves = calls
        .iter()
        .filter_map(|call| call["migrations"].as_array());
    assert!(moves.any(|moves| !moves.is_empty()), "{calls:?}");
    let table = fs::read_to_string(folder.path().join("result/best.csv")).unwrap();
    let best: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    let expected = [
        "vertex", "33", "0", "32", "2", "1", "31", "3", "23", "8", "13",
    ];
    assert_eq!(best, expected);
    let explained = stdout(folder.path(), &["explain", "runs", "--format", "json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    assert!(
        explained["notes"].to_string().contains("change"),
        "{}",
        explained["notes"]
    );
}

#[test]
fn each_node_reads_the_graph_in_its_folder_for_data() {
    let folder = folder(&["pagerank.toml", "cluster.toml"]);
    let data = folder.path().join("data");
    let up = ["up", "--local", "3", "--data", "data", "--"];
    let run = ["run", "pagerank.toml", "--format", "json"];
    let run = [&up[..], &run].concat();
    fs::create_dir(&data).unwrap();
    // The client has no file.
    fs::copy(example().join("karate.txt"), data.join("karate.txt")).unwrap();
    let printed: Value = serde_json::from_str(&stdout(folder.path(), &run)).unwrap();
    let verified = printed["run"]["verified"].as_str().unwrap();
    assert!(verified.starts_with("not checked, because "), "{verified}");
    fs::copy(
        example().join("karate.txt"),
        folder.path().join("karate.txt"),
    )
    .unwrap();
    let printed: Value = serde_json::from_str(&stdout(folder.path(), &run)).unwrap();
    let verified = printed["run"]["verified"].as_str().unwrap();
    assert!(verified.starts_with("the ranks sum to 1"), "{verified}");
    let simulate = ["simulate", "pagerank.toml", "--format", "json"];
    let simulated: Value = serde_json::from_str(&stdout(folder.path(), &simulate)).unwrap();
    let digest = &simulated["runs"][0]["outputs_sha256"];
    assert!(digest.is_string(), "{simulated}");
    assert_eq!(printed["run"]["outputs_sha256"], *digest);
    // The file of one node is none, and that node says where.
    fs::create_dir(data.join("node-2")).unwrap();
    fs::write(data.join("node-2/karate.txt"), "0 1\nnone\n").unwrap();
    let output = pagerank(folder.path(), &run);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{errors}");
    let expected = "karate.txt has `none` in line 2, expected an edge";
    assert!(
        errors.contains("node-2: `application.pagerank.graph`: "),
        "{errors}"
    );
    assert!(errors.contains(expected), "{errors}");
}

#[test]
fn the_page_shows_code_of_the_example_and_what_it_prints() {
    let path = example().join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let folder = folder(&FILES);
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    let (mut code, mut shown) = (0, 0);
    for index in (1..parts.len()).step_by(2) {
        let (kind, block) = parts[index].split_once('\n').unwrap();
        match kind {
            "rust" => {
                // The name in backquotes that comes last before a block is that of its file.
                let name = parts[index - 1].rsplit('`').nth(1).unwrap();
                let file = fs::read_to_string(example().join(name)).unwrap();
                assert!(file.contains(block), "{name} does not hold\n{block}");
                code += 1;
            }
            "console" | "sh" => {
                let (command, _) = block.split_once('\n').unwrap();
                let words = command.trim_start_matches("$ ");
                let words = words.strip_prefix("cargo run --release -p pagerank -- ");
                let words: Vec<&str> = words.unwrap().split_whitespace().collect();
                let printed = stdout(folder.path(), &words);
                if kind == "console" {
                    parts[index] = format!("console\n{command}\n{printed}");
                    shown += 1;
                }
            }
            _ => panic!("a block of {kind}"),
        }
    }
    assert_eq!((code, shown), (2, 1));
    let right = parts.join("```");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(&path, &right).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), right);
}

/// What the experiment of the example consists of.
const FILES: [&str; 3] = ["pagerank.toml", "cluster.toml", "karate.txt"];
