//! The shipped workloads, registered.

use std::process::ExitCode;

use cli::{LatticeBoltzmann, Registry, Synthetic};

fn main() -> ExitCode {
    cli::run(
        &Registry::new()
            .with::<LatticeBoltzmann>()
            .with::<Synthetic>(),
    )
}
