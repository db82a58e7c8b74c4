//! Import and export of generated files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use experiments::OutputFile;
use proptest::prelude::{Just, Strategy, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::{collection, option};
use serde_json::{Value, json};

use super::compression::compress;
use super::*;
use crate::rebalance::instance::Instance;

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

    /// After a plan that puts each process on one of `ranks`.
    fn exported(&self, ranks: &[usize]) -> Self {
        let instance = self.imported();
        let mut loads = vec![0.0; instance.machines.len()];
        for process in &instance.processes {
            loads[process.machine] += process.workload;
        }
        let assignment: Vec<&String> = ranks.iter().map(|rank| &instance.machines[*rank]).collect();
        let plan = json!({
            "schema": "migbsp.rebalance/2",
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
    #[test]
    fn an_export_imports_as_the_plan_says_and_is_the_same_in_all_else(
        tasks in collection::vec(drawn(3), 1..8),
        pairs in collection::vec((0_usize..8, 0_usize..8, prop_oneof![Just(true), Just(false)]), 0..6),
        moves in collection::vec(0_usize..3, 8),
    ) {
        let ranks = Ranks::new(&files(3, &tasks, &pairs));
        let before = ranks.imported();
        let homes: Vec<usize> = before.processes.iter().map(|process| process.machine).collect();
        prop_assert_eq!(ranks.exported(&homes).imported().json(), before.json());
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
        prop_assert_eq!(exported.exported(&homes).imported(), before);
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
    let files = texts.iter().enumerate();
    let files: Vec<OutputFile> = files
        .map(|(rank, text)| OutputFile::new(&format!("d.{rank}.json"), *text))
        .collect();
    let ranks = Ranks::new(&files);
    let read = |ranks: &Ranks, rank: usize| {
        fs::read_to_string(ranks.folder.path().join(format!("d.{rank}.json"))).unwrap()
    };
    let same = ranks.exported(&[0, 0]);
    assert_eq!([read(&same, 0), read(&same, 1)], texts);
    let moved = ranks.exported(&[1, 0]);
    let task = r#"{"entity": {"type": "object", "id": 6, "home": 0, "migratable": true}, "node": 0, "time": 2}"#;
    assert_eq!(
        read(&moved, 0),
        format!(
            r#"{{"type":"LBDatafile","phases":[{{"id":0,"y":1.50e+3}},{{"id":1,"z":1E2,"tasks":[{task}]}}]}}"#
        )
    );
    assert_eq!(
        read(&moved, 1),
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
