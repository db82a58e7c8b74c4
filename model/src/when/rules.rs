//! Rules for calls: fixed, once, by what imbalance has cost, and by the overhead budget.

use bsp::numbers::whole;

use super::cooldown::Pause;
use super::{CallOutcome, CallSchedule, Elapsed, Spacing, When};
use crate::rule::{Need, Parameter, Rule};

/// Calls at a fixed interval, whatever happens.
#[derive(Clone, Debug)]
struct Fixed {
    interval: u32,
    call_next: u64,
}

impl Fixed {
    /// A call every `interval` supersteps.
    pub(super) fn new(interval: u32) -> Self {
        Self {
            interval,
            call_next: u64::from(interval),
        }
    }
}

impl When for Fixed {
    fn observe(&mut self, _elapsed: &Elapsed) {}

    fn is_due(&self, completed: u64) -> bool {
        self.call_next <= completed
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        self.call_next = call.completed.saturating_add(self.interval.into());
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule {
            interval: Some(self.interval),
            ..CallSchedule::default()
        }
    }
}

/// `fixed`.
pub(super) const FIXED: Rule<dyn When> =
    Rule::new("fixed", "calls every `interval` supersteps", |settings| {
        Box::new(Fixed::new(settings.config.parameters().interval))
    });

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
}

/// `once`.
pub(super) const ONCE: Rule<dyn When> =
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

/// Calls when `Σ max(0, u_j − u_1) ≥ C`: the imbalance that has come up since the first superstep after
/// the last call has cost as much as a call.
///
/// The criterion of Menon, Jain, Zheng and Kalé (2012) with a baseline, equation `MENON` of
/// `docs/model.md`: what imbalance a call could not
/// remove, another one is not expected to remove either.
#[derive(Clone, Debug)]
pub(super) struct Menon {
    /// `u_1`, in seconds.
    baseline: Option<f64>,
    /// The sum, in seconds.
    lost: f64,
    /// `C`, in seconds.
    cost: f64,
}

impl Menon {
    /// Nothing is known of costs: the first imbalance calls.
    pub(super) fn at_start() -> Self {
        Self {
            // No call has balanced the run yet: all of its imbalance counts.
            baseline: Some(0.0),
            lost: 0.0,
            cost: 0.0,
        }
    }
}

impl When for Menon {
    fn observe(&mut self, elapsed: &Elapsed) {
        let imbalance = elapsed.imbalance();
        let baseline = *self.baseline.get_or_insert(imbalance);
        self.lost += (imbalance - baseline).max(0.0);
    }

    fn is_due(&self, _completed: u64) -> bool {
        0.0 < self.lost && self.cost <= self.lost
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        *self = Self {
            baseline: None,
            lost: 0.0,
            cost: call.spacing.cost.get(),
        };
    }
}

/// `menon`.
pub(super) const MENON: Rule<dyn When> = Rule::new(
    "menon",
    "calls when new imbalance has cost as much as a call (Menon et al., 2012)",
    |_| Box::new(Menon::at_start()),
);

/// Calls when `i · u_i − Σ_{j ≤ i} u_j ≥ C`, `i` supersteps after the last call: had imbalance always been
/// what it is now, it would have cost a call more than it did.
///
/// The criterion of local degradation of Boulmier, Abdennadher and Chopard (2022), equation `BOULMIER` of
/// `docs/model.md`. An imbalance that does not change counts for nothing, whatever it costs: the first call
/// of a run is left to another rule. As long as nothing is known of costs, the first imbalance that grows calls.
#[derive(Clone, Debug, Default)]
struct Boulmier {
    /// `i`.
    supersteps: f64,
    /// `u_i`, in seconds.
    imbalance: f64,
    /// `Σ u_j`, in seconds.
    sum: f64,
    /// `C`, in seconds.
    cost: f64,
}

impl Boulmier {
    fn degradation(&self) -> f64 {
        self.supersteps * self.imbalance - self.sum
    }
}

