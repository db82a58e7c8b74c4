//! The state of a call at one Manager.

use std::collections::{BTreeMap, BTreeSet};

use super::link_probes::LinkProbes;
use crate::check::check;
use bsp::units::Instant;
use bsp::{HostId, Rank, SetId};
use migbsp::{
    Answer, CallMove, Decision, Digest, Entry, Measurements, PlanAssessment, ProbedLink, Processor,
    Processors, Request, Selection,
};
use protocol::{
    Ask, Capacity, Considered, Decided, Installed, Measured, Migrate, Planned, Report, Reports,
    SetReport,
};

/// The state of a call at one Manager.
#[derive(Debug)]
pub(in crate::set_manager) struct Call {
    pub(super) superstep: u64,
    /// When this Manager knew that there is a call.
    pub(super) began: Instant,
    /// The hosts of the own Set that have answered.
    pub(super) measured: Vec<Measured>,
    pub(super) capacities: BTreeMap<SetId, Capacity>,
    /// Seconds per byte from this Set to every Set, as they were when all capacities were known.
    pub(super) rates: Vec<f64>,
    /// The hosts of the own Set whose reports are missing.
    pub(super) reports_missing: BTreeSet<HostId>,
    /// The evaluations of the own Set's processes, by rank.
    pub(super) reports: BTreeMap<Rank, Report>,
    pub(super) set_reports: BTreeMap<SetId, SetReport>,
    /// The duration of each superstep since the last call, once all Sets have reported.
    pub(super) supersteps: Vec<Digest>,
    /// The most supersteps that are left, once all Sets have reported, if all programs know.
    pub(super) remaining: Option<u64>,
    /// The list of potentials, highest first, once all Sets have reported.
    pub(super) list: Vec<Entry>,
    pub(super) negotiation: Option<Negotiation>,
    /// Requests of other Managers that are not answered yet.
    pub(super) asks: BTreeMap<Rank, Ask>,
    pub(super) decided: BTreeMap<SetId, Decided>,
    /// The plan of the first Manager, and its assessment if this is the first Manager.
    pub(super) planned: Option<Planned>,
    pub(super) assessment: Option<PlanAssessment>,
    /// The links that are being probed.
    pub(super) probes: Option<LinkProbes>,
    /// The plan whose links are being probed.
    pub(super) decision: Option<Decision>,
    /// The links that were probed for the plan, if this is the first Manager.
    pub(super) probed: Vec<ProbedLink>,
    /// All moves of this call, once they are known.
    pub(super) moves: Option<Vec<Migrate>>,
    /// The processes that have been installed.
    pub(super) installed: BTreeMap<Rank, Installed>,
}

impl Call {
    pub(super) fn new(superstep: u64, began: Instant) -> Self {
        Self {
            superstep,
            began,
            measured: Vec::new(),
            capacities: BTreeMap::new(),
            rates: Vec::new(),
            reports_missing: BTreeSet::new(),
            reports: BTreeMap::new(),
            set_reports: BTreeMap::new(),
            supersteps: Vec::new(),
            remaining: None,
            list: Vec::new(),
            negotiation: None,
            asks: BTreeMap::new(),
            decided: BTreeMap::new(),
            planned: None,
            assessment: None,
            probes: None,
            decision: None,
            probed: Vec::new(),
            moves: None,
            installed: BTreeMap::new(),
        }
    }

    /// The hosts of the own Set with the load that `load` reads, without their residents.
    pub(super) fn processors(&self, load: impl Fn(&Measured) -> f64) -> Vec<Processor> {
        let processor = |measured: &Measured| Processor {
            host: measured.host,
            speed: measured.speed,
            cores: measured.cores,
            load: load(measured),
            residents: Vec::new(),
        };
        self.measured.iter().map(processor).collect()
    }

    /// What else the hosts of the own Set have measured.
    pub(super) fn more(&self) -> Measurements {
        let measured = self.measured.iter().map(|measured| &measured.more);
        Measurements {
            links: measured
                .clone()
                .flat_map(|more| &more.links)
                .copied()
                .collect(),
            external: measured.flat_map(|more| &more.external).cloned().collect(),
        }
    }

    /// The moves of this call in rank order, where the cost of moves is learned; `sets` has the Set of each host.
    pub(super) fn measured_moves(&self, sets: &[SetId]) -> Vec<CallMove> {
        let planned = self.planned.iter().flat_map(|planned| &planned.moves);
        let planned = planned.map(|planned| (planned.step.rank, planned.per_byte));
        let decided = self
            .decided
            .values()
            .flat_map(|decided| &decided.considered);
        let decided =
            decided.map(|considered| (considered.entry.rank, considered.request.per_byte));
        let predicted: BTreeMap<Rank, Option<f64>> = planned.chain(decided).collect();
        let mut moves: Vec<&Migrate> = self.moves.iter().flatten().collect();
        moves.sort_by_key(|order| order.rank);
        let place = |host: HostId| (host, sets[host.index()]);
        let measured = moves.into_iter().filter_map(|order| {
            Some(CallMove {
                measured: self.installed.get(&order.rank)?.measured?,
                per_byte: predicted.get(&order.rank).copied().flatten()?,
                from: place(order.from),
                to: place(order.to),
            })
        });
        measured.collect()
    }

    /// Keeps the evaluations of processes of a host; `host_of` is the host of a process.
    pub(super) fn keep(
        &mut self,
        reports: Reports,
        host_of: impl Fn(Rank) -> HostId,
    ) -> Result<(), String> {
        let Reports { host, reports, .. } = reports;
        for report in reports {
            let rank = report.rank;
            check(host_of(rank) == host, || {
                format!("{host} reports {rank}, which does not run there")
            })?;
            let is_new = self.reports.insert(rank, report).is_none();
            check(is_new, || format!("a second report of {rank}"))?;
        }
        Ok(())
    }
}

/// The part in which candidates are settled, one after the other in the order of the list.
#[derive(Debug)]
pub(super) struct Negotiation {
    pub(super) selection: Selection,
    /// The processors of the own Set.
    pub(super) processors: Processors,
    /// The new hosts of the script, if there is one.
    pub(super) script: Option<BTreeMap<Rank, HostId>>,
    /// The number of candidates that are settled for this Manager.
    pub(super) settled: usize,
    /// The request that an answer is expected to.
    pub(super) asked: Option<Request>,
    pub(super) considered: Vec<Considered>,
}

impl Negotiation {
    /// The answer about a candidate for the own Set: that of the script, if there is one.
    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        match &self.script {
            Some(script) => self.processors.place(request, script[&request.rank]),
            None => self.processors.answer(request),
        }
    }
}
