//! Outputs that stay in files of the nodes on which processes end.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{Ended, Folder, rows};
use crate::live::cluster::HEAT;
use crate::live::digest_of;
use crate::live::under_way::UnderWay;
use crate::schemas::check;

/// An experiment, the same with two moves, and a folder for files with one of each of two nodes.
fn folder() -> Folder {
    Folder::new()
        .with("heat.toml", HEAT)
        .with("moves.toml", format!("{HEAT}{MOVES}"))
        .with("kept/node-1/other", "")
        .with("kept/node-2/other", "")
}

/// Processes start on the two nodes in turn.
const MOVES: &str = r#"
[[scheduler.script]]
superstep = 5
process = "p1"
to = "node-2"

[[scheduler.script]]
superstep = 9
process = "p4"
to = "node-1"
"#;

/// Words that run it with its moves on two nodes.
fn words<'a>(up: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let nodes = ["up", "--local", "2", "--sets", "2"];
    [&nodes[..], up, &["--", "run", "moves.toml"], more].concat()
}

fn run(folder: &Folder, up: &[&str], more: &[&str]) -> Ended {
    folder.run(&words(up, more))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

fn bytes_of(digest: &Value) -> Vec<u8> {
    hex::decode(digest.as_str().unwrap()).unwrap()
}

/// The numbers in the encoding of an array of at least 32: bytes, little-endian, after their length.
fn numbers(encoded: &[u8]) -> Vec<f64> {
    let (head, numbers) = encoded.split_at(3);
    let length = usize::from(u16::from_be_bytes([head[1], head[2]]));
    assert_eq!((head[0], length), (0xc5, numbers.len()));
    let numbers = numbers.chunks(8);
    numbers
        .map(|number| f64::from_le_bytes(number.try_into().unwrap()))
        .collect()
}

#[test]
fn outputs_stay_where_processes_end_and_the_index_lists_them() {
    let folder = folder();
    let ended = run(
        &folder,
        &["--outputs", "kept"],
        &["--outputs", "nodes", "--out", "runs", "--format", "json"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = &json(&ended.stdout)["run"];
    let unchecked = "not checked, because the outputs are on the nodes";
    assert_eq!(found["verified"], unchecked);
    assert_eq!(found["transfers"]["received_bytes"], 0);
    // Outputs that the client receives are the same values, and so are those of a simulation.
    let sent = run(
        &folder,
        &[],
        &["--outputs", "sent.json", "--format", "json"],
    );
    assert_eq!(
        json(&sent.stdout)["run"]["outputs_sha256"],
        found["outputs_sha256"]
    );
    let set = ["--set", "platform.file=two.xml"];
    let simulate = ["simulate", "heat.toml", "--format", "json"];
    let simulated = json(&folder.stdout(&[&simulate[..], &set].concat()));
    assert_eq!(
        simulated["runs"][0]["outputs_sha256"],
        found["outputs_sha256"]
    );
    let index = read(&folder, "runs/iii/files.json");
    check(&index, "runs/iii/files.json");
    let index = json(&index);
    let files = index["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    let values: Vec<Vec<f64>> = serde_json::from_str(&read(&folder, "sent.json")).unwrap();
    let mut digests = Vec::new();
    for (rank, (file, value)) in files.iter().zip(&values).enumerate() {
        assert_eq!(file["rank"], rank);
        let process = format!("p{}", rank + 1);
        assert_eq!(file["process"], process);
        let ends_on = match rank {
            0 | 1 | 5 => "node-2",
            _ => "node-1",
        };
        assert_eq!(file["node"], ends_on, "{process}");
        let own = folder
            .path()
            .join("kept")
            .join(ends_on)
            .canonicalize()
            .unwrap();
        let path = Path::new(file["path"].as_str().unwrap());
        assert!(path.starts_with(&own), "{path:?}");
        assert!(
            path.ends_with(format!("outputs/{process}.msgpack")),
            "{path:?}"
        );
        let contents = fs::read(path).unwrap();
        assert_eq!(file["bytes"], contents.len());
        assert_eq!(file["sha256"], digest_of(&contents));
        assert_eq!(numbers(&contents), *value);
        digests.extend(bytes_of(&file["sha256"]));
    }
    assert_eq!(found["outputs_sha256"], digest_of(&digests));
    let table = rows(&read(&folder, "runs/iii/files.csv"));
    let header =
        "kind,superstep,rank,process,name,node,path,bytes,sha256,encoding\noutput,,0,p1,,node-2,/";
    assert!(table.starts_with(header), "{table}");
    assert_eq!(table.lines().count(), 7);
    // Nothing but these files is left in the folders: no parts of files.
    let mut left = Vec::new();
    for node in ["node-1", "node-2"] {
        for job in fs::read_dir(folder.path().join("kept").join(node)).unwrap() {
            let outputs = job.unwrap().path().join("outputs");
            let names = fs::read_dir(outputs).into_iter().flatten();
            left.extend(names.map(|name| name.unwrap().path()));
        }
    }
    assert_eq!(left.len(), 6, "{left:?}");
    let again = ["--outputs", "sent.json", "--out", "runs", "--force"];
    assert_eq!(run(&folder, &[], &again).code, Some(0));
    // The outputs of that run are no files, and the record has no index of others.
    assert!(!folder.path().join("runs/iii/files.json").exists());
}

#[test]
fn a_node_without_a_folder_that_can_be_written_to_ends_the_run_before_it_begins() {
    let folder = folder();
    let fails = |up: &[&str], run_options: &[&str], code: i32, message: &str| {
        let ended = run(&folder, up, run_options);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(message), "{message:?}: {ended:?}");
        assert!(!folder.path().join("runs").exists());
    };
    let nodes = ["--outputs", "nodes", "--out", "runs"];
    let remedy = " has no folder for files of jobs: add `outputs = \"FOLDER\"` to its [node], or start it with \
                  --outputs FOLDER";
    fails(&[], &nodes, 4, remedy);
    let snapshots = ["--snapshots", "--out", "runs"];
    fails(&[], &snapshots, 4, remedy);
    fs::remove_dir_all(folder.path().join("kept/node-2")).unwrap();
    symlink("/proc", folder.path().join("kept/node-2")).unwrap();
    let place = folder.path().canonicalize().unwrap().join("kept/node-2");
    let unwritable = format!("error: node-2 cannot write to {}: ", place.display());
    fails(&["--outputs", "kept"], &nodes, 4, &unwritable);
    let none = "--outputs: none: No such file or directory";
    fails(&["--outputs", "none"], &nodes, 2, none);
    let listed = "--outputs nodes: the list of the files is written with the record of the run: add --out DIR";
    fails(&["--outputs", "kept"], &nodes[..2], 2, listed);
}

#[test]
fn an_output_that_the_disk_refuses_names_its_node_its_process_and_the_path() {
    let folder = folder();
    let long = ["--set", "application.supersteps=300", "--out", "runs"];
    let more = [&long[..], &["--outputs", "nodes"]].concat();
    let run = UnderWay::start(&mut folder.command(&words(&["--outputs", "kept"], &more)));
    let own = folder.path().join("kept/node-2");
    let began = Instant::now();
    while !folder.path().join("runs/iii/events.jsonl").exists() {
        assert!(began.elapsed().as_secs() < 10, "the run does not begin");
        thread::sleep(Duration::from_millis(5));
    }
    // What was found before the first superstep does not hold any more.
    fs::remove_dir_all(&own).unwrap();
    fs::write(&own, "").unwrap();
    let ended = run.ends_within(30);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(5), ""),
        "{ended:?}"
    );
    let folder_of_node = folder.path().canonicalize().unwrap().join("kept/node-2");
    let refused = format!("cannot be written to {}/", folder_of_node.display());
    let mut lines = ended.stderr.lines();
    let error = lines.find(|line| line.starts_with("error: ")).unwrap();
    let begin = "error: node-2: the output of p";
    assert!(
        error.starts_with(begin) && error.contains(&refused),
        "{ended:?}"
    );
    assert!(error.contains("/outputs/p"), "{ended:?}");
}
