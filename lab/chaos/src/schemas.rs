//! The form of the answer of `chaos`.

use experiments::schemas::Form;

use crate::campaign;

/// The form of the answer of `chaos`.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![Form::of_results::<campaign::Report>()]
}
