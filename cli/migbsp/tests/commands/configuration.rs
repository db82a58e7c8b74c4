//! Layers, provenance, and the errors of invalid keys and values.

use experiments::Registry;

use crate::invocation::{EXPERIMENT, Folder, without};

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
    // The first is that of checkpoints.
    assert_eq!(line("interval ="), "interval = \"never\" # default");
    assert!(text.contains("\ninterval = 8 "), "{text}");
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
fn the_printed_configuration_gives_the_same_result() {
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
    let result = |text: &str| without(text, &["overrides"]);
    assert_eq!(result(&folder.stdout(&again)), result(&wanted));
}

#[test]
fn a_run_that_has_to_hit_the_limit_does_not_begin() {
    let folder = Folder::new();
    folder.fails(
        &["simulate", "e.toml", "--set", "run.superstep_limit=3"],
        4,
        "invalid value `20` for `application.supersteps`: must be at most 3, the value of `run.superstep_limit`\n  --> e.toml:4\n  help: raise `run.superstep_limit`",
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
fn a_mistyped_key_shows_place_and_suggestion() {
    let check = |text: &str, message: &str| {
        let folder = Folder::new().with("e.toml", format!("{EXPERIMENT}{text}"));
        folder.fails(&["simulate", "e.toml"], 4, message);
    };
    check(
        "[scheduler]\nintervall = 4\n",
        "unknown key `scheduler.intervall`\n  --> e.toml:16\n  help: did you mean `interval`?",
    );
    check(
        "[schedule]\ninterval = 4\n",
        "unknown key `schedule`\n  --> e.toml:15\n  help: did you mean `scheduler`?",
    );
    check(
        "[scheduler.migration]\nrate = 1\n",
        "unknown key `scheduler.migration.rate`: expected one of `source`, `data_rate`, `fixed_rate`, `overlap`, `base`\n  --> e.toml:16",
    );
    check(
        "[run]\ngravity = 1\n",
        "unknown key `run.gravity`: expected one of `seed`, `superstep_limit`, `trace`\n  --> e.toml:16",
    );
    check(
        "[application.lbm]\nboundry = 1\n",
        "unknown key `application.lbm.boundry`\n  --> e.toml:16\n  help: did you mean `boundary`?",
    );
}

#[test]
fn every_layer_is_named_in_its_faults() {
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "scheduler.intervall=4"],
        2,
        "unknown key `scheduler.intervall`\n  --> --set\n  help: did you mean `interval`?",
    );
    Folder::new()
        .with_variable("MIGBSP__BARRIER__SHAP", "ideal")
        .fails(
            &["simulate", "e.toml"],
            2,
            "unknown key `barrier.shap`\n  --> environment MIGBSP__BARRIER__SHAP\n  help: did you mean `shape`?",
        );
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "interval"],
        2,
        "invalid value `interval`: must be section.key=value, such as scheduler.interval=8\n  --> --set",
    );
    Folder::new().with_variable("MIGBSP__SEED", "1").fails(
        &["simulate", "e.toml"],
        2,
        "invalid variable: must be MIGBSP__SECTION__KEY, such as MIGBSP__SCHEDULER__INTERVAL=8\n  --> environment MIGBSP__SEED",
    );
}

#[test]
fn invalid_values_show_the_rule_that_they_break() {
    let folder = Folder::new();
    for (set, message) in REFUSED {
        folder.fails(&["simulate", "e.toml", "--set", set], 2, message);
    }
}

#[test]
fn an_unknown_workload_shows_all_that_there_are() {
    let names = Registry::shipped().names().join(", ");
    Folder::new().fails(
        &["simulate", "e.toml", "--set", "application.workload=lbn"],
        2,
        &format!(
            "invalid value `lbn` for `application.workload`: unknown workload, must be one of {names}\n  \
             --> --set\n  help: did you mean \"lbm\"?"
        ),
    );
}

