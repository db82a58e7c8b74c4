//! Runs that resume a saved job.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::invocation::{Ended, Folder};
use crate::live::cluster::HEAT;
use crate::live::recovery::{begun_on, simulate};
use crate::live::under_way::UnderWay;

const LONG: [&str; 2] = ["--set", "application.supersteps=2000"];

/// A folder in which `saved` has checkpoints of a run that was killed.
fn killed() -> Folder {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = [
        "up", "--local", "4", "--sets", "2", "--kill", "all@300", "--",
    ];
    let run = [
        "run",
        "heat.toml",
        "--checkpoint",
        "saved",
        "--every",
        "50 supersteps",
    ];
    let all = [&up[..], &run, &LONG].concat();
    let ended = UnderWay::start(&mut folder.command(&all)).ends_within(30);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    folder
}

fn resume(folder: &Folder, nodes: &[&str], more: &[&str]) -> Ended {
    let run = ["--", "run", "--resume", "saved"];
    folder.run(&[&["up", "--local"], nodes, &run, more].concat())
}

fn result(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

/// A file or folder in `folder` whose name ends like this.
fn find(folder: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.find(|path| path.to_str().unwrap().ends_with(ending));
    found.unwrap_or_else(|| panic!("{} in {}", ending, folder.display()))
}

/// The newest complete checkpoint in the folder of a job. Others are removed: the last one before a kill may be incomplete,
/// or the one before it not removed yet.
fn only_checkpoint(job: &Path) -> PathBuf {
    let superstep = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.split_once('-').unwrap().1.parse::<u64>().unwrap()
    };
    let entries = fs::read_dir(job).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let paths: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    let complete = paths
        .iter()
        .filter(|path| path.join("manifest.json").is_file());
    let newest = complete.max_by_key(|path| superstep(path)).unwrap();
    for other in paths.iter().filter(|path| *path != newest) {
        fs::remove_dir_all(other).unwrap();
    }
    newest.clone()
}

