//! The choice of a host for one process.

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::completion;
use crate::{Assignment, Planning, Snapshot};

/// The hosts that were compared for one process: figure 2 of Du, Sun and Wu (2007).
///
/// Equation `DESTINATION` of `docs/model.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DestinationChoice {
    /// The process: of those on the host that computes longest, the one with the most work.
    pub rank: Rank,
    /// Its host.
    pub from: HostId,
    /// No host whose utilisation is higher is on the idle list.
    pub idle_below: f64,
    /// All other hosts, by their ids.
    pub destinations: Vec<Destination>,
}

/// A host that a process could move to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// The host.
    pub host: HostId,
    /// The part of its cores that other programs used over `planning.owner_window`.
    pub utilisation: f64,
    /// Whether it is on the idle list.
    pub is_idle: bool,
    /// What moving there takes, `C`.
    pub cost: Seconds,
    /// How long the rest of the process is expected to take there, `E[T]`.
    pub execution: Seconds,
}

/// How a host is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// The least sum of the time of the move and of the execution.
    Completion,
    /// The least time of the move.
    Cost,
    /// The least time of the execution.
    Execution,
}

impl Destination {
    /// When the process is expected to be complete there, `C + E[T]`.
    #[must_use]
    pub fn completion(&self) -> Seconds {
        self.cost + self.execution
    }

    /// What `aim` makes least.
    pub(super) fn measure(&self, aim: Aim) -> Seconds {
        match aim {
            Aim::Completion => self.completion(),
            Aim::Cost => self.cost,
            Aim::Execution => self.execution,
        }
    }
}

impl DestinationChoice {
    /// The hosts for the slowest process of `snapshot`; `None` if no process runs. `counts_ages`: what other programs run
    /// now is expected to go on for as long again as it has run.
    pub(super) fn of(snapshot: &Snapshot, planning: &Planning, counts_ages: bool) -> Option<Self> {
        let process = slowest_process(snapshot)?;
        let present = snapshot.places()[process];
        let hosts = (0..snapshot.hosts().len()).filter(|host| *host != present);
        let destination = |host: usize| {
            let found = &snapshot.hosts()[host];
            let cost = seconds(snapshot.migration(process, host));
            let ages = if counts_ages {
                snapshot.ages(host)
            } else {
                &[]
            };
            let dedicated = seconds(snapshot.horizon() * time_alone(snapshot, process, host));
            Destination {
                host: found.id,
                utilisation: found.utilisation,
                is_idle: found.utilisation <= planning.idle_below,
                cost,
                execution: completion::expected(dedicated, found.utilisation, ages, cost),
            }
        };
        Some(Self {
            rank: snapshot.processes()[process].rank,
            from: snapshot.hosts()[present].id,
            idle_below: planning.idle_below,
            destinations: hosts.map(destination).collect(),
        })
    }

    /// The hosts on the idle list.
    pub(super) fn idle(&self) -> impl Iterator<Item = &Destination> {
        self.destinations.iter().filter(|host| host.is_idle)
    }

    /// The best host on the idle list, the one of the lowest id among equals; `None` if no host is on it.
    pub(super) fn best(&self, aim: Aim) -> Option<HostId> {
        let best = self
            .idle()
            .min_by_key(|host| (host.measure(aim), host.host));
        best.map(|host| host.host)
    }
}

/// Of the processes on the host that computes longest, the one with the most work; the lowest numbers among equals.
fn slowest_process(snapshot: &Snapshot) -> Option<usize> {
    let present = Assignment::present(snapshot);
    let computes = |host: usize| present.computation_with(host, None, None);
    let work = |process: usize| snapshot.processes()[process].instructions;
    (0..snapshot.processes().len()).min_by(|one, other| {
        let places = snapshot.places();
        let hosts = computes(places[*other]).total_cmp(&computes(places[*one]));
        let hosts = hosts.then(places[*one].cmp(&places[*other]));
        hosts.then(work(*other).total_cmp(&work(*one)))
    })
}

/// Seconds of a superstep of `process` on `host` with those that run there now, without other programs.
fn time_alone(snapshot: &Snapshot, process: usize, host: usize) -> f64 {
    let work = |process: usize| snapshot.processes()[process].instructions;
    let places = snapshot.places().iter().enumerate();
    let others = places.filter(|(other, place)| *other != process && **place == host);
    let sum = others.map(|(other, _)| work(other)).sum::<f64>() + work(process);
    let found = &snapshot.hosts()[host];
    (sum / found.cores).max(work(process)) / found.speed
}
