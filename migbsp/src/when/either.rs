//! Two rules combined: a call when one of them calls.

use crate::rule::{Need, Rule};
use crate::when::boulmier::Boulmier;
use crate::when::budgeted::Budgeted;
use crate::when::menon::Menon;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, When};

/// Calls when one of two rules would.
#[derive(Debug)]
pub(super) struct Either<First, Second>(First, Second);

impl<First: When, Second: When> When for Either<First, Second> {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.0.observe(elapsed);
        self.1.observe(elapsed);
    }

    fn is_due(&self, completed: u64) -> bool {
        self.0.is_due(completed) || self.1.is_due(completed)
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        self.0.conclude(call);
        self.1.conclude(call);
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

fn menon_boulmier() -> Either<Menon, Boulmier> {
    Either(Menon::at_start(), Boulmier::default())
}

/// `menon-boulmier`.
pub(super) const MENON_BOULMIER: Rule<dyn When> = Rule::new(
    "menon-boulmier",
    "calls when menon or boulmier does",
    |_| Box::new(menon_boulmier()),
);

/// `menon-boulmier-budgeted`.
pub(crate) const MENON_BOULMIER_BUDGETED: Rule<dyn When> = Rule::<dyn When>::new(
    "menon-boulmier-budgeted",
    "calls when menon, boulmier or budgeted does",
    |_| Box::new(Either(menon_boulmier(), Budgeted::default())),
)
.with_need(Need::CallCosts);
