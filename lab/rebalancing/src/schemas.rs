//! The forms of the answers of `rebalance`.

use experiments::schemas::Form;

use crate::{solve, sweep};

/// The forms of the answers of `rebalance`.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![
        Form::of_results::<solve::Report>(),
        Form::of_results::<sweep::Report>(),
    ]
}
