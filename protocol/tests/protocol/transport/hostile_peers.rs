//! Peers with a valid certificate that violate their job, their epoch, their role or the format.

use std::collections::BTreeSet;

use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::identity::Role;
use protocol::transport::{
    Bounds, CHUNK_LEN, Counters, Endpoint, PeerError, PeerPolicy, SpeakingRights,
};
use protocol::{Address, AgentMessage, Arrived, Limits, Message, StartCall, decode, encode};

use crate::transport::raw_peer::{self, RawPeer, handshake, stamp};
use crate::transport::{EPOCH, MANAGER, NODE, closed_with, endpoint, identity, name};

/// Bytes behind a handshake, what is said of them, and what is counted.
struct Case {
    role: Role,
    bytes: Vec<u8>,
    expect: &'static str,
    counted: Counters,
}

fn encoded(from: Address, message: &Message) -> Vec<u8> {
    let frame = encode(from, NODE, message);
    [&frame.head[..], &frame.payload[..]].concat()
}

fn arrived() -> Vec<u8> {
    encoded(
        NODE,
        &Message::Agent(AgentMessage::Arrived(Arrived {
            superstep: 1,
            processes: 1,
            halted: 0,
            sent: 0,
            received: 0,
            slowest: (bsp::units::Seconds::ZERO, bsp::Rank(0)),
            computation: 0,
            took: bsp::units::Seconds::ZERO,
            checkpoint: false,
            reductions: bsp::Reductions::default(),
        })),
    )
}

/// A frame with this head.
fn frame_of(head: &[u8]) -> Vec<u8> {
    let length = u32::try_from(head.len()).unwrap().to_le_bytes();
    [
        &[0xB5, protocol::WIRE_VERSION, 0, 0],
        &length[..],
        &[0; 8],
        head,
    ]
    .concat()
}

/// A prefix that announces this.
fn announcing(head: u32, payload: u64) -> Vec<u8> {
    [
        &[0xB5, protocol::WIRE_VERSION, 0, 0],
        &head.to_le_bytes()[..],
        &payload.to_le_bytes(),
    ]
    .concat()
}

fn stamped(sequence: u64, frame: &[u8]) -> Vec<u8> {
    [&stamp(7, EPOCH, sequence), frame].concat()
}

const NONE: Counters = Counters {
    retries: 0,
    handshakes_refused: 0,
    handshakes_ignored: 0,
    handshakes_failed: 0,
    handshakes_mismatched: 0,
    foreign: 0,
    stale: 0,
    replayed: 0,
    denied: 0,
    malformed: 0,
    connections_refused: 0,
    expired: 0,
    revoked: 0,
    unfinished: 0,
    oversized: 0,
};
const FOREIGN: Counters = Counters { foreign: 1, ..NONE };
const STALE: Counters = Counters { stale: 1, ..NONE };
const REPLAYED: Counters = Counters {
    replayed: 1,
    ..NONE
};
const DENIED: Counters = Counters { denied: 1, ..NONE };
const MALFORMED: Counters = Counters {
    malformed: 1,
    ..NONE
};

fn case(bytes: Vec<u8>, expect: &'static str, counted: Counters) -> Case {
    Case {
        role: Role::Node,
        bytes,
        expect,
        counted,
    }
}

