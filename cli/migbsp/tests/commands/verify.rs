//! `verify`: a record decided again, as it is and tampered with.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::invocation::{Folder, root};

/// A shipped experiment, run with settings; its records are in `runs/` of this name.
fn recorded(folder: &Folder, file: &str, settings: &[&str]) {
    let experiment = root().join("conf").join(file);
    let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
    let out = format!("runs/{name}");
    let mut arguments = vec!["simulate", experiment.to_str().unwrap(), "--out", &out];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    folder.stdout(&arguments);
}

/// The experiments in a folder of `conf` whose names `wanted` wants.
fn experiments(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(root().join("conf").join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = names
        .filter(|name| wanted(name))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_decision_of_shipped_experiments_is_decided_again() {
    let is_one = |name: &str| {
        ["lbm-25", "lu-25", "drift-few", "external-few"]
            .iter()
            .any(|one| name.starts_with(one))
    };
    let is_drawn = |name: &str| cfg!(feature = "long-tests") || is_one(name);
    let mut files = experiments("paper", |name| !name.contains("200") && is_drawn(name));
    files.extend(experiments("dynamic", |name| {
        name.contains("-few") && is_drawn(name)
    }));
    files.extend(experiments("held-out", |name| {
        name.contains("-few") && is_drawn(name)
    }));
    files.push("scripted.toml".to_owned());
    let (files_least, moves_least) = if cfg!(feature = "long-tests") {
        (18, 500)
    } else {
        (4, 50)
    };
    assert!(files_least < files.len(), "{files:?}");
    let mut moves = 0;
    for policy in ["migbsp", "adaptive", "metalb+list", "fixed+migbsp"] {
        for file in &files {
            let folder = Folder::new();
            let policy = format!("scheduler.policy={policy}");
            let settings = [
                &policy,
                "scheduler.scenario=iii",
                "application.supersteps=40",
            ];
            recorded(&folder, file, &settings);
            let name = Path::new(file).file_stem().unwrap().to_str().unwrap();
            let run = format!("runs/{name}");
            let json = folder.run(&["verify", &run, "--format", "json"]);
            assert_eq!(json.code, Some(0), "{file}, {policy}: {json:?}");
            let json: Value = serde_json::from_str(&json.stdout).unwrap();
            assert_eq!(json["schema"], "migbsp.verify/1");
            let calls = json["calls"].as_array().unwrap();
            moves += calls
                .iter()
                .filter_map(|call| call["moves"].as_u64())
                .sum::<u64>();
        }
    }
    assert!(moves_least < moves, "{moves}");
}

#[test]
fn all_scenarios_are_verified_as_documented() {
    let folder = Folder::new();
    recorded(&folder, "lbm.toml", &[]);
    let text = folder.stdout(&["verify", "runs/lbm"]);
    let page = fs::read_to_string(root().join("docs/guide/explain.md")).unwrap();
    let shown = format!("```console\n$ migbsp verify runs/lbm\n{text}```\n");
    assert!(
        page.contains(&shown),
        "docs/guide/explain.md shows otherwise:\n{text}"
    );
    let watching = folder.stdout(&["verify", "runs/lbm/ii"]);
    assert!(
        watching.contains("8 calls with 0 moves verified"),
        "{watching}"
    );
    let alone = folder.stdout(&["verify", "runs/lbm/i"]);
    assert!(alone.contains("No call was held"), "{alone}");
    let csv = folder.csv(&["verify", "runs/lbm"]);
    let rows: Vec<&str> = csv.lines().collect();
    let header = "superstep,processes,candidates,moves,what,recorded,recomputed";
    assert_eq!((rows.len(), rows[0], rows[1]), (9, header, "4,25,1,1,,,"));
}

/// A record to tamper with.
struct Record {
    folder: Folder,
    events: String,
}

impl Record {
    fn new(file: &str, settings: &[&str]) -> Self {
        let folder = Folder::new();
        recorded(&folder, file, settings);
        let name = Path::new(file).file_stem().unwrap();
        let (runs, kept) = (folder.path().join("runs"), folder.path().join("kept"));
        fs::rename(runs.join(name), &kept).unwrap();
        let events = fs::read_to_string(kept.join("iii/events.jsonl")).unwrap();
        Self { folder, events }
    }

    /// What `verify` ends with when the first `kind` of event that has something at `pointer`, in the call
    /// after `superstep` if it belongs to one, has `json` there.
    fn tampered(
        &self,
        kind: &str,
        superstep: u64,
        (pointer, json): (&str, &str),
    ) -> (Option<i32>, String) {
        let value: Value = serde_json::from_str(json).unwrap();
        let mut lines: Vec<String> = self.events.lines().map(str::to_owned).collect();
        let tampered = lines.iter_mut().find_map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            let of = event["superstep"].as_u64();
            let belongs = event["event"] == kind && of.is_none_or(|of| of == superstep);
            *event.pointer_mut(pointer).filter(|_| belongs)? = value.clone();
            *line = event.to_string();
            Some(())
        });
        assert!(tampered.is_some(), "{kind} {pointer}");
        self.verified(&lines.join("\n"))
    }

    /// What `verify` ends with when these are the events.
    fn verified(&self, events: &str) -> (Option<i32>, String) {
        let path = self.folder.path().join("kept/iii/events.jsonl");
        fs::write(path, format!("{events}\n")).unwrap();
        let ended = self.folder.run(&["verify", "kept"]);
        let says = ended.stderr.trim_start_matches("error: kept/iii: ").trim();
        (ended.code, says.to_owned())
    }

    /// That `verify` names what was tampered with in the call after `superstep`: kind of event, where, with
    /// which value, and what it says.
    #[track_caller]
    fn names(&self, superstep: u64, cases: &[(&str, &str, &str, &str)]) {
        for (kind, pointer, json, expected) in cases {
            let (code, says) = self.tampered(kind, superstep, (pointer, json));
            assert_eq!(code, Some(3), "{pointer}: {says}");
            let expected = format!("after superstep {superstep} differs: {expected}");
            assert!(says.starts_with(&expected), "{pointer}: {says}");
        }
    }
}

