//! The plan `pairwise`: slow hosts hand processes to fast ones, pair by pair.

use migbsp::model::{Assignment, Draft, Parameter, Plan, Rule, Snapshot};

/// Pairs the slowest host with the fastest, the second slowest with the second fastest, and so on. In each pair, the
/// process moves that leaves the slower of the two hosts least to do, if that saves enough.
#[derive(Debug)]
struct Pairwise {
    /// The least part of the slow host's time that a move has to save.
    saving: f64,
}

impl Plan for Pairwise {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut assignment = Assignment::present(snapshot);
        let mut hosts: Vec<usize> = (0..snapshot.hosts().len()).collect();
        hosts.sort_by(|a, b| assignment.time(*b).total_cmp(&assignment.time(*a)));
        let pairs = hosts.iter().zip(hosts.iter().rev());
        for (slow, fast) in pairs.take(hosts.len() / 2) {
            let limit = (1.0 - self.saving) * assignment.time(*slow);
            let residents = assignment.residents(*slow).iter();
            let moves = residents.map(|process| (assignment.after_move(*process, *fast), *process));
            let best = moves.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((after, process)) = best
                && after < limit
            {
                assignment.put(process, *fast);
            }
        }
        Draft::only("pairwise", snapshot, assignment.places().to_vec())
    }
}

/// `pairwise`.
pub(crate) const RULE: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "pairwise",
    "slow hosts hand processes to fast ones, pair by pair",
    |settings| {
        Box::new(Pairwise {
            saving: settings.argument("saving"),
        })
    },
)
.with_parameters(&[Parameter {
    name: "saving",
    help: "least part of the slow host's time that a move has to save",
    default: 0.05,
    min: 0.0,
    max: 1.0,
}]);
