//! Programs with real data compute the same wherever they are.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use agents::{Payment, Programs, Script};
use bsp::reference::{self, Limit};
use bsp::{HostId, Program, Rank, Threads};
use serde::Serialize;
use simulated::simulate;
use workloads::Common;
use workloads::lbm::kernel::Case;
use workloads::{lbm, lu, smith_waterman};

use crate::gradients::solvers;
use crate::setups::{SHAPES, scripted, setup};

#[test]
fn a_lattice_moves_after_every_superstep() {
    let supersteps = 15;
    for case in [Case::Cavity, Case::Poiseuille] {
        let parameters = lbm::kernel::Parameters {
            case,
            width: 23,
            height: 12,
            ..lbm::kernel::Parameters::default()
        };
        let common = Common {
            processes: 7,
            supersteps: Some(supersteps),
            seed: 0,
        };
        let moved = check(|| lbm::kernel::processes(&parameters, common).unwrap());
        assert_eq!(moved, 14 * 7);
    }
}

#[test]
fn an_alignment_moves_after_every_superstep() {
    let parameters = smith_waterman::kernel::Parameters {
        length: 90,
        blocks: Some(11),
        ..smith_waterman::kernel::Parameters::default()
    };
    let pair = parameters.drawn(COMMON.seed).unwrap();
    check(|| smith_waterman::kernel::processes(&parameters, &pair, COMMON).unwrap());
}

#[test]
fn a_matrix_moves_in_every_call() {
    for pivoting in [true, false] {
        let parameters = lu::kernel::Parameters {
            order: 17,
            diagonal: if pivoting { 0.0 } else { 17.0 },
            pivoting,
            rows: Some(7),
            ..lu::kernel::Parameters::default()
        };
        let matrix = parameters.drawn(COMMON.seed).unwrap();
        // Processes without work are balanced, and the next call comes a superstep later.
        check(|| lu::kernel::processes(&parameters, &matrix, COMMON).unwrap());
    }
}

#[test]
fn a_matrix_without_a_pivot_is_reported_wherever_processes_are() {
    let parameters = lu::kernel::Parameters::default();
    let matrix = workloads::Matrix::from_csv(b"1, 2, 3\n2, 4, 6\n1, 1, 1\n").unwrap();
    check(|| lu::kernel::processes(&parameters, &matrix, COMMON).unwrap());
}

#[test]
fn conjugate_gradients_move_after_every_superstep() {
    check(solvers);
}

const COMMON: Common = Common {
    processes: 7,
    supersteps: None,
    seed: 5,
};

/// Moves every process after every superstep until it halts, and compares the outputs with the
/// reference runner's, bit by bit; how many moves that were.
fn check<P: Program>(processes: impl Fn() -> Vec<P>) -> usize {
    let expected = reference::run(processes(), Limit::default()).unwrap();
    let size = u32::try_from(processes().len()).unwrap();
    for threads in [1, 2, 3, 8] {
        let threads = Threads::new(NonZeroUsize::new(threads).unwrap());
        let run = threads.run(processes(), Limit::default()).unwrap();
        assert_eq!(run.supersteps, expected.supersteps, "{threads:?}");
        assert!(bits(&run.outputs) == bits(&expected.outputs), "{threads:?}");
    }
    let orders = |superstep: u64| {
        let host = |rank: u32| {
            let host = (superstep * 53 + u64::from(rank) * 29) % 174;
            HostId(u32::try_from(host).unwrap())
        };
        (0..size).map(|rank| (Rank(rank), host(rank))).collect()
    };
    let moves = (1..expected.supersteps).map(|superstep| (superstep, orders(superstep)));
    let script = Script(moves.collect());
    let mut moves = BTreeSet::new();
    for shape in SHAPES {
        let scheduler = scripted(script.clone(), Payment::Transfer);
        let setup = setup(size, 0, shape, Some(scheduler));
        let outcome = simulate(&setup, Programs::new(processes()), &mut |_| {}).unwrap();
        let moved: usize = outcome.calls.iter().map(|call| call.migrations.len()).sum();
        let calls = usize::try_from(expected.supersteps).unwrap() - 1;
        assert!(calls <= moved, "{shape:?}");
        moves.insert(moved);
        assert_eq!(outcome.end.supersteps, expected.supersteps, "{shape:?}");
        assert!(
            bits(&outcome.outputs.typed::<P>()) == bits(&expected.outputs),
            "{shape:?}"
        );
    }
    assert_eq!(moves.len(), 1, "the moves do not depend on the barrier");
    moves.into_iter().sum()
}

/// Floats as they are: text of JSON tells any two apart.
fn bits(outputs: &impl Serialize) -> String {
    serde_json::to_string(outputs).unwrap()
}
