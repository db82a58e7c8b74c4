//! A rescheduling call costs simulated time, and what it decides follows from the model.

use agents::{Programs, Scheduler, Shape, WindowRule};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use model::SenderSet;
use record::Event;
use simulated::simulate;
use simulator::Platform;

use crate::relay::Relay;
use crate::setups::{SHAPES, scheduler, scripted, setup};

/// Twenty-five equal processes: twenty on the first cluster, five on the slower second.
fn programs(supersteps: u64) -> Vec<Relay> {
    (0..25)
        .map(|rank| Relay {
            halts: supersteps - 1,
            first_halt: supersteps - 1,
            shifts: vec![1],
            work: 400_000_000,
            digest: rank,
            broadcasts: false,
            ballast: Vec::new(),
        })
        .collect()
}

#[test]
fn a_call_without_moves_takes_time_but_changes_nothing() {
    for shape in SHAPES {
        let quiet = simulate(
            &setup(25, 0, shape, None),
            Programs::new(programs(40)),
            &mut |_| {},
        )
        .unwrap();
        let still = Scheduler {
            moves: false,
            ..scheduler(|_| {})
        };
        let outcome = simulate(
            &setup(25, 0, shape, Some(still)),
            Programs::new(programs(40)),
            &mut |_| {},
        )
        .unwrap();
        let supersteps: Vec<u64> = outcome.calls.iter().map(|call| call.superstep).collect();
        assert_eq!(supersteps, [4, 12, 28], "{shape:?}");
        let cost: Seconds = outcome.calls.iter().map(|call| call.cost).sum();
        assert!(Seconds::ZERO < cost, "messages take time");
        assert!(
            cost < Seconds::new(1.0).unwrap(),
            "but not that much: {cost}"
        );
        let added = outcome.end.seconds - quiet.end.seconds;
        if shape == Shape::Hierarchical {
            // Every Manager goes on when it knows enough, the first one not always last.
            assert!(
                Seconds::ZERO < added && added < cost * 2.0,
                "{added} for {cost}"
            );
        } else {
            let difference = (added - cost).get().abs();
            assert!(
                difference < 1e-9,
                "{shape:?}: the calls are all that is added, {difference}"
            );
        }
        assert!(outcome.calls.iter().all(|call| call.migrations.is_empty()));
    }
}

#[test]
fn the_slow_ones_move_one_by_one_to_the_fastest_set() {
    for shape in SHAPES {
        let setup = setup(25, 0, shape, Some(scheduler(|_| {})));
        let outcome = simulate(&setup, Programs::new(programs(130)), &mut |_| {}).unwrap();
        let hosts = setup.platform.hosts();
        let moves: Vec<String> = outcome
            .calls
            .iter()
            .flat_map(|call| {
                call.migrations
                    .iter()
                    .map(move |migration| (call, migration))
            })
            .map(|(call, migration)| {
                let to = &hosts[migration.to.index()].name;
                format!("{} {} -> {to}", call.superstep, migration.rank)
            })
            .collect();
        let expected = [
            "4 p21 -> aquario-0",
            "12 p22 -> aquario-1",
            "28 p23 -> aquario-2",
            "60 p24 -> aquario-3",
            "124 p25 -> aquario-4",
        ];
        assert_eq!(moves, expected, "{shape:?}");
    }
}

#[test]
fn a_window_is_how_long_a_superstep_with_a_call_lasts() {
    let window = Seconds::new(5.0).unwrap();
    let lengths = |window_after_migration| {
        let scheduler = Scheduler {
            window,
            window_after_migration,
            ..scheduler(|_| {})
        };
        let mut started = Vec::new();
        let mut arrived = Vec::new();
        simulate(
            &setup(25, 0, SHAPES[0], Some(scheduler)),
            Programs::new(programs(6)),
            &mut |event| {
                if let Event::Superstep(superstep) = event {
                    started.push(superstep.started);
                    arrived.push(superstep.ended);
                }
            },
        )
        .unwrap();
        // The fourth superstep ends with a call that moves p21.
        (started[4] - started[3], started[4] - arrived[3])
    };
    let close = |a: Seconds, b: Seconds| (a - b).get().abs() < 1e-9;
    assert!(close(lengths(WindowRule::AtLeast).0, window));
    assert!(close(lengths(WindowRule::Added).1, window));
}

#[test]
fn everything_sent_is_received() {
    for shape in SHAPES {
        let mut messages = 0;
        let setup = setup(25, 0, shape, Some(scheduler(|_| {})));
        let outcome = simulate(&setup, Programs::new(programs(30)), &mut |event| {
            if let Event::Superstep(superstep) = event {
                messages += superstep.messages;
            }
        })
        .unwrap();
        assert_eq!(messages, outcome.end.messages);
        assert_eq!(messages, 25 * 2 * 29);
    }
}

/// Whether `T(i, j)` is measured from the host of process `i` or from its Manager makes no difference on the papers'
/// testbed.
#[test]
fn all_hosts_of_a_set_are_as_far_from_other_managers_as_their_own() {
    let text = include_str!("../../../conf/platforms/testbed.toml");
    let testbed = Platform::from_toml(text).unwrap();
    let bandwidth = |from, to| {
        let mut links = Vec::new();
        testbed.route(from, to, &mut links).unwrap();
        let links = links
            .iter()
            .map(|link| testbed.links()[link.index()].bandwidth);
        links
            .min_by(|one, other| one.get().total_cmp(&other.get()))
            .unwrap()
    };
    for own in testbed.sets() {
        for other in testbed.sets().iter().filter(|other| other.name != own.name) {
            let manager = other.hosts[0];
            let of_managers = bandwidth(own.hosts[0], manager);
            for host in &own.hosts {
                assert_eq!(
                    bandwidth(*host, manager),
                    of_managers,
                    "{host} and {manager}"
                );
            }
        }
    }
}

/// p1 sends to p2 and is moved to another Set: which Set draws p2 then?
#[test]
fn a_message_counts_for_the_set_that_the_sender_is_taken_to_be_in() {
    for (sender_set, expected) in [(SenderSet::Present, 4), (SenderSet::Initial, 0)] {
        let moves = [(2, vec![(Rank(0), HostId(160))])];
        let script = agents::Script(moves.into_iter().collect());
        let mut scheduler = scripted(script, agents::Payment::Migrant);
        let parameters = model::Parameters {
            sender_set,
            ..*scheduler.model.parameters()
        };
        scheduler.model = model::Config::new(parameters).unwrap();
        let mut chain = programs(6);
        chain.truncate(2);
        // Never balanced, so that every superstep has a call.
        chain[1].work /= 2;
        let mut heard = Vec::new();
        simulate(
            &setup(2, 0, Shape::Central, Some(scheduler)),
            Programs::new(chain),
            &mut |event| {
                if let Event::Evaluated(evaluated) = event
                    && evaluated.superstep == 5
                {
                    let of_p2 = evaluated.processes.iter().filter(|one| one.rank == Rank(1));
                    let potentials = of_p2.flat_map(|one| &one.potentials);
                    let drawn =
                        potentials.filter(|one| Seconds::ZERO < one.prediction_communication);
                    heard.extend(drawn.map(|one| one.set.0));
                }
            },
        )
        .unwrap();
        assert_eq!(heard, [expected], "{sender_set:?}");
    }
}
