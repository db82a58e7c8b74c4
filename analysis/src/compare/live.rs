//! Comparisons on real hosts: repetitions, each of which has all runs once in an order that is drawn.

use std::collections::BTreeSet;

use bsp::numbers::length;
use experiments::{Failure, Finished, Loaded, PreparedExperiment, Provenance, Registry};
use protocol::Member;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::compare::arguments::{Claim, Seeds};
use crate::compare::ledger::{Ledger, NamedRun};
use crate::compare::report::Report;
use crate::compare::results::{FailedRun, Outcome, Results, Run, Subject};
use crate::compare::{Comparison, Variant, results_so_far};

/// A comparison on real hosts. Its blocks are repetitions, which count from 1 and take the places of seeds; the seed of an
/// experiment is the same in all of them.
#[derive(Debug)]
pub struct LiveComparison {
    comparison: Comparison,
    subjects: Vec<Subject>,
    order_seed: u64,
    ledger: Ledger,
}

/// A run: its repetition, and the positions of its experiment and its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveCase {
    /// The repetition.
    pub repetition: u64,
    /// The position of the experiment.
    pub experiment: usize,
    /// The position of the policy.
    pub policy: usize,
}

/// How a comparison was made on real hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LiveConditions {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of their Sets.
    pub sets: usize,
    /// Number of repetitions that were asked for.
    pub repetitions: usize,
    /// The seed of the orders of the runs.
    pub order_seed: u64,
    /// All runs that were asked for, in their order.
    pub order: Vec<OrderedRun>,
}

/// A run by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OrderedRun {
    /// The repetition.
    pub repetition: u64,
    /// The experiment, as it was named.
    pub experiment: String,
    /// Label of the policy.
    pub policy: String,
}

impl LiveComparison {
    /// A comparison of these experiments and policies, of which no run is done.
    pub fn new(comparison: Comparison, repetitions: u32, order_seed: u64) -> Self {
        let comparison = Comparison {
            seeds: Seeds::first_ones(repetitions),
            ..comparison
        };
        let subject = |variant: &Variant| Subject {
            name: variant.name.clone(),
            label: variant.label.clone(),
            draws: true,
            seeds: comparison.seeds.all().to_vec(),
            best_placement: None,
        };
        Self {
            subjects: comparison.experiments.iter().map(subject).collect(),
            comparison,
            order_seed,
            ledger: Ledger::default(),
        }
    }

    /// All runs in their order: one repetition after the other, each with every experiment under every policy, in an order
    /// that is drawn. So what changes on the hosts in the meantime meets all policies alike.
    pub fn cases(&self) -> Vec<LiveCase> {
        let Comparison {
            experiments,
            policies,
            seeds,
            ..
        } = &self.comparison;
        let mut random = ChaCha8Rng::seed_from_u64(self.order_seed);
        let mut all = Vec::new();
        for repetition in seeds.all() {
            let cases = (0..experiments.len()).flat_map(|experiment| {
                (0..policies.len()).map(move |policy| LiveCase {
                    repetition: *repetition,
                    experiment,
                    policy,
                })
            });
            let mut cases: Vec<LiveCase> = cases.collect();
            shuffle(&mut cases, &mut random);
            all.append(&mut cases);
        }
        all
    }

