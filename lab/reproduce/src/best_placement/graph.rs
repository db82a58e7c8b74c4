//! What a run reveals of a program: the work of each process, its partners, and where a policy places it.

use std::collections::{BTreeSet, VecDeque};

use bsp::HostId;
use experiments::{Failure, PreparedExperiment, Registry, Scenario};
use record::Event;

/// Processes by rank, as the policy of a run has seen them.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Instructions of a superstep.
    pub(super) work: Vec<f64>,
    /// The processes that each sends to or receives from; the heaviest of them.
    pub(super) partners: Vec<BTreeSet<usize>>,
    /// Where the run ended.
    pub(super) final_placement: Vec<HostId>,
}

impl Graph {
    /// The graph that a run of `prepared` in scenario iii reveals, under a policy whose plans name hosts.
    ///
    /// # Errors
    ///
    /// If the run has no result.
    pub(super) fn of_run(
        prepared: &PreparedExperiment,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let processes = prepared.placement.len();
        let mut graph = Self {
            work: vec![1.0; processes],
            partners: vec![BTreeSet::new(); processes],
            final_placement: prepared.placement.clone(),
        };
        prepared.run(Scenario::Iii, registry, &mut |event| graph.observe(event))?;
        Ok(graph)
    }

    fn observe(&mut self, event: &Event) {
        match event {
            Event::Observed(observed) => {
                let rank = observed.rank.index();
                self.work[rank] = observed.forecast.unwrap_or(1.0);
                for edge in &observed.edges {
                    self.partners[rank].insert(edge.from.index());
                    self.partners[edge.from.index()].insert(rank);
                }
            }
            Event::Moved(moved) => self.final_placement[moved.rank.index()] = moved.host,
            _ => {}
        }
    }

    /// All processes, each after those that are nearer to `first`; parts of the graph that it does not reach follow.
    pub(super) fn breadth_first(&self, first: usize) -> Vec<usize> {
        let processes = self.partners.len();
        let mut is_reached = vec![false; processes];
        let mut order = Vec::with_capacity(processes);
        for start in std::iter::once(first).chain(0..processes) {
            if is_reached[start] {
                continue;
            }
            is_reached[start] = true;
            let mut waiting = VecDeque::from([start]);
            while let Some(process) = waiting.pop_front() {
                order.push(process);
                for &partner in &self.partners[process] {
                    if !is_reached[partner] {
                        is_reached[partner] = true;
                        waiting.push_back(partner);
                    }
                }
            }
        }
        order
    }
}
