//! Candidates of a call: who they are, and what is asked and answered about them.

use std::collections::BTreeMap;

use bsp::{HostId, Rank, SetId};
use migbsp::{Answer, Entry, Processors, Request, Selection};
use protocol::{Considered, Report};

use crate::set_manager::whereabouts::Whereabouts;
use crate::setup::Rules;
use crate::world::World;

/// The part in which candidates are settled, one after the other in the order of the list.
#[derive(Debug)]
pub(super) struct Negotiation {
    pub(super) selection: Selection,
    /// The processors of the own Set.
    pub(super) processors: Processors,
    /// Where the script says that processes go, if there is one.
    pub(super) script: Option<BTreeMap<Rank, HostId>>,
    /// How many candidates are settled, as far as this Manager is concerned.
    pub(super) settled: usize,
    /// The request that an answer is expected to.
    pub(super) asked: Option<Request>,
    pub(super) considered: Vec<Considered>,
}

impl Negotiation {
    /// Where a candidate for the own Set goes: where the script says, if there is one.
    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        match &self.script {
            Some(script) => self.processors.place(request, script[&request.rank]),
            None => self.processors.answer(request),
        }
    }
}

/// What the script says about the call after `superstep`, if there is a script.
pub(super) fn script_of(rules: &Rules, superstep: u64) -> Option<&[(Rank, HostId)]> {
    let script = rules.scheduler.as_ref()?.script.as_ref()?;
    Some(script.0.get(&(superstep + 1)).map_or(&[], Vec::as_slice))
}

/// Where each process goes; of several orders for one process the first counts.
pub(super) fn first_orders(orders: &[(Rank, HostId)]) -> BTreeMap<Rank, HostId> {
    orders.iter().rev().copied().collect()
}

/// What the Manager of a candidate asks for.
pub(super) fn request(
    negotiation: &Negotiation,
    report: &Report,
    target: SetId,
    world: &mut dyn World,
) -> Request {
    let own = report.evaluation.own;
    let transfer_rate = world.transfer_rate(own, target);
    let t2 = negotiation
        .processors
        .stay(report.rank, report.bytes, transfer_rate);
    Request {
        rank: report.rank,
        instructions: report.instructions,
        bytes: report.bytes,
        migration: report.evaluation.potentials[target.index()].migration,
        t2: t2.expect("a candidate lives in its own Set"),
    }
}

/// The scripted moves of a call as candidates: of processes that are `list`ed and not there already.
pub(super) fn scripted(
    rules: &Rules,
    orders: &[(Rank, HostId)],
    list: &[Entry],
    whereabouts: &Whereabouts,
) -> Selection {
    let mut listed: BTreeMap<Rank, &Entry> = list.iter().map(|entry| (entry.rank, entry)).collect();
    let candidate = |(rank, host): &(Rank, HostId)| {
        let entry = listed.remove(rank)?;
        let target = rules.sets[host.index()];
        (whereabouts.of(*rank) != *host).then_some(Entry { target, ..*entry })
    };
    let candidates = orders.iter().filter_map(candidate).collect();
    Selection {
        candidates,
        ..Selection::default()
    }
}
