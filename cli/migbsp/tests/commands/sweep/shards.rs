//! Shards, and `sweep merge`.

use std::collections::BTreeSet;
use std::fs;

use crate::invocation::Folder;
use crate::sweep::{SIXTEEN, SIXTY, folder, kept, read};

/// The folder of a shard of four.
fn out(number: u32) -> String {
    format!("part-{number}")
}

/// Runs shard `number` of four of `sweep`.
fn run(folder: &Folder, sweep: &[&str], number: u32) {
    let (shard, out) = (format!("{number}/4"), out(number));
    folder.stdout(&[sweep, &["--shard", &shard, "-o", &out]].concat());
}

fn four(sweep: &[&str]) -> Folder {
    let folder = folder();
    for number in 1..=4 {
        run(&folder, sweep, number);
    }
    folder
}

const MERGE: [&str; 8] = [
    "sweep", "merge", "part-3", "part-1", "part-4", "part-2", "-o", "merged",
];

#[test]
fn four_shards_together_are_the_whole_sweep() {
    let folder = four(&SIXTY);
    let mut all = BTreeSet::new();
    for number in 1..=4 {
        let lines = kept(&folder, &out(number));
        assert_eq!(lines.len(), 15);
        all.extend(lines);
    }
    // No run is made twice.
    assert_eq!(all.len(), 60);
    let merged = folder.stdout(&MERGE);
    let whole = folder.stdout(&[&SIXTY[..], &["-o", "whole"]].concat());
    assert_eq!(merged.replace("merged/", "whole/"), whole);
    for file in ["runs.csv", "plan.json"] {
        let [merged, whole] =
            ["merged", "whole"].map(|out| read(&folder, &format!("{out}/{file}")));
        assert_eq!(merged, whole, "{file}");
    }
    assert_eq!(
        kept(&folder, "merged").into_iter().collect::<BTreeSet<_>>(),
        all
    );
    // The sweep goes on in the folder of the merged shards, where nothing is left to do.
    folder.stdout(&[&SIXTY[..], &["-o", "merged"]].concat());
    assert_eq!(kept(&folder, "merged").len(), 60);
    assert_eq!(folder.stdout(&MERGE), merged);
}

#[test]
fn more_shards_than_runs_have_parts_without_any() {
    let folder = folder();
    let one = ["sweep", "e.toml", "--policy", "none", "--seeds", "1..2"];
    for number in 1..=2 {
        let (shard, out) = (format!("{number}/2"), out(number));
        folder.stdout(&[&one[..], &["--shard", &shard, "-o", &out]].concat());
    }
    assert_eq!(
        (kept(&folder, "part-1").len(), kept(&folder, "part-2").len()),
        (1, 0)
    );
    folder.stdout(&["sweep", "merge", "part-1", "part-2", "-o", "merged"]);
    folder.stdout(&[&one[..], &["-o", "whole"]].concat());
    assert_eq!(
        read(&folder, "merged/runs.csv"),
        read(&folder, "whole/runs.csv")
    );
}

#[test]
fn shards_that_do_not_fit_together_are_refused() {
    let folder = four(&SIXTEEN);
    folder.fails(
        &["sweep", "merge", "part-1", "part-3", "-o", "merged"],
        4,
        "of 4 shards these are missing: 2/4, 4/4\n  help: name their folders, too",
    );
    folder.fails(
        &["sweep", "merge", "part-1", "part-1", "-o", "merged"],
        4,
        "part-1: has shard 1/4, as part-1 has; each shard is named once",
    );
    let problem =
        "conf: has no plan.json: it is no folder of a sweep, which `sweep --out DIR` makes";
    folder.fails(
        &["sweep", "merge", "part-1", "conf", "-o", "merged"],
        4,
        problem,
    );
    folder.stdout(&[&SIXTEEN[..], &["-o", "whole"]].concat());
    folder.fails(
        &["sweep", "merge", "part-1", "whole", "-o", "merged"],
        4,
        "whole: has a whole sweep, no shard; `compare --from whole` and the command that made it read it",
    );
    // A shard of another sweep.
    let other: Vec<&str> = SIXTEEN
        .iter()
        .map(|word| if *word == "1..2" { "1..4" } else { *word })
        .collect();
    folder.stdout(&[&other[..], &["--shard", "2/4", "-o", "other"]].concat());
    folder.fails(
        &["sweep", "merge", "part-1", "other", "-o", "merged"],
        4,
        "other: has a shard of another sweep than part-1\n  --seeds: 1..2 there, 1..4 here",
    );
    folder.stdout(&[&SIXTEEN[..], &["--shard", "2/3", "-o", "third"]].concat());
    folder.fails(
        &["sweep", "merge", "part-1", "third", "-o", "merged"],
        4,
        "third: has a shard of another sweep than part-1\n  --shard: 4 shards there, 3 here",
    );
    // A shard that was interrupted.
    let runs = read(&folder, "part-2/runs.jsonl");
    let some: String = runs.split_inclusive('\n').take(3).collect();
    fs::write(folder.path().join("part-2/runs.jsonl"), some).unwrap();
    folder.fails(
        &MERGE,
        4,
        "part-2: shard 2/4 has 2 of 4 runs\n  help: the command that made it goes on where it stopped",
    );
    assert!(!folder.path().join("merged").exists());
    run(&folder, &SIXTEEN, 2);
    folder.stdout(&MERGE);
}
