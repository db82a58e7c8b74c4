use bsp::Reductions;
use bsp::units::Instructions;
use protocol::{EncodedState, Measure, Migrate, Start};

use super::*;
use crate::barrier::{Collection, Shape};
use crate::test_world::{Act, TestWorld};

const HOST: HostId = HostId(1);

/// Two processes on host 1, whose Manager sits on host 0.
fn node(shape: Shape) -> (TestWorld, Node) {
    let world = TestWorld::new(shape, Collection::AsTheyCome, &[0, 1, 1], &[9; 3], None);
    let node = Node::new(&world.rules, HOST, [Rank(1), Rank(2)]);
    (world, node)
}

fn deliver(
    world: &mut TestWorld,
    node: &mut Node,
    message: AgentMessage,
) -> Vec<(Address, AgentMessage)> {
    let (rules, _) = self::node(world.rules.barrier.options().shape);
    let from = Address::SetManager(SetId(0));
    world.sent.clear();
    node.handle(&rules.rules, Event::Message { from, message }, world);
    let sent = world.sent.iter();
    sent.map(|(_, to, message, _)| (*to, message.clone()))
        .collect()
}

fn arrived(rank: u32, halted: u32) -> AgentMessage {
    AgentMessage::Arrived(Arrived {
        superstep: 4,
        processes: 1,
        halted,
        sent: 2,
        received: 1,
        slowest: (Seconds::new(f64::from(rank)).unwrap(), Rank(rank)),
        computation: u64::from(rank),
        took: Seconds::ZERO,
        checkpoint: false,
        reductions: Reductions::default(),
    })
}

const START: AgentMessage = AgentMessage::Start(Start {
    superstep: 5,
    interval: None,
    checkpoint: true,
    reduced: None,
});

#[test]
fn those_who_arrive_are_reported_together_and_told_apart() {
    let (mut world, mut node) = node(Shape::Hierarchical);
    assert_eq!(deliver(&mut world, &mut node, arrived(2, 0)), []);
    assert_eq!(
        deliver(&mut world, &mut node, AgentMessage::Halted(Rank(1))),
        []
    );
    let together = AgentMessage::Arrived(Arrived {
        superstep: 4,
        processes: 2,
        halted: 1,
        sent: 4,
        received: 2,
        slowest: (Seconds::new(2.0).unwrap(), Rank(2)),
        computation: 3,
        took: Seconds::ZERO,
        checkpoint: false,
        reductions: Reductions::default(),
    });
    let manager = Address::SetManager(SetId(0));
    assert_eq!(
        deliver(&mut world, &mut node, arrived(1, 1)),
        [(manager, together)]
    );
    let expected = [
        (Address::Process(Rank(1)), AgentMessage::Finish),
        (Address::Process(Rank(2)), START),
    ];
    assert_eq!(deliver(&mut world, &mut node, START), expected);
    // Only one is waited for now.
    assert_eq!(deliver(&mut world, &mut node, arrived(2, 0)).len(), 1);
}

fn report(rank: u32) -> Report {
    let entry = model::Entry {
        rank: Rank(rank),
        own: SetId(0),
        target: SetId(0),
        potential: Seconds::ZERO,
        receive_time: Seconds::ZERO,
    };
    Report {
        superstep: 4,
        rank: Rank(rank),
        host: HOST,
        evaluation: model::Evaluation {
            own: SetId(0),
            potentials: Vec::new(),
            within: None,
        },
        entry,
        instructions: Instructions::ZERO,
        instructions_resident: Instructions::ZERO,
        bytes: bsp::units::Bytes::ZERO,
        times: model::Times::default(),
        load: None,
        remaining: None,
    }
}

#[test]
fn a_report_waits_for_all_residents_and_is_in_rank_order() {
    let (mut world, mut node) = node(Shape::Central);
    let order = Evaluate {
        superstep: 4,
        sets: Vec::new(),
        learned: None,
    };
    let evaluate = AgentMessage::Evaluate(order.into());
    assert_eq!(deliver(&mut world, &mut node, evaluate.clone()).len(), 2);
    let reported = |rank| AgentMessage::Reported(Box::new(report(rank)));
    assert_eq!(deliver(&mut world, &mut node, reported(2)), []);
    let expected = |ranks: &[u32]| {
        let reports = Reports {
            superstep: 4,
            host: HOST,
            reports: ranks.iter().copied().map(report).collect(),
        };
        [(
            Address::SetManager(SetId(0)),
            AgentMessage::Reports(Box::new(reports)),
        )]
    };
    assert_eq!(
        deliver(&mut world, &mut node, reported(1)),
        expected(&[1, 2])
    );
    // What would be too long for one message comes in several.
    let measured = model::ProcessTimes::new(None, Seconds::ZERO, None);
    let long = |rank| Report {
        times: vec![measured; TIMES_MAX / 2 + 1].into(),
        ..report(rank)
    };
    let reports = |rank| {
        Box::new(Reports {
            superstep: 4,
            host: HOST,
            reports: vec![long(rank)],
        })
    };
    deliver(&mut world, &mut node, evaluate.clone());
    let reported = |rank| AgentMessage::Reported(Box::new(long(rank)));
    assert_eq!(deliver(&mut world, &mut node, reported(2)), []);
    let manager = Address::SetManager(SetId(0));
    let both = [
        (manager, AgentMessage::ReportsBefore(reports(1))),
        (manager, AgentMessage::Reports(reports(2))),
    ];
    assert_eq!(deliver(&mut world, &mut node, reported(1)), both);
    // Halted processes are not asked; without processes the report is empty.
    deliver(&mut world, &mut node, AgentMessage::Halted(Rank(1)));
    deliver(&mut world, &mut node, AgentMessage::Halted(Rank(2)));
    assert_eq!(deliver(&mut world, &mut node, evaluate), expected(&[]));
}

#[test]
fn a_process_leaves_before_its_state_and_lives_where_that_comes_to() {
    let (mut world, mut node) = node(Shape::Hierarchical);
    let order = Migrate {
        rank: Rank(1),
        from: HOST,
        to: HostId(2),
        epoch: 1,
        deferred_cost: Seconds::ZERO,
    };
    let sent = deliver(&mut world, &mut node, AgentMessage::Migrate(order));
    assert_eq!(
        sent,
        [(Address::Process(Rank(1)), AgentMessage::Migrate(order))]
    );
    assert_eq!(deliver(&mut world, &mut node, START).len(), 1);
    let state = EncodedState {
        rank: Rank(0),
        epoch: 1,
        agent: 0,
        declared: None,
        payload: bytes::Bytes::new(),
    };
    deliver(&mut world, &mut node, AgentMessage::State(Box::new(state)));
    assert_eq!(world.acts, [Act::Install(HOST, Rank(0))]);
    assert_eq!(deliver(&mut world, &mut node, START).len(), 2);
}

#[test]
fn a_host_is_measured() {
    let (mut world, mut node) = node(Shape::Ideal);
    let sent = deliver(
        &mut world,
        &mut node,
        AgentMessage::Measure(Measure { superstep: 4 }),
    );
    let measured = AgentMessage::Measured(Measured {
        superstep: 4,
        host: HOST,
        speed: bsp::units::InstructionsPerSecond::new(1e9).unwrap(),
        cores: 1,
        load: 0.0,
        load_recent: 0.0,
        more: Measurements::default(),
    });
    assert_eq!(sent, [(Address::SetManager(SetId(0)), measured)]);
}
