//! A master that goes by rank takes and sends one message of the barrier after the other.

use std::sync::Arc;

use agents::{Barrier, Collection, Programs, Setup};
use bsp::HostId;
use simulated::simulate;
use simulator::{NetworkModel, NetworkOptions, Platform};

use crate::relay::Relay;
use crate::setups::{STARTS, setup};

const SUPERSTEPS: u64 = 5;

/// Seconds of a run of `processes` processes that only synchronise, on hosts 2 ms apart.
fn seconds(processes: u32, collection: Collection, change: impl FnOnce(&mut Setup)) -> f64 {
    let text = "[[set]]\nname = 'a'\nhosts = 9\nspeed = '1 Gf'\n\
                link = { bandwidth = '1 TBps', latency = '1 ms', duplex = 'fatpipe' }";
    let common = setup(processes, 0, agents::Shape::Central, None);
    let mut setup = Setup {
        platform: Arc::new(Platform::from_toml(text).unwrap()),
        placement: (0..processes).map(HostId).collect(),
        network: NetworkOptions {
            model: NetworkModel::Ideal,
            cross_traffic: false,
            ..NetworkOptions::default()
        },
        barrier: Barrier {
            collection,
            ..Barrier::default()
        },
        ..common
    };
    change(&mut setup);
    let program = Relay {
        halts: SUPERSTEPS - 1,
        first_halt: SUPERSTEPS - 1,
        shifts: Vec::new(),
        work: 0,
        digest: 0,
        broadcasts: false,
        ballast: Vec::new(),
    };
    let programs = (0..processes).map(|_| program.clone()).collect::<Vec<_>>();
    simulate(&setup, Programs::new(programs), &mut |_| {})
        .unwrap()
        .end
        .seconds
        .get()
}

#[test]
fn by_rank_every_process_costs_a_message_each_way() {
    for start in STARTS {
        for processes in [2_u32, 5, 9] {
            let of = |collection| seconds(processes, collection, |setup| setup.start = start);
            let others = f64::from(processes - 1);
            let by_rank = of(Collection::ByRank) / (SUPERSTEPS as f64 * 4e-3);
            // What is reduced takes some bytes.
            assert!((by_rank - others).abs() < 1e-3, "{by_rank} for {others}");
            let together = of(Collection::AsTheyCome) / (SUPERSTEPS as f64 * 4e-3);
            assert!((together - 1.0).abs() < 1e-3, "{together} for {others}");
        }
    }
}
