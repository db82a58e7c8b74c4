//! The runs of a comparison or a sweep, which a signal can end.

use std::sync::Arc;

use analysis::compare::{self, Comparison, Ledger, Results, Subject};
use experiments::batch::Batch;
use experiments::{Failure, Registry};

use crate::arguments::JobsArguments;
use crate::bar::RunBar;
use crate::failure::CommandFailure;
use crate::signals::{TerminationSignal, until};

/// All that the runs of a comparison need, on a thread of their own.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    pub(crate) comparison: Arc<Comparison>,
    pub(crate) subjects: Arc<Vec<Subject>>,
    pub(crate) registry: Registry,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) jobs: JobsArguments,
    pub(crate) bar: RunBar,
}

impl Runs {
    /// The results of all runs; `None` as soon as a signal asks to end.
    ///
    /// # Errors
    ///
    /// If a run cannot be prepared, or the ledger does not take one; or there is no experiment.
    pub(crate) fn until(
        &self,
        termination: &TerminationSignal,
    ) -> Result<Option<Results>, Failure> {
        let runs = self.clone();
        let results = until(termination, move || {
            let batch = Batch {
                jobs: runs.jobs.threads(),
                progress: &runs.bar,
            };
            let (comparison, subjects) = (&runs.comparison, &runs.subjects);
            compare::run(comparison, subjects, &runs.registry, batch, &runs.ledger)
        })?;
        results.transpose()
    }

    /// The number of all runs.
    pub(crate) fn count(&self) -> usize {
        let seeds = self.subjects.iter().map(|subject| subject.seeds.len());
        seeds.sum::<usize>() * self.comparison.policies.len()
    }

    /// Logs how many runs were not made again.
    pub(crate) fn report_recalled(&self) {
        let recalled = self.ledger.from_file();
        if 0 < recalled {
            tracing::info!(recalled, "runs taken from {}", Ledger::FILE);
        }
    }

    /// What a command says that `signal` has ended: how much is done, what of it is `shown`, and how to go on, which is
    /// possible if runs are kept in a folder.
    pub(crate) fn stopped(&self, signal: u8, shown: Option<&str>, is_kept: bool) -> CommandFailure {
        let next = if is_kept {
            "the same command goes on from here"
        } else {
            "with --out DIR the same command would go on from here"
        };
        let (done, all) = (self.ledger.len(), self.count());
        let shown = shown.map_or_else(String::new, |shown| format!("{shown}; "));
        let message = format!("interrupted: {done} of {all} runs are done; {shown}{next}");
        CommandFailure::Stopped { signal, message }
    }
}
