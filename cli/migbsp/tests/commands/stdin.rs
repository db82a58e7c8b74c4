//! `-` is stdin wherever a file is read.

use std::io::Write as _;
use std::process::Stdio;

use crate::invocation::{EXPERIMENT, Ended, Folder, PLATFORM};

/// Runs the binary with `input` on stdin.
fn run(folder: &Folder, arguments: &[&str], input: &str) -> Ended {
    let mut child = folder
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn an_experiment_is_read_from_stdin_and_its_paths_are_relative_to_the_current_folder() {
    let folder = Folder::new();
    let expected = folder.run(&["simulate", "e.toml", "--format", "csv"]);
    assert_eq!(expected.code, Some(0));
    for name in ["-", "/dev/stdin"] {
        let ended = run(&folder, &["simulate", name, "--format", "csv"], EXPERIMENT);
        assert_eq!(ended, expected, "{name}");
    }
    let recorded = run(&folder, &["simulate", "-", "-o", "runs"], EXPERIMENT);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    folder.stdout(&["verify", "runs"]);
}

#[test]
fn stdin_is_read_once_for_all_runs_of_a_comparison() {
    let folder = Folder::new();
    let compare = |name| ["compare", name, "--policy", "none", "--policy", "migbsp"];
    let expected = folder.stdout(&compare("e.toml"));
    let ended = run(&folder, &compare("-"), EXPERIMENT);
    assert_eq!(ended.stdout.replacen("-,", "e.toml,", 1), expected);
}

#[test]
fn a_platform_on_stdin_is_known_by_its_first_character() {
    let folder = Folder::new();
    let ended = run(&folder, &["platform", "check", "-"], PLATFORM);
    assert!(ended.stdout.starts_with("stdin: a platform\n"), "{ended:?}");
    assert!(
        ended.stdout.contains("read as SimGrid reads it"),
        "{ended:?}"
    );
    let ended = run(&folder, &["platform", "show", "-"], "sets = 1\n");
    assert_eq!(ended.code, Some(4));
    assert!(ended.stderr.starts_with("error: stdin:1:"), "{ended:?}");
}

#[test]
fn errors_call_it_stdin() {
    let ended = run(
        &Folder::new(),
        &["simulate", "-"],
        "[application]\nworkloads = 1\n",
    );
    assert_eq!(ended.code, Some(4));
    assert!(ended.stderr.contains("\n  --> stdin:2\n"), "{ended:?}");
}
