//! Members of a cluster that send any valid message at any time.

mod external;

use bytes::Bytes;
use model::{CostCoefficients, HostLink, LinkProbe, MeasuredMove, Measurements, ProbedLink};
use proptest::prelude::*;
use protocol::{Installed, LinkProbed, ProbeLink};
use serde_json::{Number, Value};

use crate::message_check::RunShape;
use crate::set_manager::tests::*;

type Sent = (Address, Address, AgentMessage);

/// Numbers from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count.max(1)).unwrap()).unwrap()
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn address(&mut self) -> Address {
        let index = self.of(&[0, 0, 1, 2, 3, 4, 5, 6, 7, u32::MAX]);
        match self.below(3) {
            0 => Address::Process(Rank(index)),
            1 => Address::Node(HostId(index)),
            _ => Address::SetManager(SetId(index)),
        }
    }
}

/// Calls `change` for the number or list at position `at` in `value`, counted from its root; false if there are fewer.
fn change_at(value: &mut Value, at: &mut usize, change: &mut dyn FnMut(&mut Value)) -> bool {
    if matches!(value, Value::Number(_) | Value::Array(_)) {
        if *at == 0 {
            change(value);
            return true;
        }
        *at -= 1;
    }
    match value {
        Value::Array(values) => values.iter_mut().any(|value| change_at(value, at, change)),
        Value::Object(values) => values
            .values_mut()
            .any(|value| change_at(value, at, change)),
        _ => false,
    }
}

/// `value` with another number or a list of another length somewhere.
fn changed(mut value: Value, draw: &mut Draw) -> Value {
    let mut at = draw.below(12);
    let mut change = |value: &mut Value| match value {
        Value::Number(number) if number.is_f64() => {
            let floats = [0.0, 1.0, -1.0, 1e60, -1e60, 1e-120, 1e18, 3.5];
            *number = Number::from_f64(draw.of(&floats)).unwrap();
        }
        Value::Number(number) => {
            *number = draw
                .of(&[
                    0,
                    1,
                    2,
                    3,
                    4,
                    5,
                    6,
                    999,
                    1000,
                    1 << 31,
                    u64::from(u32::MAX),
                    u64::MAX,
                ])
                .into();
        }
        Value::Array(values) => match draw.below(3) {
            0 => values.clear(),
            1 => drop(values.pop()),
            _ => values.extend(values.last().cloned()),
        },
        _ => {}
    };
    change_at(&mut value, &mut at, &mut change);
    value
}

/// A message like one of `sent`; `None` if the changed one is no message.
fn message(sent: &[Sent], draw: &mut Draw) -> Option<Sent> {
    let (mut from, mut to, mut message) = sent.get(draw.below(sent.len()))?.clone();
    if draw.below(4) == 0 {
        from = draw.address();
    }
    if draw.below(4) == 0 {
        to = draw.address();
    }
    for _ in 0..draw.below(3) {
        message = match message {
            AgentMessage::State(mut image) => {
                let mut agent = image.payload.to_vec();
                let at = draw.below(agent.len());
                if let Some(byte) = agent.get_mut(at) {
                    *byte = draw.next().to_le_bytes()[0];
                }
                image.payload = Bytes::from(agent);
                AgentMessage::State(image)
            }
            message => {
                let value = changed(serde_json::to_value(&message).unwrap(), draw);
                serde_json::from_value(value).ok()?
            }
        };
    }
    Some((from, to, message))
}

/// Whether the node of `to` accepts a message, as its world decides.
fn is_accepted(test_world: &TestWorld, (from, to, message): &Sent) -> bool {
    if let AgentMessage::State(image) = message {
        let ranks = test_world.rules.placement.len();
        let exists = image.rank.index() < ranks;
        return exists
            && *from == Address::Node(test_world.host(image.rank))
            && matches!(to, Address::Node(host) if host.index() < test_world.rules.sets.len());
    }
    let shape = RunShape {
        rules: &test_world.rules,
        superstep_limit: 1000,
    };
    shape.check_message((*from, *to), message).is_ok()
}

