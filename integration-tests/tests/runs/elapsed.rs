//! A process learns how long it computed in the superstep before, on whatever host.

use std::collections::BTreeMap;

use agents::{Elasticity, JoinTime, Payment, PooledHost, Preparation, Programs, Script, Shape};
use bsp::units::{Instructions, Seconds};
use bsp::{BoxError, HostId, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};
use simulated::simulate;

use crate::setups::{five_clusters, scripted, setup};

/// Charges 10⁹ instructions in every superstep and remembers the times of its supersteps.
#[derive(Serialize, Deserialize)]
struct Listener(Vec<Seconds>);

impl Program for Listener {
    type Message = ();
    type Output = Vec<Seconds>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Vec<Seconds>>, BoxError> {
        self.0.push(ctx.elapsed());
        ctx.charge(Instructions(1_000_000_000));
        if ctx.index() == 6 {
            return Ok(Step::Halt(std::mem::take(&mut self.0)));
        }
        Ok(Step::Continue)
    }
}

#[test]
fn times_are_those_of_the_host_of_the_superstep_before() {
    // Hosts of all five Sets; two processes meet on none.
    let hosts = |superstep: u32| [3 * superstep, 100 + 11 * superstep];
    let orders = |superstep: u32| {
        let moves = (0..).zip(hosts(superstep));
        let moves = moves.map(|(rank, host)| (Rank(rank), HostId(host)));
        (u64::from(superstep), moves.collect::<Vec<_>>())
    };
    let script = Script((1..=6).map(orders).collect::<BTreeMap<_, _>>());
    let mut setup = setup(
        2,
        0,
        Shape::Hierarchical,
        Some(scripted(script, Payment::Transfer)),
    );
    setup.placement = hosts(0).map(HostId).to_vec();
    let programs = (0..2).map(|_| Listener(Vec::new())).collect();
    let outcome = simulate(&setup, Programs::new(programs), &mut |_| {}).unwrap();
    let moves = outcome.calls.iter().map(|call| call.migrations.len());
    assert_eq!(moves.sum::<usize>(), 12);
    let platform = five_clusters();
    for (rank, told) in outcome.outputs.typed::<Listener>().iter().enumerate() {
        assert_eq!(told[0], Seconds::ZERO);
        for (superstep, told) in (0..).zip(&told[1..]) {
            let speed = platform.host(HostId(hosts(superstep)[rank])).speed;
            let expected = Instructions(1_000_000_000) / speed;
            let error = (told.get() / expected.get() - 1.0).abs();
            assert!(
                error < 1e-9,
                "p{}, superstep {superstep}: {told}, not {expected}",
                rank + 1
            );
        }
    }
}

/// The listener does not know how long it is.
#[test]
fn hosts_cannot_join_after_a_part_of_a_program_that_does_not_know_it() {
    let mut setup = setup(2, 0, Shape::Ideal, None);
    let host = std::mem::replace(&mut setup.placement[1], HostId(0));
    setup.elasticity = Some(Elasticity {
        pool: vec![PooledHost {
            host,
            creation: Seconds::ZERO,
        }],
        take: 1,
        at: JoinTime::Part(0.5),
        preparation: Preparation::Concurrent,
        guard: true,
        standby: BTreeMap::from([(Rank(1), host)]),
    });
    let programs = || (0..2).map(|_| Listener(Vec::new())).collect();
    let error = simulate(&setup, Programs::new(programs()), &mut |_| {}).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the program does not know how much"),
        "{text}"
    );
    // At a date it can, and the guard has nothing to judge by.
    let at = JoinTime::Superstep(3);
    setup.elasticity = setup
        .elasticity
        .map(|elasticity| Elasticity { at, ..elasticity });
    let outcome = simulate(&setup, Programs::new(programs()), &mut |_| {}).unwrap();
    let [join] = &outcome.joins[..] else {
        panic!("{:?}", outcome.joins);
    };
    assert_eq!((join.superstep, join.joined, join.saves), (3, true, None));
}
