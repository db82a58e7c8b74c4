//! Moves that were negotiated, priced again by links that have been probed since.

use migbsp::{Answer, HostLink, LinkProbe, MoveCost, PricedMove, Refusal};
use protocol::Considered;

/// The links to be probed before the moves that were agreed on.
pub(crate) fn probes(considered: &[Considered], cost: &MoveCost) -> Vec<LinkProbe> {
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
    LinkProbe::before(moves, cost)
}

/// Prices the moves that were agreed on by what was `probed`. A candidate for which a move does not pay any more stays,
/// unless a script orders the move.
pub(crate) fn reprice(
    considered: &mut [Considered],
    probed: &[HostLink],
    cost: &MoveCost,
    is_scripted: bool,
) {
    for considered in considered {
        let Answer::Offer { host, t1, .. } = &mut considered.answer else {
            continue;
        };
        let mut links = probed.iter();
        let link = links.find(|link| link.from == considered.host && link.to == *host);
        let Some((link, predicted)) = link.zip(considered.request.per_byte) else {
            continue;
        };
        let request = &mut considered.request;
        let before = request.migration;
        request.migration = cost.repriced(before, predicted, link.per_byte);
        request.per_byte = Some(link.per_byte);
        *t1 = (*t1 - before).max(bsp::units::Seconds::ZERO) + request.migration;
        let (host, t1, t2) = (*host, *t1, request.t2);
        if t2 <= t1 && !is_scripted {
            considered.answer = Answer::Refuse(Refusal::NoFasterPlace { host, t1, t2 });
        }
    }
}
