//! External loads that cannot be.

use model::ExternalLoad;

use super::*;

/// A possible external load of a host.
fn external(host: u32) -> ExternalLoad {
    let age = |value| Seconds::new(value).unwrap();
    ExternalLoad {
        host: HostId(host),
        utilisation: 0.5,
        since: 1.0,
        arrivals: 0.25,
        present: 0.5,
        ages: vec![age(90.0), age(0.0)],
    }
}

/// External loads of host `host` that cannot be, each with the reason.
fn impossible(host: u32) -> Vec<(&'static str, ExternalLoad)> {
    let possible = || external(host);
    let mut loads = Vec::new();
    for value in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
        let (mut utilisation, mut since, mut present) = (possible(), possible(), possible());
        utilisation.utilisation = value;
        since.since = value;
        present.present = value;
        loads.extend([
            ("utilisation", utilisation),
            ("since", since),
            ("present", present),
        ]);
    }
    for arrivals in [f64::NAN, -1.0, f64::INFINITY] {
        let possible = possible();
        loads.push((
            "arrivals",
            ExternalLoad {
                arrivals,
                ..possible
            },
        ));
    }
    let negative = Seconds::new(-1.0).unwrap();
    for ages in [vec![negative], vec![Seconds::ZERO; 65]] {
        let possible = possible();
        loads.push(("ages", ExternalLoad { ages, ..possible }));
    }
    loads
}

#[test]
fn external_loads_of_a_host_that_cannot_be_are_refused() {
    let world = learning(CostSource::Stated);
    let (node, manager) = (Address::Node(HostId(0)), Address::SetManager(SetId(0)));
    let measured = |external: Vec<ExternalLoad>| {
        let measured = protocol::Measured {
            superstep: 0,
            host: HostId(0),
            speed: bsp::units::InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.0,
            load_recent: 0.0,
            more: Measurements {
                links: Vec::new(),
                external,
            },
        };
        let message = AgentMessage::Measured(measured);
        is_accepted(&world, &(node, manager, message))
    };
    assert!(measured(Vec::new()) && measured(vec![external(0)]));
    let mut longest = external(0);
    longest.ages = vec![Seconds::ZERO; ExternalLoad::AGES_MAX];
    assert!(measured(vec![longest]));
    for (what, load) in impossible(0) {
        assert!(!measured(vec![load.clone()]), "{what}: {load:?}");
    }
    assert!(!measured(vec![external(1)]), "that of another host");
    assert!(!measured(vec![external(0), external(0)]), "twice");
    assert!(!measured(vec![external(0), external(1)]));
}

#[test]
fn external_loads_of_a_set_that_cannot_be_are_refused() {
    let world = learning(CostSource::Stated);
    let sets = (0..).zip(&world.rules.sets);
    let own = sets.filter(|(_, set)| **set == SetId(1));
    let own: Vec<u32> = own.map(|(host, _)| host).collect();
    let inventory = |external: Vec<ExternalLoad>| {
        let processor = |host: &u32| model::Processor {
            host: HostId(*host),
            speed: bsp::units::InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.0,
            residents: Vec::new(),
        };
        let inventory = model::Inventory {
            processors: own.iter().map(processor).collect(),
            loads: Vec::new(),
            rates: vec![1e-9; 3],
            paths: Vec::new(),
            barrier: model::BarrierTime::Ideal,
            measured: Measurements {
                links: Vec::new(),
                external,
            },
        };
        let report = SetReport {
            superstep: 0,
            set: SetId(1),
            interval: None,
            tolerance: None,
            entries: Arc::default(),
            digests: Vec::new(),
            barrier_busy: Vec::new(),
            inventory: Some(inventory),
            remaining: None,
        };
        let message = AgentMessage::SetReport(Box::new(report));
        let (from, to) = (Address::SetManager(SetId(1)), Address::SetManager(SetId(0)));
        is_accepted(&world, &(from, to, message))
    };
    let (first, second) = (own[0], own[1]);
    assert!(inventory(Vec::new()));
    assert!(inventory(vec![external(first), external(second)]));
    for (what, load) in impossible(second) {
        let loads = vec![external(first), load];
        assert!(!inventory(loads.clone()), "{what}: {loads:?}");
    }
    for loads in [[second, first], [first, first], [first, 99], [0, first]] {
        assert!(!inventory(loads.map(external).to_vec()), "{loads:?}");
    }
}
