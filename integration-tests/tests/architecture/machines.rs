//! The state machines of nodes and clients decide, and do nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// What a state machine does not name: runtimes, threads, sockets, files, clocks and logs.
const IMPURE: [&str; 12] = [
    "tokio",
    "actix",
    "quinn",
    "sysinfo",
    "tracing",
    "std::thread",
    "thread::spawn",
    "std::fs",
    "std::net::UdpSocket",
    "SystemTime",
    "Instant::now",
    "Clock::now",
];

#[test]
fn machines_have_no_threads_sockets_files_and_clocks() {
    let mut files = Vec::new();
    add_files(&root().join("agents/machines/src"), &mut files);
    assert!(15 < files.len(), "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // Tests may look at a clock to have a date.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let found = IMPURE.iter().find(|word| line.contains(**word));
            assert!(
                is_comment || found.is_none(),
                "{}:{}: {found:?}",
                file.display(),
                number + 1
            );
        }
    }
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(&path, files);
        } else if !path.ends_with("tests.rs") && path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}