fn lbm() -> Record {
    Record::new("lbm.toml", &["application.supersteps=40"])
}

#[test]
fn a_record_by_another_build_that_differs_names_that_build() {
    let record = lbm();
    let differs = ("/list/0/potential", "0.4");
    let (code, says) = record.tampered("call", 4, differs);
    assert_eq!(code, Some(3));
    assert!(!says.contains("build"), "{says}");
    let path = record.folder.path().join("kept/iii/run.json");
    let mut run: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    run["build"]["version"] = "0.0.9".into();
    run["build"]["sha256"] = "ab".repeat(32).into();
    fs::write(&path, run.to_string()).unwrap();
    let (code, says) = record.tampered("call", 4, differs);
    assert_eq!(code, Some(3));
    assert!(
        says.contains("the record is by another build, migbsp 0.0.9"),
        "{says}"
    );
    assert!(says.contains("list #1 potential: recorded 0.4"), "{says}");
    // What does not differ needs no warning.
    let untouched = record.verified(record.events.trim_end());
    assert_eq!(untouched, (Some(0), String::new()));
    let (code, says) = record.verified("{\"event\":\"run\"}");
    assert_eq!(code, Some(4));
    assert!(
        says.contains("the record is by another build, migbsp 0.0.9"),
        "{says}"
    );
}

#[test]
fn a_potential_that_was_tampered_with_is_named_and_so_is_what_it_is_made_of() {
    lbm().names(
        4,
        &[
            (
                "call",
                "/list/0/potential",
                "0.4",
                "list #1 potential: recorded 0.4, recomputed 0.4247416020671835",
            ),
            (
                "evaluated",
                "/processes/0/potentials/3/computation",
                "0.5",
                "p21 potentials ice computation: recorded 0.5, recomputed 0.444",
            ),
            (
                "evaluated",
                "/processes/0/target",
                "2",
                "p21 target: recorded frontal, recomputed aquario",
            ),
            (
                "observed",
                "/image/data",
                "5",
                "p21 potentials labtec migration: ",
            ),
            // What others take of a host.
            ("evaluated", "/hosts/0/4", "0.5", "p1 potentials "),
        ],
    );
}

#[test]
fn a_negotiation_or_a_move_that_was_tampered_with_is_named() {
    lbm().names(
        4,
        &[
            (
                "call",
                "/considered/0/answer/offer/t1",
                "0.1",
                "considered #1 answer offer t1: recorded 0.1, recomputed 0.1308139534883721",
            ),
            (
                "call",
                "/considered/0/request/t2",
                "1.0",
                "considered #1 request t2: recorded 1.0, recomputed 0.333",
            ),
            (
                "call",
                "/considered/0/answer",
                "{\"refuse\":\"idle\"}",
                "considered #1 answer: recorded {\"refuse\":\"idle\"}, recomputed {\"offer\"",
            ),
            (
                "call",
                "/migrations/0/to",
                "155",
                "migrations #1 to: recorded aquario-2, recomputed aquario-1",
            ),
            (
                "call",
                "/migrations",
                "[]",
                "migrations number: recorded 0, recomputed 1",
            ),
            (
                "moved",
                "/host",
                "155",
                "arrivals #1 host: recorded aquario-2, recomputed aquario-1",
            ),
        ],
    );
}

