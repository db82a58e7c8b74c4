//! The runs that cells are compared with.

use crate::reproduce::application::Application;
use crate::reproduce::cell::Cell;
use crate::reproduce::stated::Stated;
use experiments::Scenario;

/// One run of an experiment of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// What is run.
    pub(crate) application: Application,
    /// On how many processes.
    pub(crate) processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub(crate) row: u64,
    /// α; scenario i has none.
    pub(crate) interval: Option<u32>,
    /// Who decides.
    pub(crate) variant: Variant,
}

/// A scenario of the papers, scenario iii in three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    /// The application alone.
    I,
    /// Everything computed and paid for, nobody moves.
    Ii,
    /// The model decides; of equal potentials the lowest rank comes first.
    Iii,
    /// The migrations that the papers state, and no others.
    Forced,
    /// The model decides; of equal potentials the shortest time of receiving comes first.
    ReceiveTime,
}

impl Variant {
    /// All of them, in the order they are shown.
    pub(crate) const ALL: [Self; 5] = [
        Self::I,
        Self::Ii,
        Self::Iii,
        Self::Forced,
        Self::ReceiveTime,
    ];

    /// As files of results call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::I => "i",
            Self::Ii => "ii",
            Self::Iii => "iii",
            Self::Forced => "iii-forced",
            Self::ReceiveTime => "iii-receive-time",
        }
    }

    /// Which scenario of the papers it is compared with.
    pub(crate) const fn scenario(self) -> Scenario {
        match self {
            Self::I => Scenario::I,
            Self::Ii => Scenario::Ii,
            Self::Iii | Self::Forced | Self::ReceiveTime => Scenario::Iii,
        }
    }
}

impl Run {
    /// The run that `cell` is compared with.
    pub(crate) const fn of_cell(cell: &Cell, variant: Variant) -> Self {
        Self {
            application: cell.table.application(),
            processes: cell.processes,
            row: cell.row,
            interval: cell.interval,
            variant,
        }
    }

    /// The run that the papers tell `stated` of.
    pub(crate) const fn of_stated(stated: &Stated, variant: Variant) -> Self {
        Self {
            application: stated.application,
            processes: stated.processes,
            row: stated.row,
            interval: Some(stated.interval),
            variant,
        }
    }

    /// About how much there is to simulate.
    pub(crate) fn weight(&self) -> u64 {
        self.application.supersteps(self.row) * u64::from(self.processes)
    }
}
