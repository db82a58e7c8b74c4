//! Fault simulations (`simulation`), campaigns of them (many seeds, what they found, and which faults hit which steps of the
//! protocol), and the command `chaos`.

mod command;
mod report;
mod simulation;
mod text;

use std::collections::BTreeMap;

use agents::mutant::Mutant;
use experiments::Failure;
use experiments::batch::Batch;
use sha2::{Digest, Sha256};

pub use command::command;
pub use report::{ChaosReport, Coverage, FailingSeed, FoundMutant, KindCount};
pub use text::text;

use crate::simulation::{SeedOptions, SeedRun, kinds_and_steps, shrink, simulate_seed};

/// Simulates `seeds`.
///
/// # Errors
///
/// None of its own: what must not happen and did is in the report.
pub fn campaign(seeds: &[u64], batch: Batch<'_>) -> Result<ChaosReport, Failure> {
    let runs = batch.run(seeds, |seed| Ok(simulate_seed(&SeedOptions::new(*seed))))?;
    let mut met: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut digest = Sha256::new();
    let (mut events, mut nanoseconds, mut completed) = (0_u64, 0_u64, 0_u64);
    let mut failing = Vec::new();
    for run in &runs {
        digest.update(&run.digest);
        events += run.events;
        nanoseconds += run.nanoseconds;
        completed += u64::from(run.is_completed);
        for pair in &run.faults {
            *met.entry(pair.clone()).or_default() += 1;
        }
        if !run.violations.is_empty() {
            failing.push(failing_seed(run));
        }
    }
    let digest = digest.finalize();
    Ok(ChaosReport {
        seeds: u64::try_from(seeds.len()).unwrap_or(u64::MAX),
        completed,
        events,
        virtual_seconds: std::time::Duration::from_nanos(nanoseconds).as_secs_f64(),
        digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        coverage: coverage(&met),
        failing,
        mutants: None,
    })
}

/// Checks that this program was built with defects.
///
/// # Errors
///
/// If it was not.
pub fn check_mutants() -> Result<(), Failure> {
    if Mutant::ARE_BUILT {
        return Ok(());
    }
    let problem =
        "this program was built without mutants: build it with RUSTFLAGS='--cfg mutant'".to_owned();
    Err(Failure::Usage(problem))
}

/// What the simulation of each defect finds, among `seeds`, which are tried in their order.
///
/// # Errors
///
/// As [`Batch::run`].
pub fn mutants(seeds: &[u64], batch: Batch<'_>) -> Result<Vec<FoundMutant>, Failure> {
    batch.run(&Mutant::ALL, |mutant| {
        let found = seeds.iter().find_map(|seed| {
            let run = simulate_seed(&SeedOptions {
                mutant: Some(*mutant),
                ..SeedOptions::new(*seed)
            });
            let first = run.violations.into_iter().next();
            first.map(|violation| (*seed, violation))
        });
        let (seed, violation) = found.unzip();
        Ok(FoundMutant {
            mutant: mutant.to_string(),
            seed,
            violation,
        })
    })
}

/// A seed in which something happened that must not, with the faults that it takes.
fn failing_seed(run: &SeedRun) -> FailingSeed {
    FailingSeed {
        seed: run.seed,
        violations: run.violations.clone(),
        faults: shrink(run.seed),
    }
}

fn coverage(met: &BTreeMap<(String, String), u64>) -> Coverage {
    let (kinds, steps) = kinds_and_steps();
    let counts = steps.iter().map(|step| {
        let counts = kinds.iter().map(|kind| {
            let pair = (kind.clone(), step.clone());
            met.get(&pair).copied().unwrap_or_default()
        });
        counts.collect::<Vec<u64>>()
    });
    let counts: Vec<Vec<u64>> = counts.collect();
    let all = counts.iter().flatten();
    let pairs = all.clone().count();
    let of_kind = kinds.iter().enumerate().map(|(place, kind)| KindCount {
        kind: kind.clone(),
        count: counts.iter().map(|counts| counts[place]).sum(),
    });
    Coverage {
        pairs_met: u64::try_from(all.filter(|count| 0 < **count).count()).unwrap_or(u64::MAX),
        pairs: u64::try_from(pairs).unwrap_or(u64::MAX),
        faults: of_kind.collect(),
        kinds,
        steps,
        counts,
    }
}
