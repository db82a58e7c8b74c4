//! Plans that choose a host for the slowest process: Du, Sun and Wu (2007).
//!
//! Equation `DESTINATION` of `docs/model.md`.

use bsp::HostId;
use bsp::numbers::length;
use bsp::units::Seconds;
use model::{
    Alternative, Assignment, Destination, DestinationChoice, Draft, Need, Parameter, Plan,
    Planning, Rule, Snapshot,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::completion;

/// The slowest process moves to the host on the idle list where the aim is least, that of the lowest id among equals.
#[derive(Clone, Copy, Debug)]
struct Least {
    name: &'static str,
    aim: Aim,
    planning: Planning,
}

/// How a host is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// The least sum of the time of the move, `C`, and of the expected time of the rest, `E[T]`: the dynamic scheduling
    /// algorithm of Du, Sun and Wu (2007, figure 2).
    Completion,
    /// The same, where `E[T]` counts what owners' jobs that run now are expected to take still.
    CompletionWithAges,
    /// The least time of the move: migration-cost minimum (section 5).
    Cost,
    /// The least expected time of the rest, whatever the move takes: execution-time minimum (section 5).
    Execution,
}

impl Plan for Least {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let Self {
            name,
            aim,
            planning,
        } = self;
        match choice(snapshot, planning, *aim == Aim::CompletionWithAges) {
            None => Draft::only(name, snapshot, snapshot.places().to_vec()),
            Some(choice) => {
                let best = idle(&choice).min_by_key(|host| (aim.of(host), host.host));
                let target = best.map(|host| host.host);
                draft(choice, name, snapshot, target)
            }
        }
    }
}

impl Aim {
    /// What is made least.
    fn of(self, host: &Destination) -> Seconds {
        match self {
            Self::Completion | Self::CompletionWithAges => host.completion(),
            Self::Cost => host.cost,
            Self::Execution => host.execution,
        }
    }
}

/// `dsa`.
pub(super) const DSA: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "dsa",
    "moves the slowest process to the host where it is expected to be complete first (Du, Sun and Wu, 2007)",
    |settings| least("dsa", Aim::Completion, settings.planning),
)
.with_need(Need::Utilisation);

/// `dsa-plus`.
pub(super) const DSA_PLUS: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "dsa-plus",
    "as dsa, and expects jobs of owners to go on for as long again as they have run",
    |settings| least("dsa-plus", Aim::CompletionWithAges, settings.planning),
)
.with_need(Need::Utilisation);

/// `mcm`.
pub(super) const MCM: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "mcm",
    "moves the slowest process to the host that is reached soonest (Du, Sun and Wu, 2007)",
    |settings| least("mcm", Aim::Cost, settings.planning),
)
.with_need(Need::Utilisation);

/// `etm`.
pub(super) const ETM: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "etm",
    "moves the slowest process to the host where the rest takes least (Du, Sun and Wu, 2007)",
    |settings| least("etm", Aim::Execution, settings.planning),
)
.with_need(Need::Utilisation);

fn least(name: &'static str, aim: Aim, planning: &Planning) -> Box<dyn Plan> {
    Box::new(Least {
        name,
        aim,
        planning: *planning,
    })
}

/// Random selection (Du, Sun and Wu 2007, section 5): the slowest process moves to a host of the idle list, each with the
/// same probability.
#[derive(Clone, Debug)]
struct Random {
    planning: Planning,
    draws: ChaCha8Rng,
}

impl Plan for Random {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let name = RANDOM.name();
        let Some(choice) = choice(snapshot, &self.planning, false) else {
            return Draft::only(name, snapshot, snapshot.places().to_vec());
        };
        let idle: Vec<_> = idle(&choice).map(|host| host.host).collect();
        let number = length(idle.len());
        // The remainder favours the first hosts by less than one part in 2^32.
        let drawn = (0 < number).then(|| self.draws.next_u64() % number);
        let drawn = drawn.and_then(|drawn| idle.get(usize::try_from(drawn).ok()?).copied());
        draft(choice, name, snapshot, drawn)
    }
}

/// `random`.
pub(super) const RANDOM: Rule<dyn Plan> = Rule::<dyn Plan>::new(
    "random",
    "moves the slowest process to a host that is drawn (Du, Sun and Wu, 2007)",
    |settings| {
        let seed = settings.argument("seed").to_bits();
        Box::new(Random {
            planning: *settings.planning,
            draws: ChaCha8Rng::seed_from_u64(seed),
        })
    },
)
.with_need(Need::Utilisation)
.with_parameters(&[Parameter {
    name: "seed",
    help: "seed of the draws",
    default: 1.0,
    min: 0.0,
    max: 1e9,
}]);

