//! The Mandelbrot set, a task farm, with the commands of migbsp.

mod mandelbrot;
mod workload;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("mandelbrot", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with::<workload::MandelbrotSet>()).run()
}
