//! What an experiment file says of a rod, and what must come out.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::rod::Piece;

/// `[application.my-program]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Points of a piece.
    points: u32,
    /// The program ends when no temperature has changed by more than this.
    tolerance: f64,
    /// Instructions that a point is charged for in a superstep.
    instructions_per_point: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            points: 8,
            tolerance: 1e-3,
            instructions_per_point: 1_000_000,
        }
    }
}

/// A rod whose left half is hot, at 1, and whose right half is cold, at 0.
pub(crate) struct Rod;

impl Workload for Rod {
    type Parameters = Parameters;
    type Program = Piece;
    const NAME: &'static str = "my-program";
    const ABOUT: &'static str = "heat that spreads along a rod";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_point" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    /// Builds a process on the host where it starts.
    fn builder(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Piece, BuildError>, BuildError> {
        let (points, tolerance) = (parameters.points, parameters.tolerance);
        if points == 0 {
            return Err(ParameterError::invalid("points", points, "must be at least 1").into());
        }
        if !(0.0 < tolerance && tolerance < 1.0) {
            let rule = "must be between 0 and 1";
            return Err(ParameterError::invalid("tolerance", tolerance, rule).into());
        }
        let work = Instructions(
            parameters
                .instructions_per_point
                .saturating_mul(u64::from(points)),
        );
        Ok(move |rank: Rank| {
            let begin = u64::from(rank.0) * u64::from(points);
            let all = u64::from(common.processes) * u64::from(points);
            let temperatures = (begin..begin + u64::from(points)).map(|point| hot(point, all));
            Ok(Piece {
                temperatures: temperatures.collect(),
                tolerance,
                work,
            })
        })
    }

    /// A law that the outputs must keep: no heat is lost.
    fn verify(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Option<String>, Rejection> {
        let all = u64::from(common.processes) * u64::from(parameters.points);
        let before: f64 = (0..all).map(|point| hot(point, all)).sum();
        let after: f64 = outputs.iter().flatten().sum();
        if (after - before).abs() <= 1e-9 * before {
            Ok(Some("no heat was lost".to_owned()))
        } else {
            let problem = format!("the rod has the heat {after} in place of {before}");
            Err(Rejection::Outputs(problem))
        }
    }

    /// Files that `--outputs FOLDER` writes.
    fn files(
        _: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let temperatures: Vec<f64> = outputs.iter().flatten().copied().collect();
        let shape = [temperatures.len()];
        Ok(vec![OutputFile::array(
            "temperatures.npy",
            &shape,
            temperatures,
        )])
    }
}

/// The temperature of a point of `all` at the start.
fn hot(point: u64, all: u64) -> f64 {
    if point < all.div_ceil(2) { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use migbsp::bsp::testing;

    use super::*;

    /// `check` compares outputs with those of runs in which processes are encoded, moved and repeated.
    #[test]
    fn no_heat_is_lost_wherever_pieces_move() {
        let parameters = Parameters::default();
        let common = Common {
            processes: 5,
            supersteps: None,
            seed: 0,
        };
        let build = || Rod::processes(&parameters, common, Files::here()).unwrap();
        let run = testing::check(build).run;
        let verified = Rod::verify(&parameters, common, Files::here(), &run.outputs);
        assert!(verified.is_ok(), "{verified:?}");
    }
}
