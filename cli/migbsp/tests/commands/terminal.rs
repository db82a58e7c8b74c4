//! Texts for people fit the lines of a terminal.

use crate::invocation::{Folder, root};

/// The longest line of what `arguments` print in lines of `columns` characters.
fn longest(folder: &Folder, arguments: &[&str]) -> usize {
    let text = folder.stdout(arguments);
    assert!(!text.is_empty());
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap()
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    let file = root().join("conf/lbm.toml");
    let file = file.to_str().unwrap();
    let platform = root().join("conf/platforms/testbed.toml");
    let platform = platform.to_str().unwrap();
    let instance = root().join("conf/rebalance/small.json");
    let instance = instance.to_str().unwrap();
    let recorded = Folder::new();
    recorded.stdout(&["simulate", file, "--out", "lbm"]);
    for columns in [40, 60, 80] {
        let folder = Folder::new().with_variable("COLUMNS", &columns.to_string());
        let out = recorded.path().join("lbm");
        let out = out.to_str().unwrap();
        let commands: [&[&str]; 8] = [
            &["simulate", file],
            &[
                "compare", file, "e.toml", "--policy", "none", "--policy", "migbsp",
            ],
            &["explain", out],
            &["explain", out, "--process", "p21"],
            &["explain", out, "--superstep", "12"],
            &["verify", out],
            &["platform", "show", platform],
            &[
                "rebalance",
                instance,
                "--target",
                "80",
                "--budget",
                "1000 steps",
            ],
        ];
        for command in commands {
            // A name without spaces, as that of a file, is not broken.
            let names = command.iter().map(|word| word.len() + 2).max().unwrap();
            let longest = longest(&folder, command);
            assert!(
                longest <= columns.max(names + 12),
                "{longest} of {columns}: {command:?}"
            );
        }
    }
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let folder = Folder::new().with_variable("COLUMNS", "60");
    let text = folder.stdout(&["simulate", "e.toml"]);
    assert!(!text.contains(" t1 "), "{text}");
    assert!(
        text.contains("\n(left out for a narrow terminal: t1, t2)\n"),
        "{text}"
    );
    let piped = Folder::new().stdout(&["simulate", "e.toml"]);
    assert!(
        piped.contains("  t1  ") && !piped.contains("left out"),
        "{piped}"
    );
}

#[test]
fn migrations_beyond_the_twentieth_are_shown_on_demand() {
    let many = ["simulate", "e.toml", "--set", "placement.per_host=100"];
    let more = [
        "-n",
        "100",
        "--policy",
        "adaptive",
        "--set",
        "scheduler.scenario=all",
    ];
    let arguments = [&many[..], &more].concat();
    let short = Folder::new().stdout(&arguments);
    assert!(
        short.contains(" more; --all or --format json shows all of them\n"),
        "{short}"
    );
    let all = Folder::new().stdout(&[&arguments[..], &["--all"]].concat());
    assert!(!all.contains(" more; "), "{all}");
    assert!(short.lines().count() < all.lines().count());
}
