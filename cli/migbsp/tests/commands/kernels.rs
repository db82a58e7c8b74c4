//! Programs with real data: their results, and the errors of invalid input.

use serde_json::Value;

use crate::invocation::{BINARY, Ended, Folder, root};

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

/// What a run with so little memory for addresses ends with.
#[cfg(unix)]
fn without_memory(folder: &Folder, kilobytes: u32, settings: &[&str]) -> Ended {
    let mut arguments = vec!["simulate", "a.toml", "--set", "application.processes=4"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    let mut limited = std::process::Command::new("sh");
    let script = format!("ulimit -v {kilobytes}; exec \"$@\"");
    limited
        .args(["-c", &script, "limited", BINARY])
        .args(arguments);
    let output = limited.current_dir(folder.path()).output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[cfg(unix)]
#[test]
fn programs_that_exceed_memory_are_refused_with_the_parameter_to_change() {
    let folder = Folder::new().with(
        "a.toml",
        ALIGNMENT.replace("query = \"q.fasta\"\nsubject = \"s.fasta\"\n", ""),
    );
    let workload = "application.workload=lu-kernel";
    for (settings, words) in [
        (
            &["application.smith-waterman-kernel.length=100000"][..],
            ["memory for 100000 x ", "help: choose a smaller `length`"],
        ),
        (
            &["application.smith-waterman-kernel.length=4000000000"],
            [
                "memory for two sequences of 4000000000 letters, 8000 MB\n",
                "help: choose a smaller `length`",
            ],
        ),
        (
            &[workload, "application.lu-kernel.order=16384"],
            [
                "memory for a matrix of order 16384, 2148 MB\n",
                "help: choose a smaller `order`",
            ],
        ),
    ] {
        let ended = without_memory(&folder, 2_000_000, settings);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{ended:?}"
        );
        assert!(
            words.iter().all(|words| ended.stderr.contains(words)),
            "{ended:?}"
        );
    }
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
fn invalid_sequences_are_named() {
    let check = |query: &str, problem: &str| {
        let message =
            format!("`application.smith-waterman-kernel.query`: {problem}\n  --> a.toml:9");
        alignment(query).fails(&["simulate", "a.toml"], 4, &message);
    };
    check(
        "ACGT\n",
        "q.fasta is not FASTA: line 1 begins with `A`, expected `>` and the name of a record",
    );
    check(
        "",
        "q.fasta holds no record, expected a line with `>` and a name, and lines of letters \
         below it",
    );
    check(
        ">q\nACGT\nACLT\n",
        "q.fasta has `L` in line 3, position 7 of record `q`, expected one of ACGTN",
    );
    check(
        ">q\nACGT\n>r\nACGT\n",
        "q.fasta holds 2 records (q, r), expected `query_record` to name one of them",
    );
}

#[test]
fn an_invalid_file_named_by_set_is_an_input_error() {
    let section = "application.smith-waterman-kernel";
    let folder = alignment(">q\nACGT\n")
        .with("bad.fasta", "ACGT\n")
        .with("two.fasta", ">q\nACGT\n>r\nACGT\n")
        .with("bad.csv", "1,x\n");
    let set = format!("{section}.query=bad.fasta");
    let problem =
        "bad.fasta is not FASTA: line 1 begins with `A`, expected `>` and the name of a record";
    let message = format!("`{section}.query`: {problem}");
    folder.fails(&["simulate", "a.toml", "--set", &set], 4, &message);
    let variable = "MIGBSP__APPLICATION__SMITH_WATERMAN_KERNEL__QUERY";
    let folder = folder.with_variable(variable, "bad.fasta");
    folder.fails(&["simulate", "a.toml"], 4, &message);
    let lu = [
        "simulate",
        "a.toml",
        "--set",
        "application.workload=lu-kernel",
        "--set",
        "application.lu-kernel.matrix=bad.csv",
    ];
    folder.fails(
        &lu,
        4,
        "`application.lu-kernel.matrix`: bad.csv has \"x\" as element 2 of line 1, expected a finite number",
    );
    // Nothing is wrong with this file: it has to be said which record is meant.
    let set = format!("{section}.query=two.fasta");
    let ended = folder.run(&["simulate", "a.toml", "--set", &set]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn files_and_supersteps_of_an_alignment_are_checked() {
    let section = "application.smith-waterman-kernel";
    let folder = alignment(">q\nACGT\n").with("elsewhere/b.toml", ALIGNMENT);
    folder.fails(
        &[
            "simulate",
            "a.toml",
            "--set",
            &format!("{section}.query=absent.fasta"),
        ],
        2,
        &format!(
            "`{section}.query`: absent.fasta cannot be read: No such file or directory \
             (os error 2)\n  --> --set"
        ),
    );
    folder.fails(
        &["simulate", "a.toml", "--set", "application.supersteps=8"],
        2,
        "invalid value `8` for `application.supersteps`: `smith-waterman-kernel` determines its own length\n  --> --set\n  help: remove `application.supersteps`",
    );
    // As a platform's, names that are typed may be relative to the current folder.
    let [query, subject] =
        ["query=q.fasta", "subject=s.fasta"].map(|set| format!("{section}.{set}"));
    let platform = "platform.file=two.xml";
    let sets = ["--set", &query, "--set", &subject, "--set", platform];
    folder.stdout(&[&["simulate", "elsewhere/b.toml"], &sets[..]].concat());
}

const DECOMPOSITION: &str = r#"[application]
workload = "lu-kernel"
processes = 4

[application.lu-kernel]
matrix = "m.csv"

[platform]
file = "two.xml"
"#;

/// A folder with a decomposition of `matrix`.
fn decomposition(matrix: &str) -> Folder {
    Folder::new()
        .with("l.toml", DECOMPOSITION)
        .with("m.csv", matrix)
}

#[test]
fn factors_are_verified_and_are_the_same_in_every_scenario() {
    let folder = decomposition("2, 1, 1\n4, 3, 3\n8, 7, 9\n");
    let expected = "LU of order 3: ‖PA − LU‖ / ‖A‖ = 0.0e0";
    let text = folder.stdout(&["simulate", "l.toml"]);
    assert!(text.contains(&format!("\n{expected}\n")), "{text}");
    let json = folder.stdout(&["simulate", "l.toml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    for run in json["runs"].as_array().unwrap() {
        assert_eq!(run["verified"], expected);
        assert_eq!(run["supersteps"], 4 * 3 + 1);
    }
}

#[test]
fn invalid_matrices_are_named() {
    let arguments = ["simulate", "l.toml"];
    decomposition("1, 2\n2, 4\n").fails(
        &arguments,
        4,
        "lu-kernel: m.csv: the matrix is singular: in stage 2, all elements of column 2 from row 2 on \
         are 0",
    );
    let without = "application.lu-kernel.pivoting=false";
    decomposition("0, 1\n1, 0\n").fails(
        &["simulate", "l.toml", "--set", without],
        4,
        "lu-kernel: m.csv: the pivot of stage 1 is 0; with `pivoting`, another row takes its place \
         unless the matrix is singular",
    );
    decomposition("1, 2, 3\n4, 5, 6\n").fails(
        &arguments,
        4,
        "`application.lu-kernel.matrix`: m.csv has 2 rows of 3 elements, expected as many of \
         the ones as of the others\n  --> l.toml:6",
    );
    decomposition("1, x\n2, 4\n").fails(
        &arguments,
        4,
        "`application.lu-kernel.matrix`: m.csv has \"x\" as element 2 of line 1, expected a \
         finite number\n  --> l.toml:6",
    );
    decomposition("1\n").fails(
        &["simulate", "l.toml", "--set", "application.supersteps=8"],
        2,
        "invalid value `8` for `application.supersteps`: `lu-kernel` determines its own length\n  --> --set\n  help: remove `application.supersteps`",
    );
}

const PLATE: &str = r#"[application]
workload = "heat"
processes = 4
supersteps = 30

[application.heat]
width = 9
height = 11
mode = [2, 3]
instructions_per_cell = "1 Minstr"

[platform]
file = "two.xml"
"#;

#[test]
fn a_plate_is_verified_and_is_the_same_in_every_scenario() {
    let folder = Folder::new().with("h.toml", PLATE);
    let json = folder.stdout(&["simulate", "h.toml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    for run in json["runs"].as_array().unwrap() {
        let sentence = run["verified"].as_str().unwrap();
        let expected =
            "the mode decayed to 0.000246 of its height, as it should: no cell is off by";
        assert!(sentence.starts_with(expected), "{sentence}");
        assert_eq!(run["verified"], json["runs"][0]["verified"]);
    }
    let surplus = "application.heat.mode=[2, 3, 4]";
    folder.fails(
        &["simulate", "h.toml", "--set", surplus],
        2,
        "invalid value `[2, 3, 4]` for `application.heat.mode`: must be a list of 2 elements, not 3\n  --> --set",
    );
    folder.fails(
        &["simulate", "h.toml", "--set", "application.processes=12"],
        4,
        "invalid value `11` for `application.heat.height`: must be at least 12, a row for each process\n  --> h.toml:8",
    );
    folder.fails(
        &[
            "simulate",
            "h.toml",
            "--set",
            "application.heat.diffusion=0.3",
        ],
        2,
        "invalid value `0.3` for `application.heat.diffusion`: must be a number above 0 and up to 0.25, beyond \
         which the scheme is unstable\n  --> --set",
    );
    folder.fails(
        &[
            "simulate",
            "h.toml",
            "--set",
            "application.heat.mode=[10,3]",
        ],
        2,
        "invalid value `10` for `application.heat.mode[0]`: must be at most `width`, which is 9\n  --> --set",
    );
}

#[test]
fn processes_leave_the_node_that_is_held_back_and_that_pays() {
    let file = root().join("conf/heat-local.toml");
    let file = file.to_str().unwrap();
    let shorter = ["--set", "application.supersteps=100"];
    let arguments = [&["simulate", file, "--format", "json"], &shorter[..]].concat();
    let json: Value = serde_json::from_str(&Folder::new().stdout(&arguments)).unwrap();
    let [alone, _, migrating] = &json["runs"].as_array().unwrap()[..] else {
        panic!("three scenarios: {json}");
    };
    let calls = migrating["calls"].as_array().unwrap().iter();
    let moves: Vec<&Value> = calls
        .flat_map(|call| call["migrations"].as_array().unwrap())
        .collect();
    assert!(!moves.is_empty());
    assert!(moves.iter().all(|migration| migration["from"] == "right-2"));
    let [before, after] = [alone, migrating].map(|run| run["seconds"].as_f64().unwrap());
    assert!(after < 0.6 * before, "{after} s after {before} s");
}
