//! The choice of a host for one process.

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::completion;
use crate::plan::draft::Draft;
use crate::{Alternative, Assignment, Planning, Snapshot};

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
    fn measure(&self, aim: Aim) -> Seconds {
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

    /// The plan that moves the process to `target`, or none.
    pub(super) fn draft(self, name: &str, snapshot: &Snapshot, target: Option<HostId>) -> Draft {
        let mut places = snapshot.places().to_vec();
        if let (Some(process), Some(host)) = (
            snapshot.process(self.rank),
            target.and_then(|target| snapshot.host(target)),
        ) {
            places[process] = host;
        }
        let alternative = Alternative::new(name, &Assignment::new(snapshot, &places));
        Draft {
            alternatives: vec![alternative],
            places,
            choice: Some(self),
        }
    }
}

/// The plan that moves the slowest process to the host on the idle list where `aim` is least.
pub(super) fn best(
    name: &str,
    (snapshot, planning): (&Snapshot, &Planning),
    aim: Aim,
    counts_ages: bool,
) -> Draft {
    match DestinationChoice::of(snapshot, planning, counts_ages) {
        None => Draft::only(name, snapshot, snapshot.places().to_vec()),
        Some(choice) => {
            let target = choice.best(aim);
            choice.draft(name, snapshot, target)
        }
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

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use proptest::prelude::*;

    use super::*;
    use crate::ExternalLoad;
    use crate::plan::tests::snapshot;

    fn external(host: u32, utilisation: f64, ages: &[f64]) -> ExternalLoad {
        ExternalLoad {
            host: HostId(host),
            utilisation,
            since: utilisation,
            arrivals: 0.0,
            present: utilisation,
            ages: ages.iter().map(|age| Seconds::new(*age).unwrap()).collect(),
        }
    }

    fn target(draft: &Draft) -> usize {
        draft.places[0]
    }

    #[test]
    fn each_aim_has_its_own_host() {
        // The process computes 4 s on the first host; for twenty supersteps, all others are faster.
        let hosts = [0.25, 2.0, 1.0, 1.0];
        let mut snapshot = snapshot(&hosts, &[(0, 1.0)]).with_external(&[
            external(1, 0.4, &[]),
            external(2, 0.1, &[]),
            external(3, 0.85, &[]),
        ]);
        snapshot.make_moves_cost(3.0);
        let planning = Planning::default();
        let choice = DestinationChoice::of(&snapshot, &planning, false).unwrap();
        let found: Vec<(u32, bool, f64, f64)> = choice
            .destinations
            .iter()
            .map(|host| {
                let (cost, execution) = (host.cost.get(), host.execution.get());
                (
                    host.host.0,
                    host.is_idle,
                    cost,
                    (execution * 1e6).round() / 1e6,
                )
            })
            .collect();
        let expected = [
            (1, true, 3.0, 16.666_667),
            (2, true, 3.0, 22.222_222),
            (3, false, 3.0, 133.333_333),
        ];
        assert_eq!(found, expected);
        let chosen = |aim| target(&best("dsa", (&snapshot, &planning), aim, false));
        assert_eq!(chosen(Aim::Completion), 1);
        assert_eq!(chosen(Aim::Execution), 1);
        // All moves cost the same.
        assert_eq!(chosen(Aim::Cost), 1);
    }

    #[test]
    fn a_job_that_has_run_for_long_is_avoided_if_ages_count() {
        let loads = [external(1, 0.4, &[60.0]), external(2, 0.45, &[])];
        let snapshot = snapshot(&[0.25, 1.0, 1.0], &[(0, 1.0)]).with_external(&loads);
        let planning = Planning::default();
        let chosen = |ages| target(&best("dsa", (&snapshot, &planning), Aim::Completion, ages));
        assert_eq!(chosen(false), 1);
        assert_eq!(chosen(true), 2);
    }

    #[test]
    fn no_process_moves_if_no_host_is_on_the_idle_list() {
        let loads = [external(1, 0.9, &[]), external(2, 1.0, &[])];
        let snapshot = snapshot(&[0.25, 1.0, 1.0], &[(0, 1.0)]).with_external(&loads);
        let draft = best(
            "dsa",
            (&snapshot, &Planning::default()),
            Aim::Completion,
            false,
        );
        assert_eq!(draft.places, [0]);
        let choice = draft.choice.unwrap();
        assert!(choice.destinations.iter().all(|host| !host.is_idle));
    }

    #[test]
    fn the_heaviest_process_of_the_slowest_host_moves() {
        let loads = [(0, 1.0), (1, 1.0), (1, 2.0), (1, 2.0)];
        let snapshot = snapshot(&[1.0, 1.0, 1.0], &loads);
        let choice = DestinationChoice::of(&snapshot, &Planning::default(), false).unwrap();
        assert_eq!((choice.rank, choice.from), (Rank(2), HostId(1)));
        // On the first host it would share the core: three seconds in each of twenty supersteps.
        let execution: Vec<f64> = choice
            .destinations
            .iter()
            .map(|host| host.execution.get())
            .collect();
        assert_eq!(execution, [60.0, 40.0]);
    }

    proptest! {
        #[test]
        fn the_host_chosen_is_idle_and_no_idle_host_is_better(
            utilisations in prop::collection::vec(0.0..1.0_f64, 2..8),
            ages in prop::collection::vec(0.0..100.0_f64, 8),
        ) {
            let speeds = vec![1.0; utilisations.len() + 1];
            let loads: Vec<ExternalLoad> = (1..)
                .zip(&utilisations)
                .zip(&ages)
                .map(|((host, utilisation), age)| external(host, *utilisation, &[*age]))
                .collect();
            let snapshot = snapshot(&speeds, &[(0, 1.0)]).with_external(&loads);
            for aim in [Aim::Completion, Aim::Cost, Aim::Execution] {
                let draft = best("dsa", (&snapshot, &Planning::default()), aim, true);
                let choice = draft.choice.unwrap();
                let chosen = snapshot.hosts()[draft.places[0]].id;
                let chosen = choice.destinations.iter().find(|host| host.host == chosen);
                match chosen {
                    None => prop_assert_eq!(choice.idle().count(), 0),
                    Some(chosen) => {
                        prop_assert!(chosen.is_idle);
                        let least = chosen.measure(aim);
                        prop_assert!(choice.idle().all(|host| least <= host.measure(aim)));
                    }
                }
            }
        }
    }
}
