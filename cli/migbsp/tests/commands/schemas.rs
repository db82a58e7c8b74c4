//! `docs/reference/schemas`: all JSON that commands write is as its schema says, and the schemas say all of it.
//!
//! The schemas are made of the types. With `MIGBSP_UPDATE=1` a test writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use experiments::schemas::Form;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::invocation::{EXPERIMENT, Folder, root};
use crate::joins::FARM;
use crate::live::cluster::HEAT;

/// Commands with the options `--format json` and `--format csv`.
const BOTH: [&str; 38] = [
    "simulate e.toml --out kept --outputs outputs/",
    "simulate e.toml --policy adaptive --out planned",
    "simulate owners.toml --policy adaptive --out owned",
    "simulate owners.toml --policy fixed+dsa --out chosen",
    "simulate farm.toml --out farmed",
    "simulate e.toml --set checkpoint.interval=1superstep --out saved",
    "explain saved",
    "verify saved",
    "explain farmed",
    "explain chosen",
    "explain kept",
    "explain kept --process p1",
    "explain planned",
    "explain planned --superstep 4",
    "simulate e.toml --set application.supersteps=400 --out long",
    "advise long --try",
    "advise long",
    "advise kept",
    "verify kept",
    "verify planned",
    "compare e.toml --seeds 3 --policy none --policy migbsp --assert none<=2*migbsp --out runs",
    "sweep e.toml --set scheduler.interval=2,4 --set run.superstep_limit=100 --policy none --policy migbsp --seeds 1..2 --out swept",
    "compare --from swept",
    "sweep unstable.toml --set application.lbm-kernel.reynolds=0.1,10 --policy none --seeds 1 --out failed",
    "compare zero.toml --seeds 1",
    "rebalance i.json --budget 10steps",
    "rebalance limited.json --target min --budget 10ksteps",
    "rebalance sweep i.json --budget 10steps --points 2",
    "reproduce table1 --ties rank",
    "reproduce chen2008-table2 --instances 1",
    "reproduce du2007-figure1",
    "reproduce du2007-table1 --seeds 1..2",
    "check e.toml",
    "platform show two.xml",
    "cert show ca",
    "chaos --seeds 1..20",
    "up --local 2 --sets 2 -- bench superstep --pairs --h 64 --repetitions 1",
    "up --local 2 -- bench migration --moves 2 --kind gzip --estimator all",
];

/// Commands that need nodes, which take a while to start.
const LIVE: [&str; 4] = [
    "up --local 2 --slow 2:0.2 -- run heat.toml --out live --outputs computed/ --set scheduler.interval=2",
    "up --local 1 --outputs left -- run heat.toml --out listed --outputs nodes",
    "up --local 1 -- status",
    "up --local 2 -- check",
];

/// Files that are objects.
const FILES: [&str; 8] = [
    "saved/i/run.json",
    "kept/i/run.json",
    "kept/iii/run.json",
    "live/iii/run.json",
    "swept/plan.json",
    "outputs/provenance.json",
    "computed/provenance.json",
    "listed/iii/files.json",
];

/// Files in which every line is an object.
const LINES: [&str; 11] = [
    "saved/iii/events.jsonl",
    "farmed/i/events.jsonl",
    "kept/iii/events.jsonl",
    "kept/i/events.jsonl",
    "planned/iii/events.jsonl",
    "owned/iii/events.jsonl",
    "chosen/iii/events.jsonl",
    "live/iii/events.jsonl",
    "runs/runs.jsonl",
    "swept/runs.jsonl",
    "failed/runs.jsonl",
];

/// Keys whose values are the user's.
const FREE: [&str; 2] = ["configuration", "value"];

const INSTANCE: &str = r#"{"machines": ["a", "b"], "capacities": [1, 1], "cluster": [0, 0],
    "bandwidth": {"intra": 1, "inter": 1}, "processes": [[2, 1, 0], [2, 1, 0]], "targets": [2]}"#;

/// A fluid that some values make diverge.
pub(crate) const UNSTABLE: &str = r#"
application.workload = "lbm-kernel"
application.processes = 2
application.supersteps = 1000
application.lbm-kernel = { case = "poiseuille", width = 3, height = 64, reynolds = 0.1 }
platform.file = "two.xml"
"#;

/// An experiment in which nothing takes time.
const ZERO: &str = r#"
application.workload = "synthetic"
application.processes = 2
application.supersteps = 5
application.synthetic = { instructions = [0], shifts = [] }
platform = { file = "two.xml", model = "ideal" }
barrier.shape = "ideal"
"#;

/// Owners' jobs on all hosts.
const OWNERS: &str = r#"
[load]
kind = "jobs"
utilisation = [0.2, 0.6]

[congestion]
kind = "levels"
links = ["between"]
"#;

/// The schema that an object names, and the validator of it.
pub(crate) struct Schema {
    name: String,
    json: Value,
    validator: Validator,
}

