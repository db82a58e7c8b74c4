use std::panic::{AssertUnwindSafe, catch_unwind};

use bsp::units::Seconds;
use migbsp::{GATES, Heuristic, PLANS, WHENS};
use proptest::prelude::*;
use protocol::{AgentMessage, CallMessage, SetReport};

use super::*;
use crate::replay::{Difference, Replay};
use crate::setup::Scheduler;
use crate::stage::{Act, Cast, SHAPES, Stage, scheduler, script};

/// Plays a run in an order of arrival and answers what was recorded, by kind and in order.
fn play(mut stage: Stage, order: &[usize]) -> (Vec<record::Superstep>, Vec<record::Call>) {
    let mut cast = stage.cast();
    let mut picks = order.iter().cycle();
    stage.play(&mut cast, |count| picks.next().unwrap() % count);
    let mut finished = std::mem::take(&mut stage.finished);
    finished.sort();
    let everybody: Vec<Rank> = (0..cast.processes.len()).map(Rank::from_index).collect();
    assert_eq!(finished, everybody, "everybody finishes once");
    let mut supersteps = Vec::new();
    let mut calls = Vec::new();
    for event in stage.events {
        match event {
            record::Event::Superstep(superstep) => supersteps.push(superstep),
            record::Event::Call(call) => calls.push(call),
            _ => {}
        }
    }
    (supersteps, calls)
}

