//! What the prose of the repository must not be: private words, riddles for subjects, long lines and long files.

mod words;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;
use words::{Word, of_markdown, of_rust};

/// Names of the files whose prose is checked, by their ends.
const CHECKED: [&str; 2] = [".md", ".rs"];

/// The files that quote the phrases.
const QUOTING: &str = "integration-tests/tests/architecture/prose";

/// Phrases, separated by bars, and what to write instead.
const BANNED: [(&str, &str); 14] = [
    (
        "nobody|somebody|everybody|anybody|everyone|someone|anyone|whoever|who",
        "name the process, manager, host or user",
    ),
    (
        "what came of|what comes of|what became of|what becomes of|what came out|what comes out|what it came to",
        "name the thing: result, outcome, output",
    ),
    (
        "is told|are told|was told|were told|is to be told",
        "say which message or value arrives",
    ),
    ("so many", "name the number: `after n supersteps`"),
    (
        "had better|would do|will not do|might as well",
        "should; a valid value; is invalid",
    ),
    ("makes of|make of", "name the result"),
    ("one's own|of its own accord", "your own"),
    ("at once", "immediately; together"),
    ("besides|beside that", "also; further; in addition"),
    ("likewise", "name what is the same"),
    (
        "left behind|leave behind|leaves behind|leaving behind",
        "outputs; remaining",
    ),
    (
        "dear|dearer|dearest|dearness|thrift|thrifty|toll|tolls",
        "expensive; cost factor; budget; barrier delay",
    ),
    (
        "errand|errands|parcel|parcels|luggage|stranger|strangers|doorway|befall|befallen|whereabouts",
        "job message; batch; process image; unauthenticated peer; admission; background load; placement",
    ),
    (
        "for want of|to see to|none of ours|in vain",
        "say it literally",
    ),
];

/// Files with a limit of lines.
const LIMITS: [(&str, usize); 2] = [("README.md", 180), ("docs/glossary.md", 60)];

/// The limit of lines of a file in `src`.
const SOURCE: usize = 450;

/// The limit of characters of a line of prose in Markdown.
const COLUMNS: usize = 120;

#[test]
fn banned_phrases_do_not_return() {
    let mut problems = String::new();
    for (name, text) in files() {
        if name.starts_with(QUOTING) {
            continue;
        }
        let words = if name.ends_with(".md") {
            of_markdown(&text)
        } else {
            of_rust(&text)
        };
        for (line, phrase, instead) in banned(&words) {
            writeln!(problems, "{name}:{line}: `{phrase}`: {instead}").unwrap();
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn files_keep_to_their_limits_of_lines() {
    let mut problems = String::new();
    for (name, text) in files() {
        let is_source = name.contains("/src/") && name.ends_with(".rs");
        let named = LIMITS.iter().find(|(file, _)| *file == name);
        let limit = match named {
            Some((_, limit)) => *limit,
            None if is_source => SOURCE,
            None => continue,
        };
        let lines = text.lines().count();
        if limit < lines {
            let excess = format!("{lines} lines, expected at most {limit}");
            writeln!(problems, "{name}: {excess}").unwrap();
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn lines_of_prose_are_short() {
    let mut problems = String::new();
    for (name, text) in files() {
        if !name.ends_with(".md") {
            continue;
        }
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            // Tables, blocks and links cannot be wrapped.
            let cannot_be_wrapped = is_code
                || line.trim_start().starts_with('|')
                || line.starts_with("    ")
                || line.contains("](");
            if !cannot_be_wrapped && COLUMNS < line.chars().count() {
                writeln!(problems, "{name}:{}: over {COLUMNS} characters", number + 1).unwrap();
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn phrases_are_found_across_lines_and_nowhere_else() {
    let check = |words: Vec<Word>, expected: &[(usize, &str)]| {
        let found = banned(&words);
        let found: Vec<_> = found
            .iter()
            .map(|(line, phrase, _)| (*line, *phrase))
            .collect();
        assert_eq!(found, expected);
    };
    check(
        of_markdown("It goes at\nonce.\n\nLook at. Once"),
        &[(1, "at once")],
    );
    check(
        of_markdown("```text\nat once\n```\n* `at once`\n* Nobody\n"),
        &[(5, "nobody")],
    );
    check(
        of_rust("/// So\n/// many.\nfn so() { many() }"),
        &[(1, "so many")],
    );
    check(
        of_rust("let who = \"{who} is \\\n    told\";"),
        &[(1, "is told")],
    );
    check(
        of_rust("let c = '\"'; // likewise\n'a: loop {} // who"),
        &[(1, "likewise"), (2, "who")],
    );
    check(
        of_rust("r#\"a \" nobody\"#; /* at /* */ once */"),
        &[(1, "nobody"), (1, "at once")],
    );
}

/// Line, phrase and advice of each banned phrase.
fn banned(words: &[Word]) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for start in 0..words.len() {
        for (phrases, instead) in BANNED {
            let starts_here = |phrase: &&str| {
                let mut texts = words[start..].iter().map(|word| word.text.as_str());
                phrase.split(' ').all(|part| texts.next() == Some(part))
            };
            if let Some(phrase) = phrases.split('|').find(starts_here) {
                found.push((words[start].line, phrase, instead));
            }
        }
    }
    found
}

/// All Markdown and Rust files, by their path from the root.
fn files() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    collect(root(), &mut paths);
    paths.sort();
    let relative = |path: &Path| path.strip_prefix(root()).unwrap().display().to_string();
    paths
        .iter()
        .map(|path| (relative(path), fs::read_to_string(path).unwrap()))
        .collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, paths);
        } else if ends_with(name, &CHECKED) {
            paths.push(path);
        }
    }
}

fn ends_with(name: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| name.ends_with(end))
}
