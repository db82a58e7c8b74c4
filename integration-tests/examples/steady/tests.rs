//! Experiments are generated, searched and assessed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::Parser as _;
use tempfile::TempDir;

use crate::{Arguments, Command, generate, judge, search};

/// Runs a command whose arguments `line` has, with spaces between them and `DIR` for `folder`.
fn run(folder: &Path, line: &str) -> anyhow::Result<()> {
    match parsed(folder, line) {
        Command::Generate(arguments) => generate::command(&arguments),
        Command::Judge(arguments) => judge::command(&arguments),
        Command::Search(arguments) => search::command(&arguments),
    }
}

fn parsed(folder: &Path, line: &str) -> Command {
    let folder = folder.to_str().unwrap();
    let words = line.split(' ').map(|word| word.replace("DIR", folder));
    let words = std::iter::once("steady".to_owned()).chain(words);
    Arguments::try_parse_from(words).unwrap().command
}

/// Name and text of every file in a folder and its `platforms`.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for folder in [folder.to_owned(), folder.join("platforms")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                texts.insert(
                    path.display().to_string(),
                    fs::read_to_string(path).unwrap(),
                );
            }
        }
    }
    texts
}

#[test]
fn the_same_seed_gives_the_same_steady_experiments() {
    let folder = TempDir::new().unwrap();
    let generate = || {
        for kind in ["rings", "mixed"] {
            let line = format!("generate --kind {kind} --seeds 1..4 -o DIR");
            run(folder.path(), &line).unwrap();
        }
        files(folder.path())
    };
    let first = generate();
    assert_eq!(first.len(), 16);
    assert_eq!(first, generate());
    // A search refuses what is not steady, and what has no place for its processes.
    run(folder.path(), "search DIR --budget 1").unwrap();
}

#[test]
fn a_search_gives_experiments_a_best_placement_that_judge_uses() {
    let folder = TempDir::new().unwrap();
    let kind = "generate --kind rings --seeds 3 -o DIR";
    run(folder.path(), kind).unwrap();
    let Command::Judge(arguments) = parsed(folder.path(), "judge DIR --policy adaptive") else {
        panic!("another command")
    };
    let best = || {
        let verdict = judge::verdict(&arguments).unwrap();
        let verdict = serde_json::to_value(&verdict).unwrap();
        verdict["policies"][1]["of_best_placement"]["mean"].as_f64()
    };
    assert_eq!(best(), None);
    run(folder.path(), "search DIR --budget 200").unwrap();
    // Calls and migrations take time, and the way to the best placement does.
    assert!(best().is_some_and(|ratio| 1.0 < ratio), "{:?}", best());
    let platform = folder.path().join("platforms/rings-003.toml");
    let text = fs::read_to_string(&platform).unwrap();
    fs::write(&platform, text + "\n# Another form.\n").unwrap();
    assert_eq!(best(), None);
}

#[test]
fn unsteady_and_missing_experiments_are_refused() {
    let folder = TempDir::new().unwrap();
    let check = |line: &str, expected: &str| {
        let error = format!("{:#}", run(folder.path(), line).unwrap_err());
        assert!(error.contains(expected), "{error}");
    };
    check("judge DIR", "no experiment, which is a TOML file");
    check(
        "generate --kind rings --drift --seeds 1 -o DIR",
        "other experiments do not drift",
    );
    run(
        folder.path(),
        "generate --kind mixed --drift --seeds 1 -o DIR",
    )
    .unwrap();
    check("search DIR --budget 5", "the experiment is not steady");
    check("search DIR --budget 0", "must be at least 1 placement");
    check("search DIR/none.toml", "none.toml");
}
