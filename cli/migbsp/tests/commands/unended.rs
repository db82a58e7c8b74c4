//! Records of runs that did not end.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::invocation::{Folder, root};
use crate::live::under_way::UnderWay;

/// The record of scenario iii of an experiment whose run stops somewhere: at first the whole record.
struct Cut {
    folder: Folder,
    place: PathBuf,
    events: String,
}

impl Cut {
    fn new() -> Self {
        let folder = Folder::new();
        let file = root().join("conf/lbm.toml");
        let file = file.to_str().unwrap();
        let few = ["--set", "application.supersteps=60"];
        folder.stdout(&[&["simulate", file, "--out", "kept"], &few[..]].concat());
        let place = folder.path().join("kept/iii");
        let events = fs::read_to_string(place.join("events.jsonl")).unwrap();
        Self {
            folder,
            place,
            events,
        }
    }

    /// Has the run be cut off after the first `length` bytes of its events.
    fn after(&self, length: usize) {
        let run = self.place.join("run.json");
        if let Ok(text) = fs::read_to_string(&run) {
            let mut description: Value = serde_json::from_str(&text).unwrap();
            description
                .as_object_mut()
                .unwrap()
                .remove("results")
                .unwrap();
            fs::write(self.place.join("run.json.partial"), description.to_string()).unwrap();
            fs::remove_file(run).unwrap();
        }
        fs::write(self.place.join("events.jsonl"), &self.events[..length]).unwrap();
    }

    /// The length of the events up to the one before `event`.
    fn before(&self, event: &str) -> usize {
        self.events.find(event).unwrap()
    }
}

