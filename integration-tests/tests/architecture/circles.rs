//! No circle of files inside a crate.
//!
//! A file points to another one when its code, tests apart, names an item that is defined there. Re-exports are followed to the file
//! that defines the item, so a parent that only declares and re-exports its children points to none of them.

mod graph;
mod modules;
mod references;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use graph::Graph;
use modules::Modules;

use crate::{members, root};

/// A crate's files: path below `src` and text.
type Sources = BTreeMap<String, String>;

/// The arrows between the files of a crate. Each file in `roots` begins a tree of modules of its own: a library or a program.
fn graph(sources: &Sources, roots: &[&str]) -> Graph {
    let mut graph = Graph::default();
    for root in roots {
        let modules = Modules::read(sources, root);
        references::collect(&modules, &mut graph);
    }
    graph
}

/// Reads every Rust file below `folder`.
fn read(folder: &Path, below: &str, sources: &mut Sources) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), &format!("{name}/"), sources);
        } else if name.ends_with(".rs") {
            sources.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// The circles of the crate in `folder`, as text.
fn circles(folder: &Path) -> Vec<String> {
    let mut sources = Sources::new();
    read(&folder.join("src"), "", &mut sources);
    let exists = |root: &&str| sources.contains_key(*root);
    let roots: Vec<_> = ["lib.rs", "main.rs"].into_iter().filter(exists).collect();
    graph(&sources, &roots).circles()
}

#[test]
fn no_crate_has_a_circle_of_files() {
    let mut found = String::new();
    for member in members() {
        for circle in circles(&root().join(&member)) {
            found.push_str(&format!("\n{member}: {circle}"));
        }
    }
    assert!(found.is_empty(), "circles of files:{found}");
}
