//! Runs that write checkpoints.

use std::fs;

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::under_way::UnderWay;

const UP: [&str; 5] = ["up", "--local", "4", "--sets", "2"];
const LONG: [&str; 2] = ["--set", "application.supersteps=3000"];
const SAVING: [&str; 5] = ["run", "heat.toml", "--checkpoint", "saved", "--every"];

#[test]
fn a_killed_run_says_how_to_go_on_and_its_newest_checkpoint_is_whole() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = [&UP[..], &["--kill", "all@400", "--"]].concat();
    let run = [&SAVING[..], &["50 supersteps"], &LONG].concat();
    let ended = UnderWay::start(&mut folder.command(&[up, run].concat())).ends_within(30);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(5), ""),
        "{ended:?}"
    );
    let advice = "`run --resume saved` goes on from there, on these or other nodes\n";
    assert!(ended.stderr.contains(advice), "{ended:?}");
    let superstep = ended
        .stderr
        .split("checkpoint is of superstep ")
        .nth(1)
        .unwrap();
    let superstep: u64 = superstep.split(':').next().unwrap().parse().unwrap();
    assert!(300 <= superstep, "{ended:?}");
    let job = fs::read_dir(folder.path().join("saved"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let manifest = job.path().join(format!("0-{superstep}/manifest.json"));
    assert!(manifest.is_file(), "{}", manifest.display());
}

#[test]
fn a_run_with_checkpoints_is_reported_explained_and_verified() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = [
        &UP[..],
        &["--"],
        &SAVING,
        &["100supersteps", "--out", "runs"],
    ]
    .concat();
    let ended = folder.run(&[up, LONG.to_vec()].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" checkpoints saved "), "{ended:?}");
    let explained = folder.run(&["explain", "runs/iii"]);
    assert!(
        explained.stdout.contains(" checkpoints saved "),
        "{explained:?}"
    );
    let verified = folder.run(&["verify", "runs/iii"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(
        verified.stdout.contains("held to the interval"),
        "{verified:?}"
    );
    // Of all that were written, the last one of the record is there, and at most one more: the run may have ended while the
    // one after it was written, or before the one before it was removed.
    let record = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    let events = record
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let saved: Vec<u64> = events
        .filter(|event| event["event"] == "checkpoint")
        .map(|event| event["superstep"].as_u64().unwrap())
        .collect();
    let job = fs::read_dir(folder.path().join("saved"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let entries = fs::read_dir(job.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut checkpoints: Vec<(u64, bool)> = entries
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let superstep = name.split_once('-').unwrap().1.parse().unwrap();
            (superstep, path.join("manifest.json").is_file())
        })
        .collect();
    checkpoints.sort_unstable();
    let complete = checkpoints
        .iter()
        .rev()
        .find(|(_, is_complete)| *is_complete);
    assert!(
        saved.last().copied() <= complete.map(|(superstep, _)| *superstep),
        "{checkpoints:?} {saved:?}"
    );
    assert!(checkpoints.len() <= 2, "{checkpoints:?}");
    assert!(
        saved.iter().rev().nth(1).copied() <= checkpoints.first().map(|(superstep, _)| *superstep),
        "{checkpoints:?} {saved:?}"
    );
}

#[test]
fn a_section_in_the_experiment_keeps_checkpoints_in_memory() {
    let heat = format!("{HEAT}\n[checkpoint]\ninterval = \"20 supersteps\"\n");
    let folder = Folder::new().with("heat.toml", &heat);
    for nodes in ["1", "3"] {
        let up = ["up", "--local", nodes, "--", "run", "heat.toml"];
        // Long enough for a checkpoint to be saved before the run ends: it is written while the processes go on.
        let ended = folder.run(&[&up[..], &LONG].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(" saved "), "{ended:?}");
    }
}

#[test]
fn folders_and_intervals_that_cannot_be_are_refused_before_anything_starts() {
    let folder = Folder::new().with("heat.toml", HEAT).with("full/file", "");
    let refused = |arguments: &[&str], code, problem: &str| {
        let up = ["up", "--local", "2", "--", "run", "heat.toml"];
        let ended = folder.run(&[&up[..], arguments].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(problem), "{problem}: {ended:?}");
    };
    refused(
        &["--checkpoint", "c", "--every", "0"],
        2,
        "'--every <TIME>': must be a time above 0 s",
    );
    refused(
        &["--checkpoint", "c", "--every", "soon"],
        2,
        "must be a time above 0 s",
    );
    refused(&["--every", "5s"], 2, "--checkpoint <DIR>");
    refused(
        &["--checkpoint", "/proc/c"],
        4,
        "cannot write checkpoints to /proc/c",
    );
    refused(
        &["--checkpoint", "full"],
        4,
        "has `file`, which is no checkpoint; name an empty folder",
    );
    assert!(!folder.path().join("c").exists());
    let run = [
        &["up", "--local", "2", "--"][..],
        &SAVING,
        &["10 supersteps"],
    ]
    .concat();
    assert_eq!(folder.run(&run).code, Some(0));
    refused(
        &["--checkpoint", "saved"],
        4,
        "another experiment; name another folder",
    );
    refused(
        &["--checkpoint", "saved", "--every", "10 supersteps"],
        4,
        "resume it, or name another folder",
    );
}