/// Frames that the sender may not send.
fn forbidden() -> Vec<Case> {
    let good = arrived();
    let under = |job, epoch| [stamp(job, epoch, 0), good.clone()].concat();
    let twice = [stamped(0, &good), stamped(0, &good)].concat();
    let later = [
        stamp(7, EPOCH + 2, 0),
        good.clone(),
        stamp(7, EPOCH + 1, 1),
        good.clone(),
    ];
    let start_call = Message::Agent(AgentMessage::StartCall(StartCall { superstep: 1 }));
    let order = |from| stamped(0, &encoded(from, &start_call));
    vec![
        case(under(8, EPOCH), "expected job 0000000000000007", FOREIGN),
        case(under(0, EPOCH), "it belongs to no job", FOREIGN),
        case(under(7, 2), "epoch 2, expected 3 or later", STALE),
        case(later.concat(), "epoch 4, expected 5 or later", STALE),
        case(twice, "it has sequence number 0, expected 1", REPLAYED),
        // A frame recorded on another connection.
        case(
            stamped(5, &good),
            "it has sequence number 5, expected 0",
            REPLAYED,
        ),
        case(
            order(MANAGER),
            "a node may not send StartCall as SetManager",
            DENIED,
        ),
        case(order(NODE), "a node may not send StartCall as Node", DENIED),
        Case {
            role: Role::Client,
            ..case(
                stamped(0, &good),
                "a client may not send Arrived as Node(HostId(1)): clients speak for no agent",
                DENIED,
            )
        },
        case(
            b"GET / HTTP/1.1\r\n\r\n".repeat(4),
            "it belongs to job",
            FOREIGN,
        ),
    ]
}

/// Frames that cannot be decoded.
fn malformed() -> Vec<Case> {
    let good = arrived();
    let nested = frame_of(&[vec![0x93], vec![0x91; 10_000]].concat());
    let limit = u32::try_from(Limits::default().head).unwrap();
    vec![
        case(stamped(0, &[0; 16]), "found 0x00, expected 0xb5", MALFORMED),
        case(
            stamped(0, &announcing(limit + 1, 0)),
            "a head of ",
            MALFORMED,
        ),
        case(
            stamped(0, &announcing(9, 1 << 62)),
            "a payload of ",
            MALFORMED,
        ),
        case(
            stamped(0, &frame_of(&[0xC1; 40])),
            "byte 0 of the head",
            MALFORMED,
        ),
        case(stamped(0, &nested), "of the head: ", MALFORMED),
        case(stamped(0, &good[..20]), "it ends after ", MALFORMED),
        case(
            stamped(0, &announcing(9, 1000)),
            "it ends after 0 ",
            MALFORMED,
        ),
        case(
            stamp(7, EPOCH, 0)[..10].to_vec(),
            "it ends after 10 ",
            MALFORMED,
        ),
    ]
}

/// An endpoint, and a raw peer that is connected to it.
async fn attacked(role: Role) -> (Endpoint, protocol::transport::Peer, quinn::Connection) {
    let here = endpoint(
        Role::Node,
        "n1",
        crate::transport::any_role(),
        Bounds::default(),
    );
    let raw = RawPeer::of(&identity(role, "n2"));
    let connection = raw.connect(here.address().unwrap()).await.unwrap();
    drop(raw_peer::control_stream(&connection).await);
    let peer = here.accept().await.unwrap();
    (here, peer, connection)
}