/// A run in which other messages arrive between those of the agents. It goes on until its first error.
fn disturbed(mut test_world: TestWorld, sent: &[Sent], draw: &mut Draw) {
    let mut agents = test_world.agents();
    test_world.keep_errors();
    test_world.start();
    for _ in 0..600 {
        if draw.below(4) == 0 {
            let Some(sent) = message(sent, draw) else {
                continue;
            };
            if is_accepted(&test_world, &sent) {
                let (from, to, message) = sent;
                test_world.deliver(&mut agents, to, Event::Message { from, message });
            }
        } else if !test_world.step(&mut agents, &mut |count| draw.below(count)) {
            return;
        }
        if test_world.error().is_some() {
            return;
        }
    }
}

/// A run whose Managers learn what moves cost, or do not.
fn learning(source: CostSource) -> TestWorld {
    let scheduler = scheduler(|parameters| parameters.migration.source = source);
    TestWorld::new(
        Shape::ALL[1],
        Collection::AsTheyCome,
        &[0, 3],
        &[1, 1],
        Some(scheduler),
    )
}

#[test]
fn moves_that_cannot_be_are_refused() {
    let seconds = |value| Seconds::new(value).unwrap();
    let possible = MeasuredMove {
        bytes: Bytes(1000),
        took: seconds(0.5),
        processing: seconds(0.25),
        round_trip: seconds(0.001),
    };
    let is_accepted = |test_world: &TestWorld, measured| {
        let installed = AgentMessage::Installed(Installed {
            rank: Rank(0),
            host: HostId(0),
            epoch: 1,
            measured,
        });
        let manager = Address::SetManager(test_world.rules.sets[0]);
        is_accepted(test_world, &(Address::Node(HostId(0)), manager, installed))
    };
    let (learned, stated) = (learning(CostSource::Learned), learning(CostSource::Stated));
    assert!(is_accepted(&learned, Some(possible)));
    assert!(is_accepted(&stated, None));
    assert!(!is_accepted(&learned, None), "it has to be measured");
    assert!(!is_accepted(&stated, Some(possible)), "it is not asked for");
    let bytes = [0, (1 << 53) + 1, 1 << 63, u64::MAX].map(|bytes| MeasuredMove {
        bytes: Bytes(bytes),
        ..possible
    });
    let times = [-1.0, 0.0, 0.2, -1e300].map(|took| MeasuredMove {
        took: seconds(took),
        ..possible
    });
    let parts = [
        MeasuredMove {
            processing: seconds(-0.1),
            ..possible
        },
        MeasuredMove {
            processing: seconds(0.6),
            ..possible
        },
        MeasuredMove {
            round_trip: seconds(-0.1),
            ..possible
        },
    ];
    for measured in bytes.iter().chain(&times).chain(&parts) {
        assert!(!is_accepted(&learned, Some(*measured)), "{measured:?}");
    }
}

