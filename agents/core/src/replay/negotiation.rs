//! The negotiations of a call, one after the other, as if all Managers were one.

use std::collections::{BTreeMap, BTreeSet};

use bsp::{HostId, Rank};
use migbsp::{Answer, Entry, Evaluation, Processors, Request};
use protocol::Considered;

use super::observations::Observations;

/// What is negotiated with.
#[derive(Debug)]
pub(super) struct Negotiation<'a> {
    pub(super) observations: &'a Observations,
    /// What every process found.
    pub(super) evaluations: BTreeMap<Rank, Evaluation>,
    /// The new hosts of the script, if there is one.
    pub(super) places: Option<BTreeMap<Rank, HostId>>,
    /// Whether the cost of moves is learned.
    pub(super) learns: bool,
}

impl Negotiation<'_> {
    /// The decisions about the `candidates`, in their order; a process has migrated earlier to each of the hosts
    /// `occupied`.
    pub(super) fn settle(
        &self,
        occupied: &BTreeSet<HostId>,
        candidates: &[Entry],
    ) -> Vec<Considered> {
        let mut sets = self.processors(occupied);
        let settle = |candidate: &Entry| {
            let (own, target) = (candidate.own.index(), candidate.target.index());
            let request = self.request(candidate, &sets[own]);
            let answer = match &self.places {
                Some(places) => sets[target].place(&request, places[&request.rank]),
                None => sets[target].answer(&request),
            };
            if own != target && matches!(answer, Answer::Offer { .. }) {
                sets[own].depart(request.rank);
            }
            Considered {
                entry: *candidate,
                host: self.observations.evaluation(candidate.rank).host,
                request,
                answer,
            }
        };
        candidates.iter().map(settle).collect()
    }

    /// The processors of every Set, with the processes on them.
    fn processors(&self, occupied: &BTreeSet<HostId>) -> Vec<Processors> {
        let sets = self.observations.sets();
        let processors = sets.map(|(set, evaluated)| {
            let mut residents: BTreeMap<HostId, Vec<_>> = BTreeMap::new();
            for process in &evaluated.processes {
                let resident = self.observations.of(process.rank).resident;
                let here = residents.entry(process.host).or_default();
                here.push((process.rank, resident));
            }
            let mut processors = self.observations.processors(set, |hosts| hosts.load);
            for processor in &mut processors {
                processor.residents = residents.remove(&processor.host).unwrap_or_default();
            }
            let rate = evaluated.transfer_rates[set.index()];
            Processors::new(rate, processors, occupied)
        });
        processors.collect()
    }

    /// What the Manager of a candidate asks for.
    fn request(&self, candidate: &Entry, own: &Processors) -> Request {
        let (rank, target) = (candidate.rank, candidate.target.index());
        let observed = self.observations.evaluation(rank);
        let rate = self.observations.set_of(candidate.own).transfer_rates[target];
        let t2 = own.stay(rank, observed.bytes, rate);
        Request {
            rank,
            instructions: observed.instructions,
            bytes: observed.bytes,
            migration: self.evaluations[&rank].cost(candidate.target),
            t2: t2.expect("a candidate lives in its own Set"),
            per_byte: self.learns.then_some(rate),
        }
    }
}
