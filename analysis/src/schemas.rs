//! The forms of answers.

use experiments::schemas::Form;

use crate::bench::{migration, superstep};
use crate::compare::{Entry, FAILURE_SCHEMA, FailedRun, LEDGER_SCHEMA, Run};
use crate::known_best::BestPlacement;
use crate::platform::PlatformView;
use crate::{advise, certificates, compare, explain, live, sweep, verify};

/// The forms of answers.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![
        Form::of_results::<BestPlacement>(),
        Form::of_results::<PlatformView>(),
        Form::of_results::<advise::AdvisedReport<'_>>(),
        Form::of_results::<advise::Report>(),
        Form::of_results::<certificates::Report>(),
        Form::of_results::<compare::Report>(),
        Form::new::<Entry<'_, Run>>(LEDGER_SCHEMA),
        Form::new::<Entry<'_, FailedRun>>(FAILURE_SCHEMA),
        Form::of_results::<explain::Explanation>(),
        Form::of_results::<live::Report>(),
        Form::of_results::<migration::Report>(),
        Form::of_results::<superstep::Report>(),
        Form::of_results::<sweep::Plan>(),
        Form::of_results::<sweep::Report>(),
        Form::of_results::<verify::Report>(),
    ]
}
