//! Records that earlier versions have written.
//!
//! `cli/migbsp/tests/records` has a folder for each version, with records as that version wrote them. They are never written
//! again.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use analysis::report::ReportedRun;
use analysis::verify::verify;
use experiments::Registry;

use crate::invocation::{Folder, root};

/// Every old record.
fn records() -> Vec<PathBuf> {
    let list = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let versions = list(root().join("cli/migbsp/tests/records"));
    versions.into_iter().flat_map(list).collect()
}

#[test]
fn records_of_earlier_versions_are_read_and_decided_again_where_rules_are_the_same() {
    let registry = Registry::shipped();
    let mut kinds = BTreeSet::new();
    for record in records() {
        let name = record.display();
        let (report, ended) = verify(&record, &registry).unwrap();
        ended.unwrap();
        // The rules of the papers stay. Those of other policies become better, and then decide differently.
        let names = ["run.json", "run.json.partial"].map(|name| record.join(name));
        let manifest = names.iter().find_map(|name| fs::read_to_string(name).ok());
        let manifest: serde_json::Value = serde_json::from_str(&manifest.unwrap()).unwrap();
        if manifest["policy"] == "migbsp" {
            assert_eq!(report.first(), None, "{name}");
        }
        ReportedRun::read("old", &record, None).unwrap();
        let take = |event| {
            let event = serde_json::to_value(event).unwrap();
            kinds.insert(event["event"].as_str().unwrap().to_owned());
        };
        record::scan(&record, |_| true, take).unwrap();
    }
    // A record of each kind of event is among those of 0.1.0.
    let expected = [
        "call",
        "checkpoint",
        "end",
        "evaluated",
        "join",
        "moved",
        "observed",
        "run",
        "snapshot",
        "superstep",
    ];
    assert_eq!(kinds, expected.map(str::to_owned).into());
}

#[test]
fn a_record_of_another_version_is_refused_with_the_build_that_wrote_it() {
    let old = root().join("cli/migbsp/tests/records/0.1.0/migbsp");
    let folder = Folder::new();
    let copy = |events: &dyn Fn(String) -> String, run: &dyn Fn(String) -> String| {
        fs::create_dir_all(folder.path().join("kept")).unwrap();
        for (name, change) in [("events.jsonl", events), ("run.json", run)] {
            let text = fs::read_to_string(old.join(name)).unwrap();
            fs::write(folder.path().join("kept").join(name), change(text)).unwrap();
        }
    };
    let same = |text: String| text;
    let built = "it was written by migbsp 0.1.0 (build ";
    let with = "): read it with that version, or a later one";
    copy(&same, &|text| {
        text.replace("migbsp.run/1", "migbsp.run/2")
            .replace("\"scenario\"", "\"scene\"")
    });
    let ended = folder.run(&["verify", "kept"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let begin =
        "error: kept/run.json: schema \"migbsp.run/2\"; this program reads \"migbsp.run/1\"; ";
    assert!(
        ended.stderr.starts_with(&format!("{begin}{built}")),
        "{ended:?}"
    );
    assert!(ended.stderr.trim_end().ends_with(with), "{ended:?}");
    copy(
        &|text| text.replace("migbsp.events/1", "migbsp.events/3"),
        &same,
    );
    let ended = folder.run(&["explain", "kept"]);
    assert!(
        ended.stderr.contains(built) && ended.stderr.contains(with),
        "{ended:?}"
    );
    // Keys that a later version has added are ignored, and those that it has not are named with what is assumed.
    let newer = |text: String| {
        let text = text.replacen(
            "\"scheduler\": {",
            "\"scheduler\": {\n\"gravity\": 9.81,",
            1,
        );
        text.replacen("\"load_window\"", "\"window_of_load\"", 1)
    };
    copy(
        &|text| {
            text.replacen(
                "{\"event\":\"superstep\",",
                "{\"event\":\"superstep\",\"mood\":1,",
                1,
            )
        },
        &newer,
    );
    let ended = folder.run(&["verify", "kept"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for said in [
        "kept: this version does not know `scheduler.gravity` of the record, and ignores it",
        "kept: the record does not say `scheduler.load_window`; this version assumes ",
    ] {
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
}
