//! Nodes of this machine that play the platform of an experiment.

use std::env;
use std::fs;

use serde_json::Value;

use crate::invocation::{Folder, root};
use crate::live::cluster::HEAT;
use crate::schemas::Schema;

/// Two Sets of slow hosts, with a link of 5 MB/s between them: a superstep takes 10 ms.
const PLATFORM: &str = r#"
[[set]]
name = "left"
hosts = 2
speed = "1 Minstr/s"
link = { bandwidth = "1 GBps", latency = "5 us" }

[[set]]
name = "right"
hosts = 1
speed = "1 Minstr/s"
link = { bandwidth = "1 GBps", latency = "5 us" }

[[link]]
name = "between"
between = ["left", "right"]
bandwidth = "5 MBps"
latency = "50 us"
"#;

/// The plate on that platform, whose second host has a job that needs 0.45 s and shares the host.
pub(super) fn folder() -> Folder {
    let rest = "\n[platform]\nfile = \"platform.toml\"\n[load]\nkind = \"trace\"\nfile = \"jobs.csv\"\n\
                discipline = \"shared\"\n\
                [scheduler]\npolicy = \"adaptive\"\n";
    Folder::new()
        .with("heat.toml", format!("{HEAT}{rest}"))
        .with("platform.toml", PLATFORM)
        .with("jobs.csv", "host,start,end\nleft-2,0.05,0.5\n")
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let text = folder.stdout(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn nodes_play_the_hosts_of_a_platform_with_their_load() {
    let folder = folder();
    let play = ["up", "--play", "--", "run", "heat.toml", "--out", "runs"];
    let live = json(&folder, &play);
    Schema::of(&live).check(&live, "run");
    Schema::of(&live).check_strictness(&live, "run");
    let names = ["left-1", "left-2", "right-1"];
    assert_eq!(live["hosts"], serde_json::json!(names), "{live}");
    assert_eq!(live["simulation"]["platform"], "platform.toml");
    let set = ["--set", "scheduler.scenario=iii"];
    let simulated = json(&folder, &[&["simulate", "heat.toml"], &set[..]].concat());
    let run = &simulated["runs"][0];
    assert_eq!(live["simulation"]["seconds"], run["seconds"]);
    assert_eq!(live["run"]["outputs_sha256"], run["outputs_sha256"]);
    // The jobs of the record are those that nodes have played.
    let events = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    let reports = events.lines().filter(|line| line.contains("\"ages\""));
    assert!(0 < reports.count(), "{events}");
    folder.stdout(&["verify", "runs/iii"]);
}

#[test]
fn a_played_run_is_not_shorter_than_its_computations() {
    let folder = folder();
    let run = ["run", "heat.toml", "--policy", "none"];
    let out = ["--out", "runs"];
    let live = json(&folder, &[&["up", "--play", "--"][..], &run, &out].concat());
    // The application alone is scenario i, as in a simulation.
    assert_eq!(live["run"]["scenario"], "i");
    assert!(folder.path().join("runs/i/run.json").exists());
    // The same decisions, and all computations of the simulation: only its messages may take longer there.
    let ratio = live["simulation"]["live_over_simulated"].as_f64().unwrap();
    assert!(0.98 < ratio, "{live}");
    let table = folder.stdout(&[&["up", "--play", "--"][..], &run].concat());
    let expected = "The simulation of platform.toml takes ";
    assert!(
        table.contains(expected) && table.contains(": live over simulated "),
        "{table}"
    );
}

#[test]
fn a_congested_link_has_the_rate_of_its_level() {
    let folder = folder();
    let run = ["run", "heat.toml", "--policy", "migbsp", "--out", "runs"];
    let level = [
        "--set",
        "congestion.kind=levels",
        "--set",
        "congestion.available=0.2",
        "--set",
        "congestion.variation=0",
        "--set",
        "scheduler.interval=4",
    ];
    folder.stdout(&[&["up", "--play", "--"][..], &run, &level].concat());
    let events = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    let first = events
        .lines()
        .find(|line| line.contains("\"transfer_rates\""));
    let first: Value = serde_json::from_str(first.unwrap()).unwrap();
    // 1e-6 seconds a byte.
    let rate = first["transfer_rates"][1].as_f64().unwrap();
    assert!((5e-7..2e-6).contains(&rate), "{rate}");
}

#[test]
fn what_cannot_be_played_is_refused() {
    let folder = folder()
        .with(
            "cores.toml",
            PLATFORM.replacen("hosts = 2", "hosts = 2\ncores = 4", 1),
        )
        .with("slow.toml", PLATFORM.replace("50 us", "2 s"));
    let heat = ["--", "run", "heat.toml"];
    let on = |platform| [&heat[..], &["--set", platform]].concat();
    for (options, action, code, problem) in [
        (
            &[][..],
            vec![],
            2,
            "--play: there is no experiment to play: add `-- run FILE`",
        ),
        (
            &[],
            vec!["--", "status"],
            2,
            "--play: there is no experiment to play: add `-- run FILE`",
        ),
        (
            &[],
            vec!["--", "run", "-"],
            2,
            "--play: every node reads the experiment, so it must be a file",
        ),
        (
            &["--slow", "1:0.5"],
            heat.to_vec(),
            2,
            "cannot be used with",
        ),
        (
            &["--between", "5MBps"],
            heat.to_vec(),
            2,
            "cannot be used with",
        ),
        (
            &["--local", "4"],
            heat.to_vec(),
            2,
            "--local 4: with --play there are the 3 hosts of platform.toml; leave it out",
        ),
        (
            &["--sets", "3"],
            heat.to_vec(),
            2,
            "--sets 3: with --play there are the 2 Sets of platform.toml; leave it out",
        ),
        (
            &[],
            on("platform.file=cores.toml"),
            4,
            "cores.toml: host left-1 has 4 cores: a node plays a host of one",
        ),
        (
            &[],
            on("platform.file=slow.toml"),
            4,
            "slow.toml: a latency of 2.000 s between Sets, must be at most 0.5 s",
        ),
        (&[], on("platform.file=none.toml"), 4, "none.toml"),
    ] {
        let ended = folder.run(&[&["up", "--play"], options, &action].concat());
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(problem), "{ended:?}");
    }
}

/// The shipped experiment, for seconds and one seed; with `PLAY_SEEDS=3`, all of it for three seeds, and what it claims.
#[test]
fn adaptive_is_faster_on_hosts_with_owners_live_as_in_simulation() {
    let seeds: Option<u32> = env::var("PLAY_SEEDS")
        .ok()
        .map(|seeds| seeds.parse().unwrap());
    let file = root().join("conf/owners-local.toml");
    let folder = Folder::new();
    let run = |policy: &str, seed: u32| {
        let seed = seed.to_string();
        let up = ["up", "--local", "4", "--sets", "2", "--play", "--", "run"];
        let what = [file.to_str().unwrap(), "--seed", &seed, "--policy", policy];
        let short: &[&str] = match seeds {
            Some(_) => &[],
            None => &["--set", "application.supersteps=12"],
        };
        let live = json(&folder, &[&up[..], &what, short].concat());
        assert!(live["run"]["verified"].is_string(), "{live}");
        let ratio = live["simulation"]["live_over_simulated"].as_f64().unwrap();
        println!(
            "seed {seed}, {policy}: {} s, live over simulated {ratio:.3}",
            live["run"]["seconds"]
        );
        assert!(seeds.is_none() || (ratio - 1.0).abs() < 0.2, "{live}");
        live["run"]["seconds"].as_f64().unwrap()
    };
    let mut product = 1.0;
    for seed in 1..=seeds.unwrap_or(1) {
        product *= run("adaptive", seed) / run("none", seed);
    }
    if let Some(seeds) = seeds {
        let mean = f64::powf(product, 1.0 / f64::from(seeds));
        println!("adaptive takes {mean:.3} of none's time");
        assert!(mean <= 0.9);
    }
}