#[test]
fn a_run_that_did_not_end_is_explained_and_verified_as_far_as_it_goes() {
    let cut = Cut::new();
    let folder = &cut.folder;
    let whole = folder.stdout(&["verify", "kept"]);
    let superstep = cut.before(r#"{"event":"superstep","index":20,"#);
    cut.after(superstep + 20);
    let note = "The run did not end, or goes on: the record stops after 20 supersteps. Its last line is cut off, and is \
                ignored.";
    let explained = folder.stdout(&["explain", "kept"]);
    let (head, rest) = explained.split_once("\n\n").unwrap();
    assert!(head.contains("25 processes, 20 supersteps in "), "{head}");
    assert!(rest.starts_with(note), "{rest}");
    let verified = folder.stdout(&["verify", "kept"]);
    assert!(verified.contains(&format!("\n\n{note}\n\n")), "{verified}");
    // The calls of this part are those of the whole run.
    let calls = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.ends_with("  verified"));
        rows.map(str::to_owned).collect()
    };
    let (part, whole) = (calls(&verified), calls(&whole));
    assert!(!part.is_empty() && part.len() < whole.len(), "{verified}");
    assert_eq!(part[..], whole[..part.len()]);
    for command in ["explain", "verify"] {
        let json = folder.stdout(&[command, "kept", "--format", "json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["complete"], false, "{command}");
    }
    // Where a whole line is the last one, nothing is ignored.
    cut.after(superstep);
    let explained = folder.stdout(&["explain", "kept", "--process", "p1"]);
    assert!(
        explained.contains("stops after 20 supersteps.\n"),
        "{explained}"
    );
}

#[test]
fn wherever_a_run_is_cut_off_it_is_answered_for_or_refused() {
    let cut = Cut::new();
    let lines: Vec<usize> = cut
        .events
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .collect();
    let call = cut.before(r#"{"event":"call""#);
    let places = [
        lines[0],
        lines[0] + 3,
        lines[1],
        call,
        call + 100,
        lines[lines.len() - 2],
    ];
    for length in places.into_iter().chain([cut.events.len()]) {
        cut.after(length);
        for words in [
            &["explain", "kept"][..],
            &["explain", "kept", "--process", "p3", "--svg", "a.svg"],
            &["explain", "kept", "--format", "csv"],
            &["verify", "kept"],
            &["verify", "kept", "--format", "csv"],
        ] {
            let ended = cut.folder.run(words);
            assert_eq!(ended.code, Some(0), "{length}: {words:?}: {ended:?}");
        }
    }
    let verified = cut.folder.stdout(&["verify", "kept"]);
    let note =
        "The run ended after 60 supersteps, but its result is missing: there is no run.json.";
    assert!(verified.contains(note), "{verified}");
    // What is not cut off but changed is no part of a run.
    let first = cut.events.replacen("\"index\":1,", "\"index\":2,", 1);
    fs::write(cut.place.join("events.jsonl"), first).unwrap();
    assert_eq!(cut.folder.run(&["verify", "kept"]).code, Some(4));
    fs::write(cut.place.join("events.jsonl"), "").unwrap();
    assert_eq!(cut.folder.run(&["explain", "kept"]).code, Some(4));
}

#[test]
fn a_folder_is_used_again_unless_its_record_is_complete() {
    let cut = Cut::new();
    let folder = &cut.folder;
    fs::write(cut.place.join("notes.txt"), "mine").unwrap();
    cut.after(cut.before(r#"{"event":"superstep","index":20,"#));
    let simulate = ["simulate", "e.toml", "--out", "kept"];
    let complete =
        "--out: kept/i holds a complete record; name another directory, or replace it with --force";
    folder.fails(&simulate, 2, complete);
    let only = ["--set", "scheduler.scenario=iii"];
    folder.stdout(&[&simulate[..], &only].concat());
    let verified = folder.stdout(&["verify", "kept/iii"]);
    assert!(verified.contains("4 processes"), "{verified}");
    assert!(!cut.place.join("run.json.partial").exists());
    // The record of the attempt before is kept, and is not the one that a question about the folder means.
    let before = folder.stdout(&["explain", "kept/iii.1"]);
    assert!(
        before.contains("the record stops after 20 supersteps"),
        "{before}"
    );
    let newest = folder.stdout(&["explain", "kept"]);
    assert!(
        newest.starts_with("kept/iii: scenario iii, 4 processes"),
        "{newest}"
    );
    folder.fails(
        &[&simulate[..], &only].concat(),
        2,
        &complete.replace("kept/i ", "kept/iii "),
    );
    folder.stdout(&[&simulate[..], &["--force"]].concat());
    folder.stdout(&["verify", "kept/i"]);
    assert_eq!(
        fs::read_to_string(cut.place.join("notes.txt")).unwrap(),
        "mine"
    );
    let alone = folder.run(&["simulate", "e.toml", "--force"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
}

#[test]
fn a_run_that_fails_or_is_interrupted_leaves_the_reason() {
    let folder = Folder::new();
    let lu = root().join("conf/lu-kernel.toml");
    let lu = [
        "simulate",
        lu.to_str().unwrap(),
        "--out",
        "kept",
        "--compress",
    ];
    let limit = [
        "--set",
        "run.superstep_limit=9",
        "--set",
        "scheduler.scenario=i",
    ];
    let reason = "p1 had not halted after 9 supersteps; if it needs more, raise the limit (in experiments \
                  `run.superstep_limit`)";
    folder.fails(&[&lu[..], &limit].concat(), 1, reason);
    let said = format!("The run failed after 9 supersteps: {reason}.");
    for command in ["explain", "verify"] {
        let text = folder.stdout(&[command, "kept"]);
        assert!(text.contains(&said), "{text}");
    }
    let long = ["--set", "application.supersteps=1000000", "--out", "long"];
    let child = folder.command(&[&["simulate", "e.toml"], &long[..]].concat());
    let child = UnderWay::start({ child }.current_dir(folder.path()));
    let events = folder.path().join("long/i/events.jsonl");
    while fs::metadata(&events).map_or(0, |events| events.len()) < 10_000 {
        std::thread::yield_now();
    }
    child.signal("INT");
    let ended = child.ends_within(10);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended
            .stderr
            .starts_with("error: interrupted: what was complete is in long/"),
        "{ended:?}"
    );
    let text = folder.stdout(&["explain", "long/i"]);
    assert!(text.contains("The run was interrupted after "), "{text}");
    assert!(text.contains(" supersteps (SIGINT).\n"), "{text}");
}
