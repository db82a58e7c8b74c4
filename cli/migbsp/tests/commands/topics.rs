//! Topics of `help`, completions and manual pages.

use std::fs;

use crate::invocation::Folder;

#[test]
fn topics_are_made_from_what_the_binary_knows() {
    let folder = Folder::new();
    let help = |topic: &str| {
        let help = folder.stdout(&["help", topic]);
        assert_eq!(help, folder.stdout(&[topic, "--help"]));
        help
    };
    let workloads = help("workloads");
    assert!(
        workloads.contains("\nheat: the heat equation on a plate"),
        "{workloads}"
    );
    assert!(
        workloads.contains("    instructions_per_cell = 126.0\n"),
        "{workloads}"
    );
    let policies = help("policies");
    assert!(
        policies.contains("  adaptive  menon-boulmier-budgeted+portfolio+amortised\n"),
        "{policies}"
    );
    let units = help("units");
    assert!(units.contains("KiB, MiB, GiB, TiB\n"), "{units}");
    assert!(units.contains("      f       k M G T P E Z Y\n"), "{units}");
    let formats = help("formats");
    for command in ["simulate", "compare", "rebalance sweep", "cert show"] {
        assert!(
            formats.contains(&format!("\n{command}\n  table  ")),
            "{command}: {formats}"
        );
    }
    let codes = help("exit-codes");
    assert!(codes.contains("  4  invalid input file"), "{codes}");
}

#[test]
fn every_topic_is_in_the_help_of_the_program() {
    let folder = Folder::new();
    let help = folder.stdout(&["--help"]);
    let list = help.split("Topics: migbsp help ").nth(1).unwrap();
    let list = list.split(".\n").next().unwrap();
    for topic in list.split(", ") {
        assert!(!folder.stdout(&["help", topic]).is_empty(), "{topic}");
    }
}

#[test]
fn every_shell_has_completions() {
    let folder = Folder::new();
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let script = folder.stdout(&["completions", shell]);
        assert!(
            script.contains("rebalance") && script.contains("seeds"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let page = folder.stdout(&["man"]);
    assert!(page.contains(".TH migbsp 1"), "{page}");
    assert_eq!(folder.stdout(&["man", "--out", "pages/man1"]), "");
    let read = |name: &str| fs::read_to_string(folder.path().join("pages/man1").join(name));
    assert_eq!(read("migbsp.1").unwrap(), page);
    let simulate = read("migbsp-simulate.1").unwrap();
    assert!(
        simulate.contains("synthetic") && simulate.contains("\\-\\-print\\-config"),
        "{simulate}"
    );
    assert!(read("migbsp-cert-issue.1").is_ok());
    assert!(
        read("migbsp-exit-codes.1").is_err(),
        "topics are no commands"
    );
}