impl When for Boulmier {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.supersteps += 1.0;
        self.imbalance = elapsed.imbalance();
        self.sum += self.imbalance;
    }

    fn is_due(&self, _completed: u64) -> bool {
        let degradation = self.degradation();
        // A steady imbalance leaves nothing but rounding.
        let counts = ROUNDING * self.sum < degradation;
        counts && self.cost <= degradation
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        *self = Self {
            cost: call.spacing.cost.get(),
            ..Self::default()
        };
    }
}

const ROUNDING: f64 = 1e-9;

/// `boulmier`.
pub(super) const BOULMIER: Rule<dyn When> = Rule::new(
    "boulmier",
    "calls when imbalance has grown by what a call costs (Boulmier et al., 2022)",
    |_| Box::new(Boulmier::default()),
);

/// Calls when so much of the run has gone by that another call is a small part of it, whatever the imbalance.
///
/// The planner computes how long that is ([`Spacing::again`]). Such calls find what no imbalance shows: a
/// host that has become idle, or a plan that was made from too little data.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgeted {
    pause: Pause,
}

impl When for Budgeted {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.pause.observe(elapsed);
    }

    fn is_due(&self, _completed: u64) -> bool {
        self.pause.is_over()
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        let Spacing { again, took, .. } = call.spacing;
        self.pause.begin(again.max(1), took);
    }
}

/// `budgeted`.
pub(super) const BUDGETED: Rule<dyn When> = Rule::<dyn When>::new(
    "budgeted",
    "calls as soon as calls without moves stay within the overhead budget",
    |_| Box::new(Budgeted::default()),
)
.with_need(Need::CallCosts);

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::when::tests::{call_outcome, called_at};

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

    #[test]
    fn the_first_imbalance_of_a_run_calls() {
        assert_eq!(called_at(&mut Menon::at_start(), [0.0, 0.0, 0.25]), Some(3));
    }

    #[test]
    fn what_a_call_could_not_remove_counts_no_more() {
        let mut menon = Menon::at_start();
        menon.conclude(&call_outcome(0, 1.0, 0));
        assert_eq!(called_at(&mut menon, [0.25; 500]), None);
    }

    #[test]
    fn what_has_come_up_since_calls_when_it_has_cost_a_call() {
        let mut menon = Menon::at_start();
        menon.conclude(&call_outcome(0, 1.0, 0));
        // 0.25 beyond the first one: four of them; what is below it does not count against them.
        let imbalances = [0.5, 0.75, 0.25, 0.75, 0.75, 0.75];
        assert_eq!(called_at(&mut menon, imbalances), Some(6));
    }

    #[test]
    fn a_steady_imbalance_never_calls() {
        assert_eq!(called_at(&mut Boulmier::default(), [0.1; 500]), None);
    }

    #[test]
    fn a_growing_imbalance_calls_when_its_growth_has_cost_a_call() {
        let mut boulmier = Boulmier::default();
        boulmier.conclude(&call_outcome(0, 6.0, 0));
        // u = t − 1: i (i − 1) − i (i − 1) / 2 is 6 when i is 4.
        let growing = (0..10).map(f64::from);
        assert_eq!(called_at(&mut boulmier, growing), Some(4));
    }

    #[test]
    fn a_jump_calls_at_once_if_calls_are_cheap() {
        let mut boulmier = Boulmier::default();
        boulmier.conclude(&call_outcome(0, 1.0, 0));
        // After three supersteps, 4 · 0.5 − 0.5 is 1.5.
        assert_eq!(called_at(&mut boulmier, [0.0, 0.0, 0.0, 0.5]), Some(4));
    }

    #[test]
    fn a_call_follows_when_the_budget_allows_one() {
        let mut budgeted = Budgeted::default();
        assert_eq!(called_at(&mut budgeted, [0.0; 9]), Some(1));
        for (again, next) in [(9, 9), (0, 1)] {
            let spacing = Spacing {
                again,
                ..Spacing::default()
            };
            budgeted.conclude(&CallOutcome {
                spacing,
                ..call_outcome(0, 1.0, 0)
            });
            assert_eq!(called_at(&mut budgeted, [0.0; 20]), Some(next));
        }
    }
}
