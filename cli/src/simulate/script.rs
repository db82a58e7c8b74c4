//! What a script asked for and did not get.

use agents::Script;
use simulator::Platform;

use crate::configuration::Scenario;
use crate::simulate::report::RunReport;

/// Warnings about the orders of `script` that `runs` did not follow.
pub(crate) fn unfollowed(script: &Script, runs: &[RunReport], platform: &Platform) -> Vec<String> {
    let moving = |run: &&RunReport| run.scenario == Scenario::Iii.name();
    let Some(run) = runs.iter().find(moving) else {
        return vec!["scheduler.script moves nobody: scenario iii is not run".to_owned()];
    };
    let mut warnings = Vec::new();
    for (superstep, orders) in &script.0 {
        let Some(call) = run.calls.iter().find(|call| call.superstep == *superstep) else {
            let held = neighbours(run, *superstep);
            warnings.push(format!(
                "scheduler.script names superstep {superstep}, after which no call is held; {held}"
            ));
            continue;
        };
        for (rank, host) in orders {
            let process = rank.to_string();
            if call.migrations.iter().all(|moved| moved.process != process) {
                let host = &platform.host(*host).name;
                warnings.push(format!(
                    "scheduler.script moves {process} to {host} after superstep {superstep}, but it \
                     was there already, or had halted"
                ));
            }
        }
    }
    warnings
}

/// The calls next to `superstep`.
fn neighbours(run: &RunReport, superstep: u64) -> String {
    let calls = || run.calls.iter().map(|call| call.superstep);
    let before = calls().rev().find(|held| *held < superstep);
    let after = calls().find(|held| superstep < *held);
    match (before, after) {
        (Some(before), Some(after)) => format!("the nearest are after {before} and {after}"),
        (Some(before), None) => format!("the last one is after {before}"),
        (None, Some(after)) => format!("the first one is after {after}"),
        (None, None) => "there are none at all".to_owned(),
    }
}
