//! The errors of invalid instances and arguments: place, value, and advice.

use crate::invocation::Folder;
use crate::rebalance::{SMALL, folder};

/// Replaces `from` in the small instance, which is at fault then.
#[track_caller]
fn check(from: &str, to: &str, message: &str) {
    assert!(SMALL.contains(from), "{from}");
    let folder = Folder::new().with("i.json", SMALL.replacen(from, to, 1));
    folder.fails(&["rebalance", "i.json"], 4, message);
    folder.fails(&["rebalance", "sweep", "i.json"], 4, message);
}

#[test]
fn invalid_instances_are_located() {
    let rate = "must be a number above 0, from 1e-12 to 1e15";
    let amount = "must be 0 or a number from 1e-15 to 1e15";
    let machine = "must be a whole number from 0 to 2: an index into `capacities`";
    let row = "[workload, size in MB, machine]";
    for (from, to, message) in [
        ("{", "[", "invalid JSON: expected `,` or `]`\n  --> i.json:2:9".to_owned()),
        ("[1, 1, 2]", "[1, NaN, 2]", "invalid JSON: expected value\n  --> i.json:3:21".to_owned()),
        ("[1, 1, 2]", "[1, 1e999, 2]", "invalid JSON: number out of range\n  --> i.json:3:25".to_owned()),
        ("[1, 1, 2]", "[]", "invalid value `[]` for `capacities`: must be a list of numbers\n  --> i.json:3".to_owned()),
        ("[1, 1, 2]", "3", "invalid value `3` for `capacities`: must be a list of numbers\n  --> i.json:3".to_owned()),
        ("[1, 1, 2]", "[1, 0, 2]", format!("invalid value `0` for `capacities[1]`: {rate}\n  --> i.json:3")),
        ("[1, 1, 2]", "[1, -1.5, 2]", format!("invalid value `-1.5` for `capacities[1]`: {rate}\n  --> i.json:3")),
        ("[1, 1, 2]", "[1, 1e300, 2]", format!("invalid value `1e300` for `capacities[1]`: {rate}\n  --> i.json:3")),
        ("[1, 1, 2]", "[1, \"1\", 2]", format!("invalid value `\"1\"` for `capacities[1]`: {rate}\n  --> i.json:3")),
        ("[1, 1, 2]", "[1, null, 2]", format!("invalid value `null` for `capacities[1]`: {rate}\n  --> i.json:3")),
        ("[0, 0, 1]", "[0, 0]", "`cluster`: 2 clusters for 3 capacities, must be one for each machine\n  --> i.json:4".to_owned()),
        ("[0, 0, 1]", "[0, 0, 0.5]", "invalid value `0.5` for `cluster[2]`: must be a whole number of at least 0\n  --> i.json:4".to_owned()),
        ("[0, 0, 1]", "[0, 0, -1]", "invalid value `-1` for `cluster[2]`: must be a whole number of at least 0\n  --> i.json:4".to_owned()),
        ("\"intra\": 100", "\"intra\": 0", format!("invalid value `0` for `bandwidth.intra`: {rate}\n  --> i.json:5")),
        ("\"inter\": 10", "\"intr\": 10", "unknown key `bandwidth.intr`\n  --> i.json:5\n  help: did you mean `inter`?".to_owned()),
        (", \"inter\": 10", "", "missing key `bandwidth.inter`\n  --> i.json:5".to_owned()),
        ("{\"intra\": 100, \"inter\": 10}", "10", "invalid value `10` for `bandwidth`: must be bandwidth: an object with `intra`, `inter`\n  --> i.json:5".to_owned()),
        ("[50, 4, 0]", "[50, 4, 3]", format!("invalid value `3` for `processes[1][2]`: {machine}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, 4, -1]", format!("invalid value `-1` for `processes[1][2]`: {machine}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, 4, 0.5]", format!("invalid value `0.5` for `processes[1][2]`: {machine}\n  --> i.json:8")),
        ("[50, 4, 0]", "[-50, 4, 0]", format!("invalid value `-50` for `processes[1][0]`: {amount}\n  --> i.json:8")),
        ("[50, 4, 0]", "[1e-60, 4, 0]", format!("invalid value `1e-60` for `processes[1][0]`: {amount}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, 1e-60, 0]", format!("invalid value `1e-60` for `processes[1][1]`: {amount}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, \"4 MB\", 0]", format!("invalid value `\"4 MB\"` for `processes[1][1]`: {amount}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, [4], 0]", format!("invalid value `[…]` for `processes[1][1]`: {amount}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, 4]", format!("`processes[1]`: 2 values, must be {row}\n  --> i.json:8")),
        ("[50, 4, 0]", "[50, 4, 0, 0]", format!("`processes[1]`: 4 values, must be {row}\n  --> i.json:8")),
        ("[50, 4, 0]", "7", format!("invalid value `7` for `processes[1]`: must be {row}\n  --> i.json:8")),
        ("[60, 100]", "[60, 0]", format!("invalid value `0` for `targets[1]`: {rate}\n  --> i.json:13")),
        ("[60, 100]", "[-60, 100]", format!("invalid value `-60` for `targets[0]`: {rate}\n  --> i.json:13")),
        ("[60, 100]", "\"60\"", "invalid value `\"60\"` for `targets`: must be a list of numbers\n  --> i.json:13".to_owned()),
        ("\"targets\"", "\"target\"", "unknown key `target`\n  --> i.json:13\n  help: did you mean `targets`?".to_owned()),
        ("\"targets\"", "\"cluster\"", "`cluster`: duplicate key, first in i.json:4\n  --> i.json:13".to_owned()),
        ("\"targets\"", "\"colour\"", "unknown key `colour`: expected one of `name`, `capacities`, `machines`, `cluster`, `bandwidth`, `memory`, `blocks`, `processes`, `edges`, `weight`, `phases`, `targets`\n  --> i.json:13".to_owned()),
        ("\"name\": \"small\"", "\"machines\": [\"a\", \"b\"]", "`machines`: 2 names for 3 capacities, must be one for each machine\n  --> i.json:2".to_owned()),
        ("\"name\": \"small\"", "\"machines\": [\"a\", \"b\", \"a\"]", "invalid value `\"a\"` for `machines[2]`: must not be the name of another machine\n  --> i.json:2".to_owned()),
        ("\"name\": \"small\"", "\"machines\": [\"a\", 1, \"c\"]", "invalid value `1` for `machines[1]`: must be a string\n  --> i.json:2".to_owned()),
        ("\"name\": \"small\"", "\"name\": 5", "invalid value `5` for `name`: must be a string\n  --> i.json:2".to_owned()),
        ("\"capacities\": [1, 1, 2],", "", "missing key `capacities`\n  --> i.json:1".to_owned()),
    ] {
        check(from, to, &message);
    }
}

#[test]
fn an_unreadable_instance_file_is_named() {
    let folder = Folder::new()
        .with("bytes.json", b"\xff\xfe{")
        .with("empty.json", "")
        .with("list.json", "[]")
        .with("deep.json", "[".repeat(100_000));
    let fails = |file: &str, message: &str| folder.fails(&["rebalance", file], 4, message);
    fails(
        "missing.json",
        "missing.json: cannot be read: No such file or directory (os error 2)",
    );
    fails(
        "empty.json",
        "invalid JSON: EOF while parsing a value\n  --> empty.json:1:0",
    );
    fails(
        "list.json",
        "invalid value `[]`: must be an instance: an object with `name`, `capacities`, `machines`, `cluster`, \
         `bandwidth`, `memory`, `blocks`, `processes`, `edges`, `weight`, `phases`, `targets`\n  --> list.json:1",
    );
    fails(
        "deep.json",
        "invalid JSON: recursion limit exceeded\n  --> deep.json:1:128",
    );
    let ended = folder.run(&["rebalance", "bytes.json"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.starts_with("error: bytes.json"), "{ended:?}");
}

#[test]
fn notes_in_an_instance_are_ignored() {
    let noted = SMALL.replacen(
        "\"targets\"",
        "\"best_known_cost\": [1, null], \"lower_bound\": \"?\", \"dc_initial\": 3, \"targets\"",
        1,
    );
    let folder = folder().with("noted.json", noted);
    let budget = ["--budget", "1 ksteps"];
    assert_eq!(
        folder.stdout(&[&["rebalance", "noted.json"], &budget[..]].concat()),
        folder.stdout(&[&["rebalance", "small.json"], &budget[..]].concat())
    );
}

#[test]
fn an_instance_without_targets_asks_for_one() {
    let folder = folder().with("i.json", SMALL.replacen("[60, 100]", "[]", 1));
    folder.fails(
        &["rebalance", "i.json"],
        2,
        "missing option --target: i.json has no `targets`",
    );
    folder.stdout(&[
        "rebalance",
        "i.json",
        "--target",
        "90",
        "--budget",
        "1 ksteps",
    ]);
}

#[test]
fn invalid_arguments_show_the_rule_that_they_break() {
    let folder = folder();
    for (arguments, words) in [
        (&["--algorithm", "impl"][..], "did you mean `imlp`?"),
        (&["--algorithm", "imlp:level=2"], "did you mean `levels`?"),
        (
            &["--algorithm", "best:levels=2"],
            "`best` has no parameters",
        ),
        (&["--target", "0"], "not `0`"),
        (&["--target", "-76"], "not `-76`"),
        (&["--target", "NaN"], "not `NaN`"),
        (&["--target", "inf"], "not `inf`"),
        (&["--target", "low"], "not `low`"),
        (&["--budget", "0"], "must be more than 0"),
        (&["--budget", "-1"], "must be more than 0"),
        (&["--budget", "0 steps"], "a whole number of steps from 1"),
        (&["--budget", "soon"], "must be \"100 ms\""),
        (&["--seed", "-1"], "must be a whole number from 0"),
        (&["--seed", "one"], "not `one`"),
        (&["--cost", "euros"], "possible values: seconds, moves"),
        (
            &["sweep"],
            "the subcommand `sweep` must precede `small.json`",
        ),
    ] {
        let ended = folder.run(&[&["rebalance", "small.json"][..], arguments].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    for (arguments, words) in [
        (
            &["--algorithm", "imlp", "--algorithm", "imlp"][..],
            "--algorithm imlp is given twice",
        ),
        (&["--points", "0"], "0 is not in 1..=1000"),
        (&["--points", "-1"], "-1 is not in 1..=1000"),
        (&["--points", "3", "--target", "50"], "cannot be used with"),
    ] {
        let ended = folder.run(&[&["rebalance", "sweep", "small.json"][..], arguments].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let ended = folder.run(&["rebalance"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("<INSTANCE>"), "{ended:?}");
}

#[test]
fn a_mistyped_subcommand_is_answered_with_the_nearest() {
    let folder = folder().with("swap", SMALL);
    folder.fails(
        &["rebalance", "swep"],
        4,
        "swep: cannot be read: No such file or directory (os error 2)\n  help: did you mean `swap`?; did you mean the subcommand `sweep`?",
    );
    let usage = |arguments: &[&str], message: &str| {
        folder.fails(&[&["rebalance"], arguments].concat(), 2, message);
    };
    usage(
        &["swep", "small.json"],
        "unknown subcommand `swep`; did you mean `sweep`?",
    );
    usage(
        &["genrate", "--seed", "2", "small.json"],
        "unknown subcommand `genrate`; did you mean `generate`?",
    );
    usage(
        &["swap", "small.json"],
        "expected one instance, found `swap` and `small.json`",
    );
    folder.fails(
        &["rebalance", "sweep.json"],
        4,
        "sweep.json: cannot be read: No such file or directory (os error 2)",
    );
}