#[test]
fn links_and_coefficients_that_cannot_be_are_refused() {
    let learned = learning(CostSource::Learned);
    let (node, manager) = (Address::Node(HostId(0)), Address::SetManager(SetId(0)));
    let measured = |links: &[(u32, u32, f64)]| {
        let link = |(from, to, per_byte): &(u32, u32, f64)| HostLink {
            from: HostId(*from),
            to: HostId(*to),
            per_byte: *per_byte,
        };
        let measured = protocol::Measured {
            superstep: 0,
            host: HostId(0),
            speed: bsp::units::InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.0,
            load_recent: 0.0,
            more: Measurements {
                links: links.iter().map(link).collect(),
                external: Vec::new(),
            },
        };
        let message = AgentMessage::Measured(measured);
        is_accepted(&learned, &(node, manager, message))
    };
    assert!(measured(&[(0, 1, 1e-9), (0, 3, 1e-8)]));
    for links in [
        [(1, 2, 1e-9)],
        [(0, 99, 1e-9)],
        [(0, 1, 0.0)],
        [(0, 1, -1.0)],
        [(0, 1, f64::INFINITY)],
        [(0, 1, f64::NAN)],
    ] {
        assert!(!measured(&links), "{links:?}");
    }
    assert!(!measured(&[(0, 3, 1e-9), (0, 1, 1e-9)]), "not in order");
    assert!(!measured(&[(0, 1, 1e-9), (0, 1, 1e-9)]), "twice");
    let capacity = |overlap, processing| {
        let capacity = protocol::Capacity {
            superstep: 0,
            set: SetId(1),
            capacity: 1e9,
            processes: 1,
            processors: 1,
            learned: Some(CostCoefficients {
                startup: Seconds::ZERO,
                overlap,
                processing,
                steady: None,
            }),
        };
        let message = AgentMessage::Capacity(Box::new(capacity));
        is_accepted(&learned, &(Address::SetManager(SetId(1)), manager, message))
    };
    assert!(capacity(1.0, 0.0));
    assert!(!capacity(-1.0, 0.0) && !capacity(f64::NAN, 0.0) && !capacity(1.0, f64::INFINITY));
}

#[test]
fn probes_of_links_that_cannot_be_are_refused() {
    let (learned, stated) = (learning(CostSource::Learned), learning(CostSource::Stated));
    let manager = Address::SetManager(SetId(0));
    let order = |world: &TestWorld, to: u32, (from, other): (u32, u32), budget: f64| {
        let probe = LinkProbe {
            from: HostId(from),
            to: HostId(other),
            budget: Seconds::new(budget).unwrap(),
        };
        let order = AgentMessage::ProbeLink(ProbeLink {
            superstep: 0,
            probe,
        });
        is_accepted(world, &(manager, Address::Node(HostId(to)), order))
    };
    assert!(order(&learned, 0, (0, 3), 0.5));
    assert!(!order(&stated, 0, (0, 3), 0.5), "no cost is learned");
    assert!(!order(&learned, 0, (1, 3), 0.5), "the link of another host");
    assert!(!order(&learned, 0, (0, 0), 0.5) && !order(&learned, 0, (0, 99), 0.5));
    assert!(!order(&learned, 0, (0, 3), -0.5));
    assert!(
        !order(&learned, 3, (3, 0), 0.5),
        "a host of another Set, and no plan"
    );
    let probed = |world: &TestWorld, node: u32, per_byte: f64| {
        let link = ProbedLink {
            from: HostId(0),
            to: HostId(3),
            per_byte,
            took: Seconds::ZERO,
        };
        let probed = LinkProbed { superstep: 0, link };
        let message = AgentMessage::LinkProbed(probed);
        is_accepted(world, &(Address::Node(HostId(node)), manager, message))
    };
    assert!(probed(&learned, 0, 1e-9));
    assert!(!probed(&stated, 0, 1e-9) && !probed(&learned, 1, 1e-9));
    for per_byte in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(!probed(&learned, 0, per_byte), "{per_byte}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_agent_panics_whatever_valid_messages_arrive(
        (hosts, halts) in processes(),
        scheduler in schedulers(),
        shape in 0..Shape::ALL.len(),
        seed in any::<u64>(),
    ) {
        let test_world = || TestWorld::new(Shape::ALL[shape], Collection::AsTheyCome, &hosts, &halts, scheduler.clone());
        let mut honest = test_world();
        let mut agents = honest.agents();
        honest.play(&mut agents, |_| 0);
        let sent: Vec<Sent> = honest.sent.into_iter().map(|(from, to, message, _)| (from, to, message)).collect();
        let mut draw = Draw(seed);
        for _ in 0..4 {
            disturbed(test_world(), &sent, &mut draw);
        }
    }
}
