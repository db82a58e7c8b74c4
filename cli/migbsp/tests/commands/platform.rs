//! `platform check` and `platform show`.

use serde_json::Value;

use crate::invocation::{Folder, PLATFORM, rows};

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
    let pairs = "warning: 4 of 9 pairs of hosts have no route; a message between them ends the run\n  \
                 in zone z: from a to c and 3 more\n";
    assert!(text.contains(pairs), "{text}");
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
fn config_of_a_platform_goes_before_defaults_and_the_experiment_before_it() {
    let config = "<platform version=\"4.1\"><config>\n<prop id=\"network/model\" value=\"CM02\"/>\n\
                  <prop id=\"network/latency-factor\" value=\"3\"/>\n\
                  <prop id=\"cpu/optim\" value=\"TI\"/></config>";
    let idle =
        "<zone id=\"m\" routing=\"None\"><host id=\"master\" speed=\"0Mf\"/></zone>\n    <link";
    let platform = PLATFORM
        .replace("<platform version=\"4.1\">", config)
        .replacen("<link", idle, 1);
    let folder = Folder::new().with("two.xml", platform);
    let text = folder.stdout(&["platform", "check", "two.xml"]);
    for line in [
        "  hosts     8\n",
        "  speed 0   master: no process runs there\n",
        "warning: <config> sets what has no meaning here, and is ignored: `cpu/optim`\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let printed = |set: &str| {
        let text = folder.stdout(&["simulate", "e.toml", "--print-config", "--set", set]);
        let line = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(key));
            let words = line.unwrap_or_default().split_whitespace();
            words.collect::<Vec<_>>().join(" ")
        };
        ["model = ", "latency_factor = ", "bandwidth_factor = "].map(line)
    };
    let own = [
        "model = \"ideal\" # two.xml:4",
        "latency_factor = 3.0 # two.xml:5",
        "",
    ];
    assert_eq!(printed("run.seed=1"), own);
    let given = ["model = \"lv08\" # --set", own[1], own[2]];
    assert_eq!(printed("platform.model=lv08"), given);
    // Up, between the clusters, down: 200 us, three times; then the slow side's 12.5 MB/s.
    let folder = folder.with("flows.csv", "src,dst,bytes,start\nslow-1,fast-1,1e6,0\n");
    let flows = |more: &[&str]| {
        let arguments = [
            &[
                "platform",
                "flows",
                "two.xml",
                "flows.csv",
                "--no-cross-traffic",
            ],
            more,
        ];
        let text = rows(&folder.stdout(&arguments.concat()));
        let last = text
            .lines()
            .next_back()
            .and_then(|row| row.rsplit(',').next());
        last.unwrap_or_default().parse::<f64>().unwrap()
    };
    assert!((flows(&[]) - 0.0806).abs() < 1e-12);
    let lv08 = flows(&["--model", "lv08"]);
    assert!((lv08 - 0.0006 - 0.08 / 0.97).abs() < 1e-12, "{lv08}");
    folder.fails(
        &[
            "simulate",
            "e.toml",
            "--set",
            "elasticity.pool=[\"master\"]",
            "--set",
            "elasticity.part=0.1",
        ],
        2,
        "`elasticity.pool[0]`: host \"master\" has speed 0 and holds no process; name a host that computes\n  --> --set",
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
