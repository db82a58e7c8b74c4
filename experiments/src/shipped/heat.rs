//! The heat equation on a plate.

use workloads::heat::{Heat, Mode, Parameters, processes};

use crate::workload::Common;
use crate::workload::Rejection;
use crate::workload::Workload;
use settings::Files;
use settings::Unit;

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
        let deviation = mode.deviation(&outputs.concat(), steps);
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
}
