//! What one peer, and all peers together, may take of an endpoint.

use std::time::Duration;

use protocol::identity::Role;
use protocol::transport::{
    Bounds, CHUNK_LEN, ConnectError, Counters, Endpoint, Peer, PeerError, PeerPolicy,
};
use protocol::{Address, AgentMessage, EncodedState, Limits, Message, WIRE_VERSION};
use quinn::{Connection, SendStream};

use crate::transport::raw_peer::{self, RawPeer, handshake, stamp};
use crate::transport::{
    EPOCH, NODE, any_role, connected, counted, endpoint, frame, identity, name, receive, start_call,
};

/// A peer below the level of an endpoint, with its control stream.
struct Raw {
    connection: Connection,
    control: SendStream,
}

/// Connects to `here` with a job, and both ends.
async fn raw(here: &Endpoint, text: &str) -> (Raw, Peer) {
    let raw = RawPeer::of(&identity(Role::Node, text));
    let connection = raw.connect(here.address().unwrap()).await.unwrap();
    let control = raw_peer::control_stream(&connection).await;
    let peer = here.accept().await.unwrap();
    (
        Raw {
            connection,
            control,
        },
        peer,
    )
}

/// Connects to `here` without a job.
async fn visitor(here: &Endpoint, text: &str) -> (Raw, Peer) {
    let raw = RawPeer::of(&identity(Role::Client, text));
    let connection = raw.connect(here.address().unwrap()).await.unwrap();
    let mut control = connection.open_uni().await.unwrap();
    control.write_all(&handshake(0, 0)).await.unwrap();
    let peer = here.accept().await.unwrap();
    (
        Raw {
            connection,
            control,
        },
        peer,
    )
}

/// The frame of an image of `length` bytes.
fn image(length: usize) -> (Address, Address, Message) {
    let image = EncodedState {
        rank: bsp::Rank(1),
        epoch: EPOCH,
        agent: 0,
        declared: None,
        payload: vec![0x5A; length].into(),
    };
    (
        NODE,
        NODE,
        Message::Agent(AgentMessage::State(Box::new(image))),
    )
}

/// The first `sent` bytes of the frame of an image of `length` bytes, behind a stamp.
fn beginning(length: usize, sent: usize) -> Vec<u8> {
    let frame = frame(&image(length));
    let mut bytes = [&stamp(7, EPOCH, 0)[..], &frame.head, &frame.payload].concat();
    bytes.truncate(sent);
    bytes
}

/// The prefix of a frame of a message of jobs, behind a stamp.
fn announced(head: u32) -> Vec<u8> {
    let prefix = [
        &[0xB5, WIRE_VERSION, 2, 0],
        &head.to_le_bytes()[..],
        &[0; 8],
    ]
    .concat();
    [stamp(0, 0, 0), prefix].concat()
}

fn soon(bounds: Bounds) -> Bounds {
    let unfinished = Duration::from_millis(500);
    Bounds {
        unfinished,
        ..bounds
    }
}

#[tokio::test]
async fn frames_that_do_not_end_are_refused() {
    for sent in [1, 50, 100_000] {
        let here = endpoint(Role::Node, "n1", any_role(), soon(Bounds::default()));
        let (mut raw, mut peer) = raw(&here, "n2").await;
        raw.control
            .write_all(&beginning(200_000, sent))
            .await
            .unwrap();
        let error = peer.messages.receive().await.unwrap_err();
        let expect =
            "a frame neither ends nor grows by 1 MiB, or its share of a slow link, in 0.5 s";
        assert!(error.to_string().ends_with(expect), "{error}");
        crate::transport::closed_with(&raw.connection, expect).await;
        let unfinished = Counters {
            unfinished: 1,
            ..Counters::default()
        };
        assert_eq!(here.counters(), unfinished);
    }
}

