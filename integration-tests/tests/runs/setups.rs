//! Small runs to hold to laws.

use std::collections::BTreeMap;
use std::sync::Arc;

use agents::{
    Barrier, Collection, Elasticity, JoinTime, Payment, PlacementOptions, PooledHost, Preparation,
    Scheduler, Script, Setup, Shape, TransferStart, placement,
};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use simulator::{NetworkOptions, Platform};

pub(crate) const SHAPES: [Shape; Shape::ALL.len()] = Shape::ALL;
pub(crate) const STARTS: [TransferStart; 2] = [TransferStart::Eager, TransferStart::Rendezvous];
pub(crate) const COLLECTIONS: [Collection; 2] = [Collection::AsTheyCome, Collection::ByRank];
pub(crate) const PAYMENTS: [Payment; 2] = [Payment::Transfer, Payment::Migrant];

/// Five clusters of unequal speed, 174 hosts.
pub(crate) fn five_clusters() -> Arc<Platform> {
    let text = include_str!("../../../conf/platforms/five.xml");
    let platform = Platform::from_simgrid_xml(text, &mut |name| Err(format!("no {name}")));
    Arc::new(platform.unwrap())
}

/// A scheduler that moves what it decides, with a window of nothing.
pub(crate) fn scheduler(change: impl FnOnce(&mut model::Parameters)) -> Scheduler {
    let mut parameters = model::Parameters::default();
    change(&mut parameters);
    Scheduler {
        model: model::Config::new(parameters).unwrap(),
        ..Scheduler::default()
    }
}

/// A scheduler that calls after every superstep and moves what the script says.
pub(crate) fn scripted(script: Script, payment: Payment) -> Scheduler {
    let model = |parameters: &mut model::Parameters| {
        parameters.interval = 1;
        // No superstep is that balanced, so the interval never grows.
        parameters.tolerance = 1e-9;
        parameters.omega = u32::MAX;
    };
    Scheduler {
        payment,
        script: Some(script),
        ..scheduler(model)
    }
}

/// `processes` processes on the five clusters, laid out host after host from `offset` on.
pub(crate) fn setup(
    processes: u32,
    offset: u32,
    shape: Shape,
    scheduler: Option<Scheduler>,
) -> Setup {
    let platform = five_clusters();
    let options = PlacementOptions {
        offset,
        ..PlacementOptions::default()
    };
    Setup {
        network: NetworkOptions::default(),
        start: TransferStart::Eager,
        placement: placement(&platform, &options, processes).unwrap(),
        platform,
        barrier: Barrier {
            shape,
            ..Barrier::default()
        },
        scheduler,
        elasticity: None,
        awaited: None,
        checkpointing: None,
        superstep_limit: 10_000,
        traced: false,
        repeats: true,
        resumed: None,
    }
}

/// The hosts of two thirds of the processes join, after any superstep, one after the other or together.
pub(crate) fn joining(placement: &mut [HostId], at: u64, take: usize, creation: f64) -> Elasticity {
    let creation = Seconds::new(creation).unwrap();
    let (mut standby, mut pool) = (BTreeMap::new(), Vec::new());
    for (rank, host) in (0..).map(Rank).zip(placement) {
        if rank.0 % 3 != 0 {
            pool.push(PooledHost {
                host: *host,
                creation: creation * f64::from(rank.0),
            });
            standby.insert(rank, std::mem::replace(host, HostId(0)));
        }
    }
    Elasticity {
        take: take.min(pool.len()),
        pool,
        at: JoinTime::Superstep(at),
        preparation: if take.is_multiple_of(2) {
            Preparation::Blocking
        } else {
            Preparation::Concurrent
        },
        guard: take.is_multiple_of(5),
        standby,
    }
}
