//! Members with valid certificates that send any message at any time: nodes survive, and jobs of others are unharmed.
//!
//! `HOSTILE_SEQUENCES=100000 cargo test --release -p integration-tests --test hosts hostile` sends more than the default,
//! and `HOSTILE_SEED=2` other ones.

#[path = "../../../protocol/tests/protocol/wire/examples.rs"]
mod examples;
mod peer;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agents::{PlacementOptions, Setup, Shape, placement};
use bsp::{BoxError, Program, Step, Superstep};
use protocol::identity::Role;
use protocol::transport::{Bounds, Endpoint, PeerPolicy, Received};
use protocol::{Address, InputFolder, JobMessage, Member, Message, Submit, encode};
use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, build};
use examples::{Draw, examples, head};
use peer::HostilePeer;

/// Sends a message to the next process in every superstep.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Ring(u64);

impl Program for Ring {
    type Message = u64;
    type Output = u64;

    fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
        self.0 += ctx.receive().map(|(_, value)| value).sum::<u64>();
        if ctx.index() == 30 {
            return Ok(Step::Halt(self.0));
        }
        let next = bsp::Rank((ctx.rank().0 + 1) % ctx.size());
        ctx.send(next, 1);
        Ok(Step::Continue)
    }
}

/// Panics of the project's own code, on any thread, from now on.
fn panics() -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, before) = (Arc::clone(&count), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        let own = [
            "agents/core/src",
            "agents/checkpoint/src",
            "agents/hosts/src",
            "agents/machines/src",
            "agents/record/src",
            "protocol/src",
            "model/src",
            "simulator/src",
        ];
        if own.iter().any(|folder| file.contains(folder)) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        before(panic);
    }));
    count
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn sequences() -> u64 {
    setting("HOSTILE_SEQUENCES", 60)
}

/// The draws of the sequence with this number.
fn draw(sequence: u64) -> Draw {
    Draw((setting("HOSTILE_SEED", 1) << 32) + sequence)
}

fn setting(variable: &str, default: u64) -> u64 {
    let number = std::env::var(variable);
    number.map_or(default, |number| number.parse().unwrap())
}

/// A frame without its stamp.
struct HostileFrame {
    kind: u16,
    head: Vec<u8>,
    payload: Vec<u8>,
}

/// A frame with a message of any type, whose fields are drawn at random.
fn frame(draw: &mut Draw) -> HostileFrame {
    let examples = examples();
    loop {
        let (_, _, example) = &examples[draw.below(examples.len())];
        let count = draw.below(3);
        if let Some(message) = draw.like(example, true, count) {
            let (from, to) = (draw.address(), draw.address());
            let (kind, head) = head(from, to, &message);
            let length = draw.of(&[0, 0, 0, 3, 5, 300_000]);
            let payload = vec![7; length];
            return HostileFrame {
                kind,
                head,
                payload,
            };
        }
    }
}

