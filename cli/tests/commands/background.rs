//! `[load]` and `[congestion]`: what others do, drawn from the run's seed.

use serde_json::Value;

use crate::invocation::{EXPERIMENT, Folder};

/// An experiment of 20 supersteps of 0.2 s and more, with others there.
fn loaded(section: &str) -> Folder {
    Folder::new().with("e.toml", format!("{EXPERIMENT}\n{section}"))
}

/// How long the scenarios last.
fn seconds(folder: &Folder, sets: &[&str]) -> Vec<f64> {
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let arguments = [&["simulate", "e.toml", "--format", "json"][..], &sets].concat();
    let json: Value = serde_json::from_str(&folder.stdout(&arguments)).unwrap();
    let runs = json["runs"].as_array().unwrap();
    runs.iter()
        .map(|run| run["seconds"].as_f64().unwrap())
        .collect()
}

#[test]
fn a_seed_draws_the_same_load_for_every_policy_and_another_seed_another() {
    let folder = loaded("[load]\nkind = \"on-off\"\nbusy = \"1 s\"\nidle = 1\nstep = \"100 ms\"\n");
    let with = seconds(&folder, &[]);
    assert_eq!(seconds(&folder, &[]), with);
    assert_eq!(
        seconds(&folder, &["scheduler.policy=none"])[0].to_bits(),
        with[0].to_bits()
    );
    assert_ne!(
        seconds(&folder, &["run.seed=2"])[0].to_bits(),
        with[0].to_bits()
    );
    let without = seconds(&folder, &["load.kind=none"]);
    assert_eq!(without, seconds(&Folder::new(), &[]));
    assert!(without[0] < with[0]);
}

#[test]
fn only_the_sets_and_links_that_are_named_are_used_by_others() {
    let without = seconds(&Folder::new(), &["application.processes=4"]);
    let run = |section: &str| seconds(&loaded(section), &["application.processes=4"])[0];
    // All four processes are in the Set `slow`, which takes 0.2 s for a superstep.
    assert!(without[0] < run("[load]\nkind = \"wave\"\nsets = [\"slow\"]\n"));
    let elsewhere = run("[load]\nkind = \"wave\"\nsets = [\"fast\"]\n");
    assert_eq!(elsewhere.to_bits(), without[0].to_bits());
    let elsewhere = run("[congestion]\nkind = \"walk\"\nlevel = 0.9\n");
    assert_eq!(elsewhere.to_bits(), without[0].to_bits());
    let links = "links = [\"slow_link_1\", \"slow_link_2\", \"slow_link_3\"]";
    assert!(
        without[0]
            < run(&format!(
                "[congestion]\nkind = \"walk\"\nlevel = 0.9\n{links}\n"
            ))
    );
}

#[test]
fn background_load_is_printed_and_gives_the_same_result() {
    let folder =
        loaded("[load]\nkind = \"on-off\"\nbusy = \"2 s\"\n\n[congestion]\nkind = \"wave\"\n");
    let json = ["simulate", "e.toml", "--format", "json"];
    let wanted = folder.stdout(&json);
    let printed = folder.stdout(&["simulate", "e.toml", "--print-config"]);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = printed.lines().map(words).collect();
    for line in [
        "kind = \"on-off\" # e.toml:17",
        "busy = 2.0 # e.toml:18",
        "idle = 60.0 # default",
        "kind = \"wave\" # e.toml:21",
    ] {
        assert!(
            lines.iter().any(|shown| shown == line),
            "{line} is not in\n{printed}"
        );
    }
    let folder = folder.with("again.toml", printed);
    assert_eq!(
        folder.stdout(&["simulate", "again.toml", "--format", "json"]),
        wanted
    );
}

#[test]
fn invalid_background_load_is_named_with_its_place() {
    let check = |section: &str, message: &str| {
        loaded(section).fails(&["simulate", "e.toml"], 4, message);
    };
    check(
        "[load]\nkind = \"walc\"\n",
        "invalid value `\"walc\"` for `load.kind`: must be one of `none`, `on-off`, `walk`, `wave`\n  --> e.toml:17\n  help: did you mean \"walk\"?",
    );
    check(
        "[load]\nkind = \"walk\"\nbusy = 3\n",
        "`load.busy`: not a key of this `kind`, which takes `sets`, `share`, `level`, `step`, `period`\n  --> e.toml:18",
    );
    check(
        "[load]\nkind = \"walk\"\nlevle = 3\n",
        "unknown key `load.levle`\n  --> e.toml:18\n  help: did you mean `level`?",
    );
    check(
        "[load]\nkind = \"walk\"\nlevel = 1.5\n",
        "invalid value `1.5` for `load.level`: must be a number from 0 to 1\n  --> e.toml:18",
    );
    check(
        "[congestion]\nkind = \"walk\"\nlevel = 1\n",
        "invalid value `1` for `congestion.level`: must be a number from 0 to 0.99: a link is never fully loaded\n  --> e.toml:18",
    );
    check(
        "[load]\nkind = \"on-off\"\nbusy = \"500 ms\"\n",
        "invalid value `0.5` for `load.busy`: must be a time of at least one `step`\n  --> e.toml:18",
    );
    check(
        "[load]\nkind = \"wave\"\nstep = \"2 kg\"\n",
        "invalid value `\"2 kg\"` for `load.step`: unknown unit `kg`, must be seconds, such as 0.05 or \"50 ms\"\n  --> e.toml:18\n  help: did you mean `ns`?",
    );
    check(
        "[load]\nkind = \"wave\"\nsets = [\"slwo\"]\n",
        "`load.sets`: the platform has no Set \"slwo\"\n  --> e.toml:18\n  help: did you mean \"slow\"?",
    );
    check(
        "[congestion]\nkind = \"wave\"\nlinks = [\"betwen\"]\n",
        "`congestion.links`: the platform has no link \"betwen\"\n  --> e.toml:18\n  help: did you mean \"between\"?",
    );
}

#[test]
fn a_host_that_the_platform_loads_is_not_loaded_again() {
    let platform = "[[set]]\nname = \"a\"\nhosts = 4\nspeed = 1e9\nlink = { bandwidth = 1e8 }\n\n\
                    [[load]]\nhosts = \"a-2\"\npoints = [[0, 0.5]]\n";
    let experiment =
        format!("{EXPERIMENT}\n[load]\nkind = \"walk\"\n").replace("two.xml", "p.toml");
    let folder = Folder::new()
        .with("p.toml", platform)
        .with("e.toml", experiment);
    folder.fails(
        &["simulate", "e.toml"],
        4,
        "`load.sets`: duplicate load of host `a-2`; the platform's file has the first\n  --> e.toml:16",
    );
    folder.fails(
        &[
            "simulate",
            "e.toml",
            "--set",
            "load.kind=none",
            "--set",
            "congestion.kind=walk",
        ],
        2,
        "`congestion.links`: no link lies between Sets alone; name those that are congested\n  --> --set",
    );
}
