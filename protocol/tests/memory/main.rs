//! A hostile peer with a valid certificate that tries to exhaust memory. This test has a separate process, whose memory is
//! measured.

#![cfg(test)]
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "tests/protocol/transport uses the rest of it")]
#[path = "../protocol/transport/raw_peer.rs"]
mod raw_peer;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::time::{Duration, SystemTime};

use bsp::{HostId, Rank, SetId};
use protocol::identity::{Authority, Identity, Name, Role, Validity};
use protocol::transport::{Bounds, Endpoint, JobId, Peer, PeerPolicy, Received, TrySendError};
use protocol::{
    Address, AgentMessage, Build, EncodedState, Frame, Message, StartCall, WIRE_VERSION, encode,
};
use quinn::{Connection, SendStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::raw_peer::RawPeer;

const EPOCH: u64 = 3;
const NODE: Address = Address::Node(HostId(1));
const MANAGER: Address = Address::SetManager(SetId(0));

/// Tests measure the memory of the whole process, so they run one after another.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_a_hostile_peer_is_bounded() {
    let _alone = ALONE.lock().await;
    let day = Validity::from_now(SystemTime::now(), Duration::from_secs(86_400)).unwrap();
    let authority = Authority::generate(name("lab"), day).unwrap();
    let issue = |text| authority.issue(Role::SetManager, &name(text), day).unwrap();
    let (here, honest) = (endpoint(issue("n1")), endpoint(issue("n2")));
    let address = here.address().unwrap();
    let n1 = name("n1");
    let connecting = honest.connect(address, Role::SetManager, &n1);
    let (a, b) = tokio::join!(connecting, here.accept());
    let (mut a, mut b) = (a.unwrap(), b.unwrap());
    exchange(&mut a, &mut b).await;

    let before = resident();
    let hostile = RawPeer::of(&issue("n3")).connect(address).await.unwrap();
    let mut control = raw_peer::control_stream(&hostile).await;
    let Peer {
        sender,
        mut messages,
        mut states,
        ..
    } = here.accept().await.unwrap();
    let reading = tokio::spawn(async move { messages.receive().await.map(drop) });
    let waiting = tokio::spawn(async move { states.receive().await.map(drop) });
    let mut streams = opened(&hostile).await;
    announce(&mut control, &mut streams).await;
    let silent = streams.remove(0);
    let filling: JoinSet<_> = streams
        .into_iter()
        .map(|stream| fill(stream, 64 << 20))
        .collect();
    for superstep in 0.. {
        match sender.try_send(large(superstep)) {
            Ok(()) => assert!(superstep < 64, "a queue of {superstep} MiB"),
            Err(TrySendError::Full { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    exchange(&mut a, &mut b).await;
    // Held to the end: a dropped stream is finished.
    let (taken, held): (Vec<usize>, Vec<_>) = filling.join_all().await.into_iter().unzip();
    let filled: usize = taken.iter().sum();
    let window = Bounds::default().connection_window();
    assert!(
        filled <= usize::try_from(window).unwrap(),
        "{filled} bytes taken"
    );
    exchange(&mut a, &mut b).await;

    let more = resident().saturating_sub(before);
    assert!(more <= MEMORY, "{more} bytes more than before");
    // The connection is still open: the peer was not refused, only blocked.
    assert_eq!(hostile.close_reason(), None);
    assert!(!reading.is_finished() && !waiting.is_finished());
    drop((silent, held));
}

/// Eight members fill frames of the greatest length that they never end, on a connection with the job and seven without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_eight_hostile_peers_is_bounded() {
    let _alone = ALONE.lock().await;
    let day = Validity::from_now(SystemTime::now(), Duration::from_secs(86_400)).unwrap();
    let authority = Authority::generate(name("lab"), day).unwrap();
    let issue = |text: &str| authority.issue(Role::SetManager, &name(text), day).unwrap();
    let (here, honest) = (endpoint(issue("n1")), endpoint(issue("n2")));
    let address = here.address().unwrap();
    let n1 = name("n1");
    let connecting = honest.connect(address, Role::SetManager, &n1);
    let (a, b) = tokio::join!(connecting, here.accept());
    let (mut a, mut b) = (a.unwrap(), b.unwrap());
    exchange(&mut a, &mut b).await;

    let before = resident();
    let (mut hostile, mut filling, mut reading) = (Vec::new(), JoinSet::new(), JoinSet::new());
    for number in 0..8 {
        let member = RawPeer::of(&issue(&format!("m{number}")));
        for job in [7, 0, 0, 0, 0, 0, 0, 0] {
            let connection = member.connect(address).await.unwrap();
            connection.set_send_window(64 << 10);
            let mut control = connection.open_uni().await.unwrap();
            let epoch = if job == 0 { 0 } else { EPOCH };
            control
                .write_all(&raw_peer::handshake(job, epoch))
                .await
                .unwrap();
            let Peer {
                mut messages,
                states,
                sender,
                ..
            } = here.accept().await.unwrap();
            drop(reading.spawn(async move {
                let error = messages.receive().await.map(drop);
                drop((states, sender));
                error
            }));
            let (head, payload) = if job == 0 {
                (8 << 20, 0)
            } else {
                (64 << 20, 64 << 20)
            };
            // A frame of a visitor that is complete is refused for its contents.
            let most = if job == 0 { 7 << 20 } else { 95 << 20 };
            announce_frame(&mut control, (job, epoch), (head, payload)).await;
            drop(filling.spawn(fill(control, most)));
            while let Some(Ok(stream)) = one_more(&connection).await {
                drop(filling.spawn(fill(stream, most)));
            }
            hostile.push(connection);
        }
    }
    let (taken, held): (Vec<usize>, Vec<_>) = filling.join_all().await.into_iter().unzip();
    exchange(&mut a, &mut b).await;
    let more = resident().saturating_sub(before);
    let taken: usize = taken.iter().sum();
    assert!(
        more <= MEMORY_OF_EIGHT,
        "{more} bytes more than before, {taken} taken"
    );
    // The connections wait for each other, except those of members that took more than their share.
    let refused = here.counters();
    assert_eq!(refused.refused(), refused.oversized);
    let open = hostile
        .iter()
        .filter(|connection| connection.close_reason().is_none());
    assert!(8 <= open.count());
    drop((held, reading));
}

/// Another stream, if the peer allows one now.
async fn one_more(connection: &Connection) -> Option<Result<SendStream, quinn::ConnectionError>> {
    let soon = Duration::from_millis(20);
    tokio::time::timeout(soon, connection.open_uni()).await.ok()
}

/// Announces a frame of `head` and `payload` bytes.
async fn announce_frame(
    control: &mut SendStream,
    (job, epoch): (u64, u64),
    (head, payload): (u32, u64),
) {
    let frame: Vec<u8> = [
        &raw_peer::stamp(job, epoch, 0)[..],
        &[0xB5, WIRE_VERSION, 0, 0],
        &head.to_le_bytes(),
        &payload.to_le_bytes(),
        &[0x93],
    ]
    .concat();
    control.write_all(&frame).await.unwrap();
}

/// The largest number of streams. The first one stays silent.
async fn opened(connection: &Connection) -> Vec<SendStream> {
    let soon = Duration::from_millis(200);
    let mut streams = Vec::new();
    while let Ok(stream) = tokio::time::timeout(soon, connection.open_uni()).await {
        streams.push(stream.unwrap());
    }
    assert_eq!(streams.len(), usize::from(Bounds::default().states));
    streams
}

/// Announces the largest accepted lengths, of a frame and of a chunk on each stream but the first.
async fn announce(control: &mut SendStream, streams: &mut [SendStream]) {
    announce_frame(control, (7, EPOCH), (64 << 20, 64 << 20)).await;
    let state = Message::Agent(AgentMessage::State(Box::new(EncodedState {
        rank: Rank(1),
        epoch: EPOCH,
        agent: 0,
        declared: None,
        payload: bytes::Bytes::new(),
    })));
    let head = encode(NODE, NODE, &state).head;
    let chunk = [(64_u32 << 10).to_le_bytes(), [0; 4]].concat();
    for stream in &mut streams[1..] {
        let opening = [0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0];
        stream.write_all(&opening).await.unwrap();
        stream
            .write_all(&raw_peer::stamp(7, EPOCH, 0))
            .await
            .unwrap();
        stream.write_all(&head).await.unwrap();
        stream.write_all(&chunk).await.unwrap();
    }
}

/// Writes until the stream blocks, or `most` bytes are written, and returns their number.
async fn fill(mut stream: SendStream, most: usize) -> (usize, SendStream) {
    let mut taken = 0;
    let chunk = vec![0xA5; 64 << 10];
    while taken < most {
        match tokio::time::timeout(Duration::from_secs(1), stream.write(&chunk)).await {
            Ok(Ok(written)) => taken += written,
            Ok(Err(_)) | Err(_) => break,
        }
    }
    (taken, stream)
}

/// Exchanges many frames in both directions.
async fn exchange(a: &mut Peer, b: &mut Peer) {
    for superstep in 0..200 {
        let there_and_back = async {
            a.sender.send(small(superstep)).await.unwrap();
            assert_eq!(
                received(b).await,
                Message::Agent(AgentMessage::StartCall(StartCall { superstep }))
            );
            b.sender.send(small(superstep)).await.unwrap();
            assert_eq!(
                received(a).await,
                Message::Agent(AgentMessage::StartCall(StartCall { superstep }))
            );
        };
        let done = tokio::time::timeout(Duration::from_secs(10), there_and_back).await;
        assert!(done.is_ok(), "no answer");
    }
}

async fn received(peer: &mut Peer) -> Message {
    match peer.messages.receive().await.unwrap() {
        Received::Message(_, _, message) => message,
        Received::Closed { reason } => panic!("closed: {reason}"),
    }
}

fn small(superstep: u64) -> Frame {
    encode(
        MANAGER,
        MANAGER,
        &Message::Agent(AgentMessage::StartCall(StartCall { superstep })),
    )
}

/// A frame of 1 MiB.
fn large(epoch: u64) -> Frame {
    let state = EncodedState {
        rank: Rank(1),
        epoch,
        agent: 0,
        declared: None,
        payload: vec![0x5A; 1 << 20].into(),
    };
    encode(
        NODE,
        NODE,
        &Message::Agent(AgentMessage::State(Box::new(state))),
    )
}

fn endpoint(identity: Identity) -> Endpoint {
    let policy = PeerPolicy::Roles(BTreeSet::from([Role::SetManager]));
    let endpoint =
        Endpoint::bind(identity, loopback(), policy, Bounds::default(), build()).unwrap();
    endpoint.begin(JobId(NonZeroU64::new(7).unwrap()), EPOCH);
    endpoint
}

fn build() -> Build {
    Build::new("tests", "0.1.0", [0; Build::DIGEST_LEN]).unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// The resident set size of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.parse::<u64>().unwrap() << 10
}

/// Windows of 6 MiB in each direction and a queue of 8 MiB, doubled because both ends are in this process, and doubled
/// again for the allocator.
const MEMORY: u64 = 64 << 20;
/// What an endpoint may take for eight hostile peers, 212 MiB, and the rest for the allocator and the other ends.
/// The resident set of equal runs is between 130 and 350 MB.
const MEMORY_OF_EIGHT: u64 = 384 << 20;
