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
fn a_host_without_routes_is_a_warning_until_a_message_needs_one() {
    let route = "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>";
    let hosts: String = ["a", "b", "c"]
        .map(|name| format!("<host id=\"{name}\" speed=\"1Gf\"/>"))
        .concat();
    let link = "<link id=\"l\" bandwidth=\"1MBps\" latency=\"1ms\"/>";
    let platform = format!(
        "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">{hosts}{link}{route}</zone>\
         </platform>"
    );
    let folder = Folder::new().with("two.xml", platform);
    let text = folder.stdout(&["platform", "check", "two.xml"]);
    let warning = "no route leads from or to `c` of zone `z`: a message there ends the run";
    assert!(text.contains(warning), "{text}");
    let simulate = |processes: u32| {
        folder.run(&[
            "simulate",
            "e.toml",
            "--set",
            &format!("application.processes={processes}"),
            "--set",
            "scheduler.scenario=\"i\"",
        ])
    };
    assert_eq!(simulate(2).code, Some(0), "{}", simulate(2).stderr);
    let ended = simulate(3);
    assert_eq!(ended.code, Some(4));
    assert!(
        ended.stderr.contains("no route leads from host `") && ended.stderr.contains("`c`"),
        "{}",
        ended.stderr
    );
}

#[test]
fn numbers_that_no_simulation_can_count_with_are_refused() {
    for (from, to, range) in [
        (
            "bandwidth=\"",
            "bandwidth=\"1e-320",
            "from 1e-6 to 1e30 bytes per second",
        ),
        (
            "latency=\"",
            "latency=\"1e19",
            "0, or from 1e-30 to 1e9 seconds",
        ),
    ] {
        let (before, after) = PLATFORM.split_once(from).unwrap();
        let unit = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let folder = Folder::new().with("two.xml", format!("{before}{to}{unit}"));
        let ended = folder.run(&["simulate", "e.toml"]);
        assert_eq!(ended.code, Some(4));
        assert!(
            ended.stderr.starts_with("error: two.xml:") && ended.stderr.contains(range),
            "{}",
            ended.stderr
        );
    }
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
    let csv = folder.csv(&["platform", "show", "two.xml"]);
    assert_eq!(csv.lines().count(), 3);
}
