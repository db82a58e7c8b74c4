//! Endpoints on the loopback interface, and peers that violate the protocol.
//!
//! | file | what it asserts |
//! |---|---|
//! | `delivery.rs` | frames arrive complete and in order; slow receivers block the sender |
//! | `states.rs` | migrated states arrive intact or are refused |
//! | `ends.rs` | connections end with a reason at both ends |
//! | `authentication.rs` | peers with invalid credentials are refused before a frame is read |
//! | `revoked.rs` | peers with revoked certificates are refused |
//! | `floods.rs` | floods of handshakes do not block others |
//! | `certificates.rs` | connections end with the validity of a certificate |
//! | `budgets.rs` | memory, time and connections of a peer are bounded |
//! | `log.rs` | refused peers do not fill the log |
//! | `hostile_peers.rs` | forbidden frames are refused, counted, and end the connection |

mod authentication;
mod budgets;
mod certificates;
mod delivery;
mod ends;
mod floods;
mod hostile_peers;
mod log;
mod raw_peer;
mod revoked;
mod states;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use protocol::identity::{Authority, Identity, Name, Role, Validity};
use protocol::transport::{Bounds, Counters, Endpoint, JobId, Peer, PeerPolicy, Received};
use protocol::{Address, AgentMessage, Build, Frame, Message, NodeMessage, StartCall, encode};

use crate::wire::examples::examples;

static AUTHORITY: LazyLock<Authority> = LazyLock::new(authority);

const EPOCH: u64 = 3;
const NODE: Address = Address::Node(bsp::HostId(1));
const MANAGER: Address = Address::SetManager(bsp::SetId(0));

fn authority() -> Authority {
    Authority::generate(name("lab"), days(2)).unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn days(count: u32) -> Validity {
    Validity::from_now(SystemTime::now(), Duration::from_secs(86_400) * count).unwrap()
}

fn identity(role: Role, text: &str) -> Identity {
    AUTHORITY.issue(role, &name(text), days(1)).unwrap()
}

fn job(number: u64) -> JobId {
    JobId(NonZeroU64::new(number).unwrap())
}

/// The build of every endpoint here.
fn build() -> Build {
    Build::new("tests", "0.1.0", [0xab; Build::DIGEST_LEN]).unwrap()
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn any_role() -> PeerPolicy {
    PeerPolicy::Roles(BTreeSet::from([Role::Node, Role::SetManager, Role::Client]))
}

/// An endpoint at job 7.
fn endpoint(role: Role, text: &str, policy: PeerPolicy, bounds: Bounds) -> Endpoint {
    let endpoint =
        Endpoint::bind(identity(role, text), loopback(), policy, bounds, build()).unwrap();
    endpoint.begin(job(7), EPOCH);
    endpoint
}

/// Two ends of a connection, and the endpoints they belong to.
struct Pair {
    a: Peer,
    b: Peer,
    ends: (Endpoint, Endpoint),
}

async fn pair(bounds: Bounds) -> Pair {
    let one = endpoint(Role::SetManager, "n1", PeerPolicy::RefuseAll, bounds);
    let other = endpoint(Role::SetManager, "n2", any_role(), bounds);
    let (a, b) = connected(&one, &other).await;
    let ends = (one, other);
    Pair { a, b, ends }
}

/// The connection from `one` to `other`.
async fn connected(one: &Endpoint, other: &Endpoint) -> (Peer, Peer) {
    let subject = other.subject();
    let address = other.address().unwrap();
    let (a, b) = tokio::join!(
        one.connect(address, subject.role, &subject.name),
        other.accept()
    );
    (a.unwrap(), b.unwrap())
}

fn start_call(superstep: u64) -> (Address, Address, Message) {
    (
        MANAGER,
        MANAGER,
        Message::Agent(AgentMessage::StartCall(StartCall { superstep })),
    )
}

fn frame(message: &(Address, Address, Message)) -> Frame {
    encode(message.0, message.1, &message.2)
}

/// An example of every message that travels in a job, from an agent that may send it.
fn every_message() -> Vec<(Address, Address, Message)> {
    let sender = |message: &Message| match message {
        Message::Agent(message) => {
            let route = message.routes().first()?;
            let agents = [Address::Process(bsp::Rank(5)), NODE, MANAGER];
            agents.into_iter().find(|agent| route.from.is_like(*agent))
        }
        Message::Node(NodeMessage::Placed(_)) => Some(MANAGER),
        Message::Node(_) => Some(NODE),
        Message::Job(_) => None,
    };
    let examples = examples().into_iter();
    let sent = examples.filter_map(|(_, to, message)| Some((sender(&message)?, to, message)));
    sent.collect()
}

async fn receive(peer: &mut Peer) -> (Address, Address, Message) {
    match peer.messages.receive().await.unwrap() {
        Received::Message(from, to, message) => (from, to, message),
        Received::Closed { reason } => panic!("closed: {reason}"),
    }
}

/// Waits until the other end has closed `connection`, and checks the reason that it gave.
///
/// An end that has closed a connection forgets it after three probe timeouts, some 30 ms, and answers later packets with
/// a stateless reset. A peer that was not scheduled meanwhile finds the reason and the reset waiting, and quinn-proto
/// (0.11) keeps the last error alone. Then the reason is known at the end that has closed, which tests check besides.
async fn closed_with(connection: &quinn::Connection, expect: &str) {
    let reported = connection.closed().await;
    let is_reset = reported == quinn::ConnectionError::Reset;
    let reported = reported.to_string();
    assert!(
        is_reset || reported.contains(expect),
        "{reported}, not {expect}"
    );
}

/// Waits until the counters of `endpoint` are `expect`.
async fn counted(endpoint: &Endpoint, expect: Counters) {
    let counted = async {
        while endpoint.counters() != expect {
            tokio::task::yield_now().await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), counted).await;
    assert!(in_time.is_ok(), "{:?}, not {expect:?}", endpoint.counters());
}
