//! A sweep and its results.

use std::collections::BTreeSet;

use crate::compare::{Results, Run, failure};
use crate::sweep::grid::Point;
use crate::sweep::plan::Plan;

/// A sweep, and the runs of it that are done.
#[derive(Clone, Debug)]
pub struct Swept {
    /// What it is.
    pub plan: Plan,
    /// Name and version of the program.
    pub(super) version: String,
    /// SHA-256 of its binary.
    pub(super) build: String,
    /// The combinations with results; each is the experiment at the same place in the results.
    pub points: Vec<Point>,
    /// The results.
    pub results: Results,
}

impl Swept {
    /// Number of runs that are over under all policies, with a result or without.
    pub fn runs(&self) -> usize {
        let runs = self.results.runs.iter().flatten();
        runs.map(Vec::len).sum()
    }

    /// Number of different runs among them: policies that do not depend on a parameter have the same one for all its
    /// values.
    pub fn different_runs(&self) -> usize {
        let runs = self.results.runs.iter().flatten().flatten();
        runs.map(|run| &*run.run_sha256)
            .collect::<BTreeSet<&str>>()
            .len()
    }

    /// Whether all runs are over.
    pub fn is_complete(&self) -> bool {
        u64::try_from(self.runs()).is_ok_and(|runs| runs == self.plan.runs)
    }

    /// A message about the runs without a result; `None` if all have one.
    pub fn failure(&self) -> Option<String> {
        failure(&self.results.failures("seed"), self.runs())
    }

    /// Gain of `run`, one of the combination `point`, as a part of the makespan of scenario i with the same seed; `None`:
    /// that is not known, or is 0.
    pub(super) fn gain(&self, point: usize, run: &Run) -> Option<f64> {
        self.plan.reference.as_ref()?;
        let mut alone = self.results.of(point, self.results.reference);
        let alone = alone.find(|alone| alone.seed == run.seed)?;
        match (alone.seconds, run.seconds) {
            (0.0, 0.0) => Some(0.0),
            (0.0, _) => None,
            (alone, seconds) => Some(1.0 - seconds / alone),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::compare::results_of;
    use crate::sweep::plan::tests::plan;

    /// Policies `none` and `adaptive` on the combinations of `set`: their makespans by seed.
    pub(crate) fn swept(set: &[&str], makespans: &[&[&[f64]]]) -> Swept {
        let seeds = makespans.first().map_or(1, |policies| policies[0].len());
        let plan = plan(set, u64::try_from(seeds).unwrap());
        let points: Vec<Point> = plan
            .grid
            .points()
            .into_iter()
            .take(makespans.len())
            .collect();
        let drawn: Vec<(bool, &[&[f64]])> = makespans.iter().map(|of| (true, *of)).collect();
        let mut results = results_of(&drawn);
        results.policies.clone_from(&plan.policies);
        for (subject, point) in results.experiments.iter_mut().zip(&points) {
            subject.name.clone_from(&point.name);
        }
        Swept {
            plan,
            version: "migbsp 0.1.0".to_owned(),
            build: "cd34".to_owned(),
            points,
            results,
        }
    }

    #[test]
    fn a_sweep_is_complete_with_all_runs_of_its_plan() {
        let all: &[&[&[f64]]] = &[&[&[10.0], &[9.0]], &[&[10.0], &[9.0]]];
        assert!(swept(&["a.x=1,2"], all).is_complete());
        let part = swept(&["a.x=1,2"], &all[..1]);
        assert_eq!((part.runs(), part.is_complete()), (2, false));
    }
}
