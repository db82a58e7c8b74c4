//! Instances and arguments that will not do: where, what was met, and what would do.

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
fn what_is_no_instance_is_located() {
    let rate = "expected a number above 0, from 1e-12 to 1e15";
    let amount = "expected 0 or a number from 1e-15 to 1e15";
    let machine = "expected a whole number from 0 to 2: the place of a machine in `capacities`";
    let row = "[workload, size in MB, machine]";
    for (from, to, message) in [
        ("{", "[", "i.json:2: is not JSON: expected `,` or `]` (column 9)".to_owned()),
        ("[1, 1, 2]", "[1, NaN, 2]", "i.json:3: is not JSON: expected value (column 21)".to_owned()),
        ("[1, 1, 2]", "[1, 1e999, 2]", "i.json:3: is not JSON: number out of range (column 25)".to_owned()),
        ("[1, 1, 2]", "[]", "i.json:3: capacities: met an empty list, expected a list of numbers".to_owned()),
        ("[1, 1, 2]", "3", "i.json:3: capacities: met 3, expected a list of numbers".to_owned()),
        ("[1, 1, 2]", "[1, 0, 2]", format!("i.json:3: capacities[1]: met 0, {rate}")),
        ("[1, 1, 2]", "[1, -1.5, 2]", format!("i.json:3: capacities[1]: met -1.5, {rate}")),
        ("[1, 1, 2]", "[1, 1e300, 2]", format!("i.json:3: capacities[1]: met 1e300, {rate}")),
        ("[1, 1, 2]", "[1, \"1\", 2]", format!("i.json:3: capacities[1]: met \"1\", {rate}")),
        ("[1, 1, 2]", "[1, null, 2]", format!("i.json:3: capacities[1]: met null, {rate}")),
        ("[0, 0, 1]", "[0, 0]", "i.json:4: cluster: met 2 clusters for 3 capacities, expected one for each machine".to_owned()),
        ("[0, 0, 1]", "[0, 0, 0.5]", "i.json:4: cluster[2]: met 0.5, expected a whole number from 0 on".to_owned()),
        ("[0, 0, 1]", "[0, 0, -1]", "i.json:4: cluster[2]: met -1, expected a whole number from 0 on".to_owned()),
        ("\"intra\": 100", "\"intra\": 0", format!("i.json:5: bandwidth.intra: met 0, {rate}")),
        ("\"inter\": 10", "\"intr\": 10", "i.json:5: bandwidth.intr: unknown key; did you mean `inter`?".to_owned()),
        (", \"inter\": 10", "", "i.json:5: bandwidth: `inter` is missing".to_owned()),
        ("{\"intra\": 100, \"inter\": 10}", "10", "i.json:5: bandwidth: met 10, expected bandwidth: an object with `intra`, `inter`".to_owned()),
        ("[50, 4, 0]", "[50, 4, 3]", format!("i.json:8: processes[1][2]: met 3, {machine}")),
        ("[50, 4, 0]", "[50, 4, -1]", format!("i.json:8: processes[1][2]: met -1, {machine}")),
        ("[50, 4, 0]", "[50, 4, 0.5]", format!("i.json:8: processes[1][2]: met 0.5, {machine}")),
        ("[50, 4, 0]", "[-50, 4, 0]", format!("i.json:8: processes[1][0]: met -50, {amount}")),
        ("[50, 4, 0]", "[1e-60, 4, 0]", format!("i.json:8: processes[1][0]: met 1e-60, {amount}")),
        ("[50, 4, 0]", "[50, 1e-60, 0]", format!("i.json:8: processes[1][1]: met 1e-60, {amount}")),
        ("[50, 4, 0]", "[50, \"4 MB\", 0]", format!("i.json:8: processes[1][1]: met \"4 MB\", {amount}")),
        ("[50, 4, 0]", "[50, [4], 0]", format!("i.json:8: processes[1][1]: met a list, {amount}")),
        ("[50, 4, 0]", "[50, 4]", format!("i.json:8: processes[1]: met 2 values, expected {row}")),
        ("[50, 4, 0]", "[50, 4, 0, 0]", format!("i.json:8: processes[1]: met 4 values, expected {row}")),
        ("[50, 4, 0]", "7", format!("i.json:8: processes[1]: met 7, expected {row}")),
        ("[60, 100]", "[60, 0]", format!("i.json:13: targets[1]: met 0, {rate}")),
        ("[60, 100]", "[-60, 100]", format!("i.json:13: targets[0]: met -60, {rate}")),
        ("[60, 100]", "\"60\"", "i.json:13: targets: met \"60\", expected a list of numbers".to_owned()),
        ("\"targets\"", "\"target\"", "i.json:13: target: unknown key; did you mean `targets`?".to_owned()),
        ("\"targets\"", "\"cluster\"", "i.json:13: cluster: is there twice, first in i.json:4".to_owned()),
        ("\"targets\"", "\"colour\"", "i.json:13: colour: unknown key; known here: `name`, `capacities`, `cluster`, `bandwidth`, `processes`, `targets`".to_owned()),
        ("\"name\": \"small\"", "\"name\": 5", "i.json:2: name: met 5, expected a text in quotes".to_owned()),
        ("\"capacities\": [1, 1, 2],", "", "i.json:1: `capacities` is missing".to_owned()),
    ] {
        check(from, to, &message);
    }
}

