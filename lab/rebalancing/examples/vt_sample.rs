//! Writes LB data as vt does, small and made up, into a folder: `conf/rebalance/vt` is what this writes.
//!
//! ```sh
//! cargo run -p migbsp-rebalancing --example vt_sample -- conf/rebalance/vt
//! ```
//!
//! Four ranks on two shared-memory nodes, of which rank 0 has the most work; two phases; the file of rank 1 is
//! compressed with Brotli. Each rank has three elements of a collection and an object group, which does not migrate.
//! Elements of a rank share a block of memory. Elements exchange with their neighbours in a ring.

use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context as _, Result};
use brotli::CompressorWriter;
use serde_json::{Value, json};

fn main() -> Result<()> {
    let folder = env::args_os().nth(1).context("usage: vt_sample FOLDER")?;
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    for rank in 0..RANKS {
        let text = file(rank).to_string();
        if rank == 1 {
            let mut compressed = Vec::new();
            let mut writer = CompressorWriter::new(&mut compressed, 4096, 9, 22);
            writer.write_all(text.as_bytes())?;
            drop(writer);
            fs::write(folder.join(format!("data.{rank}.json.br")), compressed)?;
        } else {
            fs::write(folder.join(format!("data.{rank}.json")), text)?;
        }
    }
    Ok(())
}

fn file(rank: u64) -> Value {
    let none = json!({"list": [], "range": []});
    json!({
        "metadata": {
            "type": "LBDatafile",
            "rank": rank,
            "shared_node": {"id": rank / 2, "num_nodes": 2, "rank": rank % 2, "size": 2},
            "phases": {"identical_to_previous": none, "skipped": none},
        },
        "phases": [phase(0, rank), phase(1, rank)],
    })
}

fn phase(id: u64, rank: u64) -> Value {
    let own = (0..ELEMENTS).map(|number| rank * ELEMENTS + number);
    let mut tasks: Vec<Value> = own.clone().map(|element| task(id, rank, element)).collect();
    tasks.push(json!({"entity": group(rank), "node": rank, "resource": "cpu", "time": 0.015_625}));
    if id == 0 {
        // vt adds one outside all elements to phase 0 of each rank.
        let entity = json!({"home": 0, "id": 0, "migratable": false, "type": "object"});
        tasks.push(json!({"entity": entity, "node": rank, "resource": "cpu", "time": 0.0}));
        return json!({"id": id, "tasks": tasks});
    }
    let mut communications: Vec<Value> = own
        .map(|element| {
            let next = (element + 1) % (RANKS * ELEMENTS);
            let bytes = 1000.0 * f64::from(1 + byte(element, 7) % 9);
            sent("SendRecv", &entity(element), &entity(next), bytes)
        })
        .collect();
    // To an object of the runtime, which is no task of a phase.
    let runtime = json!({"home": rank, "id": 1 | rank << 2, "migratable": false, "type": "object"});
    communications.push(sent("SendRecv", &group(rank), &runtime, 96.0));
    communications.push(sent(
        "Broadcast",
        &group(rank),
        &entity(rank * ELEMENTS),
        376.0,
    ));
    json!({"communications": communications, "id": id, "tasks": tasks})
}

fn task(phase: u64, rank: u64, element: u64) -> Value {
    let scale = if rank == 0 { 4.0 } else { 1.0 };
    // Whole numbers of 1/256 s, so that sums are exact.
    let time = scale * f64::from(32 + byte(element, phase)) / 256.0;
    json!({
        "entity": entity(element),
        "node": rank,
        "resource": "cpu",
        "subphases": [{"id": 0, "time": time}],
        "time": time,
        "user_defined": {
            "rank_working_bytes": 50e6,
            "shared_bytes": 300e6,
            "shared_id": rank,
            "task_footprint_bytes": 1024.0,
            "task_serialized_bytes": 1e6 * f64::from(1 + byte(element, 3) % 16),
            "task_working_bytes": 20e6,
        },
    })
}

/// An element of the collection. Ids have 2 bits of kind (3: may migrate), 16 of the home rank, and a number.
fn entity(element: u64) -> Value {
    let home = element / ELEMENTS;
    let id = 3 | home << 2 | (1 + element % ELEMENTS) << 18;
    json!({
        "collection_id": 7,
        "home": home,
        "id": id,
        "index": [home, element % ELEMENTS],
        "migratable": true,
        "type": "object",
    })
}

/// The object group of a rank.
fn group(rank: u64) -> Value {
    let number = 1 << 18 | rank << 2;
    json!({"home": rank, "id": number << 2, "migratable": false, "objgroup_id": number, "type": "object"})
}

fn sent(kind: &str, from: &Value, to: &Value, bytes: f64) -> Value {
    json!({"bytes": bytes, "from": from, "messages": 1, "to": to, "type": kind})
}

/// A byte that looks random, by Knuth's multiplicative hash.
fn byte(number: u64, salt: u64) -> u16 {
    let hashed = (number * 31 + salt + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hashed.to_be_bytes()[0].into()
}

const RANKS: u64 = 4;

/// Elements of a rank.
const ELEMENTS: u64 = 3;
