//! The cost of migration and the choice of hosts in Du, Sun and Wu 2007, "Dynamic scheduling with process migration", and
//! ours beside it.
//!
//! These parts are simulated, with the parameters that the paper prints.

mod check;
mod figure1;
mod html;
mod line;
mod part;
mod printed;
mod report;
mod sheet;
pub mod table1;
mod text;

pub use crate::du::report::Report;
use experiments::Failure;
use experiments::batch::Batch;

pub use html::page;
pub use part::Part;
pub use text::text;

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
