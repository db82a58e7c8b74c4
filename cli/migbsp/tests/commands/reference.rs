//! `docs/reference/commands.md`: the options of every command, as its short help has them. With `MIGBSP_UPDATE=1` the test
//! writes the page.

use crate::invocation::{Folder, root};
use crate::readme::compare;

const PAGE: &str = "docs/reference/commands.md";

const HEAD: &str = "\
# Commands

The options of every command, as `migbsp COMMAND -h` prints them. `migbsp help COMMAND` also has its formats and examples;
[the command line](command-line.md) says what commands have in common. `reproduce`, `chaos` and `rebalance` are in a build with `--features laboratory`.

Every command has `-v` (`-vv`), which logs to stderr, `-q`, which logs only errors and shows no progress, and `-h`.
";

/// How the lines of options begin that every command has.
const OF_ALL: [&str; 3] = ["  -v, --verbose", "  -q, --quiet", "  -h, --help"];

#[test]
fn the_page_of_commands_has_the_options_that_they_have() {
    let folder = Folder::new();
    let mut page = HEAD.to_owned();
    add(&folder, &[], &mut page);
    compare(PAGE, &root().join(PAGE), &page);
}

/// Adds the commands inside the command of these words; without words it is the program.
fn add(folder: &Folder, words: &[&str], page: &mut String) {
    let help = folder.stdout(&[words, &["-h"]].concat());
    for name in below(&help) {
        let words = [words, &[name]].concat();
        let help = folder.stdout(&[&words[..], &["-h"]].concat());
        let heading = "#".repeat(1 + words.len());
        let (command, options) = (words.join(" "), options(&help));
        page.push_str(&format!(
            "\n{heading} {command}\n\n```text\n{options}\n```\n"
        ));
        add(folder, &words, page);
    }
}

/// The names of the commands that a help lists.
fn below(help: &str) -> Vec<&str> {
    let list = help.split_once("\nCommands:\n");
    let list = list.map_or("", |(_, rest)| rest.split("\n\n").next().unwrap());
    // Lines that go on are indented further.
    let lines = list.lines().filter(|line| !line.starts_with("   "));
    let names = lines.map(|line| line.split_whitespace().next().unwrap());
    names.filter(|name| *name != "help").collect()
}

/// A help up to its options, without those that every command has.
fn options(help: &str) -> String {
    let mut kept = Vec::new();
    for paragraph in help.trim_end().split("\n\n") {
        if !paragraph.starts_with("Options:") {
            kept.push(paragraph.to_owned());
            continue;
        }
        let is_own = |line: &&str| !OF_ALL.iter().any(|start| line.starts_with(start));
        let own: Vec<&str> = paragraph.lines().filter(is_own).collect();
        if 1 < own.len() {
            kept.push(own.join("\n"));
        }
        return kept.join("\n\n");
    }
    panic!("no options: {help}")
}