#[tokio::test]
async fn states_that_do_not_end_are_refused() {
    let head = frame(&image(0)).head;
    let opening = [
        &[0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0],
        &stamp(7, EPOCH, 0)[..],
        &head,
        &u32::try_from(CHUNK_LEN).unwrap().to_le_bytes(),
        &[0; 100],
    ];
    let opening = opening.concat();
    for sent in [1, 40, opening.len()] {
        let here = endpoint(Role::Node, "n1", any_role(), soon(Bounds::default()));
        let (raw, mut peer) = raw(&here, "n2").await;
        let mut stream = raw.connection.open_uni().await.unwrap();
        stream.write_all(&opening[..sent]).await.unwrap();
        let error = peer.states.receive().await.unwrap_err();
        let expect =
            "a state neither ends nor grows by 1 MiB, or its share of a slow link, in 0.5 s";
        assert!(error.to_string().ends_with(expect), "{error}");
    }
}

/// A link that carries less than 1 MiB in the time limit, with nothing else on it.
#[tokio::test]
async fn a_state_that_grows_as_its_link_allows_arrives() {
    let here = endpoint(Role::Node, "n1", any_role(), soon(Bounds::default()));
    let (raw, mut peer) = raw(&here, "n2").await;
    let mut stream = raw.connection.open_uni().await.unwrap();
    let head = frame(&image(0)).head;
    let opening = [
        &[0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0],
        &stamp(7, EPOCH, 0)[..],
        &head,
    ];
    stream.write_all(&opening.concat()).await.unwrap();
    let began = std::time::Instant::now();
    let sending = async {
        for _ in 0..8 {
            let chunk = vec![0; CHUNK_LEN];
            let length = u32::try_from(CHUNK_LEN).unwrap().to_le_bytes();
            let sum = crc32fast::hash(&chunk).to_le_bytes();
            stream
                .write_all(&[&length[..], &sum, &chunk].concat())
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        stream.write_all(&[0; 8]).await.unwrap();
        stream.finish().unwrap();
    };
    let (received, ()) = tokio::join!(peer.states.receive(), sending);
    assert_eq!(received.unwrap().state.payload.len(), 8 * CHUNK_LEN);
    assert!(Duration::from_millis(1500) < began.elapsed());
}

#[tokio::test]
async fn peers_between_frames_may_be_silent() {
    let here = endpoint(Role::Node, "n1", any_role(), soon(Bounds::default()));
    let (mut raw, mut peer) = raw(&here, "n2").await;
    let mut sent = beginning(10, usize::MAX);
    raw.control.write_all(&sent).await.unwrap();
    assert_eq!(receive(&mut peer).await, image(10));
    let waited = tokio::time::timeout(Duration::from_millis(1500), receive(&mut peer)).await;
    assert!(waited.is_err());
    sent[16..24].copy_from_slice(&1_u64.to_le_bytes());
    raw.control.write_all(&sent).await.unwrap();
    assert_eq!(receive(&mut peer).await, image(10));
}

#[tokio::test]
async fn large_frames_wait_for_each_other_and_small_ones_do_not() {
    let bounds = Bounds {
        frames: 1 << 20,
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", any_role(), bounds);
    // The first two exceed the budget: one of them is the first in turn, the other waits.
    let mut hostile = Vec::new();
    for text in ["n2", "n3", "n4"] {
        let (raw, mut peer) = raw(&here, text).await;
        let Raw {
            connection,
            mut control,
        } = raw;
        drop(tokio::spawn(async move {
            drop(control.write_all(&beginning(20 << 20, 19 << 20)).await);
            std::future::pending::<()>().await;
        }));
        drop(tokio::spawn(async move {
            peer.messages.receive().await.map(drop)
        }));
        hostile.push(connection);
    }
    let honest = endpoint(
        Role::SetManager,
        "n5",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (a, mut b) = connected(&honest, &here).await;
    for superstep in 0..200 {
        a.sender.send(frame(&start_call(superstep))).await.unwrap();
        assert_eq!(receive(&mut b).await, start_call(superstep));
    }
    // It arrives when those before it are gone.
    let large = image(5 << 20);
    let sending = a.sender.send(frame(&large));
    let ending = async {
        for connection in hostile {
            tokio::time::sleep(Duration::from_millis(100)).await;
            connection.close(0_u8.into(), b"");
        }
    };
    let (sent, received, ()) = tokio::join!(sending, receive(&mut b), ending);
    sent.unwrap();
    assert!(received == large);
}

#[tokio::test]
async fn large_frames_of_many_peers_arrive_in_a_small_budget() {
    let bounds = Bounds {
        frames: 1 << 20,
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", any_role(), bounds);
    let large = image(6 << 20);
    let mut sending = tokio::task::JoinSet::new();
    for number in 2..8 {
        let text = format!("n{number}");
        let there = endpoint(Role::Node, &text, PeerPolicy::RefuseAll, Bounds::default());
        let (a, mut b) = connected(&there, &here).await;
        let (sent, expect) = (frame(&large), large.clone());
        drop(sending.spawn(async move {
            a.sender.send(sent.clone()).await.unwrap();
            a.sender.send(sent).await.unwrap();
            drop(a.sender.close("done").await);
            drop(there);
        }));
        drop(sending.spawn(async move {
            for _ in 0..2 {
                assert!(receive(&mut b).await == expect);
            }
        }));
    }
    drop(sending.join_all().await);
}

#[tokio::test]
async fn connections_of_one_member_are_limited() {
    let bounds = Bounds {
        connections_per_member: 2,
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", any_role(), bounds);
    let address = here.address().unwrap();
    let there = endpoint(
        Role::Client,
        "laptop",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (first, _a) = connected(&there, &here).await;
    let (_second, _b) = connected(&there, &here).await;
    let refused = there.connect(address, Role::Node, &name("n1")).await;
    let error = refused.unwrap_err();
    let is_aborted = matches!(error, ConnectError::Peer(PeerError::Aborted { .. }));
    assert!(is_aborted, "{error}");
    let expect = "client laptop has 2 connections, the largest number: close one";
    assert!(error.to_string().ends_with(expect), "{error}");
    let refused = Counters {
        connections_refused: 1,
        ..Counters::default()
    };
    counted(&here, refused).await;
    let other = endpoint(
        Role::Client,
        "desk",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let _other = connected(&other, &here).await;
    first.sender.close("done").await.unwrap();
    let again = async {
        loop {
            if let Ok(peer) = there.connect(address, Role::Node, &name("n1")).await {
                break peer;
            }
        }
    };
    let (_again, _c) = tokio::join!(again, here.accept());
}

#[tokio::test]
async fn visitors_send_small_frames_alone() {
    let here = endpoint(Role::Node, "n1", any_role(), Bounds::default());
    let limit = u32::try_from(Bounds::default().visitor_frame.head).unwrap();
    let (mut raw, mut peer) = visitor(&here, "laptop").await;
    raw.control.write_all(&announced(limit + 1)).await.unwrap();
    let error = peer.messages.receive().await.unwrap_err();
    let expect = format!("a head of {} bytes, expected at most {limit}", limit + 1);
    assert!(error.to_string().ends_with(&expect), "{error}");
    // A peer with the job may send more.
    assert!(limit < u32::try_from(Limits::default().head).unwrap());
}

#[tokio::test]
async fn visitors_fill_a_small_window_until_their_states_are_received() {
    let here = endpoint(Role::Node, "n1", any_role(), Bounds::default());
    let (raw, mut peer) = visitor(&here, "laptop").await;
    let mut stream = raw.connection.open_uni().await.unwrap();
    let mut taken = 0;
    while let Ok(written) =
        tokio::time::timeout(Duration::from_millis(500), stream.write(&[0xB5; 16 << 10])).await
    {
        taken += written.unwrap();
    }
    let window = usize::try_from(Bounds::default().visitor_window).unwrap();
    assert!(taken <= window, "{taken}");
    let waiting = stream.write(&[0xB5; 16 << 10]);
    let (more, error) = tokio::join!(waiting, peer.states.receive());
    assert!(more.is_ok() || error.is_err());
}

#[tokio::test]
async fn clients_whose_states_are_received_may_send_large_ones() {
    let here = endpoint(Role::Node, "n1", any_role(), Bounds::default());
    let there = endpoint(
        Role::Client,
        "laptop",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    there.end();
    let (a, mut b) = connected(&there, &here).await;
    let state = EncodedState {
        rank: bsp::Rank(1),
        epoch: 0,
        agent: 0,
        declared: None,
        payload: vec![7; 9 << 20].into(),
    };
    let sending = a.sender.send_state(Address::Client, NODE, state.clone());
    let (sent, received) = tokio::join!(sending, b.states.receive());
    sent.unwrap();
    assert!(received.unwrap().state == state);
}