/// Runs a job once the node has ended the one before.
fn run_when_free(cluster: &Cluster, setup: &Setup) -> Vec<u64> {
    for _ in 0..100 {
        match cluster.run(setup, vec![Ring(0); 4]) {
            Err(error) if error.to_string().contains("wait for its end") => {
                std::thread::sleep(Duration::from_millis(50));
            }
            ended => return ended.unwrap().0.outputs.typed::<Ring>().to_vec(),
        }
    }
    panic!("the node has not ended the job of a hostile client");
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[test]
fn peers_without_a_part_in_a_job_do_not_harm_it() {
    let (panics, before) = (panics(), resident());
    let cluster = Cluster::start(&[1, 1]);
    let setup = cluster.setup(4, Shape::Hierarchical, None);
    let address: SocketAddr = cluster.members[0].address.parse().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let honest = scope.spawn(|| {
            let mut jobs = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (outcome, _) = cluster.run(&setup, vec![Ring(0); 4]).unwrap();
                assert_eq!(outcome.outputs.typed::<Ring>(), [30; 4]);
                jobs += 1;
            }
            jobs
        });
        runtime().block_on(async {
            let digest = build("counter", 0);
            for sequence in 0..sequences() {
                let mut draw = draw(sequence);
                let roles = [Role::Client, Role::Node, Role::SetManager];
                // A client with the name of a node, and nodes that are not in the list.
                let name = ["n1", "n9", "laptop"][draw.below(3)];
                let identity = cluster.identity(roles[draw.below(3)], name);
                let job = draw.of(&[0, 0, 5, u64::MAX]);
                let node = ("n0", address);
                let mut peer = HostilePeer::connect(&identity, node, job, digest.digest()).await;
                for _ in 0..20 {
                    let frame = frame(&mut draw);
                    // A submission would make it the client of a job of its own.
                    let is_submission = frame.head.windows(6).any(|bytes| bytes == b"Submit");
                    if !is_submission && !peer.send(frame.kind, &frame.head, &frame.payload).await {
                        break;
                    }
                }
            }
        });
        is_over.store(true, Ordering::Relaxed);
        assert!(0 < honest.join().unwrap());
    });
    assert_eq!(panics.load(Ordering::Relaxed), 0);
    assert!(
        resident() < before + (256 << 20),
        "{} MiB",
        resident() >> 20
    );
}

/// A job of a hostile client with one honest node, whose Manager is `evil`: the honest node is host 1.
fn submission(job: u64, honest: &Member) -> Submit {
    let evil = Member {
        name: "evil".to_owned(),
        // The hostile node connects to the honest one, and is connected to by no other.
        address: "127.0.0.1:9".to_owned(),
        ..honest.clone()
    };
    Submit {
        job,
        host: bsp::HostId(1),
        members: vec![evil, honest.clone()],
        experiment: String::new(),
        folder: InputFolder::default(),
        processes: 2,
        checkpoint: None,
        files: None,
        resumed: None,
    }
}

/// MigBSP, which learns what moves cost.
fn learning() -> agents::Scheduler {
    let mut parameters = model::Parameters::default();
    parameters.migration.source = model::CostSource::Learned;
    agents::Scheduler {
        model: model::Config::new(parameters).unwrap(),
        ..agents::Scheduler::default()
    }
}

