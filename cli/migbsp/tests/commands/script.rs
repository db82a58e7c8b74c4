//! `[[scheduler.script]]`: moves decided beforehand.

use serde_json::Value;

use crate::invocation::{EXPERIMENT, Folder, without};

const JSON: [&str; 4] = ["simulate", "e.toml", "--format", "json"];

/// The experiment with moves `(superstep, process, host)`; the first one's table begins in line 16.
fn scripted(moves: &[(&str, &str, &str)]) -> Folder {
    let mut text = format!("{EXPERIMENT}\n");
    for (superstep, process, to) in moves {
        text.push_str(&format!(
            "[[scheduler.script]]\nsuperstep = {superstep}\nprocess = \"{process}\"\nto = \"{to}\"\n"
        ));
    }
    Folder::new().with("e.toml", text)
}

/// `(superstep, process, to)` of all migrations of scenario iii.
fn moved(json: &str) -> Vec<(u64, String, String)> {
    let json: Value = serde_json::from_str(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut moved = Vec::new();
    for call in json["runs"][2]["calls"].as_array().unwrap() {
        for migration in call["migrations"].as_array().unwrap() {
            let (process, to) = (text(&migration["process"]), text(&migration["to"]));
            moved.push((call["superstep"].as_u64().unwrap(), process, to));
        }
    }
    moved
}

#[test]
fn a_script_decides_all_migrations() {
    let expected = [
        (4, "p3".to_owned(), "fast-2".to_owned()),
        (4, "p2".to_owned(), "slow-1".to_owned()),
    ];
    let folder = scripted(&[("4", "p3", "fast-2"), ("4", "p2", "slow-1")]);
    let ended = folder.run(&JSON);
    assert_eq!(ended.stderr, "");
    assert_eq!(moved(&ended.stdout), expected);
    // The same from the command line and the environment.
    let value = r#"[{ superstep = 4, process = "p3", to = "fast-2" }, { superstep = 4, process = "p2", to = "slow-1" }]"#;
    let set = format!("scheduler.script={value}");
    let arguments = [&JSON[..], &["--set", &set]].concat();
    let result = |text: &str| without(text, &["overrides"]);
    let expected = result(&ended.stdout);
    assert_eq!(result(&Folder::new().stdout(&arguments)), expected);
    let folder = Folder::new().with_variable("MIGBSP__SCHEDULER__SCRIPT", value);
    assert_eq!(result(&folder.stdout(&JSON)), expected);
}

#[test]
fn a_call_is_held_when_the_script_wants_one() {
    let expected = [
        (1, "p3".to_owned(), "fast-2".to_owned()),
        (3, "p2".to_owned(), "slow-1".to_owned()),
    ];
    let folder = scripted(&[("1", "p3", "fast-2"), ("3", "p2", "slow-1")]);
    assert_eq!(moved(&folder.stdout(&JSON)), expected);
}

#[test]
fn an_empty_script_leaves_it_to_the_model() {
    let folder = scripted(&[("4", "p3", "fast-2")]);
    let empty = [&JSON[..], &["--set", "scheduler.script=[]"]].concat();
    let result = |text: &str| without(text, &["overrides"]);
    let expected = result(&Folder::new().stdout(&JSON));
    assert_eq!(result(&folder.stdout(&empty)), expected);
}

#[test]
fn script_orders_that_are_not_followed_are_warned_of() {
    let check = |moves: &[(&str, &str, &str)], arguments: &[&str], warning: &str| {
        let ended = scripted(moves).run(&[&JSON[..], arguments].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.stderr, format!(" WARN scheduler.script {warning}\n"));
    };
    check(
        &[("90", "p3", "fast-2")],
        &["--set", "application.supersteps=5"],
        "names superstep 90, but the run is over after 5",
    );
    check(
        &[("4", "p3", "slow-3")],
        &[],
        "moves p3 to slow-3 after superstep 4, but it was there already, or had halted",
    );
    check(
        &[("4", "p3", "fast-2")],
        &["--set", "scheduler.scenario=ii"],
        "has no effect: scenario iii is not run",
    );
}

#[test]
fn a_script_of_what_does_not_exist_is_refused() {
    let check = |order: (&str, &str, &str), message: &str| {
        let folder = scripted(&[("4", "p1", "fast-1"), order]);
        folder.fails(&["simulate", "e.toml"], 4, message);
    };
    check(
        ("4", "p5", "fast-2"),
        "`scheduler.script[1].process`: there is no process \"p5\", must be one of p1 to p4\n  --> e.toml:22\n  help: did you mean \"p4\"?",
    );
    check(
        ("4", "p2", "fats-2"),
        "`scheduler.script[1].to`: the platform has no host \"fats-2\"\n  --> e.toml:23\n  help: did you mean \"fast-2\"?",
    );
    check(
        ("0", "p2", "fast-2"),
        "invalid value `0` for `scheduler.script[1].superstep`: must be at least 1\n  --> e.toml:21",
    );
    check(
        ("4", "p1", "fast-2"),
        "`scheduler.script[1].process`: p1 is moved twice after superstep 4\n  --> e.toml:22",
    );
    let folder = Folder::new();
    for (set, message) in [
        (
            "[{ superstep = 4, proces = \"p1\", to = \"fast-1\" }]",
            "unknown key `scheduler.script[0].proces`\n  --> --set\n  help: did you mean `process`?",
        ),
        (
            "[{ superstep = 4, to = \"fast-1\" }]",
            "missing key `scheduler.script[0].process`\n  --> --set",
        ),
        (
            "4",
            "invalid value `4` for `scheduler.script`: must be a list, such as [1, 2]\n  --> --set",
        ),
    ] {
        let set = format!("scheduler.script={set}");
        folder.fails(&["simulate", "e.toml", "--set", &set], 2, message);
    }
}