/// The hosts for the slowest process of `snapshot`; `None` if no process runs. `counts_ages`: what other programs run
/// now is expected to go on for as long again as it has run.
fn choice(
    snapshot: &Snapshot,
    planning: &Planning,
    counts_ages: bool,
) -> Option<DestinationChoice> {
    let process = slowest_process(snapshot)?;
    let present = snapshot.places()[process];
    let hosts = (0..snapshot.hosts().len()).filter(|host| *host != present);
    let destination = |host: usize| {
        let found = &snapshot.hosts()[host];
        let cost = Seconds::bounded(snapshot.migration(process, host));
        let ages = if counts_ages {
            snapshot.ages(host)
        } else {
            &[]
        };
        let dedicated = Seconds::bounded(snapshot.horizon() * time_alone(snapshot, process, host));
        Destination {
            host: found.id,
            utilisation: found.utilisation,
            is_idle: found.utilisation <= planning.idle_below,
            cost,
            execution: completion::expected(dedicated, found.utilisation, ages, cost),
        }
    };
    Some(DestinationChoice {
        rank: snapshot.processes()[process].rank,
        from: snapshot.hosts()[present].id,
        idle_below: planning.idle_below,
        destinations: hosts.map(destination).collect(),
    })
}

/// The hosts on the idle list.
fn idle(choice: &DestinationChoice) -> impl Iterator<Item = &Destination> {
    choice.destinations.iter().filter(|host| host.is_idle)
}

/// The plan that moves the process to `target`, or none.
fn draft(
    choice: DestinationChoice,
    name: &str,
    snapshot: &Snapshot,
    target: Option<HostId>,
) -> Draft {
    let mut places = snapshot.places().to_vec();
    if let (Some(process), Some(host)) = (
        snapshot.process(choice.rank),
        target.and_then(|target| snapshot.host(target)),
    ) {
        places[process] = host;
    }
    let alternative = Alternative::new(name, &Assignment::new(snapshot, &places));
    Draft {
        alternatives: vec![alternative],
        places,
        choice: Some(choice),
        shortest: None,
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
    use bsp::Rank;
    use model::ExternalLoad;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{check, plan, snapshot, snapshot_with};

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
        let snapshot = snapshot_with(3.0, &hosts, &[(0, 1.0)]).with_external(&[
            external(1, 0.4, &[]),
            external(2, 0.1, &[]),
            external(3, 0.85, &[]),
        ]);
        let planning = Planning::default();
        let choice = choice(&snapshot, &planning, false).unwrap();
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
        let chosen = |aim| target(&least("dsa", aim, &planning).draft(&snapshot));
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
        let chosen = |aim| target(&least("dsa", aim, &planning).draft(&snapshot));
        assert_eq!(chosen(Aim::Completion), 1);
        assert_eq!(chosen(Aim::CompletionWithAges), 2);
    }

    #[test]
    fn no_process_moves_if_no_host_is_on_the_idle_list() {
        let loads = [external(1, 0.9, &[]), external(2, 1.0, &[])];
        let snapshot = snapshot(&[0.25, 1.0, 1.0], &[(0, 1.0)]).with_external(&loads);
        let draft = least("dsa", Aim::Completion, &Planning::default()).draft(&snapshot);
        assert_eq!(draft.places, [0]);
        let choice = draft.choice.unwrap();
        assert!(choice.destinations.iter().all(|host| !host.is_idle));
    }

    #[test]
    fn the_heaviest_process_of_the_slowest_host_moves() {
        let loads = [(0, 1.0), (1, 1.0), (1, 2.0), (1, 2.0)];
        let snapshot = snapshot(&[1.0, 1.0, 1.0], &loads);
        let choice = choice(&snapshot, &Planning::default(), false).unwrap();
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
            for aim in [
                Aim::Completion,
                Aim::CompletionWithAges,
                Aim::Cost,
                Aim::Execution,
            ] {
                let draft = least("dsa", aim, &Planning::default()).draft(&snapshot);
                let choice = draft.choice.unwrap();
                let chosen = snapshot.hosts()[draft.places[0]].id;
                let chosen = choice.destinations.iter().find(|host| host.host == chosen);
                match chosen {
                    None => prop_assert_eq!(idle(&choice).count(), 0),
                    Some(chosen) => {
                        prop_assert!(chosen.is_idle);
                        let least = aim.of(chosen);
                        prop_assert!(idle(&choice).all(|host| least <= aim.of(host)));
                    }
                }
            }
        }
    }

    #[test]
    fn all_hosts_of_the_idle_list_are_drawn_equally_often() {
        let snapshot = snapshot(&[1.0; 5], &[(0, 1.0)]);
        let mut plan = plan("random");
        let mut counts = [0_u32; 5];
        for _ in 0..4000 {
            counts[plan.draft(&snapshot).places[0]] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(
            counts[1..].iter().all(|count| (880..1120).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn every_process_is_kept_once() {
        for plan in ["dsa", "dsa-plus", "mcm", "etm", "random"] {
            check(plan);
        }
    }
}