/// The next message of a node to its client.
async fn next(client: &mut protocol::transport::Peer) -> JobMessage {
    match client.messages.receive().await.unwrap() {
        Received::Message(_, _, Message::Job(message)) => *message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_client_sends_does_not_come_back_as_text() {
    let cluster = Cluster::start(&[1]);
    cluster.prepare(
        &cluster.setup(2, Shape::Hierarchical, None),
        vec![Ring(0), Ring(0)],
    );
    let node = &cluster.members[0];
    let address: SocketAddr = node.address.parse().unwrap();
    runtime().block_on(async {
        let identity = cluster.identity(Role::Client, "laptop");
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let (policy, bounds) = (PeerPolicy::RefuseAll, Bounds::default());
        let build = build("counter", 0);
        let client = Endpoint::bind(identity, any_port, policy, bounds, build).unwrap();
        let name = node.name.parse().unwrap();
        let mut client = client
            .connect(address, Role::SetManager, &name)
            .await
            .unwrap();
        let send = |client: &protocol::transport::Peer, submit: Submit| {
            let message = Message::Job(Box::new(JobMessage::Submit(Box::new(submit))));
            let to = Address::Node(bsp::HostId(0));
            let frame = encode(Address::Client, to, &message);
            client.sender.push(frame).unwrap();
        };
        let submit = Submit {
            host: bsp::HostId(0),
            members: vec![node.clone()],
            ..submission(7, node)
        };
        let folder = Submit {
            checkpoint: Some("/proc/self".to_owned()),
            ..submit.clone()
        };
        send(&client, folder);
        let JobMessage::Failed(failed) = next(&mut client).await else {
            panic!("a folder that is not allowed")
        };
        let remedy = "add `checkpoints = [\"/proc/self\"]`";
        assert!(failed.message.contains(remedy), "{}", failed.message);
        send(&client, submit.clone());
        let accepted = next(&mut client).await;
        assert!(
            matches!(accepted, JobMessage::Accepted { .. }),
            "{accepted:?}"
        );
        let again = Submit {
            experiment: "\u{1b}".repeat(1 << 20),
            ..submit
        };
        send(&client, again);
        let JobMessage::Failed(failed) = next(&mut client).await else {
            panic!("a second submission")
        };
        assert_eq!(failed.message, "the client said Submit at the wrong time");
    });
}

#[test]
fn members_of_a_job_end_it_at_worst() {
    let panics = panics();
    let cluster = Cluster::start(&[2]);
    let setup = Setup {
        placement: placement(&cluster.platform, &PlacementOptions::default(), 2).unwrap(),
        ..cluster.setup(2, Shape::Hierarchical, Some(learning()))
    };
    cluster.prepare(&setup, vec![Ring(0), Ring(0)]);
    let honest = &cluster.members[1];
    let address: SocketAddr = honest.address.parse().unwrap();
    runtime().block_on(async {
        let digest = build("counter", 0);
        for sequence in 0..sequences() {
            let mut draw = draw(sequence);
            let job = draw.next() | 1;
            let identity = cluster.identity(Role::Client, "accomplice");
            let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
            let (policy, bounds) = (PeerPolicy::RefuseAll, Bounds::default());
            let client =
                Endpoint::bind(identity, any_port, policy, bounds, digest.clone()).unwrap();
            let name = honest.name.parse().unwrap();
            let mut client = client.connect(address, Role::Node, &name).await.unwrap();
            let send = |message| {
                let message = Message::Job(Box::new(message));
                let frame = encode(Address::Client, Address::Node(bsp::HostId(0)), &message);
                client.sender.push(frame)
            };
            send(JobMessage::Submit(Box::new(submission(job, honest)))).unwrap();
            let accepted = client.messages.receive().await.unwrap();
            let Received::Message(_, _, Message::Job(accepted)) = accepted else {
                panic!("{accepted:?}")
            };
            assert!(
                matches!(*accepted, JobMessage::Accepted { .. }),
                "{accepted:?}"
            );
            let evil = cluster.identity(Role::SetManager, "evil");
            let node = (honest.name.as_str(), address);
            let mut evil = HostilePeer::connect(&evil, node, job, digest.digest()).await;
            send(JobMessage::Meet { counts: false }).unwrap();
            let begins = draw.below(3);
            if 0 < begins {
                let state = protocol::EncodedState {
                    rank: bsp::Rank(1),
                    epoch: 0,
                    agent: 0,
                    declared: None,
                    payload: initial_state(&Ring(0)),
                };
                let to = Address::Process(bsp::Rank(1));
                drop(client.sender.send_state(Address::Client, to, state).await);
            }
            for turn in 0..30 {
                let frame = frame(&mut draw);
                if !evil.send(frame.kind, &frame.head, &frame.payload).await {
                    break;
                }
                if turn == 3 && begins == 2 {
                    // The node may have refused the job by now.
                    drop(send(JobMessage::Begin));
                }
            }
            // Until the node has closed one of the connections, or all frames have arrived.
            let closed = evil.connection.closed();
            drop(tokio::time::timeout(Duration::from_millis(20), closed).await);
            drop(client.sender.close("enough").await);
        }
    });
    assert_eq!(panics.load(Ordering::Relaxed), 0);
    let setup = cluster.setup(4, Shape::Hierarchical, None);
    assert_eq!(run_when_free(&cluster, &setup), [30; 4]);
}

/// The encoded state in which a process starts: it has no agent and no messages.
fn initial_state(program: &Ring) -> bytes::Bytes {
    let mut state = rmp_serde::to_vec(program).unwrap();
    state.extend(rmp_serde::to_vec::<[u64; 0]>(&[]).unwrap());
    state.extend([0_u64, 1].map(u64::to_le_bytes).concat());
    state.into()
}