#[tokio::test]
async fn forbidden_frames_end_the_connection_and_are_counted() {
    for Case {
        role,
        bytes,
        expect,
        counted,
    } in forbidden().into_iter().chain(malformed())
    {
        let here = endpoint(
            Role::Node,
            "n1",
            crate::transport::any_role(),
            Bounds::default(),
        );
        let raw = RawPeer::of(&identity(role, "n2"));
        let connection = raw.connect(here.address().unwrap()).await.unwrap();
        let mut stream = raw_peer::control_stream(&connection).await;
        stream.write_all(&bytes).await.unwrap();
        stream.finish().unwrap();
        let mut peer = here.accept().await.unwrap();
        let error = loop {
            if let Err(error) = peer.messages.receive().await {
                break error;
            }
        };
        assert!(matches!(error, PeerError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(expect), "{error}, not {expect}");
        assert_eq!(here.counters(), counted, "{error}");
        closed_with(&connection, expect).await;
        assert_eq!(peer.sender.close("").await, Err(error));
    }
}

/// The head of a state.
fn head_of_state() -> Bytes {
    let of_state = |(_, _, message)| match message {
        Message::Agent(AgentMessage::State(mut state)) => {
            state.payload = Bytes::new();
            let message = Message::Agent(AgentMessage::State(state));
            Some(encode(NODE, NODE, &message).head)
        }
        _ => None,
    };
    crate::transport::every_message()
        .into_iter()
        .find_map(of_state)
        .unwrap()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let checksum = crc32fast::hash(bytes).to_le_bytes();
    [&length[..], &checksum, bytes].concat()
}

/// The first bytes of the stream of a state.
fn opening(stamp: &[u8], frame: &[u8]) -> Vec<u8> {
    [
        &[0xB5, protocol::WIRE_VERSION, 2, 0, 0, 0, 0, 0],
        stamp,
        frame,
    ]
    .concat()
}

/// Streams of states with wrong chunks.
fn broken_chunks() -> Vec<Case> {
    let head = head_of_state();
    let (first, last) = (chunk(&[1; CHUNK_LEN]), chunk(&[1; 5]));
    let long = chunk(&[1; CHUNK_LEN + 1]);
    let mut corrupted = first.clone();
    corrupted[10_000] ^= 1;
    let more = [&last[..], &[0]].concat();
    let of = |chunks: [&[u8]; 2], expect| {
        let head = opening(&stamp(7, EPOCH, 0), &head);
        case([&head, chunks[0], chunks[1]].concat(), expect, MALFORMED)
    };
    vec![
        of(
            [&corrupted, &last],
            "the chunk at byte 0 of the state has checksum",
        ),
        of(
            [&first, &[]],
            "it ends after 0 bytes of the header of a chunk",
        ),
        of(
            [&first[..50_000], &[]],
            "it ends after 49992 bytes of a state",
        ),
        of(
            [&first, &long],
            "a chunk of 65537 bytes at byte 65536 of the state",
        ),
        of([&last, &first], "more bytes follow"),
        of([&first, &more], "more bytes follow"),
    ]
}

/// Streams of states with an error before the first chunk.
fn broken_heads() -> Vec<Case> {
    let head = head_of_state();
    let ours = stamp(7, EPOCH, 0);
    let huge = opening(&ours, &announcing(9, u64::MAX));
    let halted = opening(
        &ours,
        &encoded(NODE, &Message::Agent(AgentMessage::Halted(bsp::Rank(1)))),
    );
    let under = |stamp: Vec<u8>| opening(&stamp, &head);
    vec![
        case(huge, "a payload of 18446744073709551615", MALFORMED),
        case(halted, "a node may not send Halted as Node", DENIED),
        case(under(stamp(8, EPOCH, 0)), "expected job", FOREIGN),
        case(under(stamp(7, 1, 0)), "epoch 1, expected 3", STALE),
        case(
            under(stamp(7, EPOCH, 1)),
            "it has sequence number 1",
            REPLAYED,
        ),
        case(
            handshake(7, EPOCH),
            "a stream of kind [b5, 04, 01, 00]",
            MALFORMED,
        ),
        case(vec![0xB5], "it ends after 1 bytes of an opening", MALFORMED),
    ]
}

#[tokio::test]
async fn broken_states_end_the_connection_and_are_counted() {
    for Case {
        role,
        bytes,
        expect,
        counted,
    } in broken_chunks().into_iter().chain(broken_heads())
    {
        let (here, mut peer, connection) = attacked(role).await;
        let sending = async {
            let mut stream = connection.open_uni().await.unwrap();
            // The connection may be closed before all is sent.
            drop(stream.write_all(&bytes).await);
            drop(stream.finish());
            closed_with(&connection, expect).await;
        };
        let ((), received) = tokio::join!(sending, peer.states.receive());
        let error = received.unwrap_err().to_string();
        assert!(error.contains(expect), "{error}, not {expect}");
        assert_eq!(here.counters(), counted, "{error}");
    }
}

#[tokio::test]
async fn frames_in_the_name_of_other_agents_are_refused() {
    let mut pair = crate::transport::pair(Bounds::default()).await;
    pair.b.restrict_to(SpeakingRights {
        hosts: BTreeSet::from([HostId(1)]),
        sets: BTreeSet::from([SetId(0)]),
    });
    let arrived = decode(arrived().into(), &Limits::default()).unwrap().2;
    for from in [NODE, MANAGER, Address::Process(bsp::Rank(9))] {
        let message = (from, NODE, arrived.clone());
        pair.a
            .sender
            .send(crate::transport::frame(&message))
            .await
            .unwrap();
        assert_eq!(crate::transport::receive(&mut pair.b).await, message);
    }
    let message = (Address::Node(HostId(2)), NODE, arrived);
    pair.a
        .sender
        .send(crate::transport::frame(&message))
        .await
        .unwrap();
    let error = pair.b.messages.receive().await.unwrap_err().to_string();
    let expect = "n1 may not speak for Node(HostId(2))";
    assert!(error.ends_with(expect), "{error}");
    assert_eq!(pair.ends.1.counters(), DENIED);
}

#[tokio::test]
async fn mismatched_handshakes_are_refused_and_counted() {
    let mismatched = Counters {
        handshakes_mismatched: 1,
        ..NONE
    };
    let failed = Counters {
        handshakes_failed: 1,
        ..NONE
    };
    let mut other_version = handshake(7, EPOCH);
    other_version[1] = 99;
    let cases = [
        (
            handshake(8, EPOCH),
            "it belongs to job 0000000000000008, this end does not",
            mismatched,
        ),
        (
            handshake(7, EPOCH - 1),
            "in epoch 2, expected 3 or later",
            mismatched,
        ),
        (other_version, "run one build at both ends", failed),
        (
            with_build(&[0, 5], b"0.1.0"),
            "the program of a build has 0 bytes, expected 1 to 64",
            failed,
        ),
        // It is refused before the texts arrive.
        (
            with_build(&[5, 255], b""),
            "the version of a build has 255 bytes, expected 1 to 64",
            failed,
        ),
        (
            with_build(&[5, 5], b"te\xffts0.1.0"),
            "the program of a build cannot be displayed",
            failed,
        ),
        (
            with_build(&[5, 5], b"tests0.\x1b.0"),
            "the version of a build cannot be displayed",
            failed,
        ),
    ];
    for (bytes, expect, counted) in cases {
        let here = endpoint(
            Role::Node,
            "n1",
            crate::transport::any_role(),
            Bounds::default(),
        );
        let raw = RawPeer::of(&identity(Role::Node, "n2"));
        let connection = raw.connect(here.address().unwrap()).await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        closed_with(&connection, expect).await;
        crate::transport::counted(&here, counted).await;
    }
}

/// A handshake message with these lengths of texts, and these texts.
fn with_build(lengths: &[u8; 2], texts: &[u8]) -> Vec<u8> {
    let mut bytes = handshake(7, EPOCH);
    bytes.truncate(56);
    bytes.extend_from_slice(lengths);
    bytes.extend_from_slice(texts);
    bytes
}

#[tokio::test]
async fn handshakes_with_another_job_are_refused_on_outgoing_connections() {
    let there = RawPeer::of(&identity(Role::Node, "n2")).listen();
    let address = there.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let connection = there.accept().await.unwrap().await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        stream.write_all(&handshake(0, 0)).await.unwrap();
        closed_with(&connection, "it belongs to no job, this end does not").await;
    });
    let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
    let refused = here.connect(address, Role::Node, &name("n2")).await;
    let error = refused.unwrap_err().to_string();
    let expect = "it belongs to no job, this end does not";
    assert!(error.ends_with(expect), "{error}");
    serving.await.unwrap();
}

#[tokio::test]
async fn streams_above_the_limit_do_not_open() {
    let (_here, _peer, connection) = attacked(Role::Node).await;
    let soon = std::time::Duration::from_millis(100);
    // For a renewed certificate.
    let _two_way = connection.open_bi().await.unwrap();
    let two_way = tokio::time::timeout(soon, connection.open_bi()).await;
    assert!(two_way.is_err());
    let mut streams = Vec::new();
    while let Ok(stream) = tokio::time::timeout(soon, connection.open_uni()).await {
        streams.push(stream.unwrap());
    }
    assert_eq!(streams.len(), usize::from(Bounds::default().states));
}
