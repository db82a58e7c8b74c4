//! `rebalance import` and `rebalance export`: LB data of vt.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::invocation::{Folder, root};

/// The files of two ranks.
const FILES: [(&str, &str); 2] = [
    (
        "data.0.json",
        r#"{"metadata": {"rank": 0, "type": "LBDatafile"}, "phases": [{"id": 4, "tasks": [
          {"entity": {"type": "object", "id": 5, "home": 0, "migratable": true}, "node": 0, "resource": "cpu", "time": 0.5},
          {"entity": {"type": "object", "id": 6, "home": 0, "migratable": false}, "node": 0, "resource": "cpu", "time": 0.25}],
          "communications": [{"type": "SendRecv", "messages": 1, "bytes": 8.0, "from": {"type": "object", "id": 5},
          "to": {"type": "object", "id": 7}}]}]}"#,
    ),
    (
        "data.1.json",
        r#"{"type": "LBDatafile", "phases": [{"id": 4, "tasks": [
          {"entity": {"type": "object", "id": 7, "home": 1, "migratable": true}, "node": 1, "resource": "cpu", "time": 0.125,
           "user_defined": {"shared_id": 3, "shared_bytes": 100.0}}]}]}"#,
    ),
];

fn folder() -> Folder {
    let files = FILES.iter();
    files.fold(Folder::new(), |folder, (name, text)| {
        folder.with(&format!("vt/{name}"), text)
    })
}

/// Replaces `from` in the file of `rank`, which makes an import fail.
#[track_caller]
fn check(rank: usize, from: &str, to: &str, message: &str) {
    let (name, text) = FILES[rank];
    assert!(text.contains(from), "{from}");
    let folder = folder().with(&format!("vt/{name}"), text.replacen(from, to, 1));
    folder.fails(&["rebalance", "import", "vt"], 4, message);
    assert!(!folder.path().join("out").exists());
}

#[test]
fn invalid_files_are_located() {
    let seconds = "must be a number of seconds, 0 or from 1e-9 to 1e15\n  --> vt/data.0.json";
    for (from, to, message) in [
        ("0.5}", "-0.5}", format!("invalid value `-0.5` for `phases[0].tasks[0].time`: {seconds}")),
        ("0.5}", "null}", "missing key `phases[0].tasks[0].time`\n  --> vt/data.0.json".to_owned()),
        ("0.5}", "\"1 s\"}", format!("invalid value `\"1 s\"` for `phases[0].tasks[0].time`: {seconds}")),
        ("0.5}", "1e999}", "`phases[0].tasks[0]`: number out of range\n  --> vt/data.0.json".to_owned()),
        ("0.5}", "Infinity}", "invalid JSON: expected value\n  --> vt/data.0.json:2:120".to_owned()),
        ("8.0", "-8", "invalid value `-8` for `phases[0].communications[0].bytes`: must be a number of bytes, 0 or from 1e-9 to 1e15\n  --> vt/data.0.json".to_owned()),
        ("\"node\": 0", "\"node\": 1", "invalid value `1` for `phases[0].tasks[0].node`: must be 0, the rank in the file's name\n  --> vt/data.0.json".to_owned()),
        ("\"rank\": 0", "\"rank\": 1", "invalid value `1` for `metadata.rank`: must be 0, the rank in the file's name\n  --> vt/data.0.json".to_owned()),
        ("LBDatafile", "LBStatsfile", "invalid value `LBStatsfile` for `type`: must be `LBDatafile`\n  --> vt/data.0.json".to_owned()),
        ("\"id\": 4", "\"id\": 5", "`phases`: there is no phase that all ranks have: it has 4, none of which all ranks before 1 have\n  --> vt/data.1.json".to_owned()),
        ("\"id\": 4", "\"id\": -4", "invalid value `-4` for `phases[0].id`: must be a whole number of at least 0\n  --> vt/data.0.json".to_owned()),
        ("\"id\": 6", "\"id\": 7", "`tasks`: task `7` is in vt/data.0.json as well; must be on one rank, once\n  --> vt/data.1.json".to_owned()),
        ("\"id\": 6", "\"ids\": 6", "`phases[0].tasks[1].entity`: missing key `id` or `seq_id`\n  --> vt/data.0.json".to_owned()),
        ("\"object\", \"id\": 6", "\"node\", \"id\": 6", "invalid value `\"node\"` for `phases[0].tasks[1].entity.type`: must be `object`\n  --> vt/data.0.json".to_owned()),
        ("\"migratable\": false", "\"migratable\": 0", "invalid value `0` for `phases[0].tasks[1].entity.migratable`: must be true or false\n  --> vt/data.0.json".to_owned()),
        ("\"phases\": [", "\"phases\": 3, \"p\": [", "`phases`: must be a list\n  --> vt/data.0.json".to_owned()),
        ("\"phases\"", "\"phase\"", "unknown key `phase`\n  --> vt/data.0.json\n  help: did you mean `phases`?".to_owned()),
        ("\"phases\"", "\"steps\"", "missing key `phases`\n  --> vt/data.0.json".to_owned()),
        ("\"tasks\": [", "\"tasks\": 3, \"p\": [", "`phases[0].tasks`: must be a list\n  --> vt/data.0.json".to_owned()),
        ("}]}]}", "}]}", "invalid JSON: EOF while parsing a list\n  --> vt/data.0.json:5:46".to_owned()),
    ] {
        check(0, from, to, &message);
    }
    let block = r#"0.125, "user_defined": {"shared_id": 3, "shared_bytes": 1}}, {"entity": {"type": "object", "id": 8, "migratable": true}, "node": 1, "time": 1"#;
    check(
        1,
        "0.125",
        block,
        "`shared_bytes`: block 3 has 100 bytes at task `8`, and 1 at task `7` in vt/data.1.json; must be the same for \
         all its tasks\n  --> vt/data.1.json",
    );
}