#[test]
fn a_file_that_holds_something_else_is_named() {
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
        "empty.json:1: is not JSON: EOF while parsing a value (column 0)",
    );
    fails(
        "list.json",
        "list.json:1: met an empty list, expected an instance: an object with `name`, `capacities`, \
         `cluster`, `bandwidth`, `processes`, `targets`",
    );
    fails(
        "deep.json",
        "deep.json:1: is not JSON: recursion limit exceeded (column 128)",
    );
    let ended = folder.run(&["rebalance", "bytes.json"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.starts_with("error: bytes.json"), "{ended:?}");
}

#[test]
fn notes_of_others_do_no_harm() {
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
        "no target: i.json has no `targets`, so give --target",
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
fn arguments_that_mean_nothing_say_what_would_do() {
    let folder = folder();
    for (arguments, words) in [
        (&["--algorithm", "impl"][..], "did you mean `imlp`?"),
        (&["--algorithm", "imlp:level=2"], "did you mean `levels`?"),
        (
            &["--algorithm", "best:levels=2"],
            "`best` has no parameters",
        ),
        (&["--target", "0"], "met `0`, expected a level"),
        (&["--target", "-76"], "met `-76`, expected a level"),
        (&["--target", "NaN"], "met `NaN`, expected a level"),
        (&["--target", "inf"], "met `inf`, expected a level"),
        (&["--target", "low"], "met `low`, expected a level"),
        (&["--budget", "0"], "expected more than 0"),
        (&["--budget", "-1"], "expected more than 0"),
        (&["--budget", "0 steps"], "a whole number of steps from 1"),
        (&["--budget", "soon"], "expected \"100 ms\""),
        (
            &["--seed", "-1"],
            "met `-1`, expected a seed: a whole number from 0",
        ),
        (&["--seed", "one"], "met `one`, expected a seed"),
        (&["--cost", "euros"], "possible values: seconds, moves"),
        (
            &["sweep"],
            "the subcommand `sweep` stands behind small.json, expected it before",
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
        "swep: cannot be read: No such file or directory (os error 2); did you mean the subcommand `sweep`?",
    );
    let usage = |arguments: &[&str], message: &str| {
        folder.fails(&[&["rebalance"], arguments].concat(), 2, message);
    };
    usage(
        &["swep", "small.json"],
        "swep: is no subcommand; did you mean `sweep`?",
    );
    usage(
        &["genrate", "--seed", "2", "small.json"],
        "genrate: is no subcommand; did you mean `generate`?",
    );
    usage(
        &["swap", "small.json"],
        "met swap and small.json, expected one instance",
    );
    folder.fails(
        &["rebalance", "sweep.json"],
        4,
        "sweep.json: cannot be read: No such file or directory (os error 2)",
    );
}
