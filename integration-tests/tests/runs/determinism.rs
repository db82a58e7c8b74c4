//! The same setup gives the same record, in any mailbox.

use std::collections::BTreeMap;

use agents::{
    CheckpointCosts, CheckpointInterval, Checkpointing, Elasticity, JoinTime, Outcome, PooledHost,
    Preparation, Programs, RunError, Setup,
};
use bsp::units::{Bytes, BytesPerSecond, Seconds};
use bsp::{HostId, Rank};
use record::Event;
use simulated::{simulate, simulate_in_mailboxes};

use crate::relay::Relay;
use crate::setups::{SHAPES, STARTS, scheduler, setup};

type Simulate = fn(&Setup, Programs, &mut dyn FnMut(&Event)) -> Result<Outcome, RunError>;

fn programs() -> Vec<Relay> {
    (0..43)
        .map(|rank| Relay {
            halts: 20 + rank % 3,
            first_halt: 20,
            shifts: vec![1, 5],
            work: 100_000_000 + rank * 1_000_000,
            digest: rank,
            broadcasts: true,
            ballast: vec![1; 300],
        })
        .collect()
}

/// The record of a run, as it would be written.
fn record(setup: &Setup, simulate: Simulate) -> String {
    let mut record = String::new();
    simulate(setup, Programs::new(programs()), &mut |event| {
        record.push_str(&serde_json::to_string(event).unwrap());
        record.push('\n');
    })
    .unwrap();
    record
}

/// `host`, for which `rank` waits, joins after four supersteps.
fn joining(rank: Rank, host: HostId) -> Elasticity {
    Elasticity {
        pool: vec![PooledHost {
            host,
            creation: Seconds::ZERO,
        }],
        take: 1,
        at: JoinTime::Superstep(4),
        preparation: Preparation::Blocking,
        guard: false,
        standby: BTreeMap::from([(rank, host)]),
    }
}

#[test]
fn a_second_run_and_real_mailboxes_give_the_same_record() {
    for shape in SHAPES {
        for start in STARTS {
            let model = |parameters: &mut model::Parameters| {
                parameters.heuristic = model::Heuristic::Above;
                parameters.interval = 2;
            };
            for policy in ["migbsp", "menon+greedy-refine+amortised"] {
                let scheduler = agents::Scheduler {
                    policy: policy.parse().unwrap(),
                    ..scheduler(model)
                };
                let mut setup = setup(43, 0, shape, Some(scheduler));
                setup.start = start;
                // The last host joins while calls are held.
                let host = std::mem::replace(&mut setup.placement[42], HostId(41));
                setup.elasticity = Some(joining(Rank(42), host));
                let what = format!("{policy} {shape:?} {start:?}");
                let first = record(&setup, simulate);
                assert!(
                    first.contains("\"event\":\"moved\""),
                    "{what}: no process moves"
                );
                assert!(first.contains("\"event\":\"join\""), "{what}");
                assert_eq!(first, record(&setup, simulate), "{what}, again");
                let in_mailboxes = record(&setup, simulate_in_mailboxes);
                assert_eq!(first, in_mailboxes, "{what}, in mailboxes");
            }
        }
    }
}

/// Processes move while states are encoded and copied, and a checkpoint begins as soon as it can.
#[test]
fn checkpoints_are_the_same_again_and_in_real_mailboxes() {
    let rate = |rate| BytesPerSecond::new(rate).unwrap();
    for shape in SHAPES {
        for start in STARTS {
            for forks in [true, false] {
                let model = |parameters: &mut model::Parameters| {
                    parameters.heuristic = model::Heuristic::Above;
                    parameters.interval = 2;
                };
                let mut setup = setup(43, 0, shape, Some(scheduler(model)));
                setup.start = start;
                let without = record(&setup, simulate);
                setup.checkpointing = Some(Checkpointing {
                    interval: CheckpointInterval::Supersteps(1),
                    first: Seconds::new(1.0).unwrap(),
                    mtbf: Seconds::new(1e6).unwrap(),
                    copies: true,
                    keep: std::num::NonZeroU32::MIN,
                    costs: CheckpointCosts {
                        encoding: rate(1e7),
                        fork: rate(1e8),
                        forks,
                        bytes: Some(Bytes(1_000_000)),
                        change: 0.5,
                    },
                });
                let what = format!("{shape:?} {start:?} {forks}");
                let first = record(&setup, simulate);
                assert!(first.contains("\"event\":\"moved\""), "{what}");
                assert!(
                    3 < first.matches("\"event\":\"checkpoint\"").count(),
                    "{what}"
                );
                assert_eq!(first, record(&setup, simulate), "{what}, again");
                let in_mailboxes = record(&setup, simulate_in_mailboxes);
                assert_eq!(first, in_mailboxes, "{what}, in mailboxes");
                assert!(!without.contains("checkpoint"), "{what}");
            }
        }
    }
}