#[test]
fn a_killed_run_resumes_on_fewer_nodes_and_then_on_more() {
    let folder = killed();
    let alone = ["up", "--local", "1", "--", "run", "heat.toml"];
    let alone = folder.run(&[&alone[..], &LONG, &["--format", "json"]].concat());
    let digest = &result(&alone)["run"]["outputs_sha256"];
    // It is killed again.
    let nodes = ["2", "--kill", "all@900"];
    let ended = resume(&folder, &nodes, &["--out", "again"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let advice = "`run --resume saved` goes on from there, on these or other nodes\n";
    assert!(ended.stderr.contains(advice), "{ended:?}");
    let ended = resume(
        &folder,
        &["5", "--sets", "3"],
        &["--out", "runs", "--format", "json"],
    );
    let found = result(&ended);
    assert_eq!(&found["run"]["outputs_sha256"], digest);
    assert_eq!(found["run"]["supersteps"], 2000);
    let first = found["resumed"]["superstep"].as_u64().unwrap();
    assert!(300 < first, "{first}");
    assert_eq!(found["resumed"]["incarnation"], 2);
    let explained = folder.run(&["explain", "runs"]);
    let resumed =
        format!("with superstep {first}, as incarnation 2: only what follows is counted.");
    assert!(explained.stdout.contains(&resumed), "{explained:?}");
    let counted = format!("{} supersteps in ", 2000 - first);
    assert!(explained.stdout.contains(&counted), "{explained:?}");
    assert_eq!(folder.run(&["verify", "runs"]).code, Some(0));
    // The record of a run that did not end.
    let explained = folder.run(&["explain", "again"]);
    assert!(
        explained.stdout.contains("as incarnation 1"),
        "{explained:?}"
    );
    assert_eq!(folder.run(&["verify", "again"]).code, Some(0));
}

#[test]
fn what_cannot_be_resumed_is_refused_before_anything_starts() {
    let folder = killed();
    let saved = folder.path().join("saved");
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (arguments, code, problem) in [
        (
            &["--resume", "empty"][..],
            4,
            "empty has no complete checkpoint",
        ),
        (&["--resume", "none"], 4, "cannot read none"),
        (
            &["--resume", "saved", "heat.toml"],
            2,
            "cannot be used with",
        ),
        (
            &["--resume", "saved", "--set", "run.seed=3"],
            2,
            "cannot be used with",
        ),
        (&["--resume", "saved", "-n", "3"], 2, "cannot be used with"),
        (
            &["--resume", "saved", "--checkpoint", "other"],
            2,
            "cannot be used with",
        ),
        (&["--resume", "saved", "--every", "3 s"], 2, "--every"),
        (&[], 2, "<FILE>"),
    ] {
        let up = ["up", "--local", "1", "--", "run"];
        let ended = folder.run(&[&up[..], arguments].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(problem), "{arguments:?}: {ended:?}");
    }
    let play = ["up", "--play", "--", "run", "--resume", "saved"];
    let problem = "--play: a job that resumes has no experiment file; leave --play out";
    folder.fails(&play, 2, problem);
    let job = fs::read_dir(&saved)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    // A piece of the only checkpoint is cut off: there is nothing to resume.
    let checkpoint = only_checkpoint(&job);
    // Processes may have left some nodes.
    let pieces = find(&checkpoint, ".pieces");
    let bytes = fs::read(&pieces).unwrap();
    fs::write(&pieces, &bytes[..bytes.len() - 1]).unwrap();
    let ended = resume(&folder, &["1"], &[]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let name = pieces.file_name().unwrap().to_str().unwrap();
    let named = format!("{name}, byte {}", bytes.len() - 1);
    assert!(ended.stderr.contains(&named), "{ended:?}");
    // A damaged newer checkpoint is passed over, with a warning.
    let newer = job.join(format!("{}-999999", 7));
    fs::create_dir(&newer).unwrap();
    fs::write(newer.join("manifest.json"), "{}").unwrap();
    fs::write(&pieces, &bytes).unwrap();
    let ended = resume(&folder, &["2"], &["--format", "json"]);
    assert_eq!(result(&ended)["resumed"]["incarnation"], 8);
    let warnings = ended
        .stderr
        .matches("a newer checkpoint is damaged, and is passed over: ");
    assert_eq!(warnings.count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("manifest.json, byte 1"), "{ended:?}");
}

#[test]
fn one_command_starts_goes_on_and_takes_a_last_checkpoint() {
    let folder = Folder::new()
        .with("heat.toml", HEAT)
        .with("saved/lost+found/nothing", "");
    simulate(&folder, &[]);
    let up = ["up", "--local", "2", "--", "run", "heat.toml"];
    let saving = [
        "--checkpoint",
        "saved",
        "--resume-if-possible",
        "--grace",
        "20s",
    ];
    let long = ["--set", "application.supersteps=3500"];
    let shown = ["--out", "runs", "--format", "json"];
    let all = [&up[..], &saving, &long, &shown].concat();
    // None is due before it is told to end.
    let never = [&all[..], &["--every", "100000 supersteps"]].concat();
    let run = UnderWay::start(&mut folder.command(&never));
    begun_on(&run, &folder.path().join("runs/iii/events.jsonl"));
    run.signal("USR1");
    let ended = run.ends_within(30);
    assert_eq!(ended.code, Some(138), "{ended:?}");
    let said = ended.stderr.split("checkpoint is of superstep ").nth(1);
    let saved = said.unwrap().split(':').next().unwrap();
    folder.stdout(&["verify", "runs"]);
    let often = ["--every", "500 supersteps", "--outputs", "live.json"];
    let ended = folder.run(&[&all[..], &often].concat());
    let found = result(&ended);
    assert_eq!(found["resumed"]["superstep"].to_string(), saved);
    assert!(
        ended.stderr.contains("which differ from those given"),
        "{ended:?}"
    );
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("live.json"), read("whole.json"));
    assert!(folder.path().join("runs/iii.1").is_dir());
    let other = [&up[..], &saving].concat();
    let ended = folder.run(&other);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let problem = "saved has checkpoints of another experiment; name another folder";
    assert!(ended.stderr.contains(problem), "{ended:?}");
    let nowhere = [&up[..], &["--grace", "20s"]].concat();
    folder.fails(
        &nowhere,
        2,
        "--grace: there is no folder for a last checkpoint: add --checkpoint DIR",
    );
}

#[test]
fn as_many_checkpoints_stay_as_are_to_be_kept() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = ["up", "--local", "2", "--", "run", "heat.toml"];
    let saving = ["--checkpoint", "saved", "--every", "5 supersteps"];
    let kept = ["--set", "checkpoint.keep=2"];
    let long = ["--set", "application.supersteps=400"];
    let ended = folder.run(&[&up[..], &saving, &kept, &long].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let job = find(&folder.path().join("saved"), "");
    let entries = fs::read_dir(job).unwrap().flatten();
    let manifests = entries.map(|entry| entry.path().join("manifest.json"));
    assert_eq!(manifests.filter(|path| path.is_file()).count(), 2);
    let none = [&up[..], &["--set", "checkpoint.keep=0"]].concat();
    let ended = folder.run(&none);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("checkpoint.keep"), "{ended:?}");
}
