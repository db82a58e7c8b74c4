//! Files that are missing, unreadable or malformed, and the command line around them.

use std::process::Stdio;

use crate::invocation::{EXPERIMENT, Folder, without};

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::new();
    folder.fails(
        &["simulate", "absent.toml"],
        4,
        "absent.toml: cannot be read: No such file or directory (os error 2)",
    );
    folder.fails(
        &["simulate", "e.toml", "--set", "platform.file=absent.xml"],
        4,
        "absent.xml: cannot be read: No such file or directory (os error 2)",
    );
    folder.fails(
        &["platform", "check", "absent.toml"],
        4,
        "absent.toml: cannot be read: No such file or directory (os error 2)",
    );
}

#[test]
fn a_platform_is_no_experiment() {
    Folder::new().fails(
        &["simulate", "two.xml"],
        4,
        "two.xml: is a platform; an experiment is a TOML file that names it in platform.file",
    );
}

#[test]
fn invalid_toml_is_shown_with_an_excerpt() {
    let folder = Folder::new().with("bad.toml", "[run]\nseed 1\n");
    let ended = folder.run(&["simulate", "bad.toml"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.contains("\n  --> bad.toml:2:6\n"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("2 | seed 1\n"), "{}", ended.stderr);
}

#[test]
fn files_that_are_not_utf8_are_refused() {
    let folder = Folder::new().with("bytes.toml", [b'a', 0xff, 0xfe]);
    folder.fails(
        &["simulate", "bytes.toml"],
        4,
        "bytes.toml: is not UTF-8 text (byte 2 is not)",
    );
}

#[test]
fn a_platform_is_known_by_the_ending_of_its_name() {
    let folder = Folder::new().with("p.txt", "");
    folder.fails(
        &["platform", "check", "p.txt"],
        4,
        "p.txt: the name of a platform file ends in .toml, or in .xml for SimGrid's",
    );
}

#[test]
fn more_processes_than_may_be_placed_are_refused() {
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "application.processes=9", "--set", "placement.max_per_host=1"],
        4,
        "9 processes cannot be placed on 8 hosts with at most 1 on each; raise placement.max_per_host or take fewer processes",
    );
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "placement.offset=8"],
        4,
        "placement.offset is 8, but there are only 8 hosts to skip",
    );
}

#[test]
fn the_platform_is_beside_the_experiment_or_where_set_is_typed() {
    let folder = Folder::new().with("sub/e.toml", EXPERIMENT.replace("two.xml", "../two.xml"));
    let set = "application.supersteps=2";
    let beside = folder.stdout(&["simulate", "sub/e.toml", "--format", "json", "--set", set]);
    let typed = folder.stdout(&[
        "simulate",
        "sub/e.toml",
        "--format",
        "json",
        "--set",
        set,
        "--set",
        "platform.file=two.xml",
    ]);
    let result = |text: &str| without(text, &["configuration_sha256", "overrides"]);
    assert_eq!(
        result(&beside.replace("../two.xml", "two.xml")),
        result(&typed)
    );
}

#[test]
fn usage_errors_end_with_two_and_help_with_zero() {
    let folder = Folder::new();
    assert_eq!(folder.run(&[]).code, Some(2));
    assert_eq!(folder.run(&["simulat"]).code, Some(2));
    assert_eq!(
        folder.run(&["simulate", "e.toml", "--format", "yaml"]).code,
        Some(2)
    );
    let help = folder.stdout(&["help", "simulate"]);
    assert!(
        help.contains("Examples:") && help.contains("synthetic"),
        "{help}"
    );
    let codes = folder.stdout(&["help", "exit-codes"]);
    assert!(codes.contains("  4  invalid input file"), "{codes}");
    assert!(folder.stdout(&["completions", "bash"]).contains("_migbsp"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    let mut child = folder
        .command(&["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_of_a_file_that_goes_away_is_no_error() {
    let folder = Folder::new();
    folder.stdout(&["simulate", "e.toml", "--out", "kept"]);
    let mut child = folder
        .command(&["explain", "kept", "--svg", "/dev/stdout"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
