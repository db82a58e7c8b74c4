//! Our runs.

use crate::application::Application;
use crate::cell::Cell;
use crate::stated::Stated;
use experiments::Scenario;

/// One run of an experiment of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The application.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α; scenario i has none.
    pub interval: Option<u32>,
    /// The scenario.
    pub variant: Variant,
}

/// A scenario of the papers, scenario iii in three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// The application alone.
    I,
    /// Calls are held and paid for; no process migrates.
    Ii,
    /// The policy decides; the lowest rank breaks ties of potentials.
    Iii,
    /// The published migrations, and no others.
    Forced,
    /// The policy decides; the shortest reception time breaks ties of potentials.
    ReceiveTime,
}

impl Variant {
    /// All of them, in the order they are shown.
    pub const ALL: [Self; 5] = [
        Self::I,
        Self::Ii,
        Self::Iii,
        Self::Forced,
        Self::ReceiveTime,
    ];

    /// Its name in result files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I => "i",
            Self::Ii => "ii",
            Self::Iii => "iii",
            Self::Forced => "iii-forced",
            Self::ReceiveTime => "iii-receive-time",
        }
    }

    /// The scenario of the papers that it is compared with.
    pub const fn scenario(self) -> Scenario {
        match self {
            Self::I => Scenario::I,
            Self::Ii => Scenario::Ii,
            Self::Iii | Self::Forced | Self::ReceiveTime => Scenario::Iii,
        }
    }
}

impl Run {
    /// The run that `cell` is compared with.
    pub const fn of_cell(cell: &Cell, variant: Variant) -> Self {
        Self {
            application: cell.table.application(),
            processes: cell.processes,
            row: cell.row,
            interval: cell.interval,
            variant,
        }
    }

    /// The run that the papers describe in `stated`.
    pub const fn of_stated(stated: &Stated, variant: Variant) -> Self {
        Self {
            application: stated.application,
            processes: stated.processes,
            row: stated.row,
            interval: Some(stated.interval),
            variant,
        }
    }

    /// Estimate of the amount to simulate.
    pub fn weight(&self) -> u64 {
        self.application.supersteps(self.row) * u64::from(self.processes)
    }
}
