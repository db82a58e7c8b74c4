//! A broadcast on the simulated network.

use agents::{Programs, Setup, Shape, TransferStart};
use bsp::units::Instructions;
use bsp::{BoxError, HostId, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::setups::{STARTS, setup};

/// Process 0 sends a value to all others, in one of three ways; each computes for as long as its rank says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Sender {
    Broadcasts,
    SendsToAll,
    SendsToOne,
}

impl Program for Sender {
    type Message = Vec<u8>;
    type Output = u32;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Vec<u8>>) -> Result<Step<u32>, BoxError> {
        ctx.charge(Instructions(1000 * u64::from(ctx.rank().0)));
        let value = vec![7; 1 << 20];
        if ctx.index() == 0 && ctx.rank() == Rank(0) {
            match self {
                Self::Broadcasts => ctx.broadcast(&value)?,
                Self::SendsToAll => {
                    for to in 1..ctx.size() {
                        ctx.send(Rank(to), value.clone());
                    }
                }
                Self::SendsToOne => ctx.send(Rank(1), value),
            }
        }
        match ctx.index() {
            0 | 1 => Ok(Step::Continue),
            _ => Ok(Step::Halt(0)),
        }
    }
}

fn seconds(start: TransferStart, placement: &[u32], sender: Sender) -> f64 {
    let size = u32::try_from(placement.len()).unwrap();
    let setup = Setup {
        start,
        placement: placement.iter().copied().map(HostId).collect(),
        ..setup(size, 0, Shape::Ideal, None)
    };
    let outcome = simulate(
        &setup,
        Programs::new(vec![sender; placement.len()]),
        &mut |_| {},
    )
    .unwrap();
    outcome.end.seconds.get()
}

#[test]
fn a_value_to_all_processes_of_a_host_travels_once() {
    for start in STARTS {
        // Process 0 alone on a host, all others on another one of the same cluster.
        let two = [0, 1, 1, 1, 1, 1];
        let [all, each, one] = [Sender::Broadcasts, Sender::SendsToAll, Sender::SendsToOne]
            .map(|sender| seconds(start, &two, sender));
        // Under rendezvous the transfer begins when the first receiver waits, as that of a message to it does.
        assert!(
            (all - one).abs() < 1e-3 * one,
            "{start:?}: {all} s and {one} s"
        );
        assert!(1.5 * all < each, "{start:?}: {all} s and {each} s");
        // A host for each process: there is nothing to share.
        let six = [0, 1, 2, 3, 4, 5];
        let [all, each] =
            [Sender::Broadcasts, Sender::SendsToAll].map(|sender| seconds(start, &six, sender));
        assert_eq!(all.to_bits(), each.to_bits(), "{start:?}");
    }
}
