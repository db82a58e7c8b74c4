//! Gains of rescheduling in the cases that the papers highlight.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::application::Application;
use crate::execute::Outcome;
use crate::run::{Run, Variant};

/// A published gain.
#[derive(Clone, Copy, Debug)]
struct Gain {
    run: Run,
    paper: f64,
}

/// A published gain, and ours.
#[derive(Clone, Debug, Serialize)]
pub struct GainReport {
    /// `lbm` or `lu`.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of LU.
    pub row: u64,
    /// α.
    pub alpha: Option<u32>,
    /// Share of scenario i's time that scenario iii saves in the papers.
    pub paper: f64,
    /// Share that it saves in our runs, ties by rank.
    pub ours: f64,
}

/// The runs that the gains need.
pub(super) fn runs() -> impl Iterator<Item = Run> {
    GAINS.into_iter().flat_map(|gain| [gain.alone(), gain.run])
}

/// The gains of `outcomes`.
pub(super) fn gains(outcomes: &BTreeMap<Run, Outcome>) -> Vec<GainReport> {
    let report = |gain: Gain| {
        let seconds = |run: &Run| outcomes.get(run).map(|outcome| outcome.report.seconds);
        let (alone, moving) = (seconds(&gain.alone())?, seconds(&gain.run)?);
        Some(GainReport {
            application: gain.run.application,
            processes: gain.run.processes,
            row: gain.run.row,
            alpha: gain.run.interval,
            paper: gain.paper,
            ours: 1.0 - moving / alone,
        })
    };
    GAINS.into_iter().filter_map(report).collect()
}

impl Gain {
    /// The run that it is compared with.
    const fn alone(&self) -> Run {
        Run {
            interval: None,
            variant: Variant::I,
            ..self.run
        }
    }
}

const GAINS: [Gain; 2] = [
    Gain {
        run: Run {
            application: Application::LatticeBoltzmann,
            processes: 25,
            row: 1000,
            interval: Some(4),
            variant: Variant::Iii,
        },
        paper: 0.14,
    },
    Gain {
        run: Run {
            application: Application::Lu,
            processes: 25,
            row: 5000,
            interval: Some(4),
            variant: Variant::Iii,
        },
        paper: 0.19,
    },
];