#[test]
fn ranks_have_one_file_each() {
    let import = ["rebalance", "import", "vt"];
    let broken = folder().with("vt/data.1.json.br", "\u{b}");
    broken.fails(
        &import,
        4,
        "a second file of rank 1, after vt/data.1.json; must be one for each rank\n  --> vt/data.1.json.br",
    );
    fs::remove_file(broken.path().join("vt/data.1.json")).unwrap();
    broken.fails(
        &import,
        4,
        "the contents are neither a JSON object nor compressed with Brotli; must be LB data of vt\n  --> vt/data.1.json.br",
    );
    let whole = fs::read(root().join("conf/rebalance/vt/data.1.json.br")).unwrap();
    let cut = folder().with("vt/data.0.json", &whole[..whole.len() / 2]);
    let ended = cut.run(&import);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .starts_with("error: the Brotli stream is cut off or damaged after "),
        "{ended:?}"
    );
    let folder = folder().with("vt/data.3.json", "{}");
    folder.fails(
        &import,
        4,
        "there is no file of rank 2, and one of rank 3; must be one for each rank from 0 on\n  --> vt/data.3.json",
    );
    folder.fails(
        &[
            "rebalance",
            "import",
            "vt/data.0.json",
            "vt/data.1.json",
            "--phase",
            "3",
        ],
        4,
        "`phases`: there is no phase 3: it has 4\n  --> vt/data.0.json",
    );
    folder.fails(
        &["rebalance", "import", "vt/data.0.json", "none"],
        4,
        "none: cannot be read: No such file or directory (os error 2)",
    );
}

/// Each file in `folder`, by name.
fn contents(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let named = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    named.collect()
}

