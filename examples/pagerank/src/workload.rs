//! What an experiment says of a graph, and what has to come of it.

use std::fmt::Write as _;
use std::io::{Read, Seek};
use std::ops::Range;

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::graph::{self, Edge, Graph};
use crate::ranking::{Division, Ranking, index};

/// `[application.pagerank]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// The file with the edges of the graph.
    graph: String,
    /// The number of its vertices.
    vertices: u32,
    /// The share of its rank that a vertex passes on.
    damping: f64,
    /// The sum of the changes of all ranks in an iteration at which the iteration ends.
    tolerance: f64,
    /// Instructions that an edge, and a vertex, is charged for in an iteration.
    instructions_per_edge: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            graph: "graph.txt".to_owned(),
            vertices: 0,
            damping: 0.85,
            tolerance: 1e-10,
            instructions_per_edge: 20,
        }
    }
}

/// `PageRank` of a graph in a file.
pub(crate) struct PageRank;

impl Workload for PageRank {
    type Parameters = Parameters;
    type Program = Ranking;
    const NAME: &'static str = "pagerank";
    const ABOUT: &'static str = "PageRank of a graph, each process with its part of the file";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_edge" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Ranking, BuildError>, BuildError> {
        parameters.check()?;
        let division = parameters.division(common);
        let file = files.open("graph", &parameters.graph)?;
        Ok(move |rank: Rank| {
            let edges = parameters.edges(&file, files, division.part(rank))?;
            let work = parameters.work(edges.len() + division.part(rank).len());
            let rule = (parameters.damping, parameters.tolerance);
            Ok(Ranking::new(division, rank, &edges, rule, work))
        })
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Option<String>, Rejection> {
        let division = parameters.division(common);
        for (process, ranks) in outputs.iter().enumerate() {
            let expected = division.part(Rank::from_index(process)).len();
            if ranks.len() != expected {
                let problem = format!("has {} ranks, expected {expected}", ranks.len());
                return Err(Rejection::output(process, problem));
            }
        }
        let file = files
            .open("graph", &parameters.graph)
            .map_err(BuildError::from)?;
        let edges = parameters.edges(&file, files, 0..parameters.vertices)?;
        let ranks = of_all(outputs);
        Check::new(&edges, parameters.damping, &ranks)
            .verdict(parameters)
            .map(Some)
    }

    fn files(
        _: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let ranks = of_all(outputs);
        let mut best: Vec<(usize, f64)> = ranks.iter().copied().enumerate().collect();
        best.sort_by(|one, other| other.1.total_cmp(&one.1));
        let mut table = "vertex,rank\n".to_owned();
        for (vertex, rank) in best.iter().take(BEST) {
            writeln!(table, "{vertex},{rank}").expect("a text takes any line");
        }
        Ok(vec![
            OutputFile::array("ranks.npy", &[ranks.len()], ranks),
            OutputFile::new("best.csv", table),
        ])
    }
}

impl Parameters {
    fn check(&self) -> Result<(), ParameterError> {
        if self.vertices == 0 {
            let rule = "must be at least 1, the number of vertices of the graph";
            return Err(ParameterError::invalid("vertices", 0, rule));
        }
        if !(0.0..1.0).contains(&self.damping) {
            let rule = "must be at least 0 and less than 1";
            return Err(ParameterError::invalid("damping", self.damping, rule));
        }
        if !(0.0 < self.tolerance && self.tolerance < 1.0) {
            let rule = "must be between 0 and 1";
            return Err(ParameterError::invalid("tolerance", self.tolerance, rule));
        }
        Ok(())
    }

    fn division(&self, common: Common) -> Division {
        Division {
            vertices: self.vertices,
            processes: common.processes,
        }
    }

    /// The edges from `sources` in the graph's file.
    fn edges(
        &self,
        file: impl Read + Seek,
        files: Files<'_>,
        sources: Range<u32>,
    ) -> Result<Vec<Edge>, BuildError> {
        let edges = Graph::new(file, self.vertices).and_then(|mut graph| graph.edges(sources));
        edges.map_err(|error| {
            let is_unread = matches!(error, graph::Error::Unread(_));
            let mut invalid = files.invalid("graph", &self.graph, error);
            invalid.is_unread = is_unread;
            invalid.into()
        })
    }

    /// The work of an iteration on these edges and vertices.
    fn work(&self, edges_and_vertices: usize) -> Instructions {
        let count = u64::try_from(edges_and_vertices).expect("fewer than 2^64 edges");
        Instructions(self.instructions_per_edge.saturating_mul(count))
    }
}

/// How far ranks are from the equation that they have to fulfil, on the whole graph:
///
/// `r(v) = (1 - d) / n + d (Σ r(u) / deg(u) + Σ r(w) / n)`
///
/// with the edges from `u` to `v` in the first sum and all vertices `w` without edges from them in the second.
struct Check {
    /// The distance of the sum of all ranks from 1.
    sum: f64,
    /// The sum of the distances of all ranks from the right-hand side of the equation.
    residual: f64,
    /// How much of `residual` may be rounding.
    rounding: f64,
}

impl Check {
    fn new(edges: &[Edge], damping: f64, ranks: &[f64]) -> Self {
        let mut degrees = vec![0.0; ranks.len()];
        for edge in edges {
            degrees[index(edge.from)] += 1.0;
        }
        let mut received = vec![0.0; ranks.len()];
        let mut terms = vec![0.0; ranks.len()];
        for edge in edges {
            let from = index(edge.from);
            received[index(edge.to)] += ranks[from] / degrees[from];
            terms[index(edge.to)] += 1.0;
        }
        let dangling = ranks.iter().zip(&degrees);
        let dangling = dangling.filter(|(_, degree)| **degree < 1.0);
        let dangling: f64 = dangling.map(|(rank, _)| rank).sum();
        let vertices = ranks.len() as f64;
        let base = (1.0 - damping + damping * dangling) / vertices;
        let distances = ranks.iter().zip(&received);
        let distances = distances.map(|(rank, received)| (base + damping * received - rank).abs());
        // A term of a sum costs half an epsilon, and each sum is made twice: by the processes and here.
        let terms = vertices + terms.into_iter().fold(0.0, f64::max) + 8.0;
        Self {
            sum: (ranks.iter().sum::<f64>() - 1.0).abs(),
            residual: distances.sum(),
            rounding: terms * f64::EPSILON,
        }
    }

    /// The processes end when the change is not above the tolerance, and another iteration would multiply that by the
    /// damping factor at most. Rounding in one iteration changes the sum of the ranks, and all later ones keep that times the
    /// damping factor.
    fn verdict(&self, parameters: &Parameters) -> Result<String, Rejection> {
        let damping = parameters.damping;
        let sum_max = self.rounding / (1.0 - damping);
        let residual_max = damping * parameters.tolerance + self.rounding;
        let Self { sum, residual, .. } = self;
        let problem = if *sum <= sum_max && *residual <= residual_max {
            return Ok(format!(
                "the ranks sum to 1 and fulfil the equation within {residual:.1e}"
            ));
        } else if *sum <= sum_max {
            format!(
                "the ranks fail the equation by {residual:.1e}, expected {residual_max:.1e} at most"
            )
        } else {
            format!("the sum of the ranks is {sum:.1e} from 1, expected {sum_max:.1e} at most")
        };
        Err(Rejection::Outputs(problem))
    }
}

fn of_all(outputs: &[Array<f64>]) -> Vec<f64> {
    outputs.iter().flatten().copied().collect()
}

/// How many vertices the table of the best has.
const BEST: usize = 10;

#[cfg(test)]
mod tests;
