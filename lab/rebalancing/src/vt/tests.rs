//! Import and export of generated files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use experiments::OutputFile;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::{collection, option};
use serde_json::{Value, json};

use super::*;
use crate::instance::Instance;
use crate::vt::files::compress;

/// A task as a test writes it.
#[derive(Clone, Debug)]
struct Drawn {
    rank: usize,
    /// `id`, or `seq_id`.
    is_packed: bool,
    is_migratable: bool,
    /// Quarters of a second.
    quarters: u16,
    block: Option<u8>,
    /// `rank_working_bytes`, drawn for each task, as after a migration by LBAF.
    base: Option<u16>,
}

/// A folder with the files of ranks.
struct Ranks {
    folder: tempfile::TempDir,
}

impl Ranks {
    /// `files` by name.
    fn new(files: &[OutputFile]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file.name()), file.contents()).unwrap();
        }
        Self { folder }
    }

    fn paths(&self) -> [PathBuf; 1] {
        [self.folder.path().to_owned()]
    }

    fn imported(&self) -> Instance {
        let imported = import(&self.paths(), ImportOptions::default());
        imported.unwrap().instance
    }

    /// Files `d.RANK.json` with these texts.
    fn of(texts: &[&str]) -> Self {
        let files = texts.iter().enumerate();
        let files: Vec<OutputFile> = files
            .map(|(rank, text)| OutputFile::new(&format!("d.{rank}.json"), *text))
            .collect();
        Self::new(&files)
    }

    fn text(&self, rank: usize) -> String {
        fs::read_to_string(self.folder.path().join(format!("d.{rank}.json"))).unwrap()
    }

    fn phase(&self, phase: u64) -> Instance {
        let options = ImportOptions {
            phase: Some(phase),
            ..ImportOptions::default()
        };
        import(&self.paths(), options).unwrap().instance
    }

    /// After a plan that puts each process on one of `ranks`.
    fn exported(&self, ranks: &[usize]) -> Self {
        let instance = self.imported();
        let mut loads = vec![0.0; instance.machines.len()];
        for process in &instance.processes {
            loads[process.machine] += process.workload;
        }
        let assignment: Vec<&String> = ranks.iter().map(|rank| &instance.machines[*rank]).collect();
        let plan = json!({
            "schema": "migbsp.rebalance/1",
            "machines": instance.machines,
            "loads_initial": loads,
            "solutions": [{"target": 1.0, "assignment": assignment}],
        });
        let source = PlanSource {
            name: "plan.json",
            text: &plan.to_string(),
            target: None,
            phase: None,
        };
        Self::new(&export(source, &self.paths()).unwrap().files)
    }
}

fn files(ranks: usize, tasks: &[Drawn], pairs: &[(usize, usize, bool)]) -> Vec<OutputFile> {
    let entity = |at: usize| {
        let key = if tasks[at].is_packed { "id" } else { "seq_id" };
        let is_migratable = tasks[at].is_migratable;
        json!({"type": "object", "home": tasks[at].rank, "migratable": is_migratable, "collection_id": 7, key: at + 1})
    };
    let task = |at: usize| {
        let one = &tasks[at];
        let mut user = BTreeMap::from([("other", json!({"{": [1e300]}))]);
        if let Some(block) = one.block {
            user.insert("shared_id", json!(block));
            user.insert("shared_bytes", json!(1000 * u32::from(block)));
        }
        if let Some(base) = one.base {
            user.insert("rank_working_bytes", json!(f64::from(base)));
        }
        let time = f64::from(one.quarters) / 4.0;
        json!({"entity": entity(at), "node": one.rank, "resource": "cpu", "time": time, "user_defined": user})
    };
    let file = |rank: usize| {
        let own = (0..tasks.len()).filter(|at| tasks[*at].rank == rank);
        let sent = pairs.iter().filter_map(|(from, to, is_receivers)| {
            let (from, to) = (from % tasks.len(), to % tasks.len());
            let place = if *is_receivers { to } else { from };
            (tasks[place].rank == rank).then(|| {
                json!({"type": "SendRecv", "from": entity(from), "to": entity(to), "messages": 1, "bytes": 0.1})
            })
        });
        let phase = json!({
            "id": 3,
            "tasks": own.map(task).collect::<Vec<_>>(),
            "communications": sent.collect::<Vec<_>>(),
        });
        let text =
            json!({"type": "LBDatafile", "phases": [{"id": 1, "x": 1e-7}, phase]}).to_string();
        match rank % 2 {
            0 => OutputFile::new(&format!("data.{rank}.json"), text),
            _ => OutputFile::new(&format!("data.{rank}.json.br"), compress(&text)),
        }
    };
    (0..ranks).map(file).collect()
}

