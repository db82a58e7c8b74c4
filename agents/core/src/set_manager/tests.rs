mod checkpoint;
mod hostile;
mod probing;
use model::{Config, CostSource, Heuristic, Policies};
use proptest::prelude::*;
use protocol::SetReport;

use crate::barrier::{Collection, Shape};
use crate::replay::{Difference, Replay};
use crate::setup::Scheduler;
use crate::test_world::{Act, Agents, TestWorld, scheduler, script};

use super::*;

/// Plays a run in an order of arrival and answers what was recorded, by kind and in order.
fn play(mut test_world: TestWorld, order: &[usize]) -> (Vec<record::Superstep>, Vec<record::Call>) {
    let mut agents = test_world.agents();
    let mut picks = order.iter().cycle();
    test_world.play(&mut agents, |count| picks.next().unwrap() % count);
    let mut finished = std::mem::take(&mut test_world.finished);
    finished.sort();
    let all: Vec<Rank> = (0..agents.processes.len()).map(Rank::from_index).collect();
    assert_eq!(finished, all, "each process finishes once");
    let mut supersteps = Vec::new();
    let mut calls = Vec::new();
    for event in test_world.events {
        match event {
            record::Event::Superstep(superstep) => supersteps.push(superstep),
            record::Event::Call(call) => calls.push(*call),
            _ => {}
        }
    }
    (supersteps, calls)
}

