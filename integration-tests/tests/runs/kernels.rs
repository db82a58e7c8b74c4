//! Programs with real data compute the same wherever they are.

use agents::{Payment, Script, simulate};
use bsp::reference::{self, Limit};
use bsp::{HostId, Program, Rank};
use serde::Serialize;
use workloads::Common;
use workloads::lbm::kernel::{self, Case};

use crate::setups::{SHAPES, scripted, setup};

#[test]
fn a_lattice_moves_after_every_superstep() {
    let supersteps = 15;
    for case in [Case::Cavity, Case::Poiseuille] {
        let parameters = kernel::Parameters {
            case,
            width: 23,
            height: 12,
            ..kernel::Parameters::default()
        };
        let common = Common {
            processes: 7,
            supersteps: Some(supersteps),
            seed: 0,
        };
        check(|| kernel::processes(&parameters, common).unwrap());
    }
}

/// Moves every process after every superstep, and compares the outputs with the reference runner's,
/// bit by bit.
fn check<P: Program>(processes: impl Fn() -> Vec<P>) {
    let expected = reference::run(processes(), Limit::default()).unwrap();
    let size = u32::try_from(processes().len()).unwrap();
    let orders = |superstep: u64| {
        let host = |rank: u32| {
            let host = (superstep * 53 + u64::from(rank) * 29) % 174;
            HostId(u32::try_from(host).unwrap())
        };
        (0..size).map(|rank| (Rank(rank), host(rank))).collect()
    };
    let moves = (1..expected.supersteps).map(|superstep| (superstep, orders(superstep)));
    let script = Script(moves.collect());
    for shape in SHAPES {
        let scheduler = scripted(script.clone(), Payment::Transfer);
        let setup = setup(size, 0, shape, Some(scheduler));
        let outcome = simulate(&setup, processes(), &mut |_| {}).unwrap();
        let moved: usize = outcome.calls.iter().map(|call| call.migrations.len()).sum();
        let calls = usize::try_from(expected.supersteps).unwrap() - 1;
        assert_eq!(moved, calls * processes().len(), "{shape:?}");
        assert_eq!(outcome.supersteps, expected.supersteps, "{shape:?}");
        assert!(
            bits(&outcome.outputs) == bits(&expected.outputs),
            "{shape:?}"
        );
    }
}

/// Floats as they are: text of JSON tells any two apart.
fn bits(outputs: &impl Serialize) -> String {
    serde_json::to_string(outputs).unwrap()
}