fn drawn(ranks: usize) -> impl Strategy<Value = Drawn> {
    let flags = (
        prop_oneof![Just(true), Just(false)],
        prop_oneof![Just(true), Just(false)],
    );
    let sizes = (0_u16..40, option::of(0_u8..4), option::of(0_u16..4));
    (0..ranks, flags, sizes).prop_map(
        |(rank, (is_packed, is_migratable), (quarters, block, base))| Drawn {
            rank,
            is_packed,
            is_migratable,
            quarters,
            block,
            base,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_export_imports_as_the_plan_says_and_is_the_same_in_all_else(
        tasks in collection::vec(drawn(3), 1..8),
        pairs in collection::vec((0_usize..8, 0_usize..8, prop_oneof![Just(true), Just(false)]), 0..6),
        moves in collection::vec(0_usize..3, 8),
    ) {
        let ranks = Ranks::new(&files(3, &tasks, &pairs));
        let before = ranks.imported();
        let initial: Vec<usize> = before.processes.iter().map(|process| process.machine).collect();
        prop_assert_eq!(ranks.exported(&initial).imported().json(), before.json());
        let mut after = before.clone();
        for (process, rank) in after.processes.iter_mut().zip(&moves) {
            if process.movable {
                process.machine = *rank;
            }
        }
        let places: Vec<usize> = after.processes.iter().map(|process| process.machine).collect();
        let exported = ranks.exported(&places);
        prop_assert_eq!(exported.imported(), after);
        // The way back.
        prop_assert_eq!(exported.exported(&initial).imported(), before);
        for rank in 0..3 {
            let name = format!("data.{rank}.json{}", if rank % 2 == 0 { "" } else { ".br" });
            prop_assert!(exported.folder.path().join(name).exists());
        }
    }
}

#[test]
fn an_export_keeps_all_that_it_does_not_change() {
    let texts = [
        r#"{"type": "LBDatafile", "phases": [ {"id": 0, "y": 1.50e+3}, {"id": 1, "z": 1E2, "tasks": [
            {"entity": {"type": "object", "id": 5, "home": 0, "migratable": true}, "node": 0, "time": 0.10, "a": 1e-2},
            {"entity": {"type": "object", "id": 6, "home": 0, "migratable": true}, "node": 0, "time": 2}
        ]}]}"#,
        r#"{"phases": [{"id": 1}], "type": "LBDatafile", "w": null}"#,
    ];
    let ranks = Ranks::of(&texts);
    let same = ranks.exported(&[0, 0]);
    assert_eq!([same.text(0), same.text(1)], texts);
    let moved = ranks.exported(&[1, 0]);
    let task = r#"{"entity": {"type": "object", "id": 6, "home": 0, "migratable": true}, "node": 0, "time": 2}"#;
    assert_eq!(
        moved.text(0),
        format!(
            r#"{{"type":"LBDatafile","phases":[{{"id":0,"y":1.50e+3}},{{"id":1,"z":1E2,"tasks":[{task}]}}]}}"#
        )
    );
    assert_eq!(
        moved.text(1),
        r#"{"phases":[{"id":1,"tasks":[{"entity":{"type": "object", "id": 5, "home": 0, "migratable": true},"node":1,"time":0.10,"a":1e-2}]}],"type":"LBDatafile","w":null}"#
    );
}