#[test]
fn a_pace_that_was_tampered_with_is_named_and_so_is_a_call_that_is_not_there() {
    let record = lbm();
    record.names(
        4,
        &[
            (
                "call",
                "/interval",
                "9",
                "interval: recorded 9, recomputed 8",
            ),
            (
                "call",
                "/tolerance",
                "0.75",
                "tolerance: recorded 0.75, recomputed 0.5",
            ),
            (
                "call",
                "/judged/0/2",
                "50.0",
                "balanced: recorded 4, recomputed 3; 1 more",
            ),
        ],
    );
    // Without what led to it: a call that alone is missing makes no record.
    let is_second = |line: &&str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["superstep"] == 12 || event["event"] == "moved" && event["epoch"] == 2
    };
    let lines = record.events.lines().filter(|line| !is_second(line));
    let (code, says) = record.verified(&lines.collect::<Vec<_>>().join("\n"));
    assert_eq!(code, Some(3));
    let expected = "after superstep 12 differs: held: recorded false, recomputed true";
    assert!(says.starts_with(expected), "{says}");
}

#[test]
fn a_plan_that_was_tampered_with_is_named() {
    let settings = ["application.supersteps=30", "scheduler.policy=adaptive"];
    let record = Record::new("dynamic/external-few.toml", &settings);
    let moved = |line: &&str| line.contains("\"event\":\"call\"") && line.contains("\"to\":");
    let call: Value = serde_json::from_str(record.events.lines().find(moved).unwrap()).unwrap();
    record.names(
        call["superstep"].as_u64().unwrap(),
        &[
            (
                "call",
                "/assessment/balance/planned",
                "1e9",
                "assessment balance planned: recorded 1000000000.0, recomputed ",
            ),
            (
                "call",
                "/assessment/verdict",
                "\"unchanged\"",
                "assessment verdict: ",
            ),
            (
                "call",
                "/migrations/0/cost",
                "9.0",
                "migrations #1 cost: recorded 9.0",
            ),
            (
                "evaluated",
                "/barrier",
                "{\"by-rank\":{\"process\":1e3}}",
                "",
            ),
            ("observed", "/forecast", "1e12", ""),
        ],
    );
}

#[test]
fn a_record_that_does_not_say_enough_is_no_verified_one() {
    let record = Record::new("lbm.toml", &["application.supersteps=20"]);
    let again = "the call after superstep 4 cannot be decided again: ";
    for (kind, pointer, json, expected) in [
        (
            "evaluated",
            "/processes/0/host",
            "3",
            "p21 is not found once, in the Set where it lives, with a potential for every Set",
        ),
        (
            "evaluated",
            "/hosts",
            "[[0,4294967295,1e9,1,0.0,0.0]]",
            "not every host is in one Set",
        ),
        ("call", "/cost", "-1.0", "it took less than no time"),
    ] {
        let (code, says) = record.tampered(kind, 4, (pointer, json));
        assert_eq!((code, says), (Some(4), format!("{again}{expected}")));
    }
    let (code, says) = record.tampered("evaluated", 4, ("/superstep", "7"));
    let order = "what a Set found after superstep 7 comes after 4 supersteps; events are missing or there twice";
    assert_eq!(code, Some(4));
    assert!(says.ends_with(order), "{says}");
    let mean = record.events.replacen("\"mean\":", "\"was\":", 1);
    let unsaid =
        "the call after superstep 1 cannot be decided again: it does not say what was observed"
            .to_owned();
    assert_eq!(record.verified(mean.trim()), (Some(4), unsaid));
    let other = record
        .events
        .replacen("migbsp.events/1", "migbsp.events/9", 1);
    let schema = "schema \"migbsp.events/9\"; this program reads \"migbsp.events/1\"; it was written by migbsp ";
    let (code, says) = record.verified(&other);
    assert_eq!(code, Some(4));
    assert!(says.contains(schema), "{says}");
}

#[test]
fn a_run_that_leaves_the_first_set_is_recorded_to_its_end() {
    // The slow hosts come first.
    let platform = root().join("conf/platforms/heterogeneous.toml");
    let experiment = format!(
        r#"
            application.workload = "synthetic"
            application.processes = 2
            application.supersteps = 50
            application.synthetic = {{ instructions = [1e9], bytes = [1000], shifts = [1], memory = 1e5 }}
            platform.file = {platform:?}
            barrier.shape = "hierarchical"
            scheduler.policy = "adaptive"
        "#
    );
    let folder = Folder::new().with("left.toml", experiment);
    folder.stdout(&["simulate", "left.toml", "--out", "kept"]);
    let moves = folder.stdout(&["verify", "kept"]);
    assert!(moves.contains("with 2 moves verified"), "{moves}");
}
