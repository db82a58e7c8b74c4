//! Plans that choose a host for one process.

use bsp::HostId;

use crate::plan::destination::{Aim, DestinationChoice};
use crate::plan::draft::Draft;
use crate::{Alternative, Assignment, Planning, Snapshot};

impl DestinationChoice {
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
            shortest: None,
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

#[cfg(test)]
mod tests {
    use bsp::Rank;
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
