//! Every single run of a comparison.

use serde::{Deserialize, Serialize};

use experiments::Finished;

use crate::best_placement::KnownBest;

/// Experiments, policies, and the runs of each experiment under each policy.
#[derive(Clone, Debug)]
pub struct Results {
    /// In the order they were given.
    pub experiments: Vec<Subject>,
    /// Labels of the policies, in the order they were given.
    pub policies: Vec<String>,
    /// Position of the policy that the others are compared with.
    pub reference: usize,
    /// Experiment × policy × seed. An experiment has equally many under every policy.
    pub runs: Vec<Vec<Vec<Run>>>,
}

/// An experiment of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// Its file, as it was given; of a sweep, with the values that vary.
    pub name: String,
    /// Its name in charts.
    #[serde(skip)]
    pub label: String,
    /// Whether its result depends on the seed; if not, it is run once.
    pub draws: bool,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    /// Its best placement, if a file beside it names one.
    pub best_placement: Option<KnownBest>,
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seed of its random numbers.
    pub seed: u64,
    /// The makespan.
    pub seconds: f64,
    /// Number of supersteps.
    pub supersteps: u64,
    /// Rescheduling calls.
    pub calls: usize,
    /// Processes that moved.
    pub migrations: usize,
    /// Bytes of their states.
    pub moved_bytes: u64,
    /// Seconds for which processes waited for calls.
    pub call_seconds: f64,
    /// Computation that the best mapping of every superstep would have saved, in seconds.
    pub attainable_seconds: f64,
    /// Computation that perfect balance would have saved, in seconds.
    pub imbalance_seconds: f64,
    /// SHA-256 of its configuration.
    pub configuration_sha256: String,
}

impl Results {
    /// The runs of an experiment under a policy, by seed.
    pub fn of(&self, experiment: usize, policy: usize) -> &[Run] {
        &self.runs[experiment][policy]
    }

    /// For each run of an experiment, the logarithm of the ratio of the makespan under policy `left` to
    /// that under `right`, with the same seed.
    pub fn log_ratios(&self, experiment: usize, left: usize, right: usize) -> Vec<f64> {
        let pairs = self
            .of(experiment, left)
            .iter()
            .zip(self.of(experiment, right));
        pairs
            .map(|(left, right)| log_ratio(left.seconds, right.seconds))
            .collect()
    }
}

impl Subject {
    /// Ratio of the makespan of `run` to that of its supersteps under the best placement, where it is known.
    pub fn of_best_placement(&self, run: &Run) -> Option<f64> {
        let best = self.best_placement.as_ref()?;
        best.ratio(run.seconds, run.supersteps)
    }
}

impl Run {
    /// The result of the run `finished` with `seed`, of a configuration with this digest.
    pub fn new(seed: u64, finished: &Finished, configuration_sha256: &str) -> Self {
        let calls = &finished.calls;
        Self {
            seed,
            seconds: finished.end.seconds.get(),
            supersteps: finished.end.supersteps,
            calls: calls.len(),
            migrations: calls.iter().map(|call| call.migrations.len()).sum(),
            moved_bytes: finished.end.moved.0,
            call_seconds: calls.iter().fold(0.0, |sum, call| sum + call.cost.get()),
            attainable_seconds: finished.end.attainable.unwrap_or_default().get(),
            imbalance_seconds: finished.end.imbalance.unwrap_or_default().get(),
            configuration_sha256: configuration_sha256.to_owned(),
        }
    }
}

/// `ln(left / right)`; two makespans of zero are equal.
fn log_ratio(left: f64, right: f64) -> f64 {
    if left.total_cmp(&right).is_eq() {
        0.0
    } else {
        (left / right).ln()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Experiments e0, e1, …: whether they draw, and the makespans of policies a, b, … by seed; a is the
    /// reference.
    pub(crate) fn results(experiments: &[(bool, &[&[f64]])]) -> Results {
        let subject = |(index, (draws, policies)): (usize, &(bool, &[&[f64]]))| Subject {
            name: format!("e{index}"),
            label: format!("e{index}"),
            draws: *draws,
            seeds: (1..).take(policies[0].len()).collect(),
            best_placement: None,
        };
        let run = |(seed, seconds): (u64, &f64)| Run {
            seed,
            seconds: *seconds,
            supersteps: 10,
            calls: 2,
            migrations: 1,
            moved_bytes: 1_000_000,
            call_seconds: 0.1,
            attainable_seconds: 2.0,
            imbalance_seconds: 4.0,
            configuration_sha256: "ab12".to_owned(),
        };
        let of = |(_, policies): &(bool, &[&[f64]])| -> Vec<Vec<Run>> {
            let runs = |makespans: &&[f64]| (1..).zip(*makespans).map(run).collect();
            policies.iter().map(runs).collect()
        };
        let policies = experiments
            .first()
            .map_or(0, |(_, policies)| policies.len());
        let labels = ('a'..='z').take(policies);
        Results {
            experiments: experiments.iter().enumerate().map(subject).collect(),
            policies: labels.map(String::from).collect(),
            reference: 0,
            runs: experiments.iter().map(of).collect(),
        }
    }

    #[test]
    fn runs_are_paired_by_seed_and_zero_makespans_are_equal() {
        let results = results(&[(true, &[&[2.0, 0.0], &[4.0, 0.0]])]);
        assert_eq!(results.log_ratios(0, 1, 0), [2.0_f64.ln(), 0.0]);
    }
}
