//! A package for a program of one's own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::invocation::{Folder, root};

#[test]
fn a_package_is_the_one_that_is_tested_with_another_name() {
    let folder = Folder::new();
    let text = folder.stdout(&["new", "wave"]);
    assert!(
        text.contains("cargo run --release -- simulate wave.toml"),
        "{text}"
    );
    let tested = root().join("examples/my-program");
    let written = folder.path().join("wave");
    let names = |folder: &Path| files(folder, folder);
    let renamed = names(&tested)
        .into_iter()
        .map(|name| name.replace("my-program", "wave"));
    let own = [".gitignore", "Cargo.lock"].map(str::to_owned);
    assert_eq!(names(&written), renamed.chain(own).collect());
    for name in names(&tested).iter().filter(|name| *name != "Cargo.toml") {
        let found = fs::read_to_string(written.join(name.replace("my-program", "wave"))).unwrap();
        let expected = fs::read_to_string(tested.join(name)).unwrap();
        assert_eq!(found, expected.replace("my-program", "wave"), "{name}");
    }
    let manifest = |folder: &Path| -> toml::Table {
        toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap()
    };
    let (found, expected) = (manifest(&written), manifest(&tested));
    assert_eq!(found["package"]["name"].as_str(), Some("wave"));
    assert_eq!(
        found["dependencies"]["serde"],
        expected["dependencies"]["serde"]
    );
    let migbsp = Path::new(found["dependencies"]["migbsp"]["path"].as_str().unwrap());
    assert_eq!(migbsp, root().join("cli/migbsp").canonicalize().unwrap());
    // Profiles of the repository are not those of a package that depends on it.
    let own = manifest(&root());
    assert_eq!(found["profile"]["release"], own["profile"]["release"]);
}

#[test]
fn the_dependency_is_where_the_options_say() {
    let folder = Folder::new();
    let url = "https://example.org/a \"quoted\" clone";
    folder.stdout(&["new", "one", "--git", url]);
    let one: toml::Table =
        toml::from_str(&fs::read_to_string(folder.path().join("one/Cargo.toml")).unwrap()).unwrap();
    assert_eq!(one["dependencies"]["migbsp"]["git"].as_str(), Some(url));
    assert!(!folder.path().join("one/Cargo.lock").exists());
    let clone = root();
    folder.stdout(&["new", "two", "--path", clone.to_str().unwrap()]);
    let two = fs::read_to_string(folder.path().join("two/Cargo.toml")).unwrap();
    assert!(two.contains("cli/migbsp\" }"), "{two}");
    folder.fails(
        &["new", "three", "--path", "."],
        4,
        ".: no clone of migbsp; expected a folder with cli/migbsp",
    );
    assert!(!folder.path().join("three").exists());
}

#[test]
fn no_package_is_written_under_a_name_that_cannot_be_built() {
    let folder = Folder::new().with("taken", "a file");
    let no_name = |name: &str| {
        format!(
            "`{name}` is no name of a package; a name begins with a lower-case letter and has such letters, digits, - and _"
        )
    };
    for (name, problem) in [
        ("Wave", no_name("Wave")),
        ("1wave", no_name("1wave")),
        ("two words", no_name("two words")),
        ("..", no_name("")),
        (
            "match",
            "Cargo or Rust has the name `match` already; choose another one".to_owned(),
        ),
        (
            "heat",
            "a workload that ships has the name `heat` already; choose another one".to_owned(),
        ),
        ("taken", "it exists already; choose another name".to_owned()),
        (
            "there/is/none",
            "the folder cannot be created: No such file or directory (os error 2)".to_owned(),
        ),
    ] {
        let before = files(folder.path(), folder.path());
        folder.fails(&["new", name], 2, &format!("{name}: {problem}"));
        assert_eq!(files(folder.path(), folder.path()), before, "{name}");
    }
}

/// The files below `folder`, as paths from `root`.
fn files(folder: &Path, root: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(files(&path, root));
        } else {
            names.insert(
                path.strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    names
}
