//! What has become of the faults of a scenario.

use protocol::Step;

use crate::simulation::fault::{Fault, FaultKind};
use crate::simulation::scenario::Scenario;

/// The faults of a scenario.
pub(super) struct Faults {
    pub(super) all: Vec<(Fault, State)>,
    /// Faults that have happened, each with the step in which it hit a node.
    pub(super) met: Vec<(FaultKind, Step)>,
    /// When the last of those that have happened ends.
    pub(super) latest_end: u64,
}

/// What has become of a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It waits; how often a node has entered the step that it is aimed at.
    Waiting(u64),
    /// It has happened at this node, and lasts.
    Active(usize),
    Over,
}

impl Faults {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let all = scenario.faults.iter().cloned();
        Self {
            all: all.map(|fault| (fault, State::Waiting(0))).collect(),
            met: Vec::new(),
            latest_end: 0,
        }
    }

    /// Whether a fault lasts.
    pub(super) fn are_active(&self) -> bool {
        let mut states = self.all.iter().map(|(_, state)| state);
        states.any(|state| matches!(state, State::Active(_)))
    }

    /// Whether a fault has happened for which a job may fail. Several together may, even if none alone does.
    pub(super) fn were_harmful(&self) -> bool {
        let happened = self
            .all
            .iter()
            .filter(|(_, state)| !matches!(state, State::Waiting(_)));
        let interruptions = happened
            .clone()
            .filter(|(fault, _)| {
                !matches!(
                    fault.kind,
                    FaultKind::Slow
                        | FaultKind::Delay
                        | FaultKind::Loss
                        | FaultKind::Late
                        | FaultKind::DiskError
                        | FaultKind::DiskFull
                )
            })
            .count();
        1 < interruptions || happened.into_iter().any(|(fault, _)| !fault.is_harmless())
    }

    /// When the last of the faults that have happened ends.
    pub(super) const fn latest_end(&self) -> u64 {
        self.latest_end
    }
}
