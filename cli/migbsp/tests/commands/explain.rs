//! `explain`: answers from a record about migrations and their gain.

use std::fs;

use serde_json::Value;

use crate::charts::check_svg;
use crate::invocation::{Folder, root};

/// The papers' Lattice Boltzmann application, run in all scenarios; its records are in `kept`.
fn lbm() -> Folder {
    recorded(&[])
}

/// The same with other settings.
fn recorded(settings: &[&str]) -> Folder {
    let folder = Folder::new();
    let experiment = root().join("conf/lbm.toml");
    let mut arguments = vec!["simulate", experiment.to_str().unwrap(), "--out", "kept"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    folder.stdout(&arguments);
    folder
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["explain", "kept", "--format", "json"], arguments].concat();
    serde_json::from_str(&folder.stdout(&all)).unwrap()
}

/// What a record says about a process in a call, in words.
#[track_caller]
fn says(folder: &Folder, process: &str, superstep: &str, words: &str) {
    let asked = ["--process", process, "--superstep", superstep];
    let answer = json(folder, &asked);
    let sentence = answer["sentences"][0].as_str().unwrap();
    assert!(sentence.contains(words), "{sentence}");
}

#[test]
fn the_answers_for_the_papers_application_are_these() {
    let folder = lbm();
    let check = |arguments: &[&str], expected: &str| {
        let all = [&["explain", "kept"], arguments].concat();
        assert_eq!(folder.stdout(&all), expected, "{arguments:?}");
    };
    check(&[], include_str!("../explain/run.txt"));
    // It moved, and nothing came of it; it moved, and that paid; it never moved.
    check(&["--process", "p21"], include_str!("../explain/p21.txt"));
    check(&["--process", "p25"], include_str!("../explain/p25.txt"));
    check(&["--process", "p1"], include_str!("../explain/p1.txt"));
    // A call without candidates.
    check(&["--superstep", "252"], include_str!("../explain/252.txt"));
}

#[test]
fn the_object_has_the_promised_shape_and_its_terms_add_up() {
    let folder = lbm();
    let answer = json(&folder, &["--process", "p21"]);
    assert_eq!(answer["schema"], "migbsp.explain/1");
    assert_eq!(answer["calls"][0]["superstep"], 4);
    assert_eq!(answer["process"]["disposition"], "moved");
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-12;
    let sets = answer["forces"]["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 5);
    for force in sets {
        let term = |key: &str| number(&force[key]);
        let computation =
            term("pattern_computation") * term("prediction_computation") * term("set_index");
        assert!(near(computation, term("computation")), "{force}");
        let communication = term("pattern_communication") * term("prediction_communication");
        assert!(near(communication, term("communication")), "{force}");
        let potential = term("computation") + term("communication") - term("migration");
        assert!(near(potential, term("potential")), "{force}");
    }
    for time in answer["process"]["times"].as_array().unwrap() {
        let parts = ["computation", "reception", "migration"];
        let sum: f64 = parts.iter().filter_map(|part| time[part].as_f64()).sum();
        assert!(near(sum, number(&time["seconds"])), "{time}");
    }
    let run = json(&folder, &[]);
    assert_eq!(run["calls"].as_array().unwrap().len(), 8);
    assert_eq!(run["balance"]["against"], "scenario-i");
    let won = number(&run["balance"]["net_seconds"]);
    assert!((100.0..120.0).contains(&won), "{won}");
}

#[test]
fn rows_are_those_of_the_calls_and_processes_asked_for() {
    let folder = lbm();
    let rows = |arguments: &[&str]| {
        let all = [&["explain", "kept"], arguments].concat();
        folder.csv(&all).lines().count() - 1
    };
    assert_eq!(rows(&[]), 8 * 25 * 5);
    assert_eq!(rows(&["--process", "p21"]), 8 * 5);
    assert_eq!(rows(&["--superstep", "252"]), 25 * 5);
    assert_eq!(rows(&["--process", "p21", "--superstep", "252"]), 5);
    let csv = folder.csv(&["explain", "kept/i"]);
    assert!(csv.starts_with("superstep,process,host,set,"), "{csv}");
    assert_eq!(csv.lines().count(), 1);
}

#[test]
fn every_disposition_has_its_reason() {
    let folder = lbm();
    says(
        &folder,
        "p22",
        "4",
        "only the first process of the list can be a candidate: p21",
    );
    says(
        &folder,
        "p21",
        "12",
        "for its own Set, aquario; the best other Set is",
    );
    let watched = json(&folder, &[]);
    assert_eq!(watched["scenario"], "iii");
    let all = ["explain", "kept/ii", "--process", "p21", "--superstep", "4"];
    let text = folder.stdout(&all);
    assert!(text.contains("would have moved to aquario-1"), "{text}");
    assert!(
        text.contains("processes do not migrate in scenario ii"),
        "{text}"
    );
    let alone = folder.stdout(&["explain", "kept/i", "--process", "p21"]);
    assert!(
        alone.contains("p21 stayed on corisco-1: no call was held"),
        "{alone}"
    );

    let above = ["scheduler.heuristic=above", "application.supersteps=20"];
    let settings = ["application.processes=100", "scheduler.x=0.1"];
    let crowded = recorded(&[&above[..], &settings].concat());
    let after_four = json(&crowded, &["--superstep", "4"]);
    let list = after_four["list"].as_array().unwrap();
    assert_eq!(list.len(), 100);
    let refused = list
        .iter()
        .find(|row| row["disposition"] == "no-processor")
        .unwrap();
    let refused = refused["process"].as_str().unwrap();
    says(&crowded, refused, "4", "exceeds the threshold of");
    says(&crowded, refused, "4", "has already received a process");
    let moved = json(&crowded, &["--process", "p41", "--superstep", "4"]);
    let together = &moved["process"]["moved_with"];
    assert!(together.as_array().is_some(), "{moved}");

    let strict = recorded(
        &[
            &above[..],
            &["scheduler.x=0.99", "application.processes=200"],
        ]
        .concat(),
    );
    let list = json(&strict, &["--superstep", "4"])["list"].clone();
    let below = list
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["disposition"] == "below-threshold");
    let below = below.unwrap()["process"].as_str().unwrap();
    says(&strict, below, "4", "does not exceed the threshold of");
}

