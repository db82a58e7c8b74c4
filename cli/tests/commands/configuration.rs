//! Layers, provenance, and what is said of keys and values that will not do.

use crate::invocation::{EXPERIMENT, Folder};

#[test]
fn the_configuration_in_effect_says_where_each_value_came_from() {
    let folder = Folder::new().with_variable("MIGBSP__RUN__SEED", "7");
    let text = folder.stdout(&[
        "simulate",
        "e.toml",
        "--print-config",
        "--set",
        "scheduler.interval=8",
        "--set",
        "application.synthetic.memory=900 kB",
    ]);
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("{start} is not in\n{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("processes ="), "processes = 4 # e.toml:3");
    assert_eq!(
        line("instructions ="),
        "instructions = [100000000.0] # e.toml:7"
    );
    assert_eq!(line("memory ="), "memory = 900000.0 # --set");
    assert_eq!(line("seed ="), "seed = 7 # environment MIGBSP__RUN__SEED");
    assert_eq!(line("interval ="), "interval = 8 # --set");
    assert_eq!(line("tolerance ="), "tolerance = 0.5 # default");
    assert_eq!(line("shape ="), "shape = \"central\" # default");
    assert_eq!(
        line("# max_per_host"),
        "# max_per_host is not set # default"
    );
    assert_eq!(line("# data_rate"), "# data_rate is not set # default");
}

#[test]
fn the_configuration_in_effect_is_an_experiment_itself() {
    let folder = Folder::new();
    let first = folder.stdout(&["simulate", "e.toml", "--print-config"]);
    let folder = folder.with("again.toml", &first);
    let second = folder.stdout(&["simulate", "again.toml", "--print-config"]);
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| line.split("  #").next().unwrap().trim_end().to_owned())
            .collect()
    };
    assert_eq!(values(&first), values(&second));
}

#[test]
fn what_is_printed_gives_the_same_result() {
    let sets = [
        "scheduler.heuristic=above",
        "scheduler.migration.data_rate=0.21 us/B",
        "scheduler.window=5 ms",
        "application.synthetic.dynamics={kind=\"jump\", start=7, jitter=0.1}",
        "scheduler.script=[{superstep=4, process=\"p1\", to=\"fast-4\"}]",
        "run.seed=18446744073709551615",
    ];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let folder = Folder::new();
    let json = ["simulate", "e.toml", "--format", "json"];
    let wanted = folder.stdout(&[&json[..], &sets].concat());
    let printed = folder.stdout(&[&["simulate", "e.toml", "--print-config"][..], &sets].concat());
    let folder = folder.with("again.toml", printed);
    let again = ["simulate", "again.toml", "--format", "json"];
    assert_eq!(folder.stdout(&again), wanted);
}

#[test]
fn a_run_that_has_to_hit_the_limit_does_not_begin() {
    let folder = Folder::new();
    folder.fails(
        &["simulate", "e.toml", "--set", "run.superstep_limit=3"],
        4,
        "e.toml:4: application.supersteps: met 20, but run.superstep_limit ends runs after 3; raise it",
    );
}

#[test]
fn a_run_that_hits_the_limit_says_which_key_sets_it() {
    let folder = Folder::new();
    let kernel = EXPERIMENT.replace("\"synthetic\"", "\"lu-kernel\"");
    let kernel = kernel.replace("supersteps = 20\n", "");
    let folder = folder.with(
        "lu.toml",
        kernel.replace(
            "[application.synthetic]\ninstructions = [1e8]\nmemory = 1e5\n",
            "",
        ),
    );
    folder.fails(
        &["simulate", "lu.toml", "--set", "run.superstep_limit=3"],
        1,
        "p1 had not halted after 3 supersteps; if it needs more, raise the limit (in experiments \
         `run.superstep_limit`)",
    );
}

#[test]
fn a_mistyped_key_is_answered_with_place_and_nearest_right_one() {
    let check = |text: &str, message: &str| {
        let folder = Folder::new().with("e.toml", format!("{EXPERIMENT}{text}"));
        folder.fails(&["simulate", "e.toml"], 4, message);
    };
    check(
        "[scheduler]\nintervall = 4\n",
        "e.toml:16: scheduler.intervall: unknown key; did you mean `interval`?",
    );
    check(
        "[schedule]\ninterval = 4\n",
        "e.toml:15: schedule: unknown key; did you mean `scheduler`?",
    );
    check(
        "[scheduler.migration]\nrate = 1\n",
        "e.toml:16: scheduler.migration.rate: unknown key; known here: `data_rate`, `fixed_rate`, `base`",
    );
    check(
        "[run]\ngravity = 1\n",
        "e.toml:16: run.gravity: unknown key; known here: `seed`, `superstep_limit`",
    );
    check(
        "[application.lbm]\nboundry = 1\n",
        "e.toml:16: application.lbm.boundry: unknown key; did you mean `boundary`?",
    );
}

