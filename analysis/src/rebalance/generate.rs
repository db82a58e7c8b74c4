//! Instances like those of the paper, and some with other sizes of processes.

use migbsp::rebalance::{Group, Workloads};

use crate::rebalance::instance::Instance;

/// The instance of `group` that `seed` draws, with `targets` that are to be met.
pub fn generate(group: Group, seed: u64, workloads: Workloads, targets: Vec<f64>) -> Instance {
    let how = match workloads {
        Workloads::Literal => " literal",
        Workloads::Swapped => "",
    };
    let name = format!("{group}{how}, seed {seed}");
    let problem = group.draw_with(seed, workloads);
    Instance::drawn(name, &problem, targets)
}
