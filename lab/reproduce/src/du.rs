//! The cost of migration and the choice of hosts in Du, Sun and Wu 2007, "Dynamic scheduling with process migration", and
//! ours beside it.
//!
//! These parts are simulated, with the parameters that the paper prints.

mod check;
mod figure1;
mod html;
mod line;
mod printed;
mod report;
mod sheet;
pub mod table1;
mod text;

pub use crate::du::report::Report;
use experiments::Failure;
use experiments::batch::Batch;

pub use html::page;
pub use text::text;

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The cost of a migration by the size of the state.
    Figure1,
}

impl Part {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 1] = [Self::Figure1];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Figure1 => "du2007-figure1",
        }
    }

    /// Its name in results, which name the paper elsewhere.
    fn short_name(self) -> &'static str {
        self.name().trim_start_matches("du2007-")
    }
}

/// Runs what `part` needs and sets it beside the paper.
///
/// # Errors
///
/// If an experiment is at fault, which a test excludes for all that are in the binary.
pub fn reproduce(part: Part, batch: Batch<'_>) -> Result<Report, Failure> {
    match part {
        Part::Figure1 => figure1::compare(batch),
    }
}