#[test]
fn every_layer_is_named_in_its_faults() {
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "scheduler.intervall=4"],
        2,
        "--set: scheduler.intervall: unknown key; did you mean `interval`?",
    );
    Folder::new()
        .with_variable("MIGBSP__BARRIER__SHAP", "ideal")
        .fails(
            &["simulate", "e.toml"],
            2,
            "environment MIGBSP__BARRIER__SHAP: barrier.shap: unknown key; did you mean `shape`?",
        );
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "interval"],
        2,
        "--set: met \"interval\", expected section.key=value, as scheduler.interval=8",
    );
    Folder::new().with_variable("MIGBSP__SEED", "1").fails(
        &["simulate", "e.toml"],
        2,
        "environment MIGBSP__SEED: expected MIGBSP__SECTION__KEY, as MIGBSP__SCHEDULER__INTERVAL=8",
    );
}

#[test]
fn a_value_of_the_wrong_type_or_range_is_shown_with_what_is_expected() {
    let folder = Folder::new();
    for (set, message) in REFUSED {
        let message = format!("--set: {message}");
        folder.fails(&["simulate", "e.toml", "--set", set], 2, &message);
    }
}

#[test]
fn what_has_to_be_said_is_asked_for() {
    let folder = Folder::new().with("empty.toml", "");
    folder.fails(
        &["simulate", "empty.toml"],
        4,
        "application.workload: is missing; write it in the experiment file or give it as --set application.workload=lbm",
    );
    let all = [
        "simulate",
        "empty.toml",
        "--set",
        "application.workload=lbm",
        "--set",
        "application.processes=2",
        "--set",
        "application.supersteps=3",
    ];
    folder.fails(
        &all,
        4,
        "platform.file: is missing; write it in the experiment file or give it as --set platform.file=platforms/testbed.toml",
    );
}

#[test]
fn units_are_understood_where_numbers_are() {
    let folder = Folder::new();
    let text = folder.stdout(&[
        "simulate",
        "e.toml",
        "--print-config",
        "--set",
        "scheduler.migration.base=4.6 ms",
        "--set",
        "scheduler.migration.data_rate=0.21 us/B",
        "--set",
        "platform.tcp_window=64 KiB",
        "--set",
        "application.processes=1e1",
    ]);
    for line in [
        "base = 0.0046 ",
        "data_rate = 2.1e-7 ",
        "tcp_window = 65536 ",
        "processes = 10 ",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// What is set, and what is said to it.
const REFUSED: [(&str, &str); 23] = [
    (
        "application.processes=4294967295",
        "application.processes: met 4294967295, expected at most 16777216 in one simulation",
    ),
    (
        "platform.file=",
        "platform.file: is missing; write it in the experiment file or give it as --set platform.file=platforms/testbed.toml",
    ),
    (
        "application.processes=0",
        "application.processes: met 0, expected a whole number of at least 1",
    ),
    (
        "application.processes=-3",
        "application.processes: met -3, expected a whole number from 0 to 4294967295",
    ),
    (
        "application.processes=2.5",
        "application.processes: met 2.5, expected a whole number from 0 to 4294967295",
    ),
    (
        "application.processes=many",
        "application.processes: met \"many\", expected a whole number from 0 to 4294967295",
    ),
    (
        "application.supersteps=0",
        "application.supersteps: met 0, expected a whole number of at least 1",
    ),
    (
        "application.workload=lbn",
        "application.workload: met \"lbn\", which is no workload; known: lbm, lbm-kernel, smith-waterman, smith-waterman-kernel, lu, lu-kernel, heat, synthetic; did you mean \"lbm\"?",
    ),
    (
        "platform.model=lv80",
        "platform.model: met \"lv80\", expected one of `lv08`, `ideal`; did you mean \"lv08\"?",
    ),
    (
        "platform.tcp_window=0",
        "platform.tcp_window: met 0, expected a whole number of at least 1",
    ),
    (
        "platform.cross_traffic=yes",
        "platform.cross_traffic: met \"yes\", expected true or false",
    ),
    (
        "placement.order=filled",
        "placement.order: met \"filled\", expected one of `fill`, `round-robin`; did you mean \"fill\"?",
    ),
    (
        "placement.per_host=0",
        "placement.per_host: met 0, expected a whole number of at least 1",
    ),
    (
        "scheduler.tolerance=1.5",
        "scheduler.tolerance: met 1.5, expected a number above 0 and below 1",
    ),
    (
        "scheduler.tolerance=nan",
        "scheduler.tolerance: met nan, expected a finite number",
    ),
    (
        "scheduler.interval=0",
        "scheduler.interval: met 0, expected a whole number of at least 1",
    ),
    (
        "scheduler.window=-1",
        "scheduler.window: met -1, expected a time of at least 0 s",
    ),
    (
        "scheduler.load_window=inf",
        "scheduler.load_window: met inf, expected a finite number",
    ),
    (
        "scheduler.migration.data_rate=-1",
        "scheduler.migration.data_rate: met -1, expected a finite number of at least 0",
    ),
    (
        "scheduler.scenario=iv",
        "scheduler.scenario: met \"iv\", expected one of `i`, `ii`, `iii`, `all`; did you mean \"i\"?",
    ),
    (
        "barrier.message=8 KB",
        "barrier.message: met \"8 KB\": unknown unit `KB`, did you mean `kB`?; expected bytes, as 900000 or \"900 kB\"",
    ),
    (
        "scheduler=4",
        "met \"scheduler=4\", expected section.key=value, as scheduler.interval=8",
    ),
    (
        "run.seed=[1]",
        "run.seed: met [1], expected a whole number from 0 to 18446744073709551615",
    ),
];
