//! What is known of the cost of moves.

use bsp::HostId;
use model::{
    Answer, CallMove, CostCoefficients, CostSource, LinkProbe, MigrationCost, MigrationModel,
    MoveCost, PricedMove, ProbedLink, Refusal,
};
use protocol::Considered;

use crate::setup::Scheduler;

/// What a Manager knows of the cost of moves: what is stated and, if that is configured, what it has learned.
///
/// All Managers learn from the same moves in the same order, so all know the same.
#[derive(Debug)]
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

    /// Prices the moves that were agreed on by what earlier moves between the same hosts took.
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

    /// The links to be probed before the moves that were agreed on.
    pub(crate) fn probes(&self, considered: &[Considered]) -> Vec<LinkProbe> {
        let moves = considered.iter().filter_map(|considered| {
            let Answer::Offer { host, .. } = considered.answer else {
                return None;
            };
            Some(PricedMove {
                from: considered.host,
                to: host,
                cost: considered.request.migration,
                per_byte: considered.request.per_byte?,
            })
        });
        LinkProbe::before(moves, &self.moves())
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

/// Prices the moves that were agreed on by the seconds per byte of their links, where they are known: candidates are
/// compared by rates between Sets, before their hosts are known. A candidate for which a move does not pay any more
/// stays, unless a script orders the move.
fn reprice(
    considered: &mut [Considered],
    per_byte: impl Fn(HostId, HostId) -> Option<f64>,
    cost: &MoveCost,
    is_scripted: bool,
) {
    for considered in considered {
        let Answer::Offer { host, t1, .. } = &mut considered.answer else {
            continue;
        };
        let link = per_byte(considered.host, *host);
        let Some((per_byte, predicted)) = link.zip(considered.request.per_byte) else {
            continue;
        };
        let request = &mut considered.request;
        let before = request.migration;
        request.migration = cost.repriced(before, predicted, per_byte);
        request.per_byte = Some(per_byte);
        *t1 = (*t1 - before).max(bsp::units::Seconds::ZERO) + request.migration;
        let (host, t1, t2) = (*host, *t1, request.t2);
        if t2 <= t1 && !is_scripted {
            considered.answer = Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 });
        }
    }
}

#[cfg(test)]
mod tests {
    use bsp::units::{Bytes, Instructions, Seconds};
    use bsp::{Rank, SetId};
    use model::{Entry, Request};

    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// A candidate on host 0 that is offered host 1: a megabyte at a microsecond per byte, and four seconds of
    /// computation.
    fn offered(t2: f64) -> Considered {
        Considered {
            entry: Entry {
                rank: Rank(0),
                own: SetId(0),
                target: SetId(1),
                potential: seconds(1.0),
                receive_time: Seconds::ZERO,
            },
            host: HostId(0),
            request: Request {
                rank: Rank(0),
                instructions: Instructions(1),
                bytes: Bytes(0),
                migration: seconds(1.0),
                t2: seconds(t2),
                per_byte: Some(1e-6),
            },
            answer: Answer::Offer {
                host: HostId(1),
                t1: seconds(5.0),
                runner_up: None,
            },
        }
    }

    fn repriced(t2: f64, to: u32, is_scripted: bool) -> Considered {
        let cost = MoveCost::new(MigrationCost::default(), Some(CostCoefficients::default()));
        let link = |from, host| ((from, host) == (HostId(0), HostId(to))).then_some(3e-6);
        let mut considered = [offered(t2)];
        reprice(&mut considered, link, &cost, is_scripted);
        let [considered] = considered;
        considered
    }

    #[test]
    fn a_move_over_a_slower_link_takes_longer_and_may_not_pay() {
        let moves = repriced(8.0, 1, false);
        assert!(matches!(moves.answer, Answer::Offer { t1, .. } if (t1.get() - 7.0).abs() < 1e-9));
        assert!((moves.request.migration.get() - 3.0).abs() < 1e-9);
        assert_eq!(moves.request.per_byte, Some(3e-6));
        let stays = repriced(6.0, 1, false);
        assert!(matches!(
            stays.answer,
            Answer::Refuse(Refusal::NoFasterPlace { .. })
        ));
        assert!(matches!(
            repriced(6.0, 1, true).answer,
            Answer::Offer { .. }
        ));
        assert_eq!(repriced(6.0, 2, false), offered(6.0), "another link");
    }
}