#[test]
fn a_rank_without_tasks_keeps_its_memory() {
    let task = Drawn {
        rank: 0,
        is_packed: true,
        is_migratable: true,
        quarters: 4,
        block: None,
        base: Some(3),
    };
    let ranks = Ranks::new(&files(2, &[task], &[]));
    let moved = ranks.exported(&[1]);
    let text = fs::read_to_string(moved.folder.path().join("data.0.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        file["phases"][1]["user_defined"],
        json!({"rank_working_bytes": 3.0})
    );
    let options = ImportOptions {
        memory: Some(5e-6),
        ..ImportOptions::default()
    };
    let memory = |ranks: &Ranks| import(&ranks.paths(), options).unwrap().instance.memory;
    assert_eq!(memory(&ranks), Some(vec![2e-6, 5e-6]));
    assert_eq!(memory(&moved), memory(&ranks));
}

/// The edges of an instance: two processes, and bytes.
fn edges(instance: &Instance) -> Vec<(usize, usize, f64)> {
    let edges = instance.edges.iter();
    edges
        .map(|edge| (edge.processes.0, edge.processes.1, edge.bytes))
        .collect()
}

/// `data/ccm_example` of LBAF, with `id` in place of `seq_id`, and ends of communications as `end` writes them.
fn ccm(entity: impl Fn(u32) -> Value, end: impl Fn(u32) -> Value) -> Ranks {
    let task = |id: u32, node: u32, time: f64| json!({"entity": entity(id), "node": node, "resource": "cpu", "time": time});
    let sent = |bytes: f64, from: u32, to: u32| json!({"type": "SendRecv", "messages": 1, "bytes": bytes, "from": end(from), "to": end(to)});
    let file = |tasks: &[Value], communications: &[Value]| {
        let phase = json!({"id": 0, "tasks": tasks, "communications": communications});
        json!({"metadata": {"type": "LBDatafile"}, "phases": [phase]}).to_string()
    };
    let first = file(
        &[task(0, 0, 2.0), task(1, 0, 3.5)],
        &[
            sent(10_000.0, 0, 2),
            sent(15_000.0, 1, 2),
            sent(25_000.0, 0, 1),
        ],
    );
    let second = file(&[task(2, 1, 5.0)], &[sent(20_000.0, 2, 1)]);
    Ranks::of(&[&first, &second])
}

#[test]
fn id_0_is_a_task_if_the_phase_has_one() {
    let entity = |is_migratable: bool| move |id: u32| json!({"type": "object", "id": id, "home": 0, "collection_id": 7, "migratable": is_migratable || id != 0});
    let end = |id: u32| json!({"type": "object", "id": id});
    let explicit = |id: u32| json!({"type": "object", "id": id, "migratable": id != 0});
    // As LBAF's reader has them: both ends are tasks of the phase, whatever `migratable` says. A task 0 that may not
    // move is the last process.
    let all = vec![(0, 1, 25_000.0), (0, 2, 10_000.0), (1, 2, 35_000.0)];
    let pinned = vec![(0, 1, 35_000.0), (0, 2, 25_000.0), (1, 2, 10_000.0)];
    assert_eq!(edges(&ccm(entity(true), end).imported()), all);
    assert_eq!(edges(&ccm(entity(false), end).imported()), pinned);
    assert_eq!(edges(&ccm(entity(false), explicit).imported()), pinned);
    // No task 0 is meant where an end says that it may not move and the task may.
    assert_eq!(
        edges(&ccm(entity(true), explicit).imported()),
        [(1, 2, 35_000.0)]
    );
    // A communication goes with its task 0.
    let moved = ccm(entity(true), end).exported(&[1, 0, 1]);
    let counts = [0, 1].map(|rank| {
        let file: Value = serde_json::from_str(&moved.text(rank)).unwrap();
        let sent = file["phases"][0]["communications"].as_array();
        sent.unwrap()
            .iter()
            .map(|one| one["bytes"].as_f64().unwrap())
            .sum::<f64>()
            .to_string()
    });
    assert_eq!(counts, ["15000", "55000"]);
}

#[test]
fn id_0_of_several_ranks_is_no_task() {
    let file = |rank: u32, id: u32| {
        let task = |id: u32| {
            json!({"entity": {"type": "object", "id": id, "home": rank, "migratable": id != 0},
            "node": rank, "time": 1.0})
        };
        let end = |id: u32| json!({"type": "object", "id": id});
        let sent =
            json!({"type": "SendRecv", "messages": 1, "bytes": 8.0, "from": end(0), "to": end(id)});
        json!({"phases": [{"id": 0, "tasks": [task(id), task(0)], "communications": [sent]}]})
            .to_string()
    };
    let ranks = Ranks::of(&[&file(0, 5), &file(1, 6)]);
    assert_eq!(edges(&ranks.imported()), []);
    let imported = import(&ranks.paths(), ImportOptions::default()).unwrap();
    assert_eq!(
        imported.notes[0],
        "2 of 2 communications are no exchange of two tasks: 2 with an end that is no task of the phase"
    );
}

/// Phases 2 and 4 of both ranks are without data; 1 and 2 are as 0 on rank 0, 2 as 1 on rank 1, 4 as 3 on both.
fn identical() -> Ranks {
    let metadata = |list: &str, range: &str| {
        format!(
            r#"{{"type":"LBDatafile","phases":{{"count":6,"skipped":{{"list":[5],"range":[]}},"identical_to_previous":{{"list":{list},"range":{range}}}}}}}"#
        )
    };
    let task = |id: u32, node: u32, time: u32| {
        format!(
            r#"{{"entity":{{"type":"object","id":{id},"home":{node},"migratable":true}},"node":{node},"time":{time}}}"#
        )
    };
    let phase = |id: u32, task: String| format!(r#"{{"id":{id},"tasks":[{task}]}}"#);
    let first = [phase(0, task(5, 0, 1)), phase(3, task(5, 0, 4))];
    let second = [
        phase(0, task(6, 1, 1)),
        phase(1, task(6, 1, 2)),
        phase(3, task(6, 1, 5)),
    ];
    let file = |metadata: String, phases: &[String]| {
        format!(
            r#"{{"metadata":{metadata},"phases":[{}]}}"#,
            phases.join(",")
        )
    };
    Ranks::of(&[
        &file(metadata("[4]", "[[1,2]]"), &first),
        &file(metadata("[2,4]", "[]"), &second),
    ])
}

#[test]
fn a_phase_that_is_identical_has_the_data_of_the_one_before() {
    // As vt's `LBDataRestartReader::readHistory`.
    let ranks = identical();
    let times = |ranks: &Ranks, phase: u64| {
        let processes = ranks.phase(phase).processes;
        let times = processes
            .iter()
            .map(|process| (process.machine, process.workload));
        times.collect::<Vec<_>>()
    };
    let expected = [
        [(0, 1.0), (1, 1.0)],
        [(0, 1.0), (1, 2.0)],
        [(0, 1.0), (1, 2.0)],
        [(0, 4.0), (1, 5.0)],
        [(0, 4.0), (1, 5.0)],
    ];
    for (phase, expected) in (0_u64..).zip(expected) {
        assert_eq!(times(&ranks, phase), expected, "phase {phase}");
    }
    assert_eq!(ranks.imported().name, "d phase 4");
    for (phase, expected) in [(5, "phase 5 was skipped: it has 0 to 4"), (6, "no phase 6")] {
        let options = ImportOptions {
            phase: Some(phase),
            ..ImportOptions::default()
        };
        let failure = import(&ranks.paths(), options).unwrap_err().to_string();
        assert!(failure.contains(expected), "{failure}");
    }
    // Phases that are identical to one that an export changes stay as they were.
    for phase in 0..5 {
        let plan = json!({
            "schema": "migbsp.rebalance/1",
            "machines": ["0", "1"],
            "loads_initial": expected[phase].map(|(_, time)| time),
            "solutions": [{"target": 9.0, "assignment": ["1", "1"]}],
        });
        let source = PlanSource {
            name: "plan.json",
            text: &plan.to_string(),
            target: None,
            phase: Some(phase as u64),
        };
        let moved = Ranks::new(&export(source, &ranks.paths()).unwrap().files);
        for (other, expected) in expected.iter().enumerate() {
            let expected = match other == phase {
                true => expected.map(|(_, time)| (1, time)),
                false => *expected,
            };
            assert_eq!(times(&moved, other as u64), expected, "{other} of {phase}");
        }
    }
}

#[test]
fn a_misspelt_key_is_no_missing_key() {
    let text = r#"{"metadata":{"type":"LBDatafile","rank":0},"phases":[{"id":0,"note":1,"tasks":[{"entity":{"type":"object","id":5,"home":0,"migratable":true,"index":[1]},"node":0,"time":1.0,"user_defined":{"home_rank":0,"shared_id":1,"shared_bytes":1.0}}],"communications":[{"type":"SendRecv","from":{"type":"object","id":5},"to":{"type":"object","id":5},"messages":1,"bytes":1.0}]}]}"#;
    let import = |text: &str| import(&Ranks::of(&[text]).paths(), ImportOptions::default());
    assert!(import(text).is_ok());
    for (key, misspelt, name) in [
        ("metadata", "metdata", "metdata"),
        ("rank", "rnak", "metadata.rnak"),
        ("phases", "phase", "phase"),
        ("tasks", "task", "phases[0].task"),
        ("communications", "comunications", "phases[0].comunications"),
        ("entity", "entitiy", "phases[0].tasks[0].entitiy"),
        (
            "user_defined",
            "user-defined",
            "phases[0].tasks[0].user-defined",
        ),
        ("index", "indexx", "phases[0].tasks[0].entity.indexx"),
        ("messages", "mesages", "phases[0].communications[0].mesages"),
    ] {
        let text = text.replacen(&format!("\"{key}\""), &format!("\"{misspelt}\""), 1);
        let failure = import(&text).unwrap_err().to_string();
        let expected = format!("unknown key `{name}`\n  --> ");
        assert!(failure.starts_with(&expected), "{failure}");
        let help = format!("\n  help: did you mean `{key}`?");
        assert!(failure.ends_with(&help), "{failure}");
    }
    let imported = import(&text.replace("shared_bytes", "shared_byte")).unwrap();
    assert_eq!(
        imported.notes.last().unwrap(),
        "1 task has keys in user_defined that are not used, as `shared_byte`; did you mean `shared_bytes`?"
    );
    let failure = import(&text.replace("[1]", "[-1]"))
        .unwrap_err()
        .to_string();
    assert!(
        failure.starts_with(
            "invalid value `[…]` for `phases[0].tasks[0].entity.index`: must be a list of whole"
        ),
        "{failure}"
    );
}