impl Schema {
    /// That of `docs/reference/schemas/NAME.json`.
    pub(crate) fn read(name: &str) -> Self {
        let path = root().join(format!("docs/reference/schemas/{name}.json"));
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let json: Value = serde_json::from_str(&text).unwrap();
        assert!(jsonschema::draft202012::meta::is_valid(&json), "{name}");
        let validator = jsonschema::draft202012::new(&json).unwrap();
        Self {
            name: name.to_owned(),
            json,
            validator,
        }
    }

    /// The schema of an object with a `schema`, as `migbsp.simulate/1`.
    pub(crate) fn of(object: &Value) -> Self {
        let named = object["schema"].as_str().unwrap();
        let name = named.strip_prefix("migbsp.").unwrap();
        let schema = Self::read(name.split_once('/').unwrap().0);
        assert_eq!(schema.json["properties"]["schema"]["const"], named);
        schema
    }

    #[track_caller]
    pub(crate) fn check(&self, object: &Value, what: &str) {
        let errors = self.validator.iter_errors(object);
        let errors: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{what}, {}: {errors:#?}", self.name);
    }

    /// No object inside `object` may have a key that the schema does not describe.
    #[track_caller]
    pub(crate) fn check_strictness(&self, object: &Value, what: &str) {
        let mut places = BTreeSet::new();
        objects(object, "", "", &mut places);
        for (_, pointer) in places {
            let mut changed = object.clone();
            let place = changed.pointer_mut(&pointer).unwrap();
            place["undescribed"] = json!("text");
            let is_valid = self.validator.is_valid(&changed);
            assert!(
                !is_valid,
                "{what}, {}: {pointer} may have any key",
                self.name
            );
        }
    }
}

/// The places of objects in `value` that is at `pointer`, one for each way of keys.
fn objects(value: &Value, pointer: &str, keys: &str, places: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(entries) => {
            if !places.iter().any(|(known, _)| known == keys) {
                places.insert((keys.to_owned(), pointer.to_owned()));
            }
            for (key, value) in entries {
                if !FREE.contains(&key.as_str()) {
                    let (pointer, keys) = (format!("{pointer}/{key}"), format!("{keys}/{key}"));
                    objects(value, &pointer, &keys, places);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{pointer}/{index}"), keys, places);
            }
        }
        _ => {}
    }
}

/// The comments at the head of a table as CSV.
fn head(table: &str) -> Value {
    let comments = table.lines().map_while(|line| line.strip_prefix("# "));
    let entry = |comment: &str| {
        let (key, value) = comment.split_once(": ").unwrap();
        (key.to_owned(), serde_json::from_str(value).unwrap())
    };
    Value::Object(comments.map(entry).collect())
}

fn folder() -> Folder {
    let folder = Folder::new()
        .with("i.json", INSTANCE)
        .with(
            "limited.json",
            fs::read(root().join("conf/rebalance/limited.json")).unwrap(),
        )
        .with("heat.toml", HEAT)
        .with("left/other", "")
        .with("farm.toml", FARM)
        .with("unstable.toml", UNSTABLE)
        .with("zero.toml", ZERO)
        .with("owners.toml", format!("{EXPERIMENT}{OWNERS}"));
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    folder
}

/// What `command` prints in `format`.
#[track_caller]
fn printed(folder: &Folder, command: &str, format: &str) -> String {
    let words: Vec<&str> = command.split(' ').chain(["--format", format]).collect();
    let ended = folder.run(&words);
    let has_failures = command.contains("unstable.toml");
    let is_expected = match ended.code {
        Some(0 | 3) => !has_failures,
        Some(1) => has_failures,
        _ => false,
    };
    assert!(is_expected, "{command}: {ended:?}");
    ended.stdout
}

/// Checks an object that `what` has written; the name of its schema.
#[track_caller]
pub(crate) fn check(text: &str, what: &str) -> String {
    let object: Value = serde_json::from_str(text).unwrap();
    let schema = Schema::of(&object);
    schema.check(&object, what);
    schema.check_strictness(&object, what);
    schema.name
}

#[test]
fn all_json_is_as_its_schema_says() {
    let folder = folder();
    let mut used = BTreeSet::new();
    for command in BOTH {
        used.insert(check(&printed(&folder, command, "json"), command));
        // The folder of --out is complete by now.
        let command = command.split(" --out").next().unwrap();
        let head = head(&printed(&folder, command, "csv"));
        let mut schema = Schema::of(&head).json;
        schema["required"] = json!(["schema", "version", "build"]);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(&head), "{command}: {head}");
    }
    for command in LIVE {
        used.insert(check(&printed(&folder, command, "json"), command));
    }
    for file in FILES {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        used.insert(check(&text, file));
    }
    let ring = root().join("conf/dynamic/wan-ring.toml");
    let best = fs::read_to_string(ring.with_extension("best.json")).unwrap();
    used.insert(check(&best, "wan-ring.best.json"));
    let ring = ring.to_str().unwrap();
    for changed in ["application.supersteps=4", "application.processes=4"] {
        let command = format!("compare {ring} --policy none --set {changed}");
        check(&printed(&folder, &command, "json"), &command);
    }
    let live = fs::read_to_string(folder.path().join("live/iii/run.json")).unwrap();
    let live: Value = serde_json::from_str(&live).unwrap();
    let set = json!([{"key": "scheduler.interval", "value": 2, "from": "--set"}]);
    assert_eq!(live["overrides"], set);
    let events = Schema::read("events");
    let mut kinds = BTreeSet::new();
    for file in LINES {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        for line in text.lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            let Some(kind) = object["event"].as_str() else {
                used.insert(check(line, file));
                continue;
            };
            events.check(&object, file);
            if kinds.insert((file, kind.to_owned())) {
                events.check_strictness(&object, file);
            }
        }
    }
    used.insert(events.name);
    // It is checked with its values.
    used.insert("reproduce-santana".to_owned());
    for (folder_of, key) in [("owned", "external"), ("chosen", "choice")] {
        let file = folder.path().join(folder_of).join("iii/events.jsonl");
        let events = fs::read_to_string(file).unwrap();
        assert!(events.contains(&format!("\"{key}\":")), "{key}");
    }
    assert_eq!(used, published());
}