    /// The experiment of `case`, as it is submitted.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn load(&self, case: LiveCase, registry: &Registry) -> Result<Loaded, Failure> {
        let variant = &self.comparison.experiments[case.experiment];
        let mut assignments = variant.set.clone();
        let policy = &self.comparison.policies[case.policy];
        assignments.extend_from_slice(&policy.assignments);
        let loaded = experiments::load_for_cluster(&variant.file, &assignments, registry);
        loaded.map_err(|failure| variant.named(failure))
    }

    /// The names of `case`.
    pub fn named(&self, case: LiveCase) -> OrderedRun {
        OrderedRun {
            repetition: case.repetition,
            experiment: self.comparison.experiments[case.experiment].name.clone(),
            policy: self.comparison.policies[case.policy].label.clone(),
        }
    }

    /// Notes how the run of `case` ended, whose experiment is `prepared`.
    ///
    /// # Errors
    ///
    /// If the binary or a file of the experiment cannot be read.
    pub fn note(
        &self,
        case: LiveCase,
        prepared: &PreparedExperiment,
        ended: Result<&Finished, &Failure>,
        registry: &Registry,
    ) -> Result<(), Failure> {
        let OrderedRun {
            repetition,
            experiment,
            policy,
        } = self.named(case);
        let scenario = self.comparison.policies[case.policy].scenario;
        let same = prepared.digest(scenario, registry)?;
        // Repetitions of a run on real hosts are runs of their own.
        let digest = Sha256::digest(format!("{same}\nrepetition {repetition}\n"));
        let digest = hex::encode(digest);
        let configuration_sha256 = prepared.loaded.experiment.digest();
        let outcome = match ended {
            Ok(finished) => {
                Outcome::Finished(Run::new(repetition, finished, &configuration_sha256))
            }
            Err(failure) => Outcome::Failed(FailedRun {
                seed: repetition,
                error: failure.to_string(),
                configuration_sha256: configuration_sha256.clone(),
            }),
        };
        let named = NamedRun {
            provenance: Provenance::of_program(registry)?,
            digest: digest.clone(),
            experiment,
            draws: true,
            policy,
            configuration_sha256,
        };
        let place = (case.experiment, case.policy, repetition);
        if self.ledger.begin(place, named)? {
            self.ledger.finish(&digest, &outcome)?;
        }
        Ok(())
    }

    /// Number of runs that are over.
    pub fn done(&self) -> usize {
        self.ledger.len()
    }

    /// The report of the repetitions that all policies have, on `members`; `None` without one.
    pub fn report(
        &self,
        members: &[Member],
        claims: &[Claim],
        claims_each: &[Claim],
    ) -> Option<Report> {
        let results: Results = results_so_far(&self.comparison, &self.subjects, &self.ledger)?;
        let sets: BTreeSet<&str> = members.iter().map(|member| member.set.as_str()).collect();
        let order = self.cases().into_iter().map(|case| self.named(case));
        let live = LiveConditions {
            hosts: members.len(),
            sets: sets.len(),
            repetitions: self.comparison.seeds.all().len(),
            order_seed: self.order_seed,
            order: order.collect(),
        };
        Some(Report::new(&results, claims, claims_each).of_live(&results, live))
    }
}

/// Puts `items` into an order that is drawn (Fisher and Yates), which is the same on all machines.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let number = length(last + 1);
        let drawn = u64::from(random.next_u32()).saturating_mul(number) >> 32;
        items.swap(last, usize::try_from(drawn).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn comparison(repetitions: u32, order_seed: u64) -> LiveComparison {
        let experiment = |file: &str| Variant::of_file(Path::new(file), &[]);
        let policies = ["none", "adaptive", "migbsp"];
        let comparison = Comparison {
            experiments: vec![experiment("a.toml"), experiment("b.toml")],
            policies: policies.map(|policy| policy.parse().unwrap()).to_vec(),
            seeds: "7".parse().unwrap(),
            against: None,
        };
        LiveComparison::new(comparison, repetitions, order_seed)
    }

    #[test]
    fn each_repetition_has_every_run_once_in_an_order_that_the_seed_draws() {
        let cases = comparison(40, 7).cases();
        assert_eq!(cases, comparison(40, 7).cases());
        assert_ne!(cases, comparison(40, 8).cases());
        // A repetition has the same order, however many follow it.
        assert_eq!(cases[..12], comparison(2, 7).cases());
        let (mut firsts, mut orders) = (BTreeSet::new(), BTreeSet::new());
        for (repetition, cases) in (1..).zip(cases.chunks(6)) {
            let places = cases.iter().map(|case| {
                assert_eq!(case.repetition, repetition);
                (case.experiment, case.policy)
            });
            let places: Vec<(usize, usize)> = places.collect();
            firsts.insert(places[0]);
            assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 6);
            orders.insert(places);
        }
        // In 40 repetitions each of six comes first but for a chance of 6 · (5/6)^40 = 0.4 %.
        assert_eq!(firsts.len(), 6);
        // Of 720 orders, 40 draws have 38.9 different ones on average: 720 · (1 − (719/720)^40).
        assert!(34 < orders.len(), "{}", orders.len());
    }
}
