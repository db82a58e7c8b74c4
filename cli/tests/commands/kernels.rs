//! Programs with real data: what came out, and input that will not do.

use serde_json::Value;

use crate::invocation::Folder;

const ALIGNMENT: &str = r#"[application]
workload = "smith-waterman-kernel"
processes = 4

[application.smith-waterman-kernel]
scoring = "dna"
gap_open = 0
gap_extend = 1
query = "q.fasta"
subject = "s.fasta"

[platform]
file = "two.xml"
"#;

/// A folder with an alignment of `query` and `ACGTACGT`.
fn alignment(query: &str) -> Folder {
    Folder::new()
        .with("a.toml", ALIGNMENT)
        .with("q.fasta", query)
        .with("s.fasta", ">s\nACGTACGT\n")
}

#[test]
fn an_alignment_is_shown_and_is_the_same_in_every_scenario() {
    let folder = alignment(">q\nttACGTTACGTtt\n");
    let expected = "score 15: letters 3 to 11 of the query beside 1 to 8 of the subject, 8 of 9 \
                    places equal: 3=1I5=";
    let text = folder.stdout(&["simulate", "a.toml"]);
    assert!(text.contains(&format!("\n{expected}\n")), "{text}");
    let json = folder.stdout(&["simulate", "a.toml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    for run in json["runs"].as_array().unwrap() {
        assert_eq!(run["verified"], expected);
    }
}

#[test]
fn sequences_that_will_not_do_are_named() {
    let check = |query: &str, problem: &str| {
        let message = format!("a.toml:9: application.smith-waterman-kernel: {problem}");
        alignment(query).fails(&["simulate", "a.toml"], 4, &message);
    };
    check(
        "ACGT\n",
        "`query`: q.fasta is not FASTA: line 1 begins with `A`, expected `>` and the name of a record",
    );
    check(
        "",
        "`query`: q.fasta holds no record, expected a line with `>` and a name, and lines of letters \
         below it",
    );
    check(
        ">q\nACGT\nACLT\n",
        "`query`: q.fasta has `L` at position 7 of record `q`, expected one of ACGTN",
    );
    check(
        ">q\nACGT\n>r\nACGT\n",
        "`query`: q.fasta holds 2 records (q, r), expected `query_record` to name one of them",
    );
}

#[test]
fn files_and_supersteps_of_an_alignment_are_checked() {
    let section = "application.smith-waterman-kernel";
    let folder = alignment(">q\nACGT\n").with("elsewhere/b.toml", ALIGNMENT);
    folder.fails(
        &["simulate", "a.toml", "--set", &format!("{section}.query=absent.fasta")],
        2,
        &format!(
            "--set: {section}: `query` is absent.fasta, which cannot be read: No such file or directory \
             (os error 2)"
        ),
    );
    folder.fails(
        &["simulate", "a.toml", "--set", "application.supersteps=8"],
        2,
        "--set: application.supersteps: met 8, but smith-waterman-kernel ends by itself; leave it out",
    );
    // As a platform's, names that are typed may be relative to the current folder.
    let [query, subject] =
        ["query=q.fasta", "subject=s.fasta"].map(|set| format!("{section}.{set}"));
    let platform = "platform.file=two.xml";
    let sets = ["--set", &query, "--set", &subject, "--set", platform];
    folder.stdout(&[&["simulate", "elsewhere/b.toml"], &sets[..]].concat());
}