/// No program that ships writes files while it runs.
#[test]
fn the_event_of_a_file_is_as_its_schema_says() {
    let snapshot = record::Snapshot {
        superstep: 7,
        rank: bsp::Rank(2),
        host: bsp::HostId(1),
        name: "best-so_far".parse().unwrap(),
        encoding: bsp::SnapshotEncoding::Bytes,
        bytes: bsp::units::Bytes(9),
        sha256: record::Sha256Digest([0x5a; 32]),
        contents: None,
    };
    let event = serde_json::to_value(record::Event::Snapshot(snapshot)).unwrap();
    let events = Schema::read("events");
    events.check(&event, "a snapshot");
    events.check_strictness(&event, "a snapshot");
    let mut changed = event.clone();
    changed["name"] = json!("../field");
    assert!(!events.validator.is_valid(&changed));
}

#[test]
fn answers_about_records_with_faults_are_as_their_schemas_say() {
    let folder = folder();
    printed(
        &folder,
        "simulate e.toml --out kept --outputs outputs/",
        "json",
    );
    let file = |name: &str| folder.path().join("kept/iii").join(name);
    let events = fs::read_to_string(file("events.jsonl")).unwrap();
    let other = events.replacen("\"threshold\":null", "\"threshold\":0.5", 1);
    fs::write(file("events.jsonl"), other).unwrap();
    let verified = printed(&folder, "verify kept", "json");
    assert!(
        verified.contains("\"recomputed\": \"nothing\""),
        "{verified}"
    );
    check(&verified, "verify");
    let run = fs::read_to_string(file("run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run.as_object_mut().unwrap().remove("results");
    check(&run.to_string(), "run.json.partial");
    fs::write(file("run.json.partial"), run.to_string()).unwrap();
    fs::remove_file(file("run.json")).unwrap();
    fs::write(file("events.jsonl"), &events[..events.len() / 2]).unwrap();
    for command in ["explain kept", "verify kept"] {
        let answer = printed(&folder, command, "json");
        assert!(answer.contains("\"complete\": false"), "{answer}");
        check(&answer, command);
    }
}

/// All forms that programs rely on, by the names of their files.
fn forms() -> BTreeMap<&'static str, Form> {
    let forms = [
        experiments::schemas::forms(),
        analysis::schemas::forms(),
        commands::schemas::forms(),
        chaos::schemas::forms(),
        rebalancing::schemas::forms(),
        reproduce::schemas::forms(),
    ];
    let named = |form: Form| {
        let name = form.name.strip_prefix("migbsp.").unwrap();
        (name.split_once('/').unwrap().0, form)
    };
    forms.into_iter().flatten().map(named).collect()
}

/// The names of the files in `docs/reference/schemas`.
fn published() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("docs/reference/schemas")).unwrap();
    let name = |file: fs::DirEntry| {
        let name = file.file_name().into_string().unwrap();
        name.strip_suffix(".json").unwrap().to_owned()
    };
    files.map(|file| name(file.unwrap())).collect()
}

#[test]
fn schemas_are_made_of_the_types_that_are_written() {
    let forms = forms();
    for (name, form) in &forms {
        let file = root().join(format!("docs/reference/schemas/{name}.json"));
        let schema = serde_json::to_string_pretty(&form.schema).unwrap() + "\n";
        if env::var_os("MIGBSP_UPDATE").is_some() {
            fs::write(&file, &schema).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        let file = file.display();
        assert!(
            kept == schema,
            "{file}: not as types say; MIGBSP_UPDATE=1 writes it anew"
        );
    }
    assert!(forms.keys().copied().eq(published()), "a schema of no form");
}

#[test]
fn every_schema_is_listed() {
    let page = fs::read_to_string(root().join("docs/reference/results.md")).unwrap();
    for (name, form) in forms() {
        let link = format!("[`{name}.json`](schemas/{name}.json)");
        for entry in [link, format!("`{}`", form.name)] {
            assert!(
                page.contains(&entry),
                "docs/reference/results.md lacks {entry}"
            );
        }
    }
}
