//! The shipped workloads, registered.

use std::process::ExitCode;

use cli::{
    LatticeBoltzmann, LatticeBoltzmannKernel, LuDecomposition, LuKernel, Registry, SmithWaterman,
    SmithWatermanKernel, Synthetic,
};

fn main() -> ExitCode {
    cli::run(
        &Registry::new()
            .with::<LatticeBoltzmann>()
            .with::<LatticeBoltzmannKernel>()
            .with::<SmithWaterman>()
            .with::<SmithWatermanKernel>()
            .with::<LuDecomposition>()
            .with::<LuKernel>()
            .with::<Synthetic>(),
    )
}