/// What deciding everything again says that was played on `test_world`, otherwise than its record does.
fn decided_again(mut test_world: TestWorld) -> Vec<Difference> {
    let run = test_world.run();
    let mut replay =
        Replay::new(test_world.rules.scheduler.clone(), &run, BTreeSet::new()).unwrap();
    let mut agents = test_world.agents();
    test_world.play(&mut agents, |_| 0);
    let read = |event: &record::Event| {
        let line = serde_json::to_string(event).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let events = test_world.events.iter().map(read);
    let checked = events.filter_map(|event| replay.take(event).unwrap());
    checked.flat_map(|checked| checked.differences).collect()
}

/// Hosts and halts of a few processes; the first five hosts have processes at the start.
fn processes() -> impl Strategy<Value = (Vec<u32>, Vec<u64>)> {
    prop::collection::vec((0_u32..5, 0_u64..6), 1..7).prop_map(|all| all.into_iter().unzip())
}

/// A policy made of any rules.
fn policies() -> impl Strategy<Value = model::Policy> {
    let rules = Policies::shipped();
    let (whens, plans, gates) = (rules.whens(), rules.plans(), rules.gates());
    let plans: Vec<_> = plans.iter().copied().map(Some).chain([None]).collect();
    let any = (
        prop::sample::select(whens.to_vec()),
        prop::sample::select(plans),
        prop::sample::select(gates.to_vec()),
    );
    any.prop_filter_map("a when rule that needs a planner", |(when, plan, gate)| {
        model::Policy::new(when, plan, gate).ok()
    })
}

/// A scheduler that follows the model, or a script that moves any process to any host, the first process away and back
/// included. The cost of moves is stated or learned, and the end is known or not.
fn schedulers() -> impl Strategy<Value = Option<Scheduler>> {
    (deciders(), any::<bool>(), any::<bool>()).prop_map(|(mut scheduler, learns, asks)| {
        if let Some(scheduler) = &mut scheduler {
            scheduler.horizon_known = Some(asks);
        }
        if let Some(scheduler) = scheduler.as_mut().filter(|_| learns) {
            let mut parameters = *scheduler.model.parameters();
            parameters.migration.source = CostSource::Learned;
            scheduler.model = Config::new(parameters).unwrap();
        }
        scheduler
    })
}

fn deciders() -> impl Strategy<Value = Option<Scheduler>> {
    let moves = prop::collection::vec((1_u64..6, 0_u32..7, 0_u32..6), 0..20);
    prop_oneof![
        Just(None),
        Just(Some(scheduler(|_| {}))),
        Just(Some(scheduler(|parameters| {
            parameters.heuristic = Heuristic::Above;
        }))),
        policies().prop_map(|policy| {
            Some(Scheduler {
                policy,
                ..scheduler(|_| {})
            })
        }),
        moves.prop_map(|moves| {
            Some(Scheduler {
                script: Some(script(&moves)),
                ..scheduler(|_| {})
            })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_outcome_does_not_depend_on_the_order_in_which_messages_come(
        (hosts, halts) in processes(),
        scheduler in schedulers(),
        (shape, by_rank) in (0..Shape::ALL.len(), any::<bool>()),
        order in prop::collection::vec(any::<usize>(), 1..200),
    ) {
        let collection = if by_rank { Collection::ByRank } else { Collection::AsTheyCome };
        let test_world = || TestWorld::new(Shape::ALL[shape], collection, &hosts, &halts, scheduler.clone());
        let first_come = play(test_world(), &[0]);
        prop_assert_eq!(first_come.0.len() as u64, halts.iter().max().unwrap() + 1);
        prop_assert_eq!(play(test_world(), &order), first_come);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_was_decided_is_decided_again_from_the_record(
        (hosts, halts) in processes(),
        scheduler in schedulers(),
        shape in 0..Shape::ALL.len(),
    ) {
        let test_world = TestWorld::new(Shape::ALL[shape], Collection::AsTheyCome, &hosts, &halts, scheduler);
        prop_assert_eq!(decided_again(test_world), []);
    }
}

/// Four processes on the slow Set, one per host but the first.
fn four(shape: Shape, scheduler: Option<Scheduler>) -> TestWorld {
    TestWorld::new(
        shape,
        Collection::AsTheyCome,
        &[0, 0, 1, 2],
        &[3; 4],
        scheduler,
    )
}

#[test]
fn a_call_moves_the_best_candidate_to_the_fast_set() {
    for shape in Shape::ALL {
        let (supersteps, calls) = play(four(shape, Some(scheduler(|_| {}))), &[0]);
        assert_eq!(supersteps.len(), 4);
        let first = &calls[0];
        assert_eq!(first.superstep, 1);
        assert_eq!(first.interval, Some(1));
        assert_eq!(first.list.len(), 4);
        let considered: Vec<Rank> = first.considered.iter().map(|c| c.entry.rank).collect();
        let moved: Vec<(Rank, HostId)> = first.migrations.iter().map(|m| (m.rank, m.to)).collect();
        assert_eq!(considered, [Rank(2)], "{shape:?}");
        assert_eq!(moved, [(Rank(2), HostId(3))], "{shape:?}");
    }
}

#[test]
fn of_several_orders_for_one_process_the_first_counts() {
    let moves = script(&[(1, 2, 4), (1, 2, 5), (1, 9, 5), (1, 3, 2)]);
    let scheduler = Scheduler {
        script: Some(moves),
        ..scheduler(|_| {})
    };
    let (_, calls) = play(four(Shape::Central, Some(scheduler)), &[0]);
    let moved: Vec<(Rank, HostId)> = calls[0].migrations.iter().map(|m| (m.rank, m.to)).collect();
    // Process 9 does not exist, and process 3 is there already.
    assert_eq!(moved, [(Rank(2), HostId(4))]);
}

/// The host of the first process in each of the supersteps of [`first_process_away`].
const FIRST_PROCESS_AT: [u32; 6] = [0, 1, 1, 4, 0, 0];

/// A run in which the first process leaves the first Manager's host for another one of its Set, then for another Set,
/// and comes back.
fn first_process_away(shape: Shape, collection: Collection) -> TestWorld {
    let moves = script(&[(1, 0, 1), (3, 0, 4), (4, 0, 0)]);
    let scheduler = Scheduler {
        script: Some(moves),
        ..scheduler(|_| {})
    };
    let mut test_world = TestWorld::new(shape, collection, &[0, 0, 1, 3], &[5; 4], Some(scheduler));
    let mut agents = test_world.agents();
    test_world.play(&mut agents, |_| 0);
    test_world
}

#[test]
fn the_first_process_pays_for_a_central_barrier_while_it_is_away_from_the_first_manager() {
    for collection in [Collection::AsTheyCome, Collection::ByRank] {
        let test_world = first_process_away(Shape::Central, collection);
        let (process, manager) = (Address::Process(Rank(0)), Address::SetManager(SetId(0)));
        let network = Cost::Network(test_world.rules.barrier.options().message);
        let cost = |superstep: u64| {
            let host = FIRST_PROCESS_AT[usize::try_from(superstep).unwrap()];
            if host == 0 { Cost::Free } else { network }
        };
        let (mut arrivals, mut starts) = (0, 0);
        for (from, to, message, charged) in &test_world.sent {
            match message {
                AgentMessage::Arrived(arrived) if (*from, *to) == (process, manager) => {
                    let expected = cost(arrived.superstep).and(arrived.reductions.charged_len());
                    assert_eq!(*charged, expected, "{arrived:?}");
                    arrivals += 1;
                }
                AgentMessage::Start(start) if (*from, *to) == (manager, process) => {
                    let reduced = start.reduced.as_ref();
                    let reduced = reduced.map_or(Bytes::ZERO, |reduced| reduced.charged_len());
                    assert_eq!(*charged, cost(start.superstep).and(reduced), "{start:?}");
                    starts += 1;
                }
                // No other process is beside the master.
                AgentMessage::Arrived(arrived) if matches!(from, Address::Process(_)) => {
                    assert_eq!(*charged, network.and(arrived.reductions.charged_len()));
                }
                _ => {}
            }
        }
        // The first start is that of the run.
        assert_eq!((arrivals, starts), (6, 5));
    }
}

/// One process alone has arrived, and says so itself.
fn arrived(rank: u32, superstep: u64, halted: u32) -> Event {
    Event::Message {
        from: Address::Process(Rank(rank)),
        message: AgentMessage::Arrived(Arrived {
            superstep,
            processes: 1,
            halted,
            sent: 0,
            received: 0,
            slowest: (Seconds::ZERO, Rank(rank)),
            computation: 0,
            took: Seconds::ZERO,
            checkpoint: false,
            reductions: Reductions::default(),
        }),
    }
}

/// Tells the first Manager something, outside of a play.
fn deliver(test_world: &mut TestWorld, agents: &mut Agents, event: Event) {
    let rules = four(
        test_world.rules.barrier.options().shape,
        test_world.rules.scheduler.clone(),
    )
    .rules;
    agents.managers[0].handle(&rules, event, test_world);
}

fn flushes(test_world: &TestWorld) -> usize {
    let flush = |act: &&Act| matches!(act, Act::Flush(_));
    test_world.acts.iter().filter(flush).count()
}

#[test]
fn the_arrival_of_one_s_messages_is_asked_for_once() {
    let mut test_world = four(Shape::Central, None);
    let mut agents = test_world.agents();
    for rank in 0..4 {
        let halted = u32::from(rank == 0);
        deliver(&mut test_world, &mut agents, arrived(rank, 0, halted));
    }
    assert_eq!(flushes(&test_world), 1);
    // The first process still waits for its last message when the others have arrived again.
    for rank in 1..4 {
        deliver(&mut test_world, &mut agents, arrived(rank, 1, 0));
    }
    assert_eq!(flushes(&test_world), 1);
    deliver(&mut test_world, &mut agents, Event::Flushed);
    let last = test_world.sent.last().unwrap();
    assert_eq!(last.1, Address::Process(Rank(0)));
    assert_eq!(last.2, AgentMessage::Finish);
}

#[test]
fn an_ideal_barrier_has_no_master() {
    let mut test_world = four(Shape::Ideal, None);
    let mut agents = test_world.agents();
    for rank in 0..4 {
        deliver(&mut test_world, &mut agents, arrived(rank, 0, 0));
    }
    let told: Vec<(Address, Cost)> = test_world
        .sent
        .iter()
        .map(|sent| (sent.1, sent.3))
        .collect();
    let everybody: Vec<_> = (0..4)
        .map(|rank| (Address::Process(Rank(rank)), Cost::Free))
        .collect();
    assert_eq!(told, everybody);
    assert_eq!(flushes(&test_world), 0);
}

/// The sender of the last arrival is not always the one that counted wrongly.
#[test]
fn counts_that_do_not_add_up_are_no_fault_of_the_member_that_passes_them_on() {
    for shape in [Shape::Central, Shape::Ideal] {
        let mut test_world = four(shape, None);
        let mut agents = test_world.agents();
        test_world.keep_errors();
        for rank in 0..4 {
            let Event::Message { from, message } = arrived(rank, 0, 0) else {
                unreachable!("an arrival is a message");
            };
            let AgentMessage::Arrived(mut arrived) = message else {
                unreachable!("it is one");
            };
            arrived.received = u64::from(rank == 1);
            let message = AgentMessage::Arrived(arrived);
            deliver(
                &mut test_world,
                &mut agents,
                Event::Message { from, message },
            );
        }
        let error = test_world.error().unwrap();
        let expected = "superstep 0: 1 of 0 messages were received, by the counts of all nodes; \
                        one of them: it is broken, or runs another build";
        assert_eq!(error, expected);
    }
}

/// The error of a Manager that receives `set_report` of another in a call.
fn meets(set_report: SetReport) -> String {
    let mut test_world = four(Shape::Central, Some(scheduler(|_| {})));
    let mut agents = test_world.agents();
    for rank in 0..4 {
        deliver(&mut test_world, &mut agents, arrived(rank, 0, 0));
    }
    let event = Event::Message {
        from: Address::SetManager(set_report.set),
        message: AgentMessage::SetReport(Box::new(set_report)),
    };
    test_world.keep_errors();
    deliver(&mut test_world, &mut agents, event);
    test_world.error().unwrap_or_else(|| "nothing".to_owned())
}

#[test]
fn managers_that_disagree_end_the_run() {
    let set_report = SetReport {
        superstep: 0,
        set: SetId(1),
        interval: Some(1),
        tolerance: Some(1e-9),
        entries: Arc::default(),
        digests: Vec::new(),
        barrier_busy: Vec::new(),
        inventory: None,
        remaining: None,
    };
    assert_eq!(meets(set_report.clone()), "nothing");
    let interval = meets(SetReport {
        interval: Some(2),
        ..set_report.clone()
    });
    assert!(
        interval.contains("another interval or tolerance"),
        "{interval}"
    );
    let tolerance = meets(SetReport {
        tolerance: Some(2e-9),
        ..set_report.clone()
    });
    assert!(
        tolerance.contains("another interval or tolerance"),
        "{tolerance}"
    );
    // A message about a call that is to come is kept.
    assert_eq!(
        meets(SetReport {
            superstep: 3,
            ..set_report
        }),
        "nothing"
    );
}

proptest! {
    #[test]
    fn it_is_the_placement_with_all_moves_applied(
        starts in prop::collection::vec(0_u32..6, 1..8),
        moves in prop::collection::vec((0_usize..8, 0_u32..6), 0..30),
        own in 0_u32..3,
    ) {
        let halts = vec![0; starts.len()];
        let test_world = TestWorld::new(Shape::Ideal, Collection::AsTheyCome, &starts, &halts, None);
        let rules = &test_world.rules;
        let own = SetId(own);
        let here = |host: &HostId| rules.sets[host.index()] == own;
        let hosts: Vec<HostId> = (0..6).map(HostId).filter(here).collect();
        let mut placement = PlacementView::new(rules, own, &hosts);
        let mut expected: Vec<HostId> = starts.iter().copied().map(HostId).collect();
        for (rank, to) in moves {
            let rank = Rank::from_index(rank % starts.len());
            let order = Migrate {
                rank,
                from: expected[rank.index()],
                to: HostId(to),
                epoch: 1,
                deferred_cost: Seconds::ZERO,
            };
            placement.apply(rules, &order);
            expected[rank.index()] = order.to;
        }
        let ranks = (0..starts.len()).map(Rank::from_index);
        prop_assert_eq!(ranks.map(|rank| placement.of(rank)).collect::<Vec<_>>(), expected.clone());
        expected.retain(here);
        prop_assert_eq!(usize::try_from(placement.processes()).unwrap(), expected.len());
        expected.sort();
        expected.dedup();
        prop_assert_eq!(placement.hosts().collect::<Vec<_>>(), expected);
    }
}
