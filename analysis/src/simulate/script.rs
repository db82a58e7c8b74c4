//! Orders of a script that were not followed.

use agents::Script;
use simulator::Platform;

use experiments::RunReport;
use experiments::Scenario;

/// Warnings about the orders of `script` that `runs` did not follow.
pub fn unfollowed(script: &Script, runs: &[RunReport], platform: &Platform) -> Vec<String> {
    let moving = |run: &&RunReport| run.scenario == Scenario::Iii.name();
    let Some(run) = runs.iter().find(moving) else {
        return vec!["scheduler.script has no effect: scenario iii is not run".to_owned()];
    };
    let mut warnings = Vec::new();
    for (superstep, orders) in &script.0 {
        let Some(call) = run
            .calls
            .iter()
            .find(|call| call.summary.superstep == *superstep)
        else {
            warnings.push(format!(
                "scheduler.script names superstep {superstep}, but the run is over after {}",
                run.supersteps
            ));
            continue;
        };
        for (rank, host) in orders {
            let process = rank.to_string();
            if call
                .migrations
                .iter()
                .all(|moved| moved.step.process != process)
            {
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
