//! One seed on one row: where each strategy moves the process, and when it is complete.

use std::collections::BTreeMap;

use agents::Script;
use bsp::{HostId, Rank};
use experiments::{Failure, PreparedExperiment, Registry, Scenario, load_embedded};
use migbsp::Policy;

use super::condition::Condition;
use super::paper::{ROWS, Row};
use super::strategy::Strategy;

/// Seconds from the decision to the end, by strategy.
pub(super) type Completions = [f64; 6];

/// The completions of one seed, by row.
pub(super) fn all(
    condition: Condition,
    seed: u64,
    registry: &Registry,
) -> Result<[Completions; 7], Failure> {
    let mut all = [[0.0; 6]; 7];
    for (row, completions) in ROWS.iter().zip(&mut all) {
        *completions = complete(row, condition, seed, registry)?;
    }
    Ok(all)
}

fn complete(
    row: &Row,
    condition: Condition,
    seed: u64,
    registry: &Registry,
) -> Result<Completions, Failure> {
    let draws = format!("scheduler.random.seed={seed}");
    let mut assignments = condition.assignments(seed).to_vec();
    assignments.push(draws);
    let loaded = load_embedded(&row.experiment, &assignments, registry)?;
    let mut prepared = PreparedExperiment::new(loaded)?;
    let mut completions = [f64::INFINITY; 6];
    // The host of a move determines when the run ends.
    let mut known: BTreeMap<HostId, f64> = BTreeMap::new();
    for strategy in Strategy::ALL {
        let Some(policy) = strategy.policy() else {
            continue;
        };
        let policy = registry.policies().policy(policy);
        let policy = policy.map_err(|error| Failure::Usage(error.to_string()))?;
        let policy = with_arguments(policy, seed)?;
        prepared.loaded.experiment.scheduler.policy = Some(policy);
        let (host, seconds) = run(&prepared, row, registry)?;
        known.insert(host, seconds);
        completions[strategy.index()] = seconds;
    }
    let others = prepared.platform.hosts().iter().enumerate();
    let others: Vec<HostId> = others
        .map(|(number, _)| HostId::from_index(number))
        .filter(|host| !prepared.placement.contains(host) && !known.contains_key(host))
        .collect();
    let mut best = known.into_values().fold(f64::INFINITY, f64::min);
    for host in others {
        // Nowhere is the process complete sooner than without moves and owners.
        let speed = prepared.platform.host(host).speed.get();
        if best <= row.work * SERVER / speed {
            continue;
        }
        let order = BTreeMap::from([(1, vec![(Rank(0), host)])]);
        prepared.script = Some(Script(order));
        let (_, seconds) = run(&prepared, row, registry)?;
        best = best.min(seconds);
    }
    completions[Strategy::Clairvoyant.index()] = best;
    Ok(completions)
}

/// Instructions per second of a server, by which the work of rows is stated.
const SERVER: f64 = 1e9;

/// `policy`, with the call after the first superstep and the draws of a seed.
fn with_arguments(policy: Policy, seed: u64) -> Result<Policy, Failure> {
    let arguments = policy.arguments();
    let draws = seed as f64;
    let values = [("once", "after", 1.0), ("random", "seed", draws)];
    values
        .into_iter()
        .try_fold(policy, |policy, (rule, name, value)| {
            if arguments.iter().all(|(known, ..)| *known != rule) {
                return Ok(policy);
            }
            let set = policy.with_argument(rule, name, value);
            set.map_err(|error| Failure::Usage(format!("seed {seed}: {error}")))
        })
}

/// The new host of the process, and seconds from the call to the end.
fn run(
    prepared: &PreparedExperiment,
    row: &Row,
    registry: &Registry,
) -> Result<(HostId, f64), Failure> {
    let finished = prepared.run(Scenario::Iii, registry, &mut |_| {})?;
    let end = finished.end.seconds;
    let [call] = &finished.calls[..] else {
        let number = finished.calls.len();
        return Err(Failure::run(format!(
            "{}: {number} calls instead of 1",
            row.name
        )));
    };
    let Some(moved) = call.migrations.first() else {
        return Err(Failure::run(format!(
            "{}: the process does not move",
            row.name
        )));
    };
    Ok((moved.to, (end - call.at).get()))
}
