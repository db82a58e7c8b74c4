//! Snapshots of the torus, in simulations, on nodes, and of a run that goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::invocation::{folder, life, stdout};

const SNAPSHOTS: [&str; 2] = ["--set", "application.life.snapshots=100"];

/// The files that an index lists, each of which it may list once: digest and path by superstep and process.
fn listed(record: &Path) -> BTreeMap<(u64, u64), (String, String)> {
    let index: Value =
        serde_json::from_str(&fs::read_to_string(record.join("files.json")).unwrap()).unwrap();
    assert_eq!(index["schema"], "migbsp.files/1");
    let mut listed = BTreeMap::new();
    for file in index["files"].as_array().unwrap() {
        assert_eq!(
            (&file["kind"], &file["name"]),
            (&"snapshot".into(), &"rows".into())
        );
        let text = |key: &str| file[key].as_str().unwrap().to_owned();
        let number = |key: &str| file[key].as_u64().unwrap();
        let contents = fs::read(record.join(text("path"))).unwrap();
        assert_eq!(number("bytes"), u64::try_from(contents.len()).unwrap());
        assert_eq!(text("sha256"), hex::encode(Sha256::digest(&contents)));
        let key = (number("superstep"), number("rank"));
        let before = listed.insert(key, (text("sha256"), text("path")));
        assert_eq!(before, None, "{file}");
    }
    listed
}

/// The same without paths.
fn digests(record: &Path) -> BTreeMap<(u64, u64), String> {
    let listed = listed(record).into_iter();
    listed.map(|(key, (digest, _))| (key, digest)).collect()
}

/// The files of a simulation, whose record is in `simulated`.
fn simulated(folder: &Path, run: &[&str]) -> BTreeMap<(u64, u64), String> {
    stdout(folder, &[&["simulate", "--out", "simulated"], run].concat());
    digests(&folder.join("simulated/iii"))
}

#[test]
fn snapshots_are_equal_in_every_world_and_listed_with_the_record() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let few = ["--set", "application.supersteps=201"];
    let run = [&["life.toml"], &few[..], &SNAPSHOTS].concat();
    let expected = simulated(folder.path(), &run);
    assert_eq!(expected.len(), 3 * 12);
    assert_eq!(digests(&at("simulated/i")), expected);
    let place = at("simulated/iii/snapshots/rows/200/p12.msgpack");
    assert!(place.exists());
    fs::create_dir(at("kept")).unwrap();
    let up = [
        "up",
        "--local",
        "2",
        "--outputs",
        "kept",
        "--",
        "run",
        "--out",
        "live",
    ];
    stdout(folder.path(), &[&up[..], &["--snapshots"], &run].concat());
    assert_eq!(digests(&at("live/iii")), expected);
    let kept = at("kept").canonicalize().unwrap();
    for (_, path) in listed(&at("live/iii")).values() {
        assert!(Path::new(path).starts_with(&kept), "{path}");
    }
    // Without the option none are written, and a record that replaces another has nothing of it.
    stdout(folder.path(), &[&up[..], &["--force"], &run].concat());
    assert!(!at("live/iii/files.json").exists());
    let again = ["simulate", "--out", "simulated", "--force", "life.toml"];
    stdout(folder.path(), &[&again[..], &few].concat());
    assert!(!at("simulated/iii/files.csv").exists());
    assert!(!at("simulated/iii/snapshots").exists());
}

#[test]
fn a_run_that_was_killed_goes_on_in_the_same_folder_and_leaves_each_file_once() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let long = ["--set", "application.supersteps=2001"];
    let run = [&["life.toml"], &long[..], &SNAPSHOTS].concat();
    let expected = simulated(folder.path(), &run);
    fs::create_dir(at("kept")).unwrap();
    let up = [
        "up",
        "--local",
        "2",
        "--outputs",
        "kept",
        "--kill",
        "all@950",
        "--",
        "run",
    ];
    let saved = [
        "--checkpoint",
        "saved",
        "--every",
        "70 supersteps",
        "--snapshots",
    ];
    let killed = [&up[..], &run, &saved, &["--out", "first"]].concat();
    let killed = life(folder.path(), &killed);
    assert_eq!(killed.status.code(), Some(5), "{killed:?}");
    let first = digests(&at("first/iii"));
    assert!(first.contains_key(&(900, 0)) && !first.contains_key(&(2000, 0)));
    let up = ["up", "--local", "3", "--outputs", "kept", "--", "run"];
    let resume = [
        "--resume",
        "saved",
        "--snapshots",
        "--out",
        "second",
        "--format",
        "json",
    ];
    let resumed = stdout(folder.path(), &[&up[..], &resume].concat());
    let resumed: Value = serde_json::from_str(&resumed).unwrap();
    let begin = resumed["resumed"]["superstep"].as_u64().unwrap();
    assert!(0 < begin && begin < 1001, "{begin}");
    let second = digests(&at("second/iii"));
    assert!(second.keys().all(|(superstep, _)| begin <= *superstep));
    let mut both = first;
    both.extend(second);
    assert_eq!(both, expected);
    // One folder of one job, with one file of each.
    let jobs: Vec<_> = fs::read_dir(at("kept")).unwrap().collect();
    let [Ok(job)] = &jobs[..] else {
        panic!("{jobs:?}")
    };
    let mut left = 0;
    for superstep in fs::read_dir(job.path().join("snapshots/rows")).unwrap() {
        let files = fs::read_dir(superstep.unwrap().path()).unwrap();
        left += files
            .filter(|file| {
                let name = file.as_ref().unwrap().file_name().into_string().unwrap();
                name.ends_with(".msgpack")
            })
            .count();
    }
    assert_eq!(left, expected.len());
}
