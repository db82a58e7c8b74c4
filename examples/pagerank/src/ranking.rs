//! `PageRank` by iteration: in each, a vertex gives its rank in equal shares to the vertices that its edges lead to.

use std::ops::Range;

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::graph::Edge;

/// One process: some vertices, one after the other, and the edges from them.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Ranking {
    division: Division,
    /// The share of its rank that a vertex passes on, from 0 to less than 1.
    damping: f64,
    /// The sum of the changes of all ranks in an iteration at which the iteration ends.
    tolerance: f64,
    /// More than the change can be, but for rounding.
    change_max: f64,
    /// The work of an iteration.
    work: Instructions,
    /// The own vertex with the lowest number.
    first: u32,
    /// The ranks of the own vertices.
    ranks: Array<f64>,
    /// The number of edges from each of them.
    degrees: Array<f64>,
    /// Each edge: the vertex that it leads to, and the place of its source among the own vertices. They are sorted.
    edges: Array<[u32; 2]>,
}

/// What the vertices of one process give to those of another.
#[derive(Serialize, Deserialize)]
pub(crate) struct Shares {
    /// The vertices that receive something, in ascending order.
    targets: Array<u32>,
    /// What each of them receives.
    values: Array<f64>,
}

/// The division of the vertices among processes: each has as many as the others, or one less or more.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Division {
    /// The number of vertices, at least 1.
    pub(crate) vertices: u32,
    /// The number of processes, at least 1.
    pub(crate) processes: u32,
}

impl Ranking {
    /// The process `rank`, with the edges from its vertices in any order.
    pub(crate) fn new(
        division: Division,
        rank: Rank,
        edges: &[Edge],
        (damping, tolerance): (f64, f64),
        work: Instructions,
    ) -> Self {
        let own = division.part(rank);
        let mut degrees = vec![0.0; own.len()];
        let mut pairs = Vec::with_capacity(edges.len());
        for edge in edges {
            let place = edge.from - own.start;
            degrees[index(place)] += 1.0;
            pairs.push([edge.to, place]);
        }
        pairs.sort_unstable();
        Self {
            division,
            damping,
            tolerance,
            change_max: 2.0,
            work,
            first: own.start,
            ranks: vec![1.0 / f64::from(division.vertices); own.len()].into(),
            degrees: degrees.into(),
            edges: pairs.into(),
        }
    }

    /// The ranks become what the vertices have received.
    fn update(&mut self, ctx: &mut Superstep<'_, Shares>) -> Result<(), BoxError> {
        let dangling = ctx.reduced::<Sum<f64>>("dangling")?;
        let mut received = vec![0.0; self.ranks.len()];
        for (from, shares) in ctx.receive() {
            for (target, value) in shares.targets.iter().zip(&shares.values) {
                let place = target.checked_sub(self.first).map(index);
                let sum = place.and_then(|place| received.get_mut(place));
                *sum.ok_or_else(|| format!("{from} sent a share of vertex {target}"))? += value;
            }
        }
        // What all vertices receive: the rest, and the ranks of vertices without edges from them.
        let base =
            (1.0 - self.damping + self.damping * dangling) / f64::from(self.division.vertices);
        let mut change = 0.0;
        for (rank, received) in self.ranks.iter_mut().zip(received) {
            let new = base + self.damping * received;
            change += (new - *rank).abs();
            *rank = new;
        }
        ctx.reduce("change", Sum(change));
        Ok(())
    }

    /// Sends one message to each process that has vertices which edges from here lead to.
    fn share(&self, ctx: &mut Superstep<'_, Shares>) {
        let shares = self.ranks.iter().zip(&self.degrees);
        let shares: Vec<f64> = shares.map(|(rank, degree)| rank / degree).collect();
        let owner = |edge: &[u32; 2]| self.division.owner(edge[0]);
        for edges in self.edges.chunk_by(|one, next| owner(one) == owner(next)) {
            let targets = edges.chunk_by(|one, next| one[0] == next[0]);
            let share = |edges: &[[u32; 2]]| -> f64 {
                edges.iter().map(|[_, source]| shares[index(*source)]).sum()
            };
            let (targets, values) = targets.map(|edges| (edges[0][0], share(edges))).unzip();
            ctx.send(owner(&edges[0]), Shares { targets, values });
        }
        let vertices = self.ranks.iter().zip(&self.degrees);
        let dangling = vertices.filter(|(_, degree)| **degree < 1.0);
        ctx.reduce("dangling", Sum(dangling.map(|(rank, _)| rank).sum::<f64>()));
    }
}

impl Program for Ranking {
    type Message = Shares;
    type Output = Array<f64>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Shares>) -> Result<Step<Array<f64>>, BoxError> {
        if 1 < ctx.index() {
            let change = ctx.reduced::<Sum<f64>>("change")?;
            if ctx.rank() == Rank(0) {
                ctx.note("change", change);
            }
            if change <= self.tolerance {
                return Ok(Step::Halt(std::mem::take(&mut self.ranks)));
            }
            // An iteration multiplies the change by the damping factor at most, and the first change is twice that at most.
            self.change_max *= self.damping;
            if self.change_max < self.tolerance / 2.0 {
                let problem = format!(
                    "the ranks still change by {change:e}, which is rounding: choose a greater `tolerance`"
                );
                return Err(problem.into());
            }
        }
        ctx.charge(self.work);
        if 0 < ctx.index() {
            self.update(ctx)?;
        }
        self.share(ctx);
        Ok(Step::Continue)
    }

    fork_by_clone!();
}

impl Division {
    /// The vertices of a process.
    pub(crate) fn part(self, rank: Rank) -> Range<u32> {
        let begin = |rank: u64| {
            let begin = u64::from(self.vertices) * rank / u64::from(self.processes);
            u32::try_from(begin).expect("a part begins among the vertices")
        };
        begin(rank.0.into())..begin(u64::from(rank.0) + 1)
    }

    /// The process of a vertex.
    pub(crate) fn owner(self, vertex: u32) -> Rank {
        let processes = u64::from(self.processes);
        let owner = ((u64::from(vertex) + 1) * processes - 1) / u64::from(self.vertices);
        Rank(u32::try_from(owner).expect("a process for each vertex"))
    }
}

pub(crate) fn index(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}
