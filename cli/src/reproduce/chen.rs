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

use experiments::batch::Progress;
use std::path::Path;

use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::reproduce::chen::cell::Report;
use experiments::Failure;

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Initial levels.
    Table2,
    /// Search times of the algorithms, and their order.
    Table3,
    /// Uniform costs.
    Table4,
    /// Costs against targets.
    Figures,
}

/// Options of a part.
#[derive(Clone, Copy)]
pub(super) struct Orders<'a> {
    /// Number of instances of each group; none: a default that takes acceptable time.
    pub(super) instances: Option<u32>,
    pub(super) format: Format,
    pub(super) html: Option<&'a Path>,
    pub(super) progress: &'a dyn Progress,
}

impl Part {
    /// Its name in results.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Table2 => "table2",
            Self::Table3 => "table3",
            Self::Table4 => "table4",
            Self::Figures => "figures",
        }
    }

    /// Number of instances drawn of each group: the paper has 100.
    const fn instances(self) -> u32 {
        match self {
            Self::Table2 | Self::Table3 => 100,
            Self::Table4 | Self::Figures => 20,
        }
    }
}

/// Draws the instances of a part, runs the algorithms and shows the results beside the published ones.
///
/// # Errors
///
/// If results cannot be written.
pub(super) fn command(part: Part, orders: Orders<'_>) -> Result<(), Failure> {
    if let Some(file) = orders.html {
        // An unwritable place is reported before the runs, not after them.
        check_writable(file)?;
    }
    let instances = orders.instances.unwrap_or_else(|| part.instances());
    let (cells, claims) = match part {
        Part::Table2 => table2::compare(instances),
        Part::Table3 => table3::compare(instances, orders.progress)?,
        Part::Table4 => table4::compare(instances, orders.progress)?,
        Part::Figures => figures::compare(instances, orders.progress)?,
    };
    let report = Report {
        schema: "migbsp.reproduce-chen2008/1",
        part: part.name(),
        instances,
        cells,
        claims,
    };
    if let Some(file) = orders.html {
        write(file, &html::page(part, &report))?;
    }
    match orders.format {
        Format::Table => print(&text::text(part, &report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}
