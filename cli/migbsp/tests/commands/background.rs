//! `[load]` and `[congestion]`: what others do, drawn from the run's seed.

use std::fs;

use serde_json::Value;

use crate::invocation::{EXPERIMENT, Folder, root, without};

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
        "invalid value `\"walc\"` for `load.kind`: must be one of `none`, `on-off`, `walk`, `wave`, `jobs`, `trace`, `levels`\n  --> e.toml:17\n  help: did you mean \"walk\"?",
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

const KINDS_OF_LINKS: &str = "links take `on-off`, `walk`, `wave` or `levels`";

#[test]
fn invalid_jobs_are_named_with_their_place() {
    let check = |section: &str, message: &str| {
        loaded(section).fails(&["simulate", "e.toml"], 4, message);
    };
    let invalid = |kind: &str, (key, value): (&str, &str), rule: &str| {
        let (name, takes) = kind.split_once(' ').unwrap();
        let section = format!("[{name}]\nkind = \"{takes}\"\n{key} = {value}\n");
        let value = value.replace("1e9", "1000000000");
        let message =
            format!("invalid value `{value}` for `{name}.{key}`: must be {rule}\n  --> e.toml:18");
        check(&section, &message);
    };
    let used = "a number from 0 to 0.99: a host is never fully used";
    let range = "a number, or a list of two numbers";
    for (key_and_value, rule) in [
        (("utilisation", "1"), used),
        (("utilisation", "-0.1"), used),
        (("utilisation", "nan"), "a finite number"),
        (("utilisation", "[0.1]"), range),
        (("utilisation", "[0.1, 0.2, 0.3]"), range),
        (("utilisation", "\"much\""), range),
        (("spread", "0"), "a factor from 0.001 to 1000"),
        (("lifetime", "0"), "a time of at least 1 ms"),
        (("lifetime", "-1"), "a time of at least 1 ms"),
        (("longest", "1"), "a number above 1, at most 1e9"),
        (("share", "1.5"), "a number from 0 to 1"),
        (("period", "0"), "a time above 0 s, 1e12 s at most"),
        (
            ("period", "1e9"),
            "short enough for at most a million jobs of a core",
        ),
        (
            ("lifetimes", "\"normal\""),
            "one of `pareto`, `exponential`",
        ),
    ] {
        invalid("load jobs", key_and_value, rule);
    }
}

#[test]
fn invalid_levels_and_ranges_are_named_with_their_place() {
    let check = |section: &str, message: &str| {
        loaded(section).fails(&["simulate", "e.toml"], 4, message);
    };
    for (key_and_value, rule) in [
        (
            ("available", "0"),
            "a part of the bandwidth from 0.001 to 1",
        ),
        (
            ("available", "[0.5, 1.5]"),
            "a part of the bandwidth from 0.001 to 1",
        ),
        (("variation", "2"), "a number from 0 to 1"),
        (("memory", "0.5"), "a time of at least one `step`"),
        (("step", "0"), "a time of at least 1 us"),
    ] {
        let value = match key_and_value {
            (_, "[0.5, 1.5]") => "1.5",
            (_, value) => value,
        };
        let (key, written) = key_and_value;
        let section = format!("[congestion]\nkind = \"levels\"\n{key} = {written}\n");
        let message = format!(
            "invalid value `{value}` for `congestion.{key}`: must be {rule}\n  --> e.toml:18"
        );
        check(&section, &message);
    }
    let turned = "must be a range from a lower number to a higher one\n  --> e.toml:18";
    for (section, key, written) in [
        ("load", "utilisation", "[0.5, 0.2]"),
        ("load", "spread", "[0.5, 0.2]"),
        ("congestion", "available", "[0.5, 0.2]"),
    ] {
        let kind = if section == "load" { "jobs" } else { "levels" };
        check(
            &format!("[{section}]\nkind = \"{kind}\"\n{key} = {written}\n"),
            &format!("invalid value `0.5` for `{section}.{key}`: {turned}"),
        );
    }
    check(
        "[load]\nkind = \"jobs\"\ndiscipline = \"shard\"\n",
        "invalid value `\"shard\"` for `load.discipline`: must be one of `preemptive`, `shared`\n  --> e.toml:18\n  help: did you mean \"shared\"?",
    );
    check(
        "[load]\nkind = \"jobs\"\nsets = [\"slwo\"]\n",
        "`load.sets`: the platform has no Set \"slwo\"\n  --> e.toml:18\n  help: did you mean \"slow\"?",
    );
}

