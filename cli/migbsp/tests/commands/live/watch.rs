//! `status --watch` shows nodes again and again, those that do not answer included.

use std::thread;
use std::time::Duration;

use serde_json::{Deserializer, Value};

use crate::invocation::Folder;
use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;

#[test]
fn jobs_and_silent_nodes_are_shown_until_an_interrupt() {
    let cluster = Cluster::start(&[2, 1]);
    let policy = ["--policy", "migbsp", "--set", "scheduler.interval=5"];
    let run = cluster.begin(&[&policy[..], &["--no-recovery"]].concat());
    let watch = |format| {
        let words = ["status", "--watch", "--every", "250ms", "--format", format];
        UnderWay::start(&mut cluster.command("hosts", &words))
    };
    let (tables, objects) = (watch("table"), watch("json"));
    thread::sleep(Duration::from_millis(1500));
    cluster.signal("node-2", "STOP");
    // A node that is silent for 2.5 s is lost.
    thread::sleep(Duration::from_millis(3500));
    tables.signal("INT");
    objects.signal("INT");
    let [tables, objects] = [tables, objects].map(|shown| shown.ends_within(10));
    cluster.signal("node-2", "CONT");
    run.ends_within(15);
    assert_eq!(
        (tables.code, objects.code),
        (Some(130), Some(130)),
        "{tables:?}"
    );
    let text = tables.stdout;
    for words in [
        ": 3 of 3 nodes answer.\n",
        ": 2 of 3 nodes answer.\n",
        "\nclient laptop at 127.0.0.1:",
        " of 900000, ",
        " per second, ",
        "; ",
        "no answer for ",
        "node-2: ",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    // How many calls there were depends on how fast the machine is.
    assert!(
        [" call with ", " calls with "]
            .iter()
            .any(|words| text.contains(words)),
        "{text}"
    );
    assert!(
        tables.stderr.ends_with("error: interrupted\n"),
        "{}",
        tables.stderr
    );
    let objects = Deserializer::from_str(&objects.stdout).into_iter::<Value>();
    let objects: Vec<Value> = objects.map(Result::unwrap).collect();
    assert!(3 < objects.len());
    let has = |node: usize, key: &str| {
        let mut nodes = objects.iter().map(|object| &object["nodes"][node]);
        nodes.any(|node| !node[key].is_null())
    };
    for key in ["superstep", "supersteps", "memory_bytes", "calls"] {
        assert!(has(0, key), "{key}");
    }
    assert!(has(1, "problem") && !has(0, "problem"));
}

#[test]
fn a_watch_is_checked() {
    let folder = Folder::new();
    let up = ["up", "--local", "1", "--", "status"];
    for (more, words) in [
        (&["--every", "1s"][..], "--watch"),
        (&["--watch", "--every", "1"], "has no unit"),
        (&["--watch", "--every", "1ms"], "must be at least 0.1 s"),
        (&["--watch", "--format", "csv"], "use --format json"),
    ] {
        let ended = folder.run(&[&up[..], more].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
}
