//! What a program noted is read, checked, shown and exported by every command about records.

use std::fs;

use serde_json::{Value, json};

use crate::invocation::{Folder, rows};
use crate::schemas::{Schema, check};

/// A record whose program noted two names: a residual, of all of the four processes, which ends as no number, and how many
/// supersteps were left, of one process.
fn noted() -> Folder {
    let folder = Folder::new();
    folder.stdout(&[
        "simulate",
        "e.toml",
        "--out",
        "runs",
        "--set",
        "scheduler.interval=2",
    ]);
    let path = folder.path().join("runs/iii/events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut events: Vec<Value> = events.collect();
    let supersteps: Vec<usize> = (0..events.len())
        .filter(|index| events[*index]["event"] == "superstep")
        .collect();
    let last = supersteps.len() - 1;
    for (number, index) in supersteps.iter().enumerate() {
        let size = 0.5_f64.powi(i32::try_from(number).unwrap());
        let residual = if number == last {
            json!({"count": 4, "sum": "NaN", "min": "NaN", "max": "NaN"})
        } else {
            json!({"count": 4, "sum": 4.0 * size, "min": 0.5 * size, "max": 2.0 * size})
        };
        let left = f64::from(u32::try_from(last - number).unwrap());
        events[*index]["notes"] = json!({"residual, \"L2\"": residual, "left": left});
    }
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    fs::write(&path, lines).unwrap();
    folder
}

#[test]
fn records_with_notes_are_explained_verified_drawn_and_exported() {
    let folder = noted();
    let text = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    let events = Schema::read("events");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let supersteps = lines.iter().filter(|event| event["event"] == "superstep");
    let supersteps: Vec<&Value> = supersteps.collect();
    for superstep in &supersteps {
        events.check(superstep, "a superstep with notes");
        events.check_strictness(superstep, "a superstep with notes");
    }
    folder.stdout(&["verify", "runs"]);

    let explained = folder.stdout(&["explain", "runs"]);
    assert!(explained.contains("Notes of the program"), "{explained}");
    let row = explained
        .lines()
        .find(|line| line.trim_start().starts_with("residual, \"L2\""))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert_eq!(cells[2..], ["1.0000", "NaN", "NaN", "NaN"], "{row}");
    let json = folder.stdout(&["explain", "runs", "--format", "json"]);
    check(&json, "explain of a record with notes");
    let json: Value = serde_json::from_str(&json).unwrap();
    let (number, left) = (supersteps.len(), &json["notes"][0]);
    assert_eq!(left["name"], "left");
    assert_eq!(left["supersteps"], number);
    assert_eq!(left["last"], json!({"superstep": number - 1, "note": 0.0}));
    assert_eq!(left["all"]["count"], number);

    folder.stdout(&["export", "runs", "--format", "csv", "-o", "tables"]);
    let table = fs::read_to_string(folder.path().join("tables/notes.csv")).unwrap();
    let table = rows(&table);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * number);
    assert_eq!(lines[0], "superstep,note,count,sum,min,max");
    assert_eq!(lines[2], "0,\"residual, \"\"L2\"\"\",4,4.0,0.5,2.0");
    assert_eq!(
        lines[2 * number],
        format!("{},\"residual, \"\"L2\"\"\",4,NaN,NaN,NaN", number - 1)
    );

    folder.stdout(&["report", "runs", "--svg", "notes", "-o", "notes.svg"]);
    let svg = fs::read_to_string(folder.path().join("notes.svg")).unwrap();
    assert!(
        svg.contains("residual, \"L2\": ") && svg.contains("Notes of the program"),
        "{svg}"
    );
    folder.stdout(&["report", "runs", "-o", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.contains("<h2 id=\"notes\">Notes of the program</h2>"),
        "{page}"
    );
}

#[test]
fn a_record_without_notes_has_no_picture_of_them() {
    let folder = Folder::new();
    folder.stdout(&["simulate", "e.toml", "--out", "runs"]);
    folder.fails(
        &["report", "runs", "--svg", "notes", "-o", "notes.svg"],
        2,
        "--svg: runs: the record has no notes: its program has not called `note`",
    );
    folder.stdout(&["report", "runs", "-o", "page.html"]);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(!page.contains("id=\"notes\""), "{page}");
    let explained = folder.stdout(&["explain", "runs"]);
    assert!(!explained.contains("Notes"), "{explained}");
    folder.stdout(&[
        "export",
        "runs",
        "--format",
        "csv",
        "--table",
        "notes",
        "-o",
        "notes.csv",
    ]);
    let table = fs::read_to_string(folder.path().join("notes.csv")).unwrap();
    assert_eq!(rows(&table).trim_end(), "superstep,note,count,sum,min,max");
}

#[test]
fn notes_with_names_that_control_a_terminal_are_refused() {
    let folder = noted();
    let path = folder.path().join("runs/iii/events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"left\":", "\"\\u001b[2J\":")).unwrap();
    let ended = folder.run(&["explain", "runs"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("control characters"), "{ended:?}");
    assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
}
