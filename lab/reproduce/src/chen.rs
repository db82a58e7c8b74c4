//! The tables of Chen, Wang and Lau 2008, "Load rebalancing", and ours beside them.
//!
//! Their instances are drawn anew, group by group, so that means are compared; their clock is a machine of
//! 2008.

mod cell;
mod figures;
mod html;
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
pub use text::text;

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Levels of the initial placement.
    Table2,
    /// Cost and search time of algorithms, and their order.
    Table3,
    /// Number of moves, where all moves cost the same.
    Table4,
    /// Costs against targets.
    Figures,
}

impl Part {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 4] = [Self::Table2, Self::Table3, Self::Table4, Self::Figures];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table2 => "chen2008-table2",
            Self::Table3 => "chen2008-table3",
            Self::Table4 => "chen2008-table4",
            Self::Figures => "chen2008-figures",
        }
    }

    /// Its name in results, which name the paper elsewhere.
    fn short_name(self) -> &'static str {
        self.name().trim_start_matches("chen2008-")
    }

    /// Default number of instances drawn from each group; the paper has 100.
    const fn instances(self) -> u32 {
        match self {
            Self::Table2 | Self::Table3 => 100,
            Self::Table4 | Self::Figures => 20,
        }
    }
}

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
