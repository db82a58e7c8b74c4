use bsp::units::Bytes;
use bsp::{Reductions, SetId};
use model::{MeasuredMove, Reception};

use crate::barrier::{Collection, Shape};
use crate::process::*;
use crate::setup::{Resumed, Scheduler};
use crate::test_world::{Act, TestWorld, scheduler};

/// Process 1 of two on host 0, and its [`TestWorld`].
fn process(shape: Shape, scheduler: Option<Scheduler>) -> (TestWorld, Process) {
    let test_world = TestWorld::new(shape, Collection::AsTheyCome, &[0, 0], &[9; 2], scheduler);
    let process = Process::new(&test_world.rules, Rank(1), HostId(0));
    (test_world, process)
}

fn deliver(test_world: &mut TestWorld, process: &mut Process, event: Event) {
    let (mut same, _) = self::process(
        test_world.rules.barrier.options().shape,
        test_world.rules.scheduler.clone(),
    );
    same.rules.traced = test_world.rules.traced;
    process.handle(&same.rules, event, test_world);
}

fn message(message: AgentMessage) -> Event {
    let from = Address::SetManager(SetId(0));
    Event::Message { from, message }
}

fn start(superstep: u64) -> Event {
    let interval = None;
    message(AgentMessage::Start(Start {
        superstep,
        interval,
        checkpoint: false,
        reduced: None,
    }))
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

/// One superstep in which the process computes for two seconds and receives from both Sets.
fn superstep(test_world: &mut TestWorld, process: &mut Process, index: u64, halted: bool) {
    deliver(test_world, process, start(index));
    let computed = Event::Computed {
        work: Instructions(2_000_000_000),
        time: seconds(2.0),
        halted,
        reductions: Reductions::default(),
    };
    deliver(test_world, process, computed);
    let reception = |set| Reception {
        set: SetId(set),
        bytes: Bytes(100),
        time: seconds(0.25),
    };
    let exchange = Exchange {
        sent: 3,
        received: 2,
        bytes_sent: Bytes(300),
        bytes_received: Bytes(200),
        longest: seconds(0.25),
        receptions: [reception(0), reception(1)].into_iter().collect(),
        incoming: Vec::new(),
    };
    deliver(test_world, process, Event::Exchanged(exchange));
}

#[test]
fn a_superstep_ends_at_whoever_the_barrier_s_shape_says() {
    let arrived = |halted| {
        AgentMessage::Arrived(Arrived {
            superstep: 0,
            processes: 1,
            halted,
            sent: 3,
            received: 2,
            slowest: (seconds(2.0), Rank(1)),
            computation: 2_000_000_000,
            took: Seconds::ZERO,
            checkpoint: false,
            reductions: Reductions::default(),
        })
    };
    let manager = Address::SetManager(SetId(0));
    let node = Address::Node(HostId(0));
    let own = Address::Process(Rank(1));
    let cases = [
        (Shape::Central, manager, Cost::Network(Bytes(8))),
        (Shape::Hierarchical, node, Cost::Free),
        (Shape::Ideal, manager, Cost::Free),
    ];
    for (shape, to, cost) in cases {
        let (mut test_world, mut process) = process(shape, None);
        superstep(&mut test_world, &mut process, 0, false);
        let acts = [
            Act::Run(Rank(1), 0, Seconds::ZERO, Seconds::ZERO),
            Act::Exchange(Rank(1)),
        ];
        assert_eq!(test_world.acts, acts);
        assert_eq!(test_world.sent, [(own, to, arrived(0), cost)], "{shape:?}");

        let (mut test_world, mut process) = self::process(shape, None);
        superstep(&mut test_world, &mut process, 0, true);
        let halted = (own, node, AgentMessage::Halted(Rank(1)), Cost::Free);
        assert_eq!(test_world.sent, [halted, (own, to, arrived(1), cost)]);
        deliver(&mut test_world, &mut process, message(AgentMessage::Finish));
        assert_eq!(test_world.finished, [Rank(1)]);
    }
}

#[test]
fn a_process_that_moves_is_the_one_that_left_and_pays_what_it_owes_once() {
    for payment in [Payment::Transfer, Payment::Migrant] {
        let scheduler = Scheduler {
            payment,
            ..scheduler(|_| {})
        };
        let (mut test_world, mut process) = process(Shape::Central, Some(scheduler.clone()));
        for index in 0..3 {
            superstep(&mut test_world, &mut process, index, false);
        }
        let order = Migrate {
            rank: Rank(1),
            from: HostId(0),
            to: HostId(4),
            epoch: 7,
            deferred_cost: seconds(0.5),
        };
        deliver(
            &mut test_world,
            &mut process,
            message(AgentMessage::Migrate(order)),
        );
        let Some(Act::Depart(departed, agent)) = test_world.acts.last().cloned() else {
            panic!("no process departed")
        };
        assert_eq!(departed, order);
        let mut moved = Process::new(&test_world.rules, Rank(1), HostId(0));
        let arrival = Moved {
            from: Address::Node(HostId(0)),
            agent: agent.into(),
            host: HostId(4),
            epoch: 7,
            measured: MeasuredMove {
                bytes: Bytes(1),
                took: seconds(1.0),
                processing: Seconds::ZERO,
                round_trip: Seconds::ZERO,
            },
        };
        deliver(&mut test_world, &mut moved, Event::Moved(Box::new(arrival)));
        process.host = HostId(4);
        assert_eq!(format!("{moved:?}"), format!("{process:?}"));
        let installed = AgentMessage::Installed(Installed {
            rank: Rank(1),
            host: HostId(4),
            epoch: 7,
            measured: None,
        });
        let (from, to, sent, _) = test_world.sent.last().unwrap();
        assert_eq!(
            (*from, *to),
            (Address::Node(HostId(4)), Address::SetManager(SetId(1)))
        );
        assert_eq!(*sent, installed);

        test_world.acts.clear();
        superstep(&mut test_world, &mut moved, 3, false);
        superstep(&mut test_world, &mut moved, 4, false);
        let owed = match payment {
            Payment::Transfer => Seconds::ZERO,
            Payment::Migrant => seconds(0.5),
        };
        let acts = [
            Act::Run(Rank(1), 3, seconds(2.0), owed),
            Act::Run(Rank(1), 4, seconds(2.0), Seconds::ZERO),
        ];
        let is_run = |act: &Act| matches!(act, Act::Run(..));
        test_world.acts.retain(is_run);
        assert_eq!(test_world.acts, acts, "{payment:?}");
    }
}

#[test]
fn an_evaluation_is_reported_to_the_node_with_what_a_negotiation_needs() {
    let (mut test_world, mut process) = process(Shape::Central, Some(scheduler(|_| {})));
    superstep(&mut test_world, &mut process, 0, false);
    test_world.sent.clear();
    let view = |capacity| model::SetView {
        capacity,
        processes: 2,
        processors: 2,
        transfer_rate: 1e-8,
    };
    let order = Evaluate {
        superstep: 0,
        sets: vec![view(1e9), view(2e9), view(1e9)],
        learned: None,
    };
    deliver(
        &mut test_world,
        &mut process,
        message(AgentMessage::Evaluate(order.into())),
    );
    let [(_, to, AgentMessage::Reported(report), Cost::Free)] = &test_world.sent[..] else {
        panic!("one report: {:?}", test_world.sent)
    };
    assert_eq!(*to, Address::Node(HostId(0)));
    assert_eq!(
        (report.rank, report.host, report.superstep),
        (Rank(1), HostId(0), 0)
    );
    assert_eq!(report.evaluation.potentials.len(), 3);
    assert_eq!(report.entry.target, SetId(1), "the fast Set");
    assert_eq!(report.bytes, Bytes(100), "from there");
    assert_eq!(report.instructions, Instructions(2_000_000_000));
    assert_eq!(report.times.len(), 1);
}

#[test]
fn a_process_that_resumes_keeps_its_superstep_and_what_it_computed_and_nothing_else() {
    let (mut test_world, mut process) = process(Shape::Central, Some(scheduler(|_| {})));
    superstep(&mut test_world, &mut process, 0, false);
    superstep(&mut test_world, &mut process, 1, false);
    let encoded = process.encoded();
    let resume = |test_world: &TestWorld, rank, agent: &[u8]| {
        Process::resume(&test_world.rules, (Rank(rank), HostId(4)), agent)
    };
    // Nothing resumes with superstep 0.
    assert!(resume(&test_world, 1, &encoded).is_err());
    test_world.rules.resumed = Some(Resumed {
        incarnation: 1,
        superstep: 2,
        halted: vec![None; 2],
    });
    let resumed = resume(&test_world, 1, &encoded).unwrap();
    let expected = Process {
        superstep: 1,
        work: process.work,
        computation: seconds(2.0),
        ..Process::new(&test_world.rules, Rank(1), HostId(4))
    };
    assert_eq!(format!("{resumed:?}"), format!("{expected:?}"));
    assert!(resume(&test_world, 0, &encoded).is_err(), "another process");
    assert!(resume(&test_world, 1, b"\x93").is_err());
    process.halted = true;
    assert!(resume(&test_world, 1, &process.encoded()).is_err());
    test_world.rules.resumed = Some(Resumed {
        incarnation: 1,
        superstep: 3,
        halted: vec![None; 2],
    });
    assert!(
        resume(&test_world, 1, &encoded).is_err(),
        "another superstep"
    );
}

#[test]
fn a_traced_process_records_what_it_did_in_each_superstep() {
    let (mut test_world, mut process) = process(Shape::Central, None);
    test_world.rules.traced = true;
    for halted in [false, true] {
        superstep(&mut test_world, &mut process, u64::from(halted), halted);
    }
    let traced = |superstep| {
        record::Event::Traced(record::Traced {
            superstep,
            rank: Rank(1),
            host: HostId(0),
            // The clock stands, and what it computed began before the run.
            started: Instant::START,
            computation: seconds(2.0),
            exchange: Seconds::ZERO,
            sent: Bytes(300),
            received: Bytes(200),
            halted: superstep == 1,
        })
    };
    assert_eq!(test_world.events, [traced(0), traced(1)]);
}
