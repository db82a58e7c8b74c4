//! Every workload keeps the laws of programs: above all, moving a process after every superstep
//! changes nothing.

use bsp::testing::check;
use workloads::{Common, heat, lbm, lu, smith_waterman, synthetic};

const COMMON: Common = Common {
    processes: 7,
    supersteps: Some(70),
    seed: 3,
};

/// For programs that end by themselves.
const ENDING: Common = Common {
    supersteps: None,
    ..COMMON
};

#[test]
fn lattice_boltzmann() {
    check(|| lbm::processes(&lbm::Parameters::default(), COMMON).unwrap());
}

#[test]
fn smith_waterman_wavefront() {
    check(|| smith_waterman::processes(&smith_waterman::Parameters::default(), COMMON).unwrap());
}

#[test]
fn lu_decomposition() {
    let parameters = lu::Parameters {
        order: 31,
        ..lu::Parameters::default()
    };
    check(|| lu::processes(&parameters, COMMON).unwrap());
}

#[test]
fn lattice_boltzmann_kernel() {
    use lbm::kernel::{Case, Parameters};
    for case in [Case::Cavity, Case::Poiseuille] {
        let parameters = Parameters {
            case,
            width: 20,
            height: 9,
            ..Parameters::default()
        };
        check(|| lbm::kernel::processes(&parameters, COMMON).unwrap());
    }
}

#[test]
fn heat_on_a_plate() {
    let parameters = heat::Parameters {
        width: 11,
        height: 24,
        mode: [2, 3],
        ..heat::Parameters::default()
    };
    check(|| heat::processes(&parameters, COMMON).unwrap());
}

#[test]
fn smith_waterman_kernel() {
    let parameters = smith_waterman::kernel::Parameters {
        length: 60,
        blocks: Some(5),
        ..smith_waterman::kernel::Parameters::default()
    };
    let pair = parameters.drawn(ENDING.seed).unwrap();
    check(|| smith_waterman::kernel::processes(&parameters, &pair, ENDING).unwrap());
}

#[test]
fn lu_decomposition_kernel() {
    for pivoting in [true, false] {
        let parameters = lu::kernel::Parameters {
            order: 13,
            diagonal: if pivoting { 0.0 } else { 13.0 },
            pivoting,
            rows: Some(7),
            ..lu::kernel::Parameters::default()
        };
        let matrix = parameters.drawn(ENDING.seed).unwrap();
        check(|| lu::kernel::processes(&parameters, &matrix, ENDING).unwrap());
    }
}

#[test]
fn every_kind_of_synthetic_load() {
    for kind in ["steady", "noise", "drift", "jump", "hotspot"] {
        let text = format!(
            "instructions = [1e6, 2.5e6]\nbytes = [0, 7, 1e5]\nshifts = [-1, 0, 3, 3]\nring = true\n\
             [dynamics]\nkind = '{kind}'\njitter = 0.3"
        );
        let parameters: synthetic::Parameters = toml::from_str(&text).unwrap();
        check(|| synthetic::processes(&parameters, COMMON).unwrap());
    }
}
