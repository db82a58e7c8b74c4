//! Every experiment and platform that ships does what it is there for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agents::Script;
use analysis::known_best::{KnownBest, file_of};
use bsp::Rank;
use experiments::platform::find_host;
use experiments::{PreparedExperiment, Registry, Scenario, load};
use record::Event;
use serde_json::Value;

use crate::invocation::{Folder, root};

/// Runs every experiment in a folder of the repository: `at_least` that many.
#[track_caller]
fn check_folder(at: &str, at_least: usize) {
    let folder = Folder::new();
    let experiments = files(at);
    assert!(at_least <= experiments.len(), "{at}: {experiments:?}");
    for experiment in experiments {
        let name = experiment.to_str().unwrap();
        let is_shortened = !ends_by_itself(&experiment);
        let mut arguments = vec!["simulate", name, "--format", "json"];
        if is_shortened {
            arguments.extend(["--set", "application.supersteps=8"]);
        }
        let json: Value = serde_json::from_str(&folder.stdout(&arguments)).unwrap();
        let runs = json["runs"].as_array().unwrap();
        assert_eq!(runs.len(), scenarios(&experiment), "{name}");
        for run in runs {
            if is_shortened {
                assert_eq!(run["supersteps"], 8, "{name}");
            }
            assert_eq!(run["outputs_sha256"], runs[0]["outputs_sha256"], "{name}");
        }
    }
}

#[test]
fn every_shipped_experiment_of_a_workload_runs() {
    check_folder("conf", 15);
}

#[test]
fn every_shipped_experiment_of_the_papers_runs() {
    check_folder("conf/paper", 14);
}

#[test]
fn every_shipped_experiment_of_du_sun_and_wu_runs() {
    check_folder("conf/du2007", 8);
}

#[test]
fn every_shipped_experiment_with_changing_loads_runs() {
    check_folder("conf/dynamic", 26);
}

#[test]
fn every_held_out_experiment_runs() {
    check_folder("conf/held-out", 22);
}

#[test]
fn every_shipped_best_placement_takes_what_its_file_says() {
    let registry = Registry::shipped().with_plans(lab_rules::PLANS);
    let mut held = 0;
    for file in ["conf/dynamic", "conf/held-out"]
        .into_iter()
        .flat_map(files)
    {
        let best = file_of(&file);
        let name = best.display();
        if !best.is_file() {
            continue;
        }
        let loaded = load(&file, &[], &registry).unwrap();
        let mut prepared = PreparedExperiment::new(loaded).unwrap();
        let known = KnownBest::of(&file, &prepared).unwrap().unwrap();
        let expected = known.seconds_per_superstep;
        let expected = expected.unwrap_or_else(|| panic!("{name} is of another experiment"));
        let json: Value = serde_json::from_str(&fs::read_to_string(&best).unwrap()).unwrap();
        let hosts = json["placement"].as_array().unwrap().iter();
        let host = |name: &Value| find_host(name.as_str().unwrap(), &prepared.platform).unwrap();
        let moves = hosts.zip(0..).map(|(name, rank)| (Rank(rank), host(name)));
        let moves = moves.filter(|(rank, host)| prepared.placement[rank.index()] != *host);
        prepared.script = Some(Script(BTreeMap::from([(1, moves.collect())])));
        prepared.loaded.experiment.application.supersteps = Some(6);
        let mut starts = Vec::new();
        let mut observe = |event: &Event| {
            if let Event::Superstep(superstep) = event {
                starts.push(superstep.started.get());
            }
        };
        prepared
            .run(Scenario::Iii, &registry, &mut observe)
            .unwrap();
        let seconds = starts[4] - starts[3];
        assert!(
            (seconds - expected).abs() <= 1e-6 * expected,
            "{name}: {seconds} s"
        );
        held += 1;
    }
    assert!(13 <= held, "{held} files");
}

/// The number of scenarios of an experiment.
fn scenarios(experiment: &Path) -> usize {
    let text = fs::read_to_string(experiment).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let stated = |key: &str| table.get("scheduler")?.get(key)?.as_str();
    match (stated("policy"), stated("scenario")) {
        (Some("none"), _) => 1,
        (_, None | Some("all")) => 3,
        (_, Some(_)) => 1,
    }
}

/// Whether an experiment's program computes something that is whole or nothing.
fn ends_by_itself(experiment: &Path) -> bool {
    let text = fs::read_to_string(experiment).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let application = table["application"].as_table().unwrap();
    let workload = application["workload"].as_str().unwrap();
    let is_whole = workload.ends_with("-kernel") || workload == "matrix-product";
    is_whole && !application.contains_key("supersteps")
}

#[test]
fn every_shipped_platform_is_one() {
    let folder = Folder::new();
    let platforms = files("conf/platforms");
    assert!(!platforms.is_empty());
    for platform in platforms {
        let text = folder.stdout(&["platform", "check", platform.to_str().unwrap()]);
        assert!(text.contains(": a platform\n"), "{text}");
    }
}

/// The TOML and XML files in a folder of the repository.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending == "toml" || ending == "xml")
        })
        .collect();
    files.sort();
    files
}
