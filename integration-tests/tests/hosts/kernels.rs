//! Programs with real data compute the same on real hosts as anywhere.

use agents::{Payment, Scheduler, Script, Shape};
use bsp::reference::{self, Limit};
use bsp::units::Seconds;
use bsp::{HostId, Program, Rank};
use record::Event;
use serde::Serialize;
use workloads::Common;
use workloads::{lbm, lu, smith_waterman};

use crate::cluster::Cluster;
use crate::gradients::solvers;

const SHAPES: [Shape; 2] = [Shape::Hierarchical, Shape::Central];

/// Calls after every superstep, and moves what the script says.
fn scripted(script: Script) -> Scheduler {
    let parameters = model::Parameters {
        interval: 1,
        tolerance: 1e-9,
        omega: u32::MAX,
        ..model::Parameters::default()
    };
    Scheduler {
        model: model::Config::new(parameters).unwrap(),
        payment: Payment::Transfer,
        script: Some(script),
        ..Scheduler::default()
    }
}

/// Without moves, and with every process moved after every superstep, outputs are the reference runner's.
fn check<P: Program>(cluster: &Cluster, processes: impl Fn() -> Vec<P>) {
    let expected = reference::run(processes(), Limit::default()).unwrap();
    let size = u32::try_from(processes().len()).unwrap();
    let hosts = u64::try_from(cluster.members.len()).unwrap();
    let orders = |superstep: u64| {
        let host = |rank: u32| {
            let host = (superstep * 7 + u64::from(rank) * 5) % hosts;
            HostId(u32::try_from(host).unwrap())
        };
        (0..size).map(|rank| (Rank(rank), host(rank))).collect()
    };
    let moves = (1..expected.supersteps).map(|superstep| (superstep, orders(superstep)));
    let script = Script(moves.collect());
    for shape in SHAPES {
        let (alone, _) = cluster
            .run(&cluster.setup(size, shape, None), processes())
            .unwrap();
        assert_eq!(alone.end.supersteps, expected.supersteps, "{shape:?}");
        assert!(
            bits(&alone.outputs.typed::<P>()) == bits(&expected.outputs),
            "{shape:?}"
        );

        let setup = cluster.setup(size, shape, Some(scripted(script.clone())));
        let (moved, events) = cluster.run(&setup, processes()).unwrap();
        let moves: usize = moved.calls.iter().map(|call| call.migrations.len()).sum();
        assert!(
            usize::try_from(expected.supersteps).unwrap() <= moves,
            "{shape:?}: {moves}"
        );
        assert!(
            bits(&moved.outputs.typed::<P>()) == bits(&expected.outputs),
            "{shape:?}"
        );
        let measured = events.iter().filter(|event| check_move(event)).count();
        assert_eq!(measured, moves, "{shape:?}");
    }
}

/// Whether `event` is a move. Its parts overlap, so it takes at least as long as each of them, and at most as long as all
/// of them and a round trip.
fn check_move(event: &Event) -> bool {
    let Event::Moved(moved) = event else {
        return false;
    };
    let (times, parts) = (moved.times.unwrap(), moved.parts.unwrap());
    let overlapping = [times.packed, times.sent, times.unpacked].map(Seconds::get);
    let (took, sum) = (moved.took.get(), overlapping.iter().sum::<f64>());
    let longest = overlapping.into_iter().fold(0.0, f64::max);
    assert!(longest <= took + ROUNDING, "{moved:?}");
    assert!(
        took <= sum + times.round_trip.get() + SWITCHING,
        "{moved:?}"
    );
    assert!(moved.took <= times.frozen, "{moved:?}");
    let parts = parts.agent.0 + parts.messages.0 + parts.program.0;
    assert!(0 < parts && parts < moved.bytes.0, "{moved:?}");
    true
}

/// Seconds that rounding to nanoseconds changes.
const ROUNDING: f64 = 1e-7;

/// Seconds that threads may wait for a processor between the parts of a move: the tests of other clusters run beside
/// these.
const SWITCHING: f64 = 1.0;

#[test]
fn a_lattice_moves_after_every_superstep() {
    let cluster = Cluster::start(&[2, 2]);
    let parameters = lbm::kernel::Parameters {
        width: 23,
        height: 12,
        ..lbm::kernel::Parameters::default()
    };
    let common = Common {
        processes: 7,
        supersteps: Some(15),
        seed: 0,
    };
    check(&cluster, || {
        lbm::kernel::processes(&parameters, common).unwrap()
    });
}

#[test]
fn an_alignment_moves_after_every_superstep() {
    let cluster = Cluster::start(&[1, 2]);
    let parameters = smith_waterman::kernel::Parameters {
        length: 90,
        blocks: Some(11),
        ..smith_waterman::kernel::Parameters::default()
    };
    let pair = parameters.drawn(COMMON.seed).unwrap();
    check(&cluster, || {
        smith_waterman::kernel::processes(&parameters, &pair, COMMON).unwrap()
    });
}

#[test]
fn a_matrix_moves_after_every_superstep() {
    let cluster = Cluster::start(&[3]);
    let parameters = lu::kernel::Parameters {
        order: 17,
        diagonal: 0.0,
        pivoting: true,
        rows: Some(7),
        ..lu::kernel::Parameters::default()
    };
    let matrix = parameters.drawn(COMMON.seed).unwrap();
    check(&cluster, || {
        lu::kernel::processes(&parameters, &matrix, COMMON).unwrap()
    });
}

#[test]
fn conjugate_gradients_move_after_every_superstep() {
    let cluster = Cluster::start(&[2, 2]);
    check(&cluster, solvers);
}

const COMMON: Common = Common {
    processes: 7,
    supersteps: None,
    seed: 5,
};

/// Floats as they are: text of JSON tells any two apart.
fn bits(outputs: &impl Serialize) -> String {
    serde_json::to_string(outputs).unwrap()
}
