//! Results of a comparison, for `--format json` and `csv`.

use serde::Serialize;

use crate::compare::claim::Claim;
use crate::compare::live::LiveConditions;
use crate::compare::pairs::{self, Pair};
use crate::compare::results::{DoneRun, Results, Run, Subject};
use crate::compare::summary::{self, Overall, Summary};
use experiments::{CsvTable, Failure, Provenance, Published};

/// Results of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How it was made on real hosts, where a repetition takes the place of a seed; `None`: in simulations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveConditions>,
    /// Label of the policy that the others are compared with.
    pub reference: String,
    /// In the order they were given.
    pub experiments: Vec<Subject>,
    /// By experiment, policy and seed.
    pub runs: Vec<Row>,
    /// By experiment and policy.
    pub summaries: Vec<Summary>,
    /// By policy.
    pub overall: Vec<Overall>,
    /// On all experiments together, then on every single one.
    pub pairs: Vec<Pair>,
    /// In the order they were made.
    pub claims: Vec<CheckedClaim>,
    /// The runs without a result, with the reasons.
    #[serde(skip)]
    pub failures: Vec<String>,
}

/// A run, with its experiment, policy and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    experiment: String,
    policy: String,
    seed: u64,
    /// Without a result, this and what follows is `None`.
    seconds: Option<f64>,
    supersteps: Option<u64>,
    calls: Option<usize>,
    migrations: Option<usize>,
    moved_bytes: Option<u64>,
    call_seconds: Option<f64>,
    attainable_seconds: Option<f64>,
    imbalance_seconds: Option<f64>,
    of_best_placement: Option<f64>,
    /// Why the run has no result.
    error: Option<String>,
    configuration_sha256: String,
    run_sha256: String,
}

/// A claim, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedClaim {
    /// The text of the claim.
    pub claim: String,
    /// The experiment that it is about; `None`: all together.
    pub experiment: Option<String>,
    /// Ratio of the left policy's makespan to the right one's: the geometric mean. `None`: there is none, and the claim
    /// does not hold.
    pub ratio: Option<f64>,
    /// The bound of the ratio.
    pub limit: f64,
    /// Whether it holds.
    pub holds: bool,
}

impl Report {
    /// The report of `results`, with `claims` about all experiments together and `claims_each` about
    /// every single one.
    pub fn new(results: &Results, claims: &[Claim], claims_each: &[Claim]) -> Self {
        let each = pairs::on_each(results);
        let overall = summary::overall(results, &each);
        let summaries = summary::summaries(results, &each);
        let mut pairs = pairs::over_all(results);
        pairs.extend(each);
        Self {
            live: None,
            reference: results.policies[results.reference].clone(),
            experiments: results.experiments.clone(),
            runs: rows(results),
            summaries,
            overall,
            pairs,
            claims: checked(results, claims, claims_each),
            failures: results.failures("seed"),
        }
    }

    /// The same report, of `results` on real hosts.
    pub(super) fn of_live(self, results: &Results, live: LiveConditions) -> Self {
        Self {
            live: Some(live),
            failures: results.failures(REPETITION),
            ..self
        }
    }

    /// What its values are independent by: `seed`, or `repetition` on real hosts.
    pub(super) const fn block(&self) -> &'static str {
        match self.live {
            Some(_) => REPETITION,
            None => "seed",
        }
    }

    /// One row per run.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for row in &self.runs {
            table.push(row)?;
        }
        table.text()
    }

    /// A message about the runs without a result; `None` if all have one.
    pub fn failure(&self) -> Option<String> {
        failure(&self.failures, self.runs.len())
    }

    /// A message for each claim that does not hold, one a line; `None` if all hold.
    pub fn complaint(&self) -> Option<String> {
        let broken = self.claims.iter().filter(|checked| !checked.holds);
        let lines: Vec<String> = broken.map(CheckedClaim::complaint).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.compare/2";
}

/// A message about `failures` of `runs` runs; `None` if there are none.
pub(crate) fn failure(failures: &[String], runs: usize) -> Option<String> {
    let first = failures.first()?;
    let count = failures.len();
    Some(format!(
        "{first}\n  note: {count} of {runs} runs failed; the others are done"
    ))
}

impl CheckedClaim {
    fn complaint(&self) -> String {
        let Self {
            claim,
            ratio,
            limit,
            ..
        } = self;
        let place = match &self.experiment {
            Some(experiment) => format!("on {experiment}"),
            None => "over all experiments".to_owned(),
        };
        let met = match ratio {
            Some(ratio) => format!("the makespans' ratio is {ratio:.4}, its limit {limit}"),
            None => "the makespans have no ratio".to_owned(),
        };
        format!("`{claim}` does not hold {place}: {met}")
    }
}

