//! Messages of one node that come later than those of others, which overtake them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use agents::{Payment, Scheduler, Script, Shape};
use bsp::reference::{self, Limit};
use bsp::units::{BytesPerSecond, Seconds};
use bsp::{BoxError, HostId, Program, Rank, SetId, Step, Superstep};
use machines::Routes;
use relay::{LinkSettings, Relay};
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, NodeOptions};

/// Adds up what the process before sends, and halts after 12 supersteps.
#[derive(Serialize, Deserialize)]
struct Adder(u64);

impl Program for Adder {
    type Message = u64;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
        let received: u64 = ctx.receive().map(|(_, value)| value).sum();
        self.0 = self.0.wrapping_mul(3).wrapping_add(received);
        if ctx.index() == 11 {
            return Ok(Step::Halt(self.0));
        }
        let next = Rank((ctx.rank().0 + 1) % ctx.size());
        ctx.send(next, self.0);
        Ok(Step::Continue)
    }
}

/// Nodes of which the first and the third, of another Set, hear each other late.
struct LatePath {
    cluster: Cluster,
    stop: tokio::sync::oneshot::Sender<()>,
    relay: JoinHandle<()>,
}

impl LatePath {
    fn start(milliseconds: u32) -> Self {
        // The relay delays the paths between Sets: here, each node is one of its own.
        let sets: Vec<SetId> = (0..3).map(SetId).collect();
        let rate = BytesPerSecond::new(1.25e9).unwrap();
        let latency = Seconds::new(f64::from(milliseconds) / 1000.0).unwrap();
        let relay = Relay::bind(&sets, |_, _| LinkSettings::new(rate, latency)).unwrap();
        let addresses = [2, 0].map(|host| relay.address(HostId(host)));
        let cluster = Cluster::with(&[1, 2], |index| NodeOptions {
            routes: match index {
                0 => Routes::from(BTreeMap::from([("n2".to_owned(), addresses[0])])),
                2 => Routes::from(BTreeMap::from([("n0".to_owned(), addresses[1])])),
                _ => Routes::default(),
            },
            ..NodeOptions::default()
        });
        let nodes = cluster.members.iter().map(|member| member.address.parse());
        let nodes: Vec<SocketAddr> = nodes.collect::<Result<_, _>>().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let relay = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = stopped => {}
                    ended = relay.run(nodes) => panic!("{ended:?}"),
                }
            });
        });
        Self {
            cluster,
            stop,
            relay,
        }
    }

    fn end(self) {
        drop(self.cluster);
        self.stop.send(()).unwrap();
        self.relay.join().unwrap();
    }
}

/// The first Manager announces that a process has moved to the second node, which its own Manager orders to send it on to
/// the third: the process is there before the announcement. `LATE_RUNS=20` runs this 20 times, and with more delays.
#[test]
fn a_process_that_moves_on_arrives_before_its_first_move_is_announced() {
    let runs = std::env::var("LATE_RUNS").map(|runs| runs.parse::<u32>().unwrap());
    let delays: &[u32] = if runs.is_ok() { &[20, 150, 400] } else { &[20] };
    let programs = || (1..5).map(Adder).collect::<Vec<_>>();
    let expected = reference::run(programs(), Limit::default()).unwrap();
    let script = [(4, 1), (8, 2)].map(|(after, host)| (after, vec![(Rank(2), HostId(host))]));
    let scheduler = Scheduler {
        payment: Payment::Transfer,
        script: Some(Script(script.into())),
        ..Scheduler::default()
    };
    for milliseconds in delays {
        let path = LatePath::start(*milliseconds);
        let mut setup = path
            .cluster
            .setup(4, Shape::Central, Some(scheduler.clone()));
        setup.placement = [0, 1, 0, 1].map(HostId).to_vec();
        for run in 0..runs.clone().unwrap_or(1) {
            let (outcome, _) = path
                .cluster
                .run(&setup, programs())
                .unwrap_or_else(|error| panic!("run {run}, late by {milliseconds} ms: {error}"));
            let moves: usize = outcome.calls.iter().map(|call| call.migrations.len()).sum();
            assert_eq!(moves, 2);
            assert_eq!(outcome.outputs.typed::<Adder>(), expected.outputs);
        }
        path.end();
    }
}
