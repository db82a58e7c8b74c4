//! README.md: what it shows is what its commands print, and every command in it runs, in their order.
//!
//! With `MIGBSP_UPDATE=1` the test writes what the commands print into README.md.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::invocation::root;

const CARGO: &str = "cargo run --release -- ";

#[test]
fn readme_shows_the_output_of_its_commands() {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).unwrap();
    let folder = TempDir::new().unwrap();
    copy(&root().join("conf"), &folder.path().join("conf"));
    let (mut shown, mut run) = (0, 0);
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    for part in &mut parts {
        if let Some(block) = part.strip_prefix("console\n") {
            let (command, _) = block.split_once('\n').unwrap();
            let words = command.strip_prefix("$ ").unwrap();
            *part = format!("console\n{command}\n{}", stdout(folder.path(), words));
            shown += 1;
        } else if let Some(block) = part.strip_prefix("sh\n") {
            for line in block.lines().filter(|line| line.starts_with(CARGO)) {
                let command = line.split(" # ").next().unwrap();
                assert!(!stdout(folder.path(), command).is_empty(), "{command}");
                run += 1;
            }
        }
    }
    assert_eq!((shown, run), (SHOWN, RUN), "commands of README.md");
    let printed = parts.join("```");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(&path, &printed).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    for (number, (is, should)) in written.lines().zip(printed.lines()).enumerate() {
        assert_eq!(is, should, "README.md:{}", number + 1);
    }
    assert_eq!(
        written.len(),
        printed.len(),
        "README.md shows too little or too much"
    );
}

/// What `migbsp` prints in `folder`, given a command of README.md.
fn stdout(folder: &Path, command: &str) -> String {
    let words = command.strip_prefix(CARGO).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_migbsp"))
        .current_dir(folder)
        .args(words.split_whitespace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// How many blocks show what a command prints.
const SHOWN: usize = 5;

/// How many commands are only run.
const RUN: usize = 14;
