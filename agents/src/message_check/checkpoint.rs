//! Checks of orders to save the state of a run.

use crate::check::check;
use crate::setup::Rules;

/// Checks that a run has checkpoints, and that one can be ordered by this message, if it `is_ordered`.
pub(super) fn checkpoint(rules: &Rules, is_ordered: bool, can_be: bool) -> Result<(), String> {
    check(!is_ordered || can_be && rules.checkpoints, || {
        "an order of a checkpoint that cannot be".to_owned()
    })
}
