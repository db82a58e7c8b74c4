//! The forms of what the commands themselves answer.

use experiments::schemas::Form;

use crate::commands::laws;
use crate::file::OutputsReport;
use crate::live::{check, status};

/// The forms of what the commands themselves answer.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![
        Form::of_results::<OutputsReport<'_>>(),
        Form::of_results::<check::Report>(),
        Form::of_results::<laws::Report>(),
        Form::of_results::<status::Report>(),
    ]
}
