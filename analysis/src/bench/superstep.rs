//! `migbsp bench superstep`: r, g and l of a cluster, as Bisseling's `bspbench` defines them.

mod fit;
mod report;
mod rounds;
mod samples;
mod text;

pub use report::{Measured, Pair, Report};
pub use rounds::Rounds;
pub use samples::Samples;