#[test]
fn kinds_take_their_own_keys_on_their_own_targets_only() {
    let check = |section: &str, message: &str| {
        loaded(section).fails(&["simulate", "e.toml"], 4, message);
    };
    check(
        "[congestion]\nkind = \"jobs\"\n",
        &format!("`congestion.kind`: jobs run on hosts; {KINDS_OF_LINKS}\n  --> e.toml:17"),
    );
    check(
        "[congestion]\nkind = \"trace\"\nfile = \"t.csv\"\n",
        &format!("`congestion.kind`: a trace is of hosts; {KINDS_OF_LINKS}\n  --> e.toml:17"),
    );
    check(
        "[load]\nkind = \"levels\"\n",
        "`load.kind`: levels are of links; hosts take `on-off`, `walk`, `wave`, `jobs` or `trace`\n  --> e.toml:17",
    );
    for (section, key, takes) in [
        (
            "[load]\nkind = \"jobs\"\nlevel = 0.5\n",
            "load.level",
            "`sets`, `share`, `utilisation`, `lifetimes`, `lifetime`, `longest`, `spread`, `discipline`, `period`",
        ),
        (
            "[load]\nkind = \"walk\"\nutilisation = 0.5\n",
            "load.utilisation",
            "`sets`, `share`, `level`, `step`, `period`",
        ),
        (
            "[congestion]\nkind = \"levels\"\nlevel = 0.5\n",
            "congestion.level",
            "`links`, `share`, `available`, `variation`, `memory`, `step`, `period`",
        ),
        (
            "[load]\nkind = \"trace\"\nshare = 0.5\n",
            "load.share",
            "`file`, `discipline`, `period`",
        ),
    ] {
        let message =
            format!("`{key}`: not a key of this `kind`, which takes {takes}\n  --> e.toml:18");
        check(section, &message);
    }
    check(
        "[load]\nkind = \"jobs\"\nlifetimes = \"exponential\"\nlongest = 9\n",
        "`load.longest`: not a key of this `kind`, which takes `sets`, `share`, `utilisation`, `lifetimes`, `lifetime`, `spread`, `discipline`, `period`\n  --> e.toml:19",
    );
}

/// An experiment under the trace `lines`, with more keys of its section.
fn traced(lines: &str, keys: &str) -> Folder {
    let section = format!("[load]\nkind = \"trace\"\nfile = \"t.csv\"\n{keys}");
    loaded(&section).with("t.csv", lines)
}

#[test]
fn byte_order_marks_begin_no_file() {
    let folder = traced("# a day\nhost,start,end\nslow-1,0,2\n", "");
    let text = folder.stdout(&["simulate", "e.toml", "--format", "json"]);
    for file in ["e.toml", "two.xml", "t.csv"] {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("\u{feff}{text}")).unwrap();
    }
    let marked = folder.stdout(&["simulate", "e.toml", "--format", "json"]);
    let keys = ["platform_sha256"];
    assert_eq!(without(&marked, &keys), without(&text, &keys));
}

#[test]
fn invalid_traces_are_named_with_file_and_line() {
    let check = |lines: &str, keys: &str, message: &str| {
        traced(lines, keys).fails(&["simulate", "e.toml"], 4, message);
    };
    let utilisations = "host,start,end,utilisation\n";
    check(
        &format!("{utilisations}slow-1,0,2,1\nslow-1,3,4,1\n"),
        "",
        "leaves a gap from 2 s to 3 s: state a utilisation of 0 where a host is idle\n  --> t.csv:3",
    );
    check(
        &format!("{utilisations}slow-1,0,2,1\nslow-1,1,4,1\n"),
        "",
        "overlaps the line before, which ends at 2 s\n  --> t.csv:3",
    );
    check(
        &format!("{utilisations}slow-1,0,2,1.5\n"),
        "",
        "invalid value `1.5` for `utilisation`: must be a number from 0 to 1\n  --> t.csv:2",
    );
    check(
        &format!("{utilisations}slow-1,0,2,1\n"),
        "discipline = \"shared\"\n",
        "`load.discipline`: a trace with utilisations takes no discipline: its load does not depend on ours\n  --> t.csv",
    );
    check(
        "host,start,end\nslow-1,0,2\nslow-1,1,4\n",
        "",
        "is one of 2 lines of its host at 1 s, must be at most 1, one for each core\n  --> t.csv:3",
    );
    check(
        "host,start,end\n# a comment\nslow-9,0,2\n",
        "",
        "`host`: the platform has no host \"slow-9\"\n  --> t.csv:3\n  help: did you mean \"slow-1\"?",
    );
    check(
        "host,start,end\nslow-1,0,2\n",
        "period = 1\n",
        "ends at 2 s, must not be after `load.period`, 1 s\n  --> t.csv:2",
    );
    for lines in ["host,begin,end\nslow-1,0,2\n", ""] {
        check(
            lines,
            "",
            "must begin with the line `host,start,end` or `host,start,end,utilisation`\n  --> t.csv",
        );
    }
}

