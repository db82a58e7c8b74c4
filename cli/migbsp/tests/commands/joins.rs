//! `[elasticity]`: hosts that join, and `reproduce santana`.

use serde_json::Value;

use crate::invocation::{Folder, root};

/// A task farm of which two workers wait for their hosts.
pub(crate) const FARM: &str = r#"[application]
workload = "task-farm"
processes = 5

[application.task-farm]
tasks = 400
instructions = 1e8

[platform]
file = "two.xml"

[placement]
order = "fill"

[elasticity]
pool = ["slow-4", "fast-1"]
part = 0.1
creation = [5, "200 ms"]

[scheduler]
policy = "none"
"#;

const JSON: [&str; 4] = ["simulate", "farm.toml", "--format", "json"];

fn farm() -> Folder {
    Folder::new().with("farm.toml", FARM)
}

/// The farm with another `[elasticity]`, which begins in line 15.
fn elastic(section: &str) -> Folder {
    let (before, after) = FARM.split_once("[elasticity]\n").unwrap();
    let (_, after) = after.split_once("\n\n").unwrap();
    let text = format!("{before}[elasticity]\n{section}\n\n{after}");
    Folder::new().with("farm.toml", text)
}

/// The joins of the only run of `json`.
fn joins(json: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(json).unwrap();
    let joins = json["runs"][0]["joins"].as_array();
    joins.cloned().unwrap_or_default()
}

#[test]
fn hosts_join_beside_the_computation_or_while_it_waits() {
    let folder = farm();
    let beside = joins(&folder.stdout(&JSON));
    let hosts: Vec<_> = beside.iter().map(|join| &join["host"]).collect();
    // The second is prepared sooner.
    assert_eq!(hosts, ["fast-1", "slow-4"]);
    for (join, process) in beside.iter().zip(["p5", "p4"]) {
        assert_eq!(join["processes"], serde_json::json!([process]));
        let number = |key: &str| join[key].as_f64().unwrap();
        assert!(number("waited_seconds") < 0.1, "{join}");
        let prepared = number("at") - number("asked");
        assert!(number("creation_seconds") <= prepared, "{join}");
        assert!(
            0.0 < number("saves_seconds") && number("saves_seconds") < number("remaining_seconds"),
            "{join}"
        );
    }
    let blocking = ["--set", "elasticity.preparation=blocking"];
    let waiting = joins(&folder.stdout(&[&JSON[..], &blocking].concat()));
    let hosts: Vec<_> = waiting.iter().map(|join| &join["host"]).collect();
    assert_eq!(hosts, ["slow-4", "fast-1"]);
    // One after the other, while all wait.
    assert!(
        (5.2..5.3).contains(&waiting[0]["waited_seconds"].as_f64().unwrap()),
        "{waiting:?}"
    );
    let text = folder.stdout(&JSON[..2]);
    assert!(text.contains("fast-1 joined after superstep"), "{text}");
    assert!(text.contains("all 400 tasks were executed once"), "{text}");
}

#[test]
fn a_host_joins_only_if_that_pays() {
    let folder = farm();
    let dear = [&JSON[..], &["--set", "elasticity.creation=[1000]"]].concat();
    let joins_of = |options: &[&str]| joins(&folder.stdout(&[&dear[..], options].concat()));
    for join in joins_of(&[]) {
        assert_eq!(
            (
                &join["joined"],
                join["saves_seconds"].as_f64().unwrap() < 0.0
            ),
            (&false.into(), true),
            "{join}"
        );
    }
    let text = folder.stdout(&[&dear[..2], &dear[4..]].concat());
    assert!(text.contains("slow-4 did not join at"), "{text}");
    let forced = [
        "--set",
        "elasticity.guard=false",
        "--set",
        "elasticity.preparation=blocking",
    ];
    assert!(joins_of(&forced).iter().all(|join| join["joined"] == true));
}

#[test]
fn explain_says_what_a_host_took_and_brought_and_verify_agrees() {
    let folder = farm();
    folder.stdout(&["simulate", "farm.toml", "--out", "kept"]);
    let text = folder.stdout(&["explain", "kept"]);
    assert!(text.contains("tasks a second were done"), "{text}");
    let json: Value =
        serde_json::from_str(&folder.stdout(&["explain", "kept", "--format", "json"])).unwrap();
    let join = &json["joins"][0];
    assert_eq!(
        (&join["host"], &join["counted"]),
        (&"fast-1".into(), &"tasks".into())
    );
    assert!(join["before"].as_f64() < join["after"].as_f64(), "{join}");
    // The same of a program that is rescheduled, whose record is decided again: a call follows the join.
    let elastic = "\n[elasticity]\npool = [\"slow-3\", \"slow-4\"]\nsuperstep = 4\n";
    let text = format!("{}{elastic}", crate::invocation::EXPERIMENT);
    for policy in ["migbsp", "adaptive"] {
        for shape in ["central", "hierarchical"] {
            let folder = Folder::new().with("e.toml", text.clone());
            let shape = format!("barrier.shape={shape}");
            folder.stdout(&[
                "simulate", "e.toml", "--policy", policy, "--out", "kept", "--set", &shape,
            ]);
            let verified = folder.stdout(&["verify", "kept"]);
            assert!(!verified.contains("differ"), "{verified}");
            let text = folder.stdout(&["explain", "kept/iii"]);
            assert!(text.contains("slow-4 joined after superstep 4"), "{text}");
        }
    }
}