#[test]
fn scripts_and_plans_are_explained_too() {
    let script = "scheduler.script=[{ superstep = 4, process = \"p21\", to = \"ice-1\" }]";
    let scripted = recorded(&[script, "application.supersteps=20"]);
    says(&scripted, "p21", "4", "the script names it");
    says(
        &scripted,
        "p22",
        "4",
        "a script decides in this run and does not name p22",
    );

    let policy = "scheduler.policy=adaptive";
    let many = "application.processes=200";
    let planned = recorded(&[policy, many, "application.supersteps=100"]);
    let run = json(&planned, &[]);
    let calls = run["calls"].as_array().unwrap();
    let moved = calls
        .iter()
        .find(|call| !call["moved"].as_array().unwrap().is_empty())
        .unwrap();
    let superstep = moved["superstep"].to_string();
    let mover = moved["moved"][0]["process"].as_str().unwrap();
    says(
        &planned,
        mover,
        &superstep,
        "the plan of the policy moves it",
    );
    let movers = moved["moved"].as_array().unwrap();
    let stays = |process: &String| {
        movers
            .iter()
            .all(|other| other["process"] != process.as_str())
    };
    let stayer = (1..=200).map(|number| format!("p{number}")).find(stays);
    says(
        &planned,
        &stayer.unwrap(),
        &superstep,
        "the plan of the policy does not move it",
    );
    let text = planned.stdout(&["explain", "kept", "--superstep", &superstep]);
    assert!(text.contains("The policy accepted the plan"), "{text}");
    assert!(text.contains("Plans that were compared"), "{text}");
}

#[test]
fn the_forces_are_drawn() {
    let folder = lbm();
    let draw = |arguments: &[&str]| {
        let all = [&["explain", "kept", "--svg", "chart.svg"], arguments].concat();
        folder.stdout(&all);
        fs::read_to_string(folder.path().join("chart.svg")).unwrap()
    };
    let forces = draw(&["--process", "p21"]);
    for text in ["Comp", "Comm", "−Mem", "PM", "labtec", "aquario"] {
        assert!(forces.contains(&format!("\n{text}\n")), "{text}: {forces}");
    }
    check_svg(&forces);
    let whole = draw(&[]);
    assert!(whole.contains("Supersteps of 25 processes"), "{whole}");
    check_svg(&whole);
    let wrong = ["explain", "kept", "--svg", "absent/chart.svg"];
    folder.fails(
        &wrong,
        1,
        "absent/chart.svg: cannot be written: No such file or directory (os error 2)",
    );
}

