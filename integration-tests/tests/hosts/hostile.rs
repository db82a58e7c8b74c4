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
use protocol::transport::{Bounds, Endpoint, Peer, PeerPolicy, Received};
use protocol::{
    Address, Declined, InputFolder, JobMessage, Lead, Member, Message, Submit, View, encode,
};
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
        session: job,
        host: bsp::HostId(1),
        members: vec![evil, honest.clone()],
        experiment: String::new(),
        folder: InputFolder::default(),
        processes: 2,
        checkpoint: None,
        files: None,
        resumed: None,
        view: None,
        memory: None,
        wait: bsp::units::Seconds::ZERO,
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
async fn next(client: &mut Peer) -> JobMessage {
    let received = client.messages.receive();
    let received = tokio::time::timeout(Duration::from_secs(10), received).await;
    match received.expect("an answer").unwrap() {
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
    runtime().block_on(async {
        let laptop = (Role::Client, "laptop");
        let mut client = Guest::connect_as(&cluster, laptop, (node, Role::SetManager)).await;
        let submit = Submit {
            host: bsp::HostId(0),
            members: vec![node.clone()],
            ..submission(7, node)
        };
        let folder = Submit {
            checkpoint: Some("/proc/self".to_owned()),
            ..submit.clone()
        };
        let failed = client.ask(JobMessage::Submit(Box::new(folder))).await;
        let JobMessage::Failed(failed) = failed else {
            panic!("a folder that is not allowed")
        };
        let remedy = "add `checkpoints = [\"/proc/self\"]`";
        assert!(failed.message.contains(remedy), "{}", failed.message);
        let submitted = JobMessage::Submit(Box::new(submit.clone()));
        let accepted = client.ask(submitted).await;
        assert!(
            matches!(accepted, JobMessage::Accepted { .. }),
            "{accepted:?}"
        );
        let again = Submit {
            experiment: "\u{1b}".repeat(1 << 20),
            ..submit
        };
        let failed = client.ask(JobMessage::Submit(Box::new(again))).await;
        let JobMessage::Failed(failed) = failed else {
            panic!("a second submission")
        };
        assert_eq!(failed.message, "the client said Submit at the wrong time");
    });
}

#[test]
fn a_node_takes_no_more_bytes_without_meaning_than_a_check_sends() {
    let cluster = Cluster::start(&[1]);
    let node = &cluster.members[0];
    let part = " ".repeat(JobMessage::FILL_LEN);
    runtime().block_on(async {
        let mut guest = Guest::connect(&cluster, Role::Node, "guest", node).await;
        for _ in 0..JobMessage::FILLS_MAX {
            let filled = guest.ask(JobMessage::Fill(part.clone())).await;
            assert_eq!(filled, JobMessage::Filled);
        }
        guest.say(JobMessage::Fill(String::new()));
        assert!(guest.peer.messages.receive().await.is_err());
        let mut guest = Guest::connect(&cluster, Role::Node, "guest", node).await;
        guest.say(JobMessage::Fill(part + " "));
        assert!(guest.peer.messages.receive().await.is_err());
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
                    drop(send(JobMessage::Begin { saves: true }));
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

/// A member that says what it likes to an honest node.
struct Guest {
    peer: Peer,
    // Dropping the endpoint would end the connection.
    _endpoint: Endpoint,
}

impl Guest {
    /// The member of this name and role connects to a node, which has a certificate of the role `as_role`.
    async fn connect_as(
        cluster: &Cluster,
        (role, name): (Role, &str),
        (to, as_role): (&Member, Role),
    ) -> Self {
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let (policy, bounds) = (PeerPolicy::RefuseAll, Bounds::default());
        let identity = cluster.identity(role, name);
        let endpoint = Endpoint::bind(identity, any_port, policy, bounds, build("counter", 0));
        let endpoint = endpoint.unwrap();
        let (address, name) = (to.address.parse().unwrap(), to.name.parse().unwrap());
        let peer = endpoint.connect(address, as_role, &name).await;
        Self {
            peer: peer.unwrap(),
            _endpoint: endpoint,
        }
    }

    async fn connect(cluster: &Cluster, role: Role, name: &str, to: &Member) -> Self {
        Self::connect_as(cluster, (role, name), (to, Role::Node)).await
    }

    fn say(&self, message: JobMessage) {
        let message = Message::Job(Box::new(message));
        let frame = encode(Address::Client, Address::Node(bsp::HostId(0)), &message);
        self.peer.sender.push(frame).unwrap();
    }

    /// Says something, and returns what the node answers.
    async fn ask(&mut self, message: JobMessage) -> JobMessage {
        self.say(message);
        next(&mut self.peer).await
    }
}

/// The client of a job of three hosts, two of which are hostile, leaves the honest node while the second view begins.
#[test]
fn a_node_without_a_leader_obeys_one_member_that_may_lead() {
    let panics = panics();
    let cluster = Cluster::start(&[3]);
    let setup = Setup {
        placement: placement(&cluster.platform, &PlacementOptions::default(), 3).unwrap(),
        ..cluster.setup(3, Shape::Hierarchical, None)
    };
    cluster.prepare(&setup, vec![Ring(0); 3]);
    let honest = &cluster.members[2];
    let job = 77;
    let view = View {
        number: 2,
        ..View::first(true)
    };
    let mut submit = submission(job, honest);
    let rival = Member {
        name: "rival".to_owned(),
        ..submit.members[0].clone()
    };
    submit.members.insert(1, rival);
    submit = Submit {
        host: bsp::HostId(2),
        processes: 3,
        view: Some(view.clone()),
        wait: bsp::units::Seconds::new(60.0).unwrap(),
        ..submit
    };
    let lead = |session| JobMessage::Lead(Lead { job, session });
    let follows = |answer: &JobMessage, whom: &str| match answer {
        JobMessage::Declined(Declined::Follows(reason)) => reason.contains(whom),
        _ => false,
    };
    runtime().block_on(async {
        let mut client = Guest::connect(&cluster, Role::Client, "laptop", honest).await;
        let submitted = JobMessage::Submit(Box::new(submit.clone()));
        let accepted = client.ask(submitted).await;
        let is_accepted = matches!(accepted, JobMessage::Accepted { .. });
        assert!(is_accepted, "{accepted:?}");
        // As if all members had accepted the view: before, the node had no part in the job.
        client.say(JobMessage::Meet { counts: false });
        client.say(JobMessage::Leave);
        // A certificate that does not allow it, one of no member, a view that never was, a client of other jobs.
        let mut rival = Guest::connect(&cluster, Role::Node, "rival", honest).await;
        let mut declined = rival.ask(lead(job)).await;
        while follows(&declined, "follows the client") {
            // It has not read yet that the client leaves.
            tokio::time::sleep(Duration::from_millis(10)).await;
            declined = rival.ask(lead(job)).await;
        }
        assert!(follows(&declined, "has no leader"), "{declined:?}");
        let mut stranger = Guest::connect(&cluster, Role::SetManager, "stranger", honest).await;
        let declined = stranger.ask(lead(job)).await;
        let is_later = matches!(declined, JobMessage::Declined(Declined::Later(2)));
        assert!(is_later, "{declined:?}");
        let mut leader = Guest::connect(&cluster, Role::SetManager, "evil", honest).await;
        let declined = leader.ask(lead(job + 1)).await;
        assert!(follows(&declined, "is in view 2"), "{declined:?}");
        let mut other = Guest::connect(&cluster, Role::Client, "other", honest).await;
        let declined = other.ask(JobMessage::End(job)).await;
        let is_refused = matches!(declined, JobMessage::Declined(Declined::Owner));
        assert!(is_refused, "{declined:?}");
        // One that may, and then no other one, although its certificate allows it.
        let obeyed = leader.ask(lead(job)).await;
        assert!(matches!(obeyed, JobMessage::Suspended(_)), "{obeyed:?}");
        let mut rival = Guest::connect(&cluster, Role::SetManager, "rival", honest).await;
        let declined = rival.ask(lead(job)).await;
        assert!(follows(&declined, "follows evil"), "{declined:?}");
        // It may not change what the job is.
        let another = Submit {
            experiment: "another".to_owned(),
            session: job + 2,
            view: Some(View {
                number: 3,
                leader: Some(bsp::HostId(0)),
                ..view
            }),
            ..submit
        };
        let failed = leader.ask(JobMessage::Submit(Box::new(another))).await;
        let JobMessage::Failed(failed) = failed else {
            panic!("{failed:?}")
        };
        assert!(failed.message.contains("another experiment"), "{failed:?}");
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
