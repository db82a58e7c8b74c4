//! `sweep merge`: the shards of a sweep as one.

use std::collections::BTreeMap;

use experiments::Failure;

use crate::sweep::folder::{SweepFolder, differences};
use crate::sweep::plan::Plan;
use crate::sweep::shard::Shard;

/// The shards of a sweep together.
#[derive(Debug)]
pub struct Merged {
    /// What the sweep is.
    pub plan: Plan,
    /// `runs.jsonl` of it, in the order of combinations, seeds and policies.
    pub lines: String,
}

/// Merges the shards in `folders`.
///
/// # Errors
///
/// If a folder has no shard, shards are of different sweeps, the same, incomplete or missing.
pub fn merge(folders: &[SweepFolder]) -> Result<Merged, Failure> {
    let mut shards: BTreeMap<Shard, &SweepFolder> = BTreeMap::new();
    for folder in folders {
        let name = folder.path.display();
        let Some(shard) = folder.plan.grid.shard else {
            return Err(Failure::Input(format!(
                "{name}: has a whole sweep, no shard; `compare --from {name}` and the command that made it read it"
            )));
        };
        if let Some(first) = shards.insert(shard, folder) {
            let first = first.path.display();
            return Err(Failure::Input(format!(
                "{name}: has shard {shard}, as {first} has; each shard is named once"
            )));
        }
    }
    let Some(first) = folders.first() else {
        return Err(Failure::Usage("no shards to merge".to_owned()));
    };
    for folder in &folders[1..] {
        check_is_same(first, folder)?;
    }
    check_all_are_there(&shards)?;
    check_completeness(&shards)?;
    let mut plan = first.plan.clone();
    plan.grid.shard = None;
    plan.runs = folders.iter().map(|folder| folder.plan.runs).sum();
    let mut lines = String::new();
    for point in plan.grid.points() {
        for seed in point.seeds {
            for policy in &plan.policies {
                let key = (point.name.clone(), policy.clone(), seed);
                let found = folders.iter().find_map(|folder| folder.lines.get(&key));
                if let Some((text, _)) = found {
                    lines.push_str(text);
                    lines.push('\n');
                }
            }
        }
    }
    Ok(Merged { plan, lines })
}

fn check_is_same(first: &SweepFolder, other: &SweepFolder) -> Result<(), Failure> {
    let parts = |folder: &'_ SweepFolder| -> (_, _, _) {
        (
            folder.build.clone(),
            folder.overrides.clone(),
            folder.plan.clone(),
        )
    };
    let ((build, overrides, plan), here) = (parts(first), parts(other));
    let there = (&build, &*overrides, &plan);
    let mut lines = differences(there, (&here.0, &here.1, &here.2), true);
    let count = |folder: &SweepFolder| folder.plan.grid.shard.map_or(0, Shard::of);
    let (all, of) = (count(first), count(other));
    if all != of {
        lines.push(format!("--shard: {all} shards there, {of} here"));
    }
    if lines.is_empty() {
        return Ok(());
    }
    let (there, here) = (first.path.display(), other.path.display());
    Err(Failure::Input(format!(
        "{here}: has a shard of another sweep than {there}\n  {}",
        lines.join("\n  ")
    )))
}

fn check_all_are_there(shards: &BTreeMap<Shard, &SweepFolder>) -> Result<(), Failure> {
    let Some(of) = shards.keys().next().map(|shard| shard.of()) else {
        return Ok(());
    };
    let numbers: Vec<u64> = shards.keys().map(|shard| shard.number()).collect();
    let mut missing = (1..=of).filter(|number| numbers.binary_search(number).is_err());
    let first: Vec<String> = missing
        .by_ref()
        .take(FEW)
        .map(|number| format!("{number}/{of}"))
        .collect();
    if first.is_empty() {
        return Ok(());
    }
    let rest = match of - numbers.len() as u64 - first.len() as u64 {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    Err(Failure::Input(format!(
        "of {of} shards these are missing: {}{rest}\n  help: name their folders, too",
        first.join(", ")
    )))
}

fn check_completeness(shards: &BTreeMap<Shard, &SweepFolder>) -> Result<(), Failure> {
    let mut lines = Vec::new();
    for (shard, folder) in shards {
        let swept = folder.swept();
        if !swept.is_complete() {
            let (name, done, all) = (folder.path.display(), swept.runs(), folder.plan.runs);
            lines.push(format!("{name}: shard {shard} has {done} of {all} runs"));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{}\n  help: the command that made it goes on where it stopped",
        lines.join("\n")
    )))
}

/// Shards that a message names.
const FEW: usize = 10;
