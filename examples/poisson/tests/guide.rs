//! The example as its users meet it, and docs/guide/custom-programs.md: its code is the example's, and what it shows is what the
//! example prints.
//!
//! With `MIGBSP_UPDATE=1` the test writes whole files and what commands print into the guide.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A folder with the files of the example.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["poisson.toml", "cluster.toml"] {
        fs::copy(example().join(name), folder.path().join(name)).unwrap();
    }
    folder
}

/// What the example prints in `folder`.
#[track_caller]
fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poisson"));
    let output = command
        .current_dir(folder)
        .env_clear()
        .args(arguments)
        .output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Wherever processes run and whatever the barrier, the potential is the same to the last bit, and the record has the
/// residual of each iteration.
#[test]
fn outputs_depend_neither_on_the_barrier_nor_on_moves() {
    let folder = folder();
    let outputs = |name: &str, more: &[&str]| {
        let file = format!("{name}.json");
        let simulate = ["simulate", "poisson.toml", "--outputs", &file];
        let printed = stdout(folder.path(), &[&simulate[..], more].concat());
        assert!(
            printed.contains("that of a direct solution within"),
            "{printed}"
        );
        fs::read_to_string(folder.path().join(file)).unwrap()
    };
    let set = |key: &'static str| ["--set", key];
    let central = outputs("central", &set("barrier.shape=central"));
    let ideal = outputs("ideal", &set("barrier.shape=ideal"));
    let adaptive = [
        &set("barrier.shape=hierarchical")[..],
        &["--policy", "adaptive"],
    ]
    .concat();
    let adaptive = outputs("adaptive", &[&adaptive[..], &["--out", "record"]].concat());
    assert!(central == ideal && central == adaptive);
    let explained = stdout(folder.path(), &["explain", "record", "--format", "json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    assert!(
        explained["notes"].to_string().contains("residual"),
        "{}",
        explained["notes"]
    );
}

#[test]
fn the_guide_leads_to_the_example() {
    let path = example().join("../../docs/guide/custom-programs.md");
    let text = fs::read_to_string(&path).unwrap();
    let folder = folder();
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    let (mut whole, mut shown) = (0, 0);
    for index in (1..parts.len()).step_by(2) {
        let (kind, block) = parts[index].split_once('\n').unwrap();
        match kind {
            "rust" | "toml" => {
                // The name in backquotes that comes last before a block is that of its file.
                let name = parts[index - 1].rsplit('`').nth(1).unwrap().to_owned();
                // Another example is named by its path in the repository.
                let folder = match name.starts_with("examples/") {
                    true => example().join("../.."),
                    false => example(),
                };
                let file = fs::read_to_string(folder.join(&name)).unwrap();
                if WHOLE.contains(&name.as_str()) {
                    parts[index] = format!("{kind}\n{file}");
                    whole += 1;
                } else {
                    assert!(file.contains(block), "{name} does not hold\n{block}");
                }
            }
            "console" => {
                let (command, _) = block.split_once('\n').unwrap();
                let words = command.strip_prefix("$ cargo run --release -- ").unwrap();
                let words: Vec<&str> = words.split_whitespace().collect();
                parts[index] = format!("console\n{command}\n{}", stdout(folder.path(), &words));
                shown += 1;
            }
            "sh" | "text" => {}
            _ => panic!("a block of {kind}"),
        }
    }
    assert_eq!((whole, shown), (WHOLE.len(), SHOWN));
    let right = parts.join("```");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(&path, &right).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    for (number, (is, should)) in written.lines().zip(right.lines()).enumerate() {
        assert_eq!(is, should, "docs/guide/custom-programs.md:{}", number + 1);
    }
    assert_eq!(
        written.len(),
        right.len(),
        "the guide shows too much or too little"
    );
}

/// Files that are shown from the first line to the last.
const WHOLE: [&str; 3] = ["src/main.rs", "poisson.toml", "cluster.toml"];

/// How many blocks show what a command prints.
const SHOWN: usize = 2;