#[test]
fn hosts_that_the_run_does_not_wait_for_are_named() {
    let folder = elastic("pool = [\"slow-4\"]\nsuperstep = 100000");
    let ended = folder.run(&["simulate", "farm.toml"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let warning = "slow-4 has not joined: the run ended before it was ready";
    assert!(ended.stderr.contains(warning), "{ended:?}");
}

#[test]
fn joins_that_cannot_be_say_where_and_what_would_do() {
    let folder = farm();
    let cases = [
        (
            "elasticity.pool=[\"slow-9\", \"fast-1\"]",
            "the platform has no host \"slow-9\"",
        ),
        (
            "elasticity.pool=[\"fast-1\", \"fast-1\"]",
            "fast-1 has joined already: it is named twice",
        ),
        (
            "elasticity.pool=[\"slow-1\", \"slow-2\"]",
            "slow-1 is there already: p1 starts on it",
        ),
        ("elasticity.take=3", "must be from 1 to 2"),
        ("elasticity.take=0", "must be from 1 to 2"),
        ("elasticity.part=1.5", "must be a number from 0 to 1"),
        (
            "elasticity.superstep=3",
            "`elasticity.part` says already when hosts join",
        ),
        (
            "elasticity.creation=[1, 2, 3]",
            "must be one time, or one for each of the 2 hosts",
        ),
        ("elasticity.creation=[-1]", "must be at least 0 s"),
        ("elasticity.creaton=[1]", "did you mean `creation`"),
    ];
    for (set, message) in cases {
        let ended = folder.run(&["simulate", "farm.toml", "--set", set]);
        assert_eq!(ended.code, Some(2), "{set}: {ended:?}");
        assert!(ended.stderr.contains(message), "{set}: {ended:?}");
        assert_eq!(ended.stdout, "", "{set}");
    }
    for (section, line, message) in [
        (
            "pool = [\"fast-1\", \"fast-2\", \"fast-3\", \"fast-4\"]\npart = 0.1",
            16,
            "Set fast would have no host for its Manager; leave out fast-4",
        ),
        ("pool = [\"fast-1\"]", 16, "set when hosts join"),
        ("pool = [\"fast-1\"]\ndate = -1", 17, "must be at least 0 s"),
        ("pool = \"fast-1\"\npart = 0.1", 16, "elasticity.pool"),
    ] {
        let ended = elastic(section).run(&["simulate", "farm.toml"]);
        assert_eq!(ended.code, Some(4), "{section}: {ended:?}");
        assert!(ended.stderr.contains(message), "{section}: {ended:?}");
        let place = format!("farm.toml:{line}");
        assert!(ended.stderr.contains(&place), "{section}: {ended:?}");
    }
    let none = folder.stdout(&[&JSON[..], &["--set", "elasticity.pool=[]"]].concat());
    assert!(joins(&none).is_empty());
}

#[test]
fn policies_move_no_more_beside_weighted_shares_than_beside_equal_ones() {
    let santana = root().join("conf/santana/weighted.toml");
    let santana = santana.to_str().unwrap();
    let folder = Folder::new();
    let farm = "application.task-farm.dealing";
    let moves = |dealing: &[&str]| {
        let kept = dealing[0].rsplit('=').next().unwrap();
        let mut words = vec!["simulate", santana, "--policy", "adaptive", "--out", kept];
        words.extend([
            "--set",
            "elasticity.pool=[]",
            "--set",
            "application.processes=6",
        ]);
        dealing.iter().for_each(|set| words.extend(["--set", set]));
        let json: Value =
            serde_json::from_str(&folder.stdout(&[&words[..], &["--format", "json"]].concat()))
                .unwrap();
        assert!(!folder.stdout(&["verify", kept]).contains("differ"));
        let calls = json["runs"][2]["calls"].as_array().unwrap().clone();
        for call in &calls {
            // Interactions begin with the second superstep; their tasks are executed in the third.
            assert_eq!(call["superstep"].as_u64().unwrap() % 3, 0, "{call}");
        }
        let moves = calls
            .iter()
            .map(|call| call["migrations"].as_array().unwrap().len());
        moves.sum::<usize>()
    };
    let weighted = moves(&[&format!("{farm}.kind=weighted")]);
    let equal = moves(&[&format!("{farm}.kind=self"), &format!("{farm}.chunk=20")]);
    assert!(weighted <= equal, "{weighted} against {equal}");
}

#[test]
#[cfg(feature = "long-tests")]
fn the_statements_of_santana_and_souza_hold() {
    let folder = Folder::new().with_variable("MIGBSP__ELASTICITY__GUARD", "false");
    let page = [
        "reproduce",
        "santana",
        "--html",
        "page.html",
        "--format",
        "json",
    ];
    let text = folder.stdout(&page);
    crate::schemas::check(&text, "reproduce santana");
    let json: Value = serde_json::from_str(&text).unwrap();
    let checks = json["checks"].as_array().unwrap();
    for check in checks {
        let expected = match check["id"].as_str().unwrap() {
            "S3b" => Value::Bool(false),
            "S1-2000" => Value::Null,
            _ => Value::Bool(true),
        };
        assert_eq!(check["holds"], expected, "{check}");
    }
    assert_eq!(checks.len(), 17);
    assert_eq!(json["curves"].as_array().unwrap().len(), 9);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
}

#[test]
fn options_of_other_papers_are_refused() {
    let folder = Folder::new();
    for (options, message) in [
        (
            &["--ties", "rank"][..],
            "--ties does not apply to santana, which has no rescheduling",
        ),
        (
            &["--seeds", "1..2"],
            "--seeds applies to du2007-table1 only",
        ),
    ] {
        folder.fails(&[&["reproduce", "santana"], options].concat(), 2, message);
    }
}
