//! Names from files of others: none of them controls the terminal.

use std::fs;

use crate::invocation::{Ended, Folder, PLATFORM};
use crate::rebalance::SMALL;

/// What an escape looks like to a terminal; the second one is a single character.
const ESCAPES: [&str; 2] = ["\\u001b[2J", "\\u009b2J"];

/// What ended has exit code 4, says where, and nothing of it is obeyed.
#[track_caller]
fn is_refused(ended: &Ended, at: &str) {
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.starts_with(&format!("error: {at}")),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("has control characters"), "{ended:?}");
    is_tame(ended);
}

#[track_caller]
fn is_tame(ended: &Ended) {
    let obeyed = |text: &str| {
        text.chars()
            .any(|found| found.is_control() && found != '\n')
    };
    assert!(
        !obeyed(&ended.stdout) && !obeyed(&ended.stderr),
        "{ended:?}"
    );
}

#[test]
fn control_characters_in_a_platform_are_escaped() {
    for escape in ESCAPES {
        let platform = format!(
            "[[set]]\nname = \"a{escape}\"\nhosts = 2\nspeed = \"1 Gf\"\nlink = {{ bandwidth = \"1 MBps\" }}\n"
        );
        let folder = Folder::new().with("p.toml", platform);
        is_refused(&folder.run(&["platform", "check", "p.toml"]), "p.toml:2:");
        let simulated = ["simulate", "e.toml", "--set", "platform.file=p.toml"];
        is_refused(&folder.run(&simulated), "p.toml:2:");
    }
    let folder = Folder::new().with(
        "p.xml",
        PLATFORM.replace("prefix=\"slow-", "prefix=\"&#x9b;2J"),
    );
    is_refused(&folder.run(&["platform", "show", "p.xml"]), "p.xml:5:");
}

#[test]
fn control_characters_in_a_record_are_escaped() {
    let folder = Folder::new();
    folder.stdout(&[
        "simulate",
        "e.toml",
        "--out",
        "runs",
        "--set",
        "scheduler.scenario=iii",
    ]);
    let events = folder.path().join("runs/iii/events.jsonl");
    let manifest = folder.path().join("runs/iii/run.json");
    let (recorded, said) = (
        fs::read_to_string(&events).unwrap(),
        fs::read_to_string(&manifest).unwrap(),
    );
    for escape in ESCAPES {
        for command in ["explain", "verify"] {
            fs::write(&events, recorded.replace("fast-1", escape)).unwrap();
            is_refused(
                &folder.run(&[command, "runs"]),
                "runs/iii/events.jsonl:1: `hosts`: ",
            );
            fs::write(&events, &recorded).unwrap();
            for (key, value) in [("scenario", "iii"), ("policy", "migbsp")] {
                let from = format!("\"{key}\": \"{value}\"");
                assert!(said.contains(&from), "{from}");
                let to = format!("\"{key}\": \"{escape}\"");
                fs::write(&manifest, said.replace(&from, &to)).unwrap();
                let at = format!("runs/iii/run.json: {key}: ");
                is_refused(&folder.run(&[command, "runs"]), &at);
            }
            fs::write(&manifest, &said).unwrap();
        }
    }
}

#[test]
fn control_characters_in_an_instance_are_refused() {
    for escape in ESCAPES {
        let instance = SMALL.replacen("small", escape, 1);
        let folder = Folder::new().with("i.json", instance);
        for arguments in [
            &["rebalance", "i.json"][..],
            &["rebalance", "sweep", "i.json"],
        ] {
            is_refused(&folder.run(arguments), "`name`: \"\\u{");
        }
    }
}

#[test]
fn control_characters_in_keys_and_file_names_are_escaped() {
    let folder = Folder::new().with("\u{1b}[2J.toml", "[application]\n\"\\u001b[2J\" = 1\n");
    let ended = folder.run(&["simulate", "\u{1b}[2J.toml"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    is_tame(&ended);
    let nameless = SMALL.replacen("\"name\": \"small\",", "", 1);
    let folder = folder.with("\u{1b}[2J.json", nameless);
    let ended = folder.run(&["rebalance", "\u{1b}[2J.json", "--budget", "1 ksteps"]);
    assert!(ended.stdout.contains("\\u001b[2J"), "{ended:?}");
    is_tame(&ended);
}