const REPETITION: &str = "repetition";

fn rows(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (experiment, policies) in results.experiments.iter().zip(&results.runs) {
        for (policy, runs) in results.policies.iter().zip(policies) {
            rows.extend(runs.iter().map(|run| Row::new(experiment, policy, run)));
        }
    }
    rows
}

fn checked(results: &Results, claims: &[Claim], claims_each: &[Claim]) -> Vec<CheckedClaim> {
    let all = claims.iter().map(|claim| check(results, claim, None));
    let subjects = 0..results.experiments.len();
    let each = claims_each.iter().flat_map(|claim| {
        let single = move |experiment| check(results, claim, Some(experiment));
        subjects.clone().map(single)
    });
    all.chain(each).collect()
}

fn check(results: &Results, claim: &Claim, experiment: Option<usize>) -> CheckedClaim {
    let place = |label: &str| {
        let found = results.policies.iter().position(|policy| policy == label);
        found.expect("claims name policies that take part")
    };
    let (left, right) = (place(&claim.left), place(&claim.right));
    let ratio = summary::ratio(results, experiment, left, right);
    CheckedClaim {
        claim: claim.to_string(),
        experiment: experiment.map(|index| results.experiments[index].name.clone()),
        ratio,
        limit: claim.limit,
        holds: ratio.is_some_and(|ratio| claim.holds(ratio)),
    }
}

impl Row {
    fn new(experiment: &Subject, policy: &str, done: &DoneRun) -> Self {
        let run: Option<&Run> = done.outcome.run();
        Self {
            experiment: experiment.name.clone(),
            policy: policy.to_owned(),
            seed: done.outcome.seed(),
            seconds: run.map(|run| run.seconds),
            supersteps: run.map(|run| run.supersteps),
            calls: run.map(|run| run.calls),
            migrations: run.map(|run| run.migrations),
            moved_bytes: run.map(|run| run.moved_bytes),
            call_seconds: run.map(|run| run.call_seconds),
            attainable_seconds: run.and_then(|run| run.attainable_seconds),
            imbalance_seconds: run.and_then(|run| run.imbalance_seconds),
            of_best_placement: run.and_then(|run| experiment.of_best_placement(run)),
            error: done.outcome.failed().map(|failed| failed.error.clone()),
            configuration_sha256: done.outcome.configuration_sha256().to_owned(),
            run_sha256: done.run_sha256.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::{fail, results};
    use experiments::Registry;

    fn claims(texts: &[&str]) -> Vec<Claim> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn claims_are_held_against_all_experiments_or_each() {
        let results = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[10.0], &[11.0]])]);
        let report = Report::new(
            &results,
            &claims(&["b < a"]),
            &claims(&["b <= a", "b <= 1.2 * a"]),
        );
        let holds: Vec<bool> = report.claims.iter().map(|checked| checked.holds).collect();
        assert_eq!(holds, [true, true, false, true, true]);
        assert_eq!(
            report.complaint().unwrap(),
            "`b <= a` does not hold on e1: the makespans' ratio is 1.1000, its limit 1"
        );
        assert_eq!(
            Report::new(&results, &claims(&["b <= a"]), &[]).complaint(),
            None
        );
        let all = Report::new(&results, &claims(&["b <= 0.5 * a"]), &[]);
        assert_eq!(
            all.complaint().unwrap(),
            "`b <= 0.5 * a` does not hold over all experiments: the makespans' ratio is 0.7416, its limit 0.5"
        );
    }

    #[test]
    fn csv_has_a_row_per_run() {
        let mut results = results(&[(true, &[&[10.0, 11.0], &[9.0, 8.5]])]);
        fail(&mut results, 0, 1, 0);
        let provenance = Provenance::of_program(&Registry::new()).unwrap();
        let csv = Report::new(&results, &[], &[]).csv(&provenance).unwrap();
        let lines = csv.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<&str> = lines.collect();
        assert_eq!(
            lines[0],
            "experiment,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,attainable_seconds,imbalance_seconds,of_best_placement,error,configuration_sha256,run_sha256"
        );
        assert_eq!(lines[3], "e0,b,1,,,,,,,,,,out of road,ab12,ef56");
        assert_eq!(
            lines[4],
            "e0,b,2,8.5,10,2,1,1000000,0.1,0.5,1.0,,,ab12,ef56"
        );
        assert_eq!(lines.len(), 5);
    }
}
