//! `platform flows`.

use crate::invocation::{Folder, rows};

const FLOWS: [&str; 4] = ["platform", "flows", "two.xml", "flows.csv"];

#[test]
fn messages_are_timed() {
    let folder = Folder::new().with(
        "flows.csv",
        "id,src,dst,bytes,start\nfirst,slow-1,fast-1,1e6,0.5\nsecond, slow-2, slow-3, 0, 0\n",
    );
    let text = folder.stdout(&[&FLOWS[..], &["--model", "ideal", "--no-cross-traffic"]].concat());
    let text = rows(&text);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0].join(","), "id,src,dst,bytes,start,end,duration");
    assert_eq!(rows[1][..5].join(","), "first,slow-1,fast-1,1e6,0.5");
    // Up, between the clusters, down: 200 us; then the slow side's 12.5 MB/s.
    let duration: f64 = rows[1][6].parse().unwrap();
    assert!((duration - 0.0802).abs() < 1e-12, "{duration}");
    let end: f64 = rows[1][5].parse().unwrap();
    assert!((end - 0.5802).abs() < 1e-12, "{end}");
    let empty: f64 = rows[2][6].parse().unwrap();
    assert!((empty - 100e-6).abs() < 1e-15, "{empty}");
}

#[test]
fn a_bad_row_is_named() {
    let check = |text: &str, message: &str| {
        Folder::new()
            .with("flows.csv", text)
            .fails(&FLOWS, 4, message);
    };
    let header = "src,dst,bytes,start\n";
    check(
        "",
        "missing column `src`: the header is ``, must be src,dst,bytes,start\n  --> flows.csv:1",
    );
    check(
        "src,dest,bytes,start\n",
        "missing column `dst`: the header is `src,dest,bytes,start`, must be src,dst,bytes,start\n  --> flows.csv:1",
    );
    check(
        "src,dst,bytes,start,src\n",
        "there are two columns `src`\n  --> flows.csv:1",
    );
    check(
        "src,dst,bytes,start,end\n",
        "the output adds the column `end`; remove it\n  --> flows.csv:1",
    );
    check(
        &format!("{header}slow-1,fast-1,1,0\nslow-1,fst-1,1,0\n"),
        "invalid value `fst-1` for `dst`: the platform has no host \"fst-1\"\n  --> flows.csv:3\n  help: did you mean \"fast-1\"?",
    );
    check(
        &format!("{header}slow-1,fast-1,-5,0\n"),
        "invalid value `-5` for `bytes`: must be a whole number of bytes, at least 0\n  --> flows.csv:2",
    );
    check(
        &format!("{header}slow-1,fast-1,nan,0\n"),
        "invalid value `nan` for `bytes`: must be bytes, such as 900000 or \"900 kB\"\n  --> flows.csv:2",
    );
    check(
        &format!("{header}slow-1,fast-1,1,-1\n"),
        "invalid value `-1` for `start`: must be at least 0 s\n  --> flows.csv:2",
    );
    check(
        &format!("{header}slow-1,fast-1,1\n"),
        "3 columns, must be 4 as in the header\n  --> flows.csv:2",
    );
}

#[test]
fn no_messages_take_no_time() {
    let folder = Folder::new().with("flows.csv", "src,dst,bytes,start\n");
    assert_eq!(
        rows(&folder.stdout(&FLOWS)),
        "src,dst,bytes,start,end,duration\n"
    );
}

#[test]
fn a_window_of_nothing_is_a_usage_error() {
    let folder = Folder::new().with("flows.csv", "src,dst,bytes,start\n");
    let ended = folder.run(&[&FLOWS[..], &["--tcp-window", "0"]].concat());
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("must be at least 1 byte"),
        "{}",
        ended.stderr
    );
}
