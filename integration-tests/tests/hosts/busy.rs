//! Programs that keep all processors busy for seconds do not cost a node its connections.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use agents::Shape;
use bsp::units::Seconds;
use bsp::{BoxError, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::cluster::Cluster;

/// Keeps a processor busy for this number of seconds, sends its rank to the next process, and halts with the rank received.
#[derive(Serialize, Deserialize)]
struct Busy(u64);

impl Program for Busy {
    type Message = Rank;
    type Output = Rank;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Rank>) -> Result<Step<Rank>, BoxError> {
        if let Some((_, received)) = ctx.receive().next() {
            let computed = ctx.elapsed().get();
            assert!(
                self.0 as f64 <= computed * 1.01,
                "it computed for {computed} s"
            );
            return Ok(Step::Halt(received));
        }
        assert_eq!(ctx.elapsed(), Seconds::ZERO);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(self.0) {
            spin_loop();
        }
        let next = Rank((ctx.rank().0 + 1) % ctx.size());
        ctx.send(next, ctx.rank());
        Ok(Step::Continue)
    }
}

#[test]
fn a_node_whose_processors_are_all_busy_for_seconds_keeps_its_connections() {
    let mut cluster = Cluster::start(&[2]);
    // Twice as many threads as a machine of two processors has for both nodes.
    for member in &mut cluster.members {
        member.slots = 2;
    }
    let setup = cluster.setup(4, Shape::Hierarchical, None);
    let programs = (0..4).map(|_| Busy(5)).collect::<Vec<_>>();
    let (finished, _) = cluster.run(&setup, programs).unwrap();
    assert_eq!(finished.outputs.typed::<Busy>(), [3, 0, 1, 2].map(Rank));
}
