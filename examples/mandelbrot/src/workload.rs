//! What an experiment says of a picture, and what has to come out.

use migbsp::bsp::farm::{self, Farm};
use migbsp::experiments::DealingParameters;
use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::mandelbrot::{Picture, Rows};

/// `[application.mandelbrot]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Rows of the picture, and pixels of a row, at least 1.
    size: u32,
    /// The most steps of a pixel.
    steps_max: u32,
    /// Instructions that a step is charged for.
    instructions_per_step: u64,
    /// How rows are dealt.
    dealing: DealingParameters,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            size: 600,
            steps_max: 1000,
            instructions_per_step: 10,
            dealing: DealingParameters::default(),
        }
    }
}

/// The Mandelbrot set.
pub(crate) struct MandelbrotSet;

impl Workload for MandelbrotSet {
    type Parameters = Parameters;
    type Program = Farm<Rows>;
    const NAME: &'static str = "mandelbrot";
    const ABOUT: &'static str = "a picture of the Mandelbrot set, rows dealt to workers";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_step" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Farm<Rows>, BuildError>, BuildError> {
        if parameters.size == 0 {
            return Err(ParameterError::invalid("size", 0, "must be at least 1").into());
        }
        let dealing = parameters.dealing.dealing()?;
        let master = || (parameters.picture(), (0..parameters.size).collect());
        let build = farm::builder(master, common.processes, dealing)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    fn verify(
        parameters: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Vec<Vec<u32>>],
    ) -> Result<Option<String>, Rejection> {
        let picture = parameters.picture();
        let row = |y| (0..picture.size).map(|x| picture.steps(x, y)).collect();
        let alone: Vec<Vec<u32>> = (0..picture.size).map(row).collect();
        if outputs.first() != Some(&alone) {
            let problem = "the picture is not that of one thread".to_owned();
            return Err(Rejection::Outputs(problem));
        }
        let size = picture.size;
        Ok(Some(format!(
            "all {size} rows are those of a single thread"
        )))
    }

    /// `mandelbrot.pgm`: pixels that stay within the circle are black, those that leave it late are bright.
    fn files(
        parameters: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Vec<Vec<u32>>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let size = usize::try_from(parameters.size).expect("32 bits fit a usize");
        let logarithm = |steps: u32| f64::from(steps + 1).ln();
        let brightest = logarithm(parameters.steps_max);
        let picture = OutputFile::picture("mandelbrot.pgm", [size, size], |x, y| {
            match outputs[0][y][x] {
                steps if steps == parameters.steps_max => 0.0,
                steps => logarithm(steps) / brightest,
            }
        });
        Ok(vec![picture])
    }
}

impl Parameters {
    fn picture(&self) -> Picture {
        Picture {
            size: self.size,
            steps_max: self.steps_max,
            instructions_per_step: self.instructions_per_step,
        }
    }
}

#[cfg(test)]
mod tests {
    use migbsp::bsp::testing;

    use super::*;

    #[test]
    fn each_row_is_in_its_place_wherever_processes_move() {
        for kind in [
            "weighted",
            "block-cyclic",
            "static",
            "self",
            "guided",
            "factoring",
        ] {
            let parameters = Parameters {
                size: 40,
                dealing: toml::from_str(&format!("kind = \"{kind}\"")).unwrap(),
                ..Parameters::default()
            };
            let common = Common {
                processes: 5,
                supersteps: None,
                seed: 0,
            };
            let build = || MandelbrotSet::processes(&parameters, common, Files::here()).unwrap();
            let outputs = testing::check(build).run.outputs;
            let verified = MandelbrotSet::verify(&parameters, common, Files::here(), &outputs);
            let sentence = "all 40 rows are those of a single thread".to_owned();
            assert_eq!(verified, Ok(Some(sentence)));
        }
    }
}
