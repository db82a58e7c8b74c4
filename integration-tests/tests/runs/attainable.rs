//! What rescheduling could win depends on programs and hosts, on no barrier.

use agents::Programs;
use bsp::units::Instructions;
use bsp::{BoxError, Program, Step, Superstep};
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::setups::{SHAPES, setup};

/// Every superstep another process has most to do, and all together more or less.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Jump;

impl Program for Jump {
    type Message = u8;
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, u8>) -> Result<Step<()>, BoxError> {
        let turn = (u64::from(ctx.rank().0) + ctx.index() * 7) % 30;
        ctx.charge(Instructions(20_000_000 * turn * (1 + ctx.index() % 3)));
        if ctx.index() == 20 {
            return Ok(Step::Halt(()));
        }
        Ok(Step::Continue)
    }
}

#[test]
fn what_could_be_won_is_the_same_with_every_barrier() {
    // Thirty processes on the first two clusters. In some supersteps the second one's Manager is the
    // first to know that all have arrived, and its processes go on before the first Manager knows.
    let attainable = SHAPES.map(|shape| {
        let setup = setup(30, 0, shape, None);
        let outcome = simulate(&setup, Programs::new(vec![Jump; 30]), &mut |_| {}).unwrap();
        outcome.end.attainable.unwrap().get()
    });
    assert!(1.0 < attainable[0], "there is something to win");
    for other in attainable {
        let difference = (other - attainable[0]).abs();
        assert!(difference < 1e-9, "{attainable:?}");
    }
}
