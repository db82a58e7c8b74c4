//! The forms of the answers of `reproduce`.

use experiments::schemas::Form;

use crate::{chen, du, report, santana};

/// The forms of the answers of `reproduce`.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![
        Form::of_results::<chen::Report>(),
        Form::of_results::<du::Report>(),
        Form::of_results::<du::table1::Report>(),
        Form::of_results::<report::Report>(),
        Form::of_results::<santana::Report>(),
    ]
}
