//! `platform check` and `platform show`.

use serde_json::Value;

use crate::invocation::{Folder, PLATFORM};

#[test]
fn a_platform_is_summed_up() {
    let text = Folder::new().stdout(&["platform", "check", "two.xml"]);
    assert!(
        text.starts_with("two.xml: a platform\n\n  Sets      2\n  hosts     8\n"),
        "{text}"
    );
    assert!(text.contains("note: read as SimGrid reads it."), "{text}");
}

#[test]
fn a_fault_has_line_and_column() {
    let folder = Folder::new().with("bad.xml", PLATFORM.replace("0.5Gf", "0.5GHz"));
    let ended = folder.run(&["platform", "check", "bad.xml"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.starts_with("error: bad.xml:5:"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("GHz"), "{}", ended.stderr);
    let folder = folder.with("cut.xml", &PLATFORM[..300]);
    let ended = folder.run(&["platform", "check", "cut.xml"]);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.starts_with("error: cut.xml:"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_sets_of_a_platform_are_shown() {
    let folder = Folder::new();
    let text = folder.stdout(&["platform", "show", "two.xml"]);
    assert!(text.contains("slow-1 .. slow-4"), "{text}");
    let json = folder.stdout(&["platform", "show", "two.xml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "migbsp.platform/1");
    assert_eq!(json["sets"][1]["name"], "fast");
    assert_eq!(json["sets"][1]["hosts"], 4);
    assert_eq!(json["sets"][1]["speed_max"], 2e9);
    let across = &json["routes"][1];
    assert_eq!(
        (&across["from"], &across["to"]),
        (&"slow".into(), &"fast".into())
    );
    assert_eq!(across["bandwidth_bytes_per_second"], 12.5e6);
    let csv = folder.stdout(&["platform", "show", "two.xml", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 3);
}