/// What deciding everything again says that was played on `stage`, otherwise than its record does.
fn decided_again(mut stage: Stage) -> Vec<Difference> {
    let run = stage.run();
    let mut replay = Replay::new(stage.rules.scheduler.clone(), &run).unwrap();
    let mut cast = stage.cast();
    stage.play(&mut cast, |_| 0);
    let read = |event: &record::Event| {
        let line = serde_json::to_string(event).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let events = stage.events.iter().map(read);
    let checked = events.filter_map(|event| replay.take(event).unwrap());
    checked.flat_map(|checked| checked.differences).collect()
}

/// Hosts and halts of a few processes; the first five hosts have processes at the start.
fn processes() -> impl Strategy<Value = (Vec<u32>, Vec<u64>)> {
    prop::collection::vec((0_u32..5, 0_u64..6), 1..7).prop_map(|all| all.into_iter().unzip())
}

/// A policy made of any rules.
fn policies() -> impl Strategy<Value = migbsp::Policy> {
    let any = (0..WHENS.len(), 0..PLANS.len(), 0..GATES.len());
    any.prop_map(|(when, plan, gate)| migbsp::Policy {
        when: WHENS[when].1,
        plan: PLANS[plan].1,
        gate: GATES[gate].1,
    })
}

/// A scheduler that follows the model, or a script that moves anybody anywhere, the first process
/// away and back included.
fn schedulers() -> impl Strategy<Value = Option<Scheduler>> {
    let moves = prop::collection::vec((1_u64..6, 0_u32..7, 0_u32..6), 0..20);
    prop_oneof![
        Just(None),
        Just(Some(scheduler(|_| {}))),
        Just(Some(scheduler(|parameters| {
            parameters.heuristic = Heuristic::Above;
            parameters.one_migrant_per_processor = false;
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
        (shape, by_rank) in (0_usize..3, any::<bool>()),
        order in prop::collection::vec(any::<usize>(), 1..200),
    ) {
        let collection = if by_rank { Collection::ByRank } else { Collection::AsTheyCome };
        let stage = || Stage::new(SHAPES[shape], collection, &hosts, &halts, scheduler.clone());
        let first_come = play(stage(), &[0]);
        prop_assert_eq!(first_come.0.len() as u64, halts.iter().max().unwrap() + 1);
        prop_assert_eq!(play(stage(), &order), first_come);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_was_decided_is_decided_again_from_the_record(
        (hosts, halts) in processes(),
        scheduler in schedulers(),
        shape in 0_usize..3,
    ) {
        let stage = Stage::new(SHAPES[shape], Collection::AsTheyCome, &hosts, &halts, scheduler);
        prop_assert_eq!(decided_again(stage), []);
    }
}

/// Four processes on the slow Set, one per host but the first.
fn four(shape: Shape, scheduler: Option<Scheduler>) -> Stage {
    Stage::new(
        shape,
        Collection::AsTheyCome,
        &[0, 0, 1, 2],
        &[3; 4],
        scheduler,
    )
}

#[test]
fn a_call_moves_the_best_candidate_to_the_fast_set() {
    for shape in SHAPES {
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

/// One process alone has arrived, and tells so itself.
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
        }),
    }
}

/// Tells the first Manager something, outside of a play.
fn tell(stage: &mut Stage, cast: &mut Cast, event: Event) {
    let rules = four(stage.rules.barrier.shape, stage.rules.scheduler.clone()).rules;
    cast.managers[0].on(&rules, event, stage);
}

fn flushes(stage: &Stage) -> usize {
    let flush = |act: &&Act| matches!(act, Act::Flush(_));
    stage.acts.iter().filter(flush).count()
}

#[test]
fn the_arrival_of_one_s_messages_is_asked_for_once() {
    let mut stage = four(Shape::Central, None);
    let mut cast = stage.cast();
    for rank in 0..4 {
        let halted = u32::from(rank == 0);
        tell(&mut stage, &mut cast, arrived(rank, 0, halted));
    }
    assert_eq!(flushes(&stage), 1);
    // The first process still waits for its last message when the others have arrived again.
    for rank in 1..4 {
        tell(&mut stage, &mut cast, arrived(rank, 1, 0));
    }
    assert_eq!(flushes(&stage), 1);
    tell(&mut stage, &mut cast, Event::Flushed);
    let last = stage.sent.last().unwrap();
    assert_eq!(last.1, Address::Process(Rank(0)));
    assert_eq!(last.2, AgentMessage::Finish);
}

#[test]
fn an_ideal_barrier_has_no_master() {
    let mut stage = four(Shape::Ideal, None);
    let mut cast = stage.cast();
    for rank in 0..4 {
        tell(&mut stage, &mut cast, arrived(rank, 0, 0));
    }
    let told: Vec<(Address, Cost)> = stage.sent.iter().map(|sent| (sent.1, sent.3)).collect();
    let everybody: Vec<_> = (0..4)
        .map(|rank| (Address::Process(Rank(rank)), Cost::Free))
        .collect();
    assert_eq!(told, everybody);
    assert_eq!(flushes(&stage), 0);
}

/// What a Manager says when it meets `standing` of another in a call.
fn meets(standing: SetReport) -> String {
    let mut stage = four(Shape::Central, Some(scheduler(|_| {})));
    let mut cast = stage.cast();
    for rank in 0..4 {
        tell(&mut stage, &mut cast, arrived(rank, 0, 0));
    }
    let event = Event::Message {
        from: Address::SetManager(standing.set),
        message: AgentMessage::Call(CallMessage::SetReport(Box::new(standing))),
    };
    let met = catch_unwind(AssertUnwindSafe(|| tell(&mut stage, &mut cast, event)));
    let Err(panic) = met else {
        return "nothing".to_owned();
    };
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn managers_that_disagree_end_the_run() {
    let standing = SetReport {
        superstep: 0,
        set: SetId(1),
        interval: Some(1),
        tolerance: Some(1e-9),
        entries: Vec::new(),
        digests: Vec::new(),
        barrier_busy: Vec::new(),
        inventory: None,
    };
    assert_eq!(meets(standing.clone()), "nothing");
    let interval = meets(SetReport {
        interval: Some(2),
        ..standing.clone()
    });
    assert!(interval.contains("another interval"), "{interval}");
    let tolerance = meets(SetReport {
        tolerance: Some(2e-9),
        ..standing.clone()
    });
    assert!(tolerance.contains("another tolerance"), "{tolerance}");
    // A message about a call that is to come is kept.
    assert_eq!(
        meets(SetReport {
            superstep: 3,
            ..standing
        }),
        "nothing"
    );
}
