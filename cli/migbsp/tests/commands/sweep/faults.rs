//! Sweeps that are refused: where, what, and a valid form.

use std::fs;

use crate::invocation::Folder;
use crate::sweep::{NOISY, SIXTEEN, folder, kept};

/// The command has to fail with `code`, print nothing, and say `words`.
#[track_caller]
fn check(folder: &Folder, arguments: &[&str], code: i32, words: &str) {
    let arguments = [&["sweep", "noisy.toml"][..], arguments].concat();
    let ended = folder.run(&arguments);
    assert_eq!((ended.code, &*ended.stdout), (Some(code), ""), "{ended:?}");
    assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    assert!(!folder.path().join("swept").exists());
}

#[test]
fn invalid_values_show_the_rule_that_they_break() {
    let folder = folder();
    let set = |text: &str, words: &str| {
        check(&folder, &["--set", text, "-o", "swept"], 2, words);
    };
    set(
        "scheduler.interval=",
        "`scheduler.interval` has no value: write values as in 2,4,8",
    );
    set(
        "scheduler.interval=2,,8",
        "value 2 of `scheduler.interval` is empty",
    );
    set(
        "interval=2",
        "must be SECTION.KEY=VALUES, such as scheduler.interval=2,4,8",
    );
    set(
        "scheduler.interval=8..2",
        "`8..2` runs backwards and has no number; write 2..8",
    );
    set(
        "scheduler.interval=2..8:0",
        "the step of `2..8:0` must be above 0",
    );
    set("scheduler.interval=2..8:-1", "must be above 0");
    set(
        "scheduler.interval=2..x",
        "must be a range of numbers, FIRST..LAST",
    );
    set(
        "scheduler.interval=1..1000000000",
        "has 1000000000 numbers, more than 100000",
    );
    set(
        "scheduler.interval=2,4,2",
        "has the value 2 twice, as value 1 and as value 3",
    );
    set("scheduler.interval=2,[4", "`[` in `[4` is not closed");
}

#[test]
fn keys_and_values_that_experiments_refuse_are_named_with_their_combination() {
    let folder = folder();
    let set = |text: &str, words: &str| {
        check(&folder, &["--set", text, "-o", "swept"], 2, words);
    };
    set("scheduler.intervall=2,4", "did you mean `interval`?");
    set(
        "scheduler.interval=2,soon",
        "noisy.toml scheduler.interval=soon: invalid value `\"soon\"` for `scheduler.interval`",
    );
    set(
        "scheduler.interval=4,0",
        "noisy.toml scheduler.interval=0: invalid value `0` for `scheduler.interval`: must be at least 1",
    );
    set(
        "run.seed=1,2",
        "--set run.seed: cannot be set for all runs; use --seeds",
    );
    set("scheduler.policy=none", "use --policy");
    let twice = [
        "--set",
        "scheduler.interval=2",
        "--set",
        "scheduler.interval=4",
    ];
    check(
        &folder,
        &twice,
        2,
        "--set scheduler.interval is given twice; one list has all values",
    );
    let policy = [
        "--set",
        "scheduler.interval=2,4",
        "--policy",
        "migbsp:interval=8",
    ];
    let words =
        "--set scheduler.interval: --policy migbsp:interval=8 sets scheduler.interval itself";
    check(&folder, &policy, 2, words);
}

