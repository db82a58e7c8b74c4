//! docs/custom-programs.md: its code is the example's, and what it shows is what its commands print.
//!
//! With `MIGBSP_UPDATE=1` the test writes whole files and what commands print into the guide.

use std::fs;
use std::path::Path;

use crate::invocation::{folder, stdout};

#[test]
fn the_guide_leads_to_the_example() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = example.join("../../docs/custom-programs.md");
    let text = fs::read_to_string(&path).unwrap();
    let folder = folder();
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    let (mut whole, mut shown) = (0, 0);
    for index in (1..parts.len()).step_by(2) {
        let (kind, block) = parts[index].split_once('\n').unwrap();
        match kind {
            "rust" | "toml" => {
                // The name in backquotes that comes last before a block is that of its file.
                let name = parts[index - 1].rsplit('`').nth(1).unwrap().to_owned();
                let file = fs::read_to_string(example.join(&name)).unwrap();
                if WHOLE.contains(&name.as_str()) {
                    parts[index] = format!("{kind}\n{file}");
                    whole += 1;
                } else {
                    assert!(file.contains(block), "{name} does not hold\n{block}");
                }
            }
            "console" => {
                let (command, _) = block.split_once('\n').unwrap();
                let words = command.strip_prefix("$ cargo run --release -- ").unwrap();
                let words: Vec<&str> = words.split_whitespace().collect();
                parts[index] = format!("console\n{command}\n{}", stdout(folder.path(), &words));
                shown += 1;
            }
            "sh" | "text" => {}
            _ => panic!("a block of {kind}"),
        }
    }
    assert_eq!((whole, shown), (WHOLE.len(), SHOWN));
    let right = parts.join("```");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(&path, &right).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap();
    for (number, (is, should)) in written.lines().zip(right.lines()).enumerate() {
        assert_eq!(is, should, "docs/custom-programs.md:{}", number + 1);
    }
    assert_eq!(
        written.len(),
        right.len(),
        "the guide shows too much or too little"
    );
}

/// Files that are shown from the first line to the last.
const WHOLE: [&str; 4] = ["src/main.rs", "src/life.rs", "life.toml", "cluster.toml"];

/// How many blocks show what a command prints.
const SHOWN: usize = 2;
