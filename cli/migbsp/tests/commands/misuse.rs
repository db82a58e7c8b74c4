//! Command lines that are refused say what was probably meant.

use std::fs;
use std::process::Command;

use crate::invocation::Folder;

/// Runs `arguments`, a usage error, whose message has to contain `hint`.
#[track_caller]
fn check(arguments: &[&str], hint: &str) -> String {
    let ended = Folder::new().run(arguments);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(2), ""),
        "{ended:?}"
    );
    assert!(ended.stderr.contains(hint), "{}", ended.stderr);
    ended.stderr
}

#[test]
fn a_file_without_a_command_names_the_command_for_it() {
    let set = ["e.toml", "--set", "run.seed=3"];
    check(
        &set,
        "did you mean `migbsp simulate e.toml --set run.seed=3`?",
    );
    let platform = check(&["two.xml"], "did you mean `migbsp platform show two.xml`?");
    assert!(!platform.contains("similar subcommand"), "{platform}");
    check(
        &["small.json"],
        "did you mean `migbsp rebalance small.json`?",
    );
    check(&["-"], "did you mean `migbsp simulate -`?");
    let folder = Folder::new();
    folder.stdout(&["simulate", "e.toml", "--out", "runs"]);
    let ended = folder.run(&["runs"]);
    assert!(
        ended.stderr.contains("did you mean `migbsp explain runs`?"),
        "{ended:?}"
    );
}

#[test]
fn a_mistyped_topic_of_help_has_a_suggestion() {
    check(
        &["help", "simulte"],
        "a similar command or topic exists: 'simulate'",
    );
    check(
        &["help", "exit-code"],
        "a similar command or topic exists: 'exit-codes'",
    );
    check(
        &["help", "cert", "isue"],
        "a similar command or topic exists: 'issue'",
    );
}

#[test]
fn an_option_of_another_command_names_the_one_that_is_meant() {
    let json = check(
        &["simulate", "e.toml", "--json"],
        "tip: use `--format json`\n",
    );
    assert!(!json.contains("-- --json"), "{json}");
    check(
        &["rebalance", "sweep", "-", "--csv"],
        "tip: use `--format csv`\n",
    );
    check(
        &["simulate", "e.toml", "--interval", "8"],
        "`migbsp simulate` sets keys of the experiment with \
         `--set checkpoint.interval=VALUE` or `--set scheduler.interval=VALUE`",
    );
    check(
        &["compare", "e.toml", "--seed", "3"],
        "a similar argument exists: '--seeds'",
    );
    let unknown = check(&["simulate", "e.toml", "--gravity"], "unexpected argument");
    assert!(!unknown.contains("tip:"), "{unknown}");
}

#[test]
fn a_command_for_a_local_cluster_follows_two_hyphens() {
    check(
        &["up", "--local", "2", "run", "e.toml"],
        "put `--` before the command: `migbsp up --local 2 -- run e.toml`",
    );
    let other = check(&["up", "--local", "2", "--", "simulate", "e.toml"], "");
    assert_eq!(
        other,
        "error: unknown command `simulate` after `up --`: must be `run FILE ...`, `compare FILE ... --live N`, `bench ...`, `status` or `check`\n"
    );
    check(
        &["up", "--", "run", "e.toml", "--json"],
        "tip: use `--format json`\n",
    );
}

#[test]
fn a_speed_may_be_in_per_cent() {
    let slow = |text: &str| Folder::new().run(&["up", "--local", "1", "--slow", text, "--", "no"]);
    for text in ["1:40%", "1:40 %", "1:0.4", "1: 0.4"] {
        // The command is refused after the speed has been read.
        assert!(slow(text).stderr.contains("unknown command `no`"), "{text}");
    }
    for text in ["1:40x", "1:400%", "1:0%", "1:%"] {
        let ended = slow(text);
        assert!(
            ended
                .stderr
                .contains("must have a fraction from 0.001 to 1, such as 4:0.4 or 4:40%"),
            "{ended:?}"
        );
    }
}

#[test]
fn a_missing_file_suggests_the_nearest_name() {
    let folder = Folder::new().with("conf/lbm.toml", "").with("i.json", "{}");
    let missing = "cannot be read: No such file or directory (os error 2)";
    let check = |arguments: &[&str], found: &str, meant: &str| {
        let message = format!("{found}: {missing}\n  help: did you mean `{meant}`?");
        folder.fails(arguments, 4, &message);
    };
    check(
        &["simulate", "conf/lmb.toml"],
        "conf/lmb.toml",
        "conf/lbm.toml",
    );
    check(
        &["compare", "cnof/lbm.toml"],
        "cnof/lbm.toml",
        "conf/lbm.toml",
    );
    check(&["platform", "check", "tow.xml"], "tow.xml", "two.xml");
    fs::create_dir_all(folder.path().join("runs/drift")).unwrap();
    check(&["explain", "runs/drft"], "runs/drft", "runs/drift");
    check(&["verify", "runs/drft"], "runs/drft", "runs/drift");
}

#[test]
fn a_limit_of_open_files_that_is_too_low_is_said_before_anything_starts() {
    for arguments in ["simulate e.toml", "node --conf n.toml", "status"] {
        let folder = Folder::new();
        let binary = folder.command(&[]).get_program().to_owned();
        let line = format!("ulimit -n 8 && exec \"$0\" {arguments}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]).arg(binary);
        let ended = shell.current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains("ulimit -n 1024"), "{arguments}: {said}");
    }
}
