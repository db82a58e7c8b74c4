//! What is known of the cost of moves.

use migbsp::{
    CallMove, CostCoefficients, CostSource, MigrationCost, MigrationModel, MoveCost, ProbedLink,
};
use protocol::Considered;

use crate::repricing::reprice;
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

    /// Prices the moves that were agreed on by what earlier moves between the same hosts have met.
    pub(crate) fn price_by_moves(&self, considered: &mut [Considered], is_scripted: bool) {
        let per_byte = |from, to| self.model.as_ref()?.per_byte(from, to);
        reprice(considered, per_byte, &self.moves(), is_scripted);
    }

    /// Prices the moves that were agreed on by the links that have been `probed`.
    pub(crate) fn price_by_probes(
        &self,
        considered: &mut [Considered],
        probed: &[ProbedLink],
        is_scripted: bool,
    ) {
        let links = self.confirmed(probed);
        let per_byte = |from, to| {
            let link = links.iter().find(|link| (link.from, link.to) == (from, to));
            Some(link?.per_byte)
        };
        reprice(considered, per_byte, &self.moves(), is_scripted);
    }

    /// The links that have been `probed`, as moves are to be priced by.
    pub(crate) fn confirmed(&self, probed: &[ProbedLink]) -> Vec<ProbedLink> {
        let confirmed = |link: &ProbedLink| {
            let model = self.model.as_ref();
            model.map_or(*link, |model| model.confirmed(*link))
        };
        probed.iter().map(confirmed).collect()
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
