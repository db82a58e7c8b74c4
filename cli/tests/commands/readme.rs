//! README.md: what it shows is what the commands print, and every command in it runs.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What `migbsp` prints, given the words behind `cargo run --release --`.
fn stdout(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_migbsp"))
        .current_dir(root())
        .args(command.split_whitespace())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The fenced blocks of README.md in `language`.
fn blocks(language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

const CARGO: &str = "cargo run --release -- ";

#[test]
fn what_readme_shows_is_what_the_commands_print() {
    let blocks = blocks("console");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let (command, shown) = block.split_once('\n').unwrap();
        let words = command
            .strip_prefix("$ ")
            .and_then(|rest| rest.strip_prefix(CARGO))
            .unwrap();
        assert_eq!(stdout(words), shown, "{command}");
    }
}

#[test]
fn every_command_of_readme_runs() {
    let mut commands = 0;
    for block in blocks("sh") {
        for line in block.lines().filter_map(|line| line.strip_prefix(CARGO)) {
            let command = line.split('#').next().unwrap();
            assert!(!stdout(command).is_empty(), "{command}");
            commands += 1;
        }
    }
    assert_eq!(commands, 7);
}
