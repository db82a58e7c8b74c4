//! The shipped workloads by name.

use workloads::{lbm, synthetic};

use crate::workload::{Common, Workload};

/// Lattice Boltzmann on vertical strips, as the papers model it.
#[derive(Clone, Copy, Debug)]
pub struct LatticeBoltzmann;

/// Instructions and messages by lists, with load that may change over time.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic;

impl Workload for LatticeBoltzmann {
    type Parameters = lbm::Parameters;
    type Program = lbm::Lbm;
    const NAME: &'static str = "lbm";
    const ABOUT: &'static str = "Lattice Boltzmann on vertical strips, as the papers model it";

    fn build(parameters: &lbm::Parameters, common: Common) -> Result<Vec<lbm::Lbm>, String> {
        lbm::processes(parameters, common).map_err(|error| error.to_string())
    }
}

impl Workload for Synthetic {
    type Parameters = synthetic::Parameters;
    type Program = synthetic::Synthetic;
    const NAME: &'static str = "synthetic";
    const ABOUT: &'static str = "instructions and messages by lists, with load that may change";

    fn build(
        parameters: &synthetic::Parameters,
        common: Common,
    ) -> Result<Vec<synthetic::Synthetic>, String> {
        synthetic::processes(parameters, common).map_err(|error| error.to_string())
    }
}
