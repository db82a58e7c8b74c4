//! The heat equation on a plate.

use bsp::numbers::index;
use settings::{Files, Unit};
use workloads::heat::{Heat, Mode, Parameters, processes};

use crate::outputs::OutputFile;
use crate::workload::{Common, Rejection, Workload};

/// The heat equation on a plate, on horizontal strips.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeatEquation;

impl Workload for HeatEquation {
    type Parameters = Parameters;
    type Program = Heat;
    const NAME: &'static str = "heat";
    const ABOUT: &'static str = "the heat equation on a plate, by horizontal strips";

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_cell" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<Heat>, String> {
        processes(parameters, common).map_err(|error| error.to_string())
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        _files: Files<'_>,
        outputs: &[Vec<f64>],
    ) -> Result<Option<String>, Rejection> {
        let input = |error: workloads::Error| Rejection::Input(error.to_string());
        let mode = Mode::new(parameters).map_err(input)?;
        let steps = common.required_supersteps().map_err(input)?;
        let [width, height] = [parameters.width, parameters.height].map(index);
        if let Some(index) = outputs.iter().position(|strip| strip.len() % width != 0) {
            let problem = format!("is no strip of rows of {width} cells");
            return Err(Rejection::output(index, problem));
        }
        let plate = outputs.concat();
        if plate.len() != width * height {
            let met = plate.len() / width;
            let problem = format!("{met} rows have come out, not {height}");
            return Err(Rejection::Outputs(problem));
        }
        let deviation = mode.deviation(&plate, steps);
        if deviation.is_rounding() {
            Ok(Some(deviation.to_string()))
        } else {
            let (greatest, bound) = (deviation.greatest, deviation.bound);
            let problem = format!(
                "a cell of the plate is {greatest:.1e} off, which is more than rounding can cause, {bound:.1e}"
            );
            Err(Rejection::Outputs(problem))
        }
    }

    /// `plate.npy`, rows from the top; `plate.pgm`, where what is at zero is grey and the hottest cell white.
    fn files(
        parameters: &Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Vec<f64>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let plate = outputs.concat();
        let hottest = plate
            .iter()
            .fold(0.0_f64, |most, cell| most.max(cell.abs()));
        let [width, height] = [parameters.width, parameters.height].map(index);
        let picture = OutputFile::picture("plate.pgm", [width, height], |x, y| {
            // Of a cold plate this is no number, and black.
            0.5 + 0.5 * plate[y * width + x] / hottest
        });
        Ok(vec![
            OutputFile::array("plate.npy", &[height, width], plate),
            picture,
        ])
    }
}
