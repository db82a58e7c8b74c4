//! A single call.

use bsp::numbers::whole;

use crate::rule::{Parameter, Rule};
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, When};

/// Calls once, after a given superstep: the reaction to an abnormality that is noticed then.
#[derive(Clone, Debug)]
struct Once {
    /// `None`: the call has been held.
    after: Option<u64>,
}

impl When for Once {
    fn observe(&mut self, _elapsed: &Elapsed) {}

    fn is_due(&self, completed: u64) -> bool {
        self.after.is_some_and(|after| after <= completed)
    }

    fn conclude(&mut self, _call: &CallOutcome<'_>) {
        self.after = None;
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

/// `once`.
pub(super) const RULE: Rule<dyn When> =
    Rule::<dyn When>::new("once", "calls once, after a given superstep", |settings| {
        let after = whole(settings.argument("after"));
        Box::new(Once { after: Some(after) })
    })
    .with_parameters(&[Parameter {
        name: "after",
        help: "number of complete supersteps",
        default: 10.0,
        min: 1.0,
        max: AFTER_MAX,
    }]);

const AFTER_MAX: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::when::tests::call_outcome;

    #[test]
    fn a_single_call_is_due() {
        let mut once = Once { after: Some(3) };
        assert_eq!(
            [2, 3, 4].map(|completed| once.is_due(completed)),
            [false, true, true]
        );
        once.conclude(&call_outcome(3, 1.0, 0));
        assert!(!once.is_due(100));
    }
}