/// A fifth of the processes gets heavier, and moves gain all the same.
fn growing_load() -> Folder {
    let folder = Folder::new();
    let experiment = root().join("conf/dynamic/drift-few.toml");
    let experiment = experiment.to_str().unwrap();
    let shorter = ["--set", "application.supersteps=400"];
    let policy = ["--policy", "adaptive", "--out", "kept"];
    folder.stdout(&[&["simulate", experiment][..], &shorter, &policy].concat());
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn growing_load_does_not_look_like_a_loss() {
    let folder = growing_load();
    let beside = json(&folder, &[]);
    let balance = &beside["balance"];
    assert_eq!(beside["baseline"], "kept/i");
    assert_eq!(balance["supersteps"], 400);
    assert!(0.0 < number(&balance["net_seconds"]), "{balance}");
    let after = number(&balance["after_seconds"]);
    assert!(after < number(&balance["otherwise_seconds"]), "{balance}");
    let verdict = beside["sentences"][1].as_str().unwrap();
    assert!(verdict.contains("saved"), "{verdict}");
    // The sentence and the chart say the same.
    folder.stdout(&["explain", "kept", "--svg", "chart.svg"]);
    let chart = fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    assert!(chart.contains(verdict), "{chart}");
    for text in [
        "scenario i",
        "call that moved processes",
        "call without moves",
    ] {
        assert!(chart.contains(&format!("\n{text}\n")), "{text}: {chart}");
    }

    // From another folder, and without it.
    fs::rename(folder.path().join("kept/i"), folder.path().join("alone")).unwrap();
    let elsewhere = json(&folder, &["--against", "alone"]);
    assert_eq!(elsewhere["balance"], *balance);
    assert_eq!(elsewhere["baseline"], "alone");
    let without = json(&folder, &[]);
    assert_eq!(without["balance"], Value::Null);
    let verdict = without["sentences"][1].as_str().unwrap();
    assert!(
        verdict.contains("cannot be told without scenario i"),
        "{verdict}"
    );
    assert!(!verdict.contains("saved") || verdict.contains("Whether the moves saved"));
}

#[test]
fn a_record_that_is_not_scenario_i_of_the_experiment_is_not_compared() {
    let folder = growing_load();
    let against = |record: &str, problem: &str| {
        let help = "  help: `simulate FILE --out DIR` writes scenario i of an experiment to DIR/i";
        let arguments = ["explain", "kept", "--against", record];
        folder.fails(&arguments, 4, &format!("{record}: {problem}\n{help}"));
    };
    against("kept/ii", "is a record of scenario ii, expected scenario i");
    let longer = [
        "--set",
        "application.supersteps=500",
        "--set",
        "scheduler.scenario=i",
    ];
    let experiment = root().join("conf/dynamic/drift-few.toml");
    let simulate = ["simulate", experiment.to_str().unwrap(), "--out", "longer"];
    folder.stdout(&[&simulate[..], &longer].concat());
    against(
        "longer/i",
        "is of another experiment: `application.supersteps` is `500`, but `400` in the run to explain",
    );
    let other = folder.path().join("kept/i/run.json");
    let text = fs::read_to_string(&other).unwrap();
    let of_other_platform = text.replace("\"platform_sha256\": \"", "\"platform_sha256\": \"00");
    assert_ne!(of_other_platform, text);
    fs::write(&other, of_other_platform).unwrap();
    against(
        "kept/i",
        "is of another experiment: the description of its platform differs",
    );
    fs::write(&other, text).unwrap();
    // A record beside the run that cannot be read is named, and the rest is explained.
    fs::write(folder.path().join("kept/i/events.jsonl"), "xx\n").unwrap();
    let answer = json(&folder, &[]);
    let last = answer["sentences"].as_array().unwrap().last().unwrap();
    let last = last.as_str().unwrap();
    assert!(
        last.starts_with(
            "The record of scenario i beside this one is not used: kept/i/events.jsonl:1"
        ),
        "{last}"
    );
}

#[test]
fn unknown_processes_and_calls_are_refused_with_the_nearest() {
    let folder = lbm();
    folder.fails(
        &["explain", "kept", "--process", "p26"],
        2,
        "--process: there is no process \"p26\", must be one of p1 to p25; did you mean \"p25\"?",
    );
    folder.fails(
        &["explain", "kept", "--superstep", "100"],
        2,
        "--superstep: no call was held after superstep 100; the nearest are after 60 and 124",
    );
    folder.fails(
        &["explain", "kept/i", "--superstep", "4"],
        2,
        "--superstep: no call was held after superstep 4; there is none in the 2000 supersteps of this run",
    );
}

#[test]
fn a_folder_without_a_record_is_refused() {
    let folder = recorded(&["application.supersteps=20"]);
    folder.fails(
        &["explain", "absent"],
        4,
        "absent: cannot be read: No such file or directory (os error 2)",
    );
    folder.fails(
        &["explain", "."],
        4,
        ".: holds no record; one is made by `simulate FILE --out DIR`",
    );
    let place = folder.path().join("kept/iii");
    let (events, run) = (place.join("events.jsonl"), place.join("run.json"));
    let (text, manifest) = (
        fs::read(&events).unwrap(),
        fs::read_to_string(&run).unwrap(),
    );
    fs::write(&events, &text[..text.len() / 2]).unwrap();
    let ended = folder.run(&["explain", "kept"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.starts_with("error: kept/iii/events.jsonl:"),
        "{ended:?}"
    );
    let other = String::from_utf8(text).unwrap();
    fs::write(
        &events,
        other.replacen("migbsp.events/1", "migbsp.events/9", 1),
    )
    .unwrap();
    let refused = |message: &str| {
        let ended = folder.run(&["explain", "kept"]);
        let remedy = format!("error: {message}; it was written by migbsp ");
        assert!(
            ended.code == Some(4) && ended.stderr.starts_with(&remedy),
            "{ended:?}"
        );
    };
    refused(
        "kept/iii/events.jsonl:1: schema \"migbsp.events/9\"; this program reads \"migbsp.events/1\"",
    );
    fs::write(&run, manifest.replacen("migbsp.run/1", "migbsp.run/9", 1)).unwrap();
    refused("kept/iii/run.json: schema \"migbsp.run/9\"; this program reads \"migbsp.run/1\"");
    let mut unruled: Value = serde_json::from_str(&manifest).unwrap();
    let configuration = unruled["configuration"].as_object_mut().unwrap();
    configuration.remove("scheduler").unwrap();
    fs::write(&run, unruled.to_string()).unwrap();
    folder.fails(
        &["explain", "kept"],
        4,
        "kept/iii: the configuration has no `scheduler`, so the rules of its calls are unknown",
    );
    fs::remove_file(&run).unwrap();
    folder.fails(
        &["explain", "kept"],
        4,
        "kept/iii holds no record that can be read: neither run.json nor run.json.partial describes the run",
    );
    fs::remove_dir_all(&place).unwrap();
    folder.fails(
        &["explain", "kept"],
        4,
        "kept: holds several records; name one of kept/i, kept/ii",
    );
}

#[test]
fn the_hosts_that_were_compared_for_a_process_are_shown() {
    let experiment = root().join("conf/du2007/linpack-3.toml");
    let experiment = experiment.to_str().unwrap();
    let folder = Folder::new();
    let simulate = ["simulate", experiment, "--seed", "3"];
    folder.stdout(&[&simulate[..], &["--out", "kept"]].concat());
    let text = folder.stdout(&["explain", "kept", "--superstep", "1"]);
    assert!(
        text.contains("Hosts that were compared for p1, now on source-1 (seconds)"),
        "{text}"
    );
    let answer = json(&folder, &["--superstep", "1"]);
    let choice = &answer["calls"][0]["assessment"]["choice"];
    let hosts = choice["destinations"].as_array().unwrap();
    assert_eq!(hosts.len(), 11);
    for host in hosts {
        let parts = ["cost_seconds", "execution_seconds"].map(|key| number(&host[key]));
        let sum = parts.into_iter().sum::<f64>();
        assert!(
            (number(&host["completion_seconds"]) - sum).abs() < 1e-9,
            "{host}"
        );
    }
    let idle = hosts.iter().filter(|host| host["is_idle"] == true);
    let completion = |host: &&Value| number(&host["completion_seconds"]);
    let best = idle.min_by(|one, other| completion(one).total_cmp(&completion(other)));
    assert_eq!(best.unwrap()["chosen"], true, "{choice}");
    let none = ["--out", "none", "--set", "scheduler.planning.idle_below=0"];
    let short = ["--set", "application.supersteps=3"];
    folder.stdout(&[&simulate[..], &none, &short].concat());
    let text = folder.stdout(&["explain", "none", "--superstep", "1"]);
    let reason = "p1 stays on source-1: no other host is on the idle list";
    assert!(text.contains(reason), "{text}");
}
