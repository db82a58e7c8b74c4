//! Scenes, and what every plan is held to.

use bsp::units::{Bytes, InstructionsPerSecond};
use bsp::{HostId, Image, Rank, SetId};
use proptest::prelude::*;

use crate::{Burden, Load, MigrationCost, Outlook, Processor, Received, Sharing};

use super::*;

impl Scene {
    /// Every move takes so many seconds.
    pub(super) fn make_moves_cost(&mut self, seconds: f64) {
        self.make_cost(MigrationCost {
            data_rate: Some(0.0),
            fixed_rate: Some(0.0),
            base: Seconds::new(seconds).unwrap(),
        });
    }
}

/// Hosts of these speeds in one Set, and processes with what they execute on the hosts they are on, in units of
/// what the slowest does in a second; a migration takes 1 ms.
pub(crate) fn scene(speeds: &[f64], loads: &[(u32, f64)]) -> Scene {
    let mut scene = scattered(&[speeds.to_vec()], loads, &[]);
    scene.make_moves_cost(1e-3);
    scene
}

/// The same in several Sets, with messages: rank, sender's Set and megabytes, which take 40 ms each between Sets.
fn scattered(sets: &[Vec<f64>], loads: &[(u32, f64)], received: &[(usize, u32, f64)]) -> Scene {
    let mut host = 0..;
    let processors = sets.iter().map(|speeds| {
        let processor = |speed: &f64| Processor {
            host: HostId(host.next().unwrap()),
            speed: InstructionsPerSecond::new(speed * UNIT).unwrap(),
            cores: 1,
            load: 0.0,
            residents: Vec::new(),
        };
        speeds.iter().map(processor).collect()
    });
    let processors: Vec<Vec<Processor>> = processors.collect();
    let load = |(rank, (host, load)): (usize, &(u32, f64))| Load {
        rank: Rank(u32::try_from(rank).unwrap()),
        host: HostId(*host),
        instructions: load * UNIT,
        finished: None,
        image: Image {
            data: Bytes(1_000_000),
            fixed: Bytes::ZERO,
        },
        received: received
            .iter()
            .filter(|(to, ..)| *to == rank)
            .map(|(_, set, megabytes)| Received {
                set: SetId(*set),
                bytes: megabytes * 1e6,
                time: megabytes * 80e-3,
            })
            .collect(),
    };
    let rate = |from: usize, to: usize| if from == to { 8e-9 } else { 40e-9 };
    let number = sets.len();
    let rates = (0..number).map(|from| (0..number).map(|to| rate(from, to)).collect());
    Scene::new(
        &processors,
        loads.iter().enumerate().map(load).collect(),
        rates.collect(),
        MigrationCost::default(),
        Outlook {
            horizon: 20.0,
            dearness: 1.0,
            burden: Burden::Shared,
            sharing: Sharing::default(),
        },
    )
}

/// Scenes of all kinds.
fn any_scene() -> impl Strategy<Value = Scene> {
    let sets = prop::collection::vec(prop::collection::vec(0.5..4.0, 1..5), 1..4);
    let loads = prop::collection::vec((any::<prop::sample::Index>(), 0.0..5.0), 1..25);
    let tolls = prop::collection::vec(0.0..0.2, 3);
    let received = prop::collection::vec((any::<prop::sample::Index>(), 0_u32..4, 0.0..3.0), 0..30);
    (sets, loads, received, tolls).prop_map(|(sets, loads, received, tolls)| {
        let hosts: usize = sets.iter().map(Vec::len).sum();
        let loads: Vec<(u32, f64)> = loads
            .into_iter()
            .map(|(host, load)| (u32::try_from(host.index(hosts)).unwrap(), load))
            .collect();
        let number = u32::try_from(sets.len()).unwrap();
        let received: Vec<(usize, u32, f64)> = received
            .into_iter()
            .map(|(to, set, megabytes)| (to.index(loads.len()), set % number, megabytes))
            .collect();
        scattered(&sets, &loads, &received).with_tolls(tolls)
    })
}

/// The laws of [`Plan`].
pub(super) fn check(plan: impl Fn() -> Box<dyn Plan>) {
    proptest!(|(scene in any_scene())| {
        let draft = plan().draft(&scene);
        prop_assert_eq!(draft.places.len(), scene.processes().len());
        prop_assert!(draft.places.iter().all(|host| *host < scene.hosts().len()));
        prop_assert_eq!(&draft, &plan().draft(&scene));
    });
}

/// That a plan takes no longer over the horizon than that nobody moves.
pub(super) fn check_objective(plan: impl Fn() -> Box<dyn Plan>) {
    proptest!(|(scene in any_scene())| {
        let places = plan().draft(&scene).places;
        let (present, planned) = (Mapping::present(&scene), Mapping::new(&scene, &places));
        let (present, planned) = (scene.objective(&present), scene.objective(&planned));
        prop_assert!(planned <= present * (1.0 + 1e-9), "{planned} against {present}");
    });
}

#[test]
fn a_mapping_that_was_changed_is_like_one_made_at_once() {
    proptest!(|(scene in any_scene(), changes in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..20))| {
        let mut changed = Mapping::present(&scene);
        for [process, host] in changes {
            changed.put(process.index(scene.processes().len()), host.index(scene.hosts().len()));
        }
        let fresh = Mapping::new(&scene, changed.places());
        for host in 0..scene.hosts().len() {
            prop_assert_eq!(changed.residents(host), fresh.residents(host));
            prop_assert!((changed.time(host) - fresh.time(host)).abs() < 1e-9);
        }
        prop_assert!((changed.longest() - fresh.longest()).abs() < 1e-9);
    });
}

#[test]
fn what_a_move_is_said_to_lead_to_is_what_it_leads_to() {
    proptest!(|(scene in any_scene(), process in any::<prop::sample::Index>(), host in any::<prop::sample::Index>())| {
        let (process, host) = (process.index(scene.processes().len()), host.index(scene.hosts().len()));
        let mut mapping = Mapping::present(&scene);
        let (from, said) = (mapping.places()[process], mapping.after_move(process, host));
        mapping.put(process, host);
        // With the last but one of a Set its seat may move, which nobody foresees.
        let set = |host: usize| scene.hosts()[host].set;
        let members = scene.places().iter().filter(|place| set(**place) == set(from)).count();
        if from != host && 2 < members {
            let tolls = scene.toll(set(host)) - scene.toll(set(from));
            prop_assert!(mapping.time(from).max(mapping.time(host)) + tolls <= said + 1e-9);
        }
    });
}

#[test]
fn those_who_move_together_keep_what_they_tell_each_other_inside() {
    // A megabyte takes 8 ms inside a Set and 80 ms between Sets, more than the faster hosts win for one alone.
    let sets = [vec![1.0; 3], vec![1.5; 3]];
    let loads = [(0, 0.2), (1, 0.2), (2, 0.2)];
    let scene = scattered(&sets, &loads, &[(1, 0, 1.0), (2, 0, 1.0)]);
    let draft = Portfolio.draft(&scene);
    assert!(draft.places.iter().all(|host| 3 <= *host), "{draft:?}");
}

#[test]
fn nobody_goes_where_every_superstep_pays_for_it() {
    let scene = scattered(&[vec![1.0], vec![2.0]], &[(0, 1.0)], &[]);
    assert_eq!(Portfolio.draft(&scene).places, [1]);
    let far = scene.with_tolls(vec![0.0, 0.75]);
    assert_eq!(Portfolio.draft(&far).places, [0]);
}

const UNIT: f64 = 1e9;