#[test]
fn missing_keys_are_named_with_an_example() {
    let folder = Folder::new().with("empty.toml", "");
    folder.fails(
        &["simulate", "empty.toml"],
        4,
        "missing key `application.workload`\n  help: set it in the experiment file or with `--set application.workload=lbm`",
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
        "missing key `platform.file`\n  help: set it in the experiment file or with `--set platform.file=platforms/testbed.toml`",
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

/// Assignments and their errors.
const REFUSED: [(&str, &str); 31] = [
    (
        "elasticity.date=-1",
        "invalid value `-1` for `elasticity.date`: must be at least 0 s\n  --> --set",
    ),
    (
        "scheduler.window=1e308 s",
        "invalid value `\"1e308 s\"` for `scheduler.window`: must be at most 1e12 s\n  --> --set",
    ),
    (
        "scheduler.load_window=1e308",
        "invalid value `1e308` for `scheduler.load_window`: must be at most 1e12 s\n  --> --set",
    ),
    (
        "scheduler.migration.data_rate=1e7",
        "invalid value `10000000.0` for `scheduler.migration.data_rate`: must be at most 1e6 s/B\n  --> --set",
    ),
    (
        "platform.latency_factor=-1",
        "invalid value `-1` for `platform.latency_factor`: must be from 0 to 10000\n  --> --set",
    ),
    (
        "application.processes=4294967295",
        "invalid value `4294967295` for `application.processes`: must be at most 16777216 in a simulation\n  --> --set",
    ),
    (
        "platform.file=",
        "missing key `platform.file`\n  --> --set\n  help: set it in the experiment file or with `--set platform.file=platforms/testbed.toml`",
    ),
    (
        "application.processes=0",
        "invalid value `0` for `application.processes`: must be at least 1\n  --> --set",
    ),
    (
        "application.processes=-3",
        "invalid value `-3` for `application.processes`: must be a whole number from 0 to 4294967295\n  --> --set",
    ),
    (
        "application.processes=2.5",
        "invalid value `2.5` for `application.processes`: must be a whole number from 0 to 4294967295\n  --> --set",
    ),
    (
        "application.processes=many",
        "invalid value `\"many\"` for `application.processes`: must be a whole number from 0 to 4294967295\n  --> --set",
    ),
    (
        "application.supersteps=0",
        "invalid value `0` for `application.supersteps`: must be at least 1\n  --> --set",
    ),
    (
        "platform.model=lv80",
        "invalid value `\"lv80\"` for `platform.model`: must be one of `lv08`, `ideal`\n  --> --set\n  help: did you mean \"lv08\"?",
    ),
    (
        "application.synthetic.memory=1e16",
        "invalid value `1e16` for `application.synthetic.memory`: must be at most 9 PB (2^53 bytes)\n  --> --set",
    ),
    (
        "application.synthetic.bytes=[9007199254740994]",
        "invalid value `9007199254740994` for `application.synthetic.bytes[0]`: must be at most 9 PB (2^53 bytes)\n  --> --set",
    ),
    (
        "platform.tcp_window=0",
        "invalid value `0` for `platform.tcp_window`: must be at least 1\n  --> --set",
    ),
    (
        "platform.cross_traffic=yes",
        "invalid value `\"yes\"` for `platform.cross_traffic`: must be true or false\n  --> --set",
    ),
    (
        "placement.order=filled",
        "invalid value `\"filled\"` for `placement.order`: must be one of `fill`, `round-robin`\n  --> --set\n  help: did you mean \"fill\"?",
    ),
    (
        "placement.per_host=0",
        "invalid value `0` for `placement.per_host`: must be at least 1\n  --> --set",
    ),
    (
        "scheduler.tolerance=1.5",
        "invalid value `1.5` for `scheduler.tolerance`: must be a number above 0 and below 1\n  --> --set",
    ),
    (
        "scheduler.tolerance=nan",
        "invalid value `nan` for `scheduler.tolerance`: must be a finite number\n  --> --set",
    ),
    (
        "scheduler.interval=0",
        "invalid value `0` for `scheduler.interval`: must be at least 1\n  --> --set",
    ),
    (
        "scheduler.window=-1",
        "invalid value `-1` for `scheduler.window`: must be at least 0 s\n  --> --set",
    ),
    (
        "scheduler.load_window=inf",
        "invalid value `inf` for `scheduler.load_window`: must be a finite number\n  --> --set",
    ),
    (
        "scheduler.migration.data_rate=-1",
        "invalid value `-1` for `scheduler.migration.data_rate`: must be a finite number of at least 0\n  --> --set",
    ),
    (
        "scheduler.transfer_factor=0.5",
        "invalid value `0.5` for `scheduler.transfer_factor`: must be from 1 to 1000000\n  --> --set",
    ),
    (
        "scheduler.transfer_factor=nan",
        "invalid value `nan` for `scheduler.transfer_factor`: must be a finite number\n  --> --set",
    ),
    (
        "scheduler.scenario=iv",
        "invalid value `\"iv\"` for `scheduler.scenario`: must be one of `i`, `ii`, `iii`, `all`\n  --> --set\n  help: did you mean \"i\"?",
    ),
    (
        "barrier.message=8 KB",
        "invalid value `\"8 KB\"` for `barrier.message`: unknown unit `KB`, must be bytes, such as 900000 or \"900 kB\"\n  --> --set\n  help: did you mean `kB`?",
    ),
    (
        "scheduler=4",
        "invalid value `scheduler=4`: must be section.key=value, such as scheduler.interval=8\n  --> --set",
    ),
    (
        "run.seed=[1]",
        "invalid value `[1]` for `run.seed`: must be a whole number from 0 to 18446744073709551615\n  --> --set",
    ),
];