#[test]
fn a_plan_goes_back_into_the_files_it_is_from() {
    let sample = root().join("conf/rebalance/vt");
    let sample = sample.to_str().unwrap();
    let folder = Folder::new();
    let import = |from: &str| folder.stdout(&["rebalance", "import", from, "--memory", "2000"]);
    let instance = import(sample);
    fs::write(folder.path().join("vt.json"), &instance).unwrap();
    let solve = [
        "rebalance",
        "vt.json",
        "--budget",
        "100 ksteps",
        "--format",
        "json",
    ];
    let plan = folder.stdout(&[&solve[..], &["--target", "3.3", "--target", "9"]].concat());
    fs::write(folder.path().join("plan.json"), &plan).unwrap();
    let export = |target: &str, out: &str| {
        folder.run(&[
            "rebalance",
            "export",
            "plan.json",
            sample,
            "--target",
            target,
            "--out",
            out,
        ])
    };
    // No task has to move.
    assert_eq!(export("9", "same").code, Some(0));
    assert_eq!(import("same"), instance);
    assert_eq!(export("3.3", "moved").code, Some(0));
    let names: Vec<String> = contents(&folder.path().join("moved")).into_keys().collect();
    assert_eq!(
        names,
        [
            "data.0.json",
            "data.1.json.br",
            "data.2.json",
            "data.3.json"
        ]
    );
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let mut expected: Value = serde_json::from_str(&instance).unwrap();
    let places = plan["solutions"][0]["assignment"].as_array().unwrap();
    for (process, place) in expected["processes"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .zip(places)
    {
        process["machine"] = place.as_str().unwrap().parse::<u64>().unwrap().into();
    }
    assert_ne!(plan["solutions"][0]["migrations"], 0);
    assert_eq!(
        serde_json::from_str::<Value>(&import("moved")).unwrap(),
        expected
    );
}

#[test]
fn an_export_that_fails_writes_nothing() {
    let folder = folder();
    let instance = folder.stdout(&["rebalance", "import", "vt"]);
    let folder = folder.with("vt.json", instance);
    let arguments = [
        "rebalance",
        "vt.json",
        "--target",
        "9",
        "--budget",
        "1 ksteps",
        "--format",
        "json",
    ];
    let plan = folder.stdout(&arguments);
    let folder = folder
        .with("plan.json", &plan)
        .with(
            "pinned.json",
            plan.replacen("\"0\",\n        \"0\",", "\"0\",\n        \"1\",", 1),
        )
        .with(
            "other.json",
            plan.replacen(
                "loads_initial\": [\n    0.75",
                "loads_initial\": [\n    0.5",
                1,
            ),
        )
        .with("there/data.1.json", "mine");
    let fails = |plan: &str, out: &str, code: i32, message: &str| {
        folder.fails(
            &["rebalance", "export", plan, "vt", "--out", out],
            code,
            message,
        );
    };
    fails(
        "pinned.json",
        "out",
        4,
        "the plan moves task `6` from rank 0 to 1, and it is not migratable\n  --> pinned.json",
    );
    fails(
        "other.json",
        "out",
        4,
        "the plan begins with 0.5 s on rank 0, and the phase has 0.75 s there; must be the plan of an import of these \
         files and of this phase\n  --> other.json",
    );
    fails(
        "vt.json",
        "out",
        4,
        "the plan is invalid: invalid type: map, expected a string; must be the output of `migbsp rebalance INSTANCE --format json`\n  \
         --> vt.json:12:4",
    );
    assert!(!folder.path().join("out").exists());
    fails(
        "plan.json",
        "there",
        2,
        "--out there: there/data.1.json exists; must be a folder without files of ranks",
    );
    assert_eq!(
        contents(&folder.path().join("there")),
        BTreeMap::from([("data.1.json".to_owned(), b"mine".to_vec())])
    );
    folder.stdout(&["rebalance", "export", "plan.json", "vt", "--out", "out"]);
    let copied = contents(&folder.path().join("out"));
    assert_eq!(copied, contents(&folder.path().join("vt")));
}

#[test]
fn stderr_names_what_is_not_imported() {
    let sample = root().join("conf/rebalance/vt");
    let ended = Folder::new().run(&["rebalance", "import", sample.to_str().unwrap()]);
    assert_eq!(
        ended.stderr,
        " WARN 8 of 20 communications are no exchange of two tasks: 4 Broadcast, 4 with an end that is no task of the phase; \
         4 tasks have neither task_serialized_bytes nor task_footprint_bytes; their size is 1 MB\n"
    );
    assert!(
        ended
            .stdout
            .starts_with("{\n  \"name\": \"data phase 1\",\n"),
        "{}",
        ended.stdout
    );
    let ended = Folder::new().run(&[
        "rebalance",
        "import",
        sample.to_str().unwrap(),
        "--memory",
        "50",
    ]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("rank 0 occupies 70 MB without its tasks"),
        "{}",
        ended.stderr
    );
}
