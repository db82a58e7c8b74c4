//! The tables of Chen, Wang and Lau 2008, "Load rebalancing", and ours beside them.
//!
//! Their instances are drawn anew, group by group, so that means are compared; their clock is a machine of
//! 2008.

mod cell;
mod figures;
mod html;
mod part;
mod printed;
mod sheet;
mod table2;
mod table3;
mod table4;
mod text;
mod trial;

pub use crate::chen::cell::Report;
use experiments::Failure;
use experiments::batch::Batch;

pub use html::page;
pub use part::Part;
pub use text::text;

/// Draws what `part` needs, runs it and sets it beside the paper.
///
/// Means are taken over this many `instances` of each group; none: over as many as are worth waiting for.
///
/// # Errors
///
/// None: a search does not fail.
pub fn reproduce(part: Part, instances: Option<u32>, batch: Batch<'_>) -> Result<Report, Failure> {
    let instances = instances.unwrap_or_else(|| part.instances());
    let (cells, claims) = match part {
        Part::Table2 => table2::compare(instances),
        Part::Table3 => table3::compare(instances, batch)?,
        Part::Table4 => table4::compare(instances, batch)?,
        Part::Figures => figures::compare(instances, batch)?,
    };
    Ok(Report {
        part: part.short_name(),
        instances,
        cells,
        claims,
    })
}
