//! What a campaign of fault simulations found.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;

/// What a campaign of fault simulations found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChaosReport {
    /// The number of seeds.
    pub seeds: u64,
    /// The jobs that were completed in spite of their faults.
    pub completed: u64,
    /// The number of events.
    pub events: u64,
    /// Virtual time that passed.
    pub virtual_seconds: f64,
    /// SHA-256 of what happened: equal for equal seeds.
    pub digest: String,
    /// Which faults hit which steps of the protocol.
    pub coverage: Coverage,
    /// Seeds in which something happened that must not.
    pub failing: Vec<FailingSeed>,
    /// The defects that were tried, if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutants: Option<Vec<FoundMutant>>,
}

/// Which faults hit which steps of the protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Kinds of faults that have hit a node at a step, of all pairs.
    pub pairs_met: u64,
    /// The number of pairs.
    pub pairs: u64,
    /// The faults that happened, by kind.
    pub faults: Vec<KindCount>,
    /// The kinds of faults: the columns of the counts.
    pub kinds: Vec<String>,
    /// The steps of the protocol: the rows of the counts.
    pub steps: Vec<String>,
    /// How often a fault of each kind hit a node at each step.
    pub counts: Vec<Vec<u64>>,
}

/// How many faults of a kind happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// The number of faults.
    pub count: u64,
}

/// A seed in which something happened that must not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailingSeed {
    /// The seed.
    pub seed: u64,
    /// What happened.
    pub violations: Vec<String>,
    /// The faults of the seed that it takes, from 0.
    pub faults: Vec<usize>,
}

/// What the simulation of a defect found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundMutant {
    /// The defect.
    pub mutant: String,
    /// The first seed in which it shows; `None`: in none.
    pub seed: Option<u64>,
    /// How it shows.
    pub violation: Option<String>,
}

impl FailingSeed {
    /// The arguments that simulate the seed again and describe what happens.
    #[must_use]
    pub fn arguments(&self) -> String {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        let faults = match &faults[..] {
            [] => "none".to_owned(),
            faults => faults.join(","),
        };
        format!("chaos --seed {} --faults {faults} --trace", self.seed)
    }
}

impl ChaosReport {
    /// Why the campaign has failed, if it has; `own` is the name of the program.
    #[must_use]
    pub fn failure(&self, own: &str) -> Option<Failure> {
        if let Some(first) = self.failing.first() {
            let (count, arguments) = (self.failing.len(), first.arguments());
            return Some(Failure::Verification(format!(
                "{count} of {} seeds failed; `{own} {arguments}` shows the first",
                self.seeds
            )));
        }
        let mutants = self.mutants.iter().flatten();
        let missed: Vec<&str> = mutants
            .filter(|found| found.seed.is_none())
            .map(|found| found.mutant.as_str())
            .collect();
        (!missed.is_empty()).then(|| {
            let missed = missed.join(", ");
            Failure::Verification(format!("no seed shows these mutants: {missed}"))
        })
    }

    /// One row per step and kind of fault.
    ///
    /// # Errors
    ///
    /// If the table cannot be written.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        let Coverage {
            kinds,
            steps,
            counts,
            ..
        } = &self.coverage;
        for (step, counts) in steps.iter().zip(counts) {
            for (kind, count) in kinds.iter().zip(counts) {
                table.push(Row {
                    step,
                    fault: kind,
                    count: *count,
                })?;
            }
        }
        table.text()
    }
}

/// A row of the table.
#[derive(Serialize)]
struct Row<'a> {
    step: &'a str,
    fault: &'a str,
    count: u64,
}

impl Published for ChaosReport {
    const SCHEMA: &'static str = "migbsp.chaos/1";
}
