//! The Mandelbrot set, a task farm, with every command of migbsp.

mod mandelbrot;
mod workload;

use std::process::ExitCode;

use experiments::Registry;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("mandelbrot", env!("CARGO_PKG_VERSION"));
    commands::run(&registry.with::<workload::MandelbrotSet>())
}