#[test]
fn invalid_arguments_show_the_rule_that_they_break() {
    let folder = folder();
    for (shard, words) in [
        ("0/4", "`0/4`: shards have the numbers 1/4 to 4/4"),
        ("5/4", "`5/4`: shards have the numbers 1/4 to 4/4"),
        ("x/4", "must be NUMBER/COUNT, as 2/4, not `x/4`"),
    ] {
        check(&folder, &["--shard", shard], 2, words);
    }
    let policies = ["--policy", "none", "--policy", "none"];
    check(&folder, &policies, 2, "--policy none is given twice");
    check(
        &folder,
        &["./noisy.toml"],
        2,
        "./noisy.toml is given twice, first as noisy.toml",
    );
    check(&folder, &["--seeds", "5..1"], 2, "holds no seed");
    check(
        &folder,
        &["--svg", "a.svg"],
        2,
        "--svg shows one or two parameters, and none has",
    );
    let two = [
        "--set",
        "scheduler.interval=2,4",
        "--svg",
        "a.svg",
        "--over",
        "scheduler.x",
    ];
    check(
        &folder,
        &two,
        2,
        "--over scheduler.x: no parameter with several values",
    );
    check(
        &folder,
        &["--dry-run", "--format", "csv"],
        2,
        "the formats table and json",
    );
    folder.fails(
        &["sweep", "missing.toml", "--set", "scheduler.interval=2,4"],
        4,
        "missing.toml: cannot be read: No such file or directory (os error 2)",
    );
    let ended = folder.run(&["sweep", "merge", "x"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--out <DIR>"), "{ended:?}");
}

#[test]
fn all_combinations_are_checked_before_the_first_run() {
    let folder = folder();
    let set = ["--set", "platform.file=two.xml,none.xml", "-o", "swept"];
    check(
        &folder,
        &set,
        4,
        "noisy.toml platform.file=none.xml: none.xml: cannot be read",
    );
}

#[test]
fn too_many_runs_are_refused_unless_they_are_allowed() {
    let folder = folder();
    let set = [
        "--set",
        "scheduler.interval=1..1000",
        "--set",
        "application.synthetic.memory=1..1000",
        "--set",
        "application.supersteps=1..1000",
        "--policy",
        "none",
        "--seeds",
        "1",
    ];
    let words = "the sweep has 1000000000 runs (1000 × 1000 × 1000 combinations, 1 policy, 1 seed), more than \
                 100000\n  help: fewer values, `--max-runs 1000000000` to allow them, or `--shard 1/10000` and so on \
                 to split them";
    check(&folder, &set, 2, words);
    let three = [
        "--set",
        "scheduler.interval=1..3",
        "--policy",
        "none",
        "--seeds",
        "1",
    ];
    let limited = [&three[..], &["--max-runs", "2"]].concat();
    check(
        &folder,
        &limited,
        2,
        "the sweep has 3 runs (3 combinations, 1 policy, 1 seed), more than 2",
    );
    let allowed = [&["sweep", "noisy.toml"], &three[..], &["--max-runs", "3"]].concat();
    folder.stdout(&allowed);
    // A part of a sweep that is far too large.
    let part = [
        &["sweep", "noisy.toml", "--dry-run"],
        &set[..],
        &["--shard", "7/500000000"],
    ];
    let planned = folder.stdout(&part.concat());
    assert!(
        planned.starts_with("2 runs in shard 7/500000000: 1000 × 1000 × 1000"),
        "{planned}"
    );
}

#[test]
fn a_folder_of_another_sweep_is_refused_with_the_difference() {
    let folder = folder();
    folder.stdout(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    let fails = |arguments: &[&str], differences: &str| {
        let advice = "name another folder with --out, or give the command that made this one";
        let problem = format!("swept has another sweep\n  {differences}\n  help: {advice}");
        let arguments = [arguments, &["-o", "swept"]].concat();
        folder.fails(&arguments, 2, &problem);
    };
    let changed = |from: &str, to: &'static str| -> Vec<&str> {
        let word = |word: &&'static str| if *word == from { to } else { *word };
        SIXTEEN.iter().map(word).collect()
    };
    let interval = changed("scheduler.interval=2,8", "scheduler.interval=2,4");
    fails(&interval, "scheduler.interval: 2, 8 there, 2, 4 here");
    fails(&changed("1..2", "1..3"), "--seeds: 1..2 there, 1..3 here");
    let shard = [&SIXTEEN[..], &["--shard", "1/2"]].concat();
    fails(&shard, "--shard: none there, 1/2 here");
    fs::write(
        folder.path().join("noisy.toml"),
        NOISY.replace("0.3", "0.2"),
    )
    .unwrap();
    let file = "noisy.toml: the file, or one that it names, is not the same";
    fails(&SIXTEEN, file);
    fs::write(folder.path().join("noisy.toml"), NOISY).unwrap();
    folder.stdout(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    assert_eq!(kept(&folder, "swept").len(), 16);
    let variable = folder.with_variable("MIGBSP__SCHEDULER__X", "0.9");
    let ended = variable.run(&[&SIXTEEN[..], &["-o", "swept"]].concat());
    let words =
        "variables: none there, scheduler.x = 0.9 from environment MIGBSP__SCHEDULER__X here";
    assert!(ended.stderr.contains(words), "{ended:?}");
}

#[test]
fn a_folder_with_other_runs_or_another_file_is_refused() {
    let folder = folder();
    folder.stdout(&["compare", "noisy.toml", "--seeds", "1", "--out", "compared"]);
    folder.fails(
        &[&SIXTEEN[..], &["-o", "compared"]].concat(),
        2,
        "compared has runs of a comparison (runs.jsonl), and no sweep\n  help: name another folder with --out",
    );
    let folder = folder.with("plans/plan.json", "{\"schema\": \"migbsp.run/1\"}");
    folder.fails(
        &[&SIXTEEN[..], &["-o", "plans"]].concat(),
        4,
        "plans/plan.json: invalid value `migbsp.run/1` for `schema`: must be migbsp.sweep-plan/1",
    );
    let ended = folder.run(&["compare", "--from", "plans", "--seeds", "1"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let problem =
        "compared: has no plan.json: it is no folder of a sweep, which `sweep --out DIR` makes";
    folder.fails(&["compare", "--from", "compared"], 4, problem);
}
