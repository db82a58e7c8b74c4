//! Moving a process after every superstep changes nothing.

use std::fmt::Debug;

use bsp::reference::{self, execute};
use bsp::{Envelope, Inbox, Outbox, Program, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;
use workloads::{Common, lbm, lu, smith_waterman, synthetic};

const COMMON: Common = Common {
    processes: 7,
    supersteps: Some(70),
    seed: 3,
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

fn check<P: Program<Output: Debug + PartialEq>>(processes: impl Fn() -> Vec<P>) {
    let expected =
        reference::run(processes(), reference::Limit::default()).expect("these are good programs");
    assert_eq!(run_moving(processes()), expected.outputs);
}

/// Runs `processes` as the reference does, except that each state goes through its encoding between
/// two supersteps.
fn run_moving<P: Program>(mut processes: Vec<P>) -> Vec<P::Output> {
    let size = u32::try_from(processes.len()).expect("seven");
    let mut inboxes: Vec<Inbox<P::Message>> = processes.iter().map(|_| Inbox::default()).collect();
    for superstep in 0.. {
        let mut next: Vec<_> = processes.iter().map(|_| Inbox::default()).collect();
        let mut outputs = Vec::new();
        for (index, process) in processes.iter_mut().enumerate() {
            let rank = bsp::Rank::from_index(index);
            let mut outbox = Outbox::default();
            let inbox = &mut inboxes[index];
            *process = moved(process);
            match execute(process, (rank, size), superstep, inbox, &mut outbox)
                .expect("these programs do not panic")
            {
                Step::Continue => {}
                Step::Halt(output) => outputs.push(output),
            }
            for (to, envelope) in outbox.sends {
                let inbox: &mut Inbox<_> = &mut next[to.index()];
                match envelope {
                    Envelope::Value(message) => inbox.messages.push((rank, message)),
                    Envelope::Sized(bytes) => inbox.sized.push((rank, bytes)),
                }
            }
        }
        if !outputs.is_empty() {
            assert_eq!(outputs.len(), processes.len(), "all halt together");
            return outputs;
        }
        inboxes = next;
    }
    unreachable!("these programs halt")
}

fn moved<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let encoded = rmp_serde::to_vec(value).expect("a state can be encoded");
    rmp_serde::from_slice(&encoded).expect("what was encoded can be decoded")
}
