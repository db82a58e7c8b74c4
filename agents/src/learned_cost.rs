//! What is known of the cost of moves.

use migbsp::{CallMove, CostCoefficients, CostSource, MigrationCost, MigrationModel, MoveCost};

use crate::setup::Scheduler;

/// What a Manager knows of the cost of moves: what is stated and, if that is configured, what it has learned.
///
/// All Managers learn from the same moves in the same order, so all know the same.
#[derive(Debug, Default)]
pub(crate) struct LearnedCost {
    stated: MigrationCost,
    model: Option<MigrationModel>,
}

impl LearnedCost {
    /// Before the first move.
    pub(crate) fn new(scheduler: &Scheduler) -> Self {
        Self {
            stated: scheduler.model.parameters().migration,
            model: scheduler.learns().then(MigrationModel::default),
        }
    }

    /// Learns from the moves of a call, in rank order.
    pub(crate) fn observe(&mut self, moves: &[CallMove]) {
        if let Some(model) = &mut self.model {
            model.observe(moves);
        }
    }

    /// What has been learned; `None`: the cost of moves is not learned.
    pub(crate) fn coefficients(&self) -> Option<CostCoefficients> {
        self.model.as_ref().map(MigrationModel::coefficients)
    }

    /// What moves cost.
    pub(crate) fn moves(&self) -> MoveCost {
        MoveCost::new(self.stated, self.coefficients())
    }
}

impl Scheduler {
    /// Whether the cost of moves is learned.
    #[must_use]
    pub fn learns(&self) -> bool {
        self.model.parameters().migration.source == CostSource::Learned
    }
}
