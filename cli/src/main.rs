//! The shipped workloads, registered.

use std::process::ExitCode;

use cli::{LatticeBoltzmann, LuDecomposition, Registry, SmithWaterman, Synthetic};

fn main() -> ExitCode {
    cli::run(
        &Registry::new()
            .with::<LatticeBoltzmann>()
            .with::<SmithWaterman>()
            .with::<LuDecomposition>()
            .with::<Synthetic>(),
    )
}