#[test]
fn a_trace_needs_a_file_that_exists() {
    loaded("[load]\nkind = \"trace\"\n").fails(
        &["simulate", "e.toml"],
        4,
        "missing key `load.file`\n  --> e.toml:17\n  help: name a CSV file with the columns host, start and end",
    );
    loaded("[load]\nkind = \"trace\"\nfile = \"none.csv\"\n").fails(
        &["simulate", "e.toml"],
        4,
        "`load.file`: No such file or directory (os error 2)\n  --> none.csv",
    );
}

#[test]
fn a_host_that_is_always_busy_lets_the_run_end_or_say_that_it_is_stuck() {
    let stuck = [
        traced("host,start,end,utilisation\nslow-1,0,2,1\n", "period = 2\n"),
        traced(
            "host,start,end\nslow-1,0.1,2.4\n",
            "discipline = \"preemptive\"\nperiod = 2.4\n",
        ),
    ];
    // The job of the second leaves 0.1 s of every 2.4 s: it is slow, not stuck.
    let [forever, nearly] = stuck;
    let always = traced(
        "host,start,end\nslow-1,0,2.4\n",
        "discipline = \"preemptive\"\nperiod = 2.4\n",
    );
    for folder in [forever, always] {
        let ended = folder.run(&["simulate", "e.toml"]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        let reason = "wait for ever; a host is fully loaded or a link has no bandwidth left";
        assert!(ended.stderr.contains(reason), "{ended:?}");
    }
    let crowded = |discipline: &str| {
        loaded(&format!(
            "[load]\nkind = \"jobs\"\nutilisation = 0.99\ndiscipline = \"{discipline}\"\n"
        ))
    };
    let shared = traced("host,start,end\nslow-1,0,2\n", "period = 2\n");
    for folder in [nearly, shared, crowded("preemptive"), crowded("shared")] {
        let json = folder.stdout(&["simulate", "e.toml", "--format", "json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        for run in json["runs"].as_array().unwrap() {
            assert_eq!(run["supersteps"], 20, "{run}");
        }
    }
}

#[test]
fn no_process_moves_if_no_host_is_on_the_idle_list() {
    let busy = "[load]\nkind = \"jobs\"\nutilisation = 0.6\nlifetime = \"20 ms\"\nperiod = 60\n";
    let folder = loaded(busy);
    let moves = |idle_below: &str| -> usize {
        let set = format!("scheduler.planning.idle_below={idle_below}");
        let policy = ["simulate", "e.toml", "--policy", "fixed+dsa", "--set", &set];
        let json = folder.stdout(&[&policy[..], &["--format", "json"]].concat());
        let json: Value = serde_json::from_str(&json).unwrap();
        let run = json["runs"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (&run["scenario"], &run["supersteps"]),
            (&"iii".into(), &20.into())
        );
        let calls = run["calls"].as_array().unwrap();
        assert!(!calls.is_empty(), "{run}");
        let moves = calls
            .iter()
            .map(|call| call["migrations"].as_array().unwrap().len());
        moves.sum()
    };
    assert_eq!(moves("0"), 0);
    assert_ne!(moves("1"), 0);
}

#[test]
fn records_under_owners_jobs_are_verified() {
    let experiment = root().join("conf/dynamic/owners.toml");
    let experiment = experiment.to_str().unwrap();
    for policy in ["adaptive", "fixed+dsa", "fixed+random", "fixed+dsa-plus"] {
        let folder = Folder::new();
        let short = ["--set", "application.supersteps=24", "--policy", policy];
        let kept = ["simulate", experiment, "--out", "kept"];
        folder.stdout(&[&kept[..], &short].concat());
        let verified = folder.stdout(&["verify", "kept"]);
        assert!(
            verified.contains("verified: decided again from what was observed, all is as recorded"),
            "{policy}: {verified}"
        );
        assert!(!verified.contains(" 0 moves"), "{policy}: {verified}");
    }
}
