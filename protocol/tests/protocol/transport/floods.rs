//! Floods of handshakes: established connections go on, and peers of the cluster still connect.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol::identity::Role;
use protocol::transport::{Bounds, Counters, Endpoint, Peer, PeerPolicy};
use tokio::net::UdpSocket;

use crate::transport::raw_peer::{self, RawPeer};
use crate::transport::{
    any_role, connected, endpoint, frame, identity, loopback, receive, start_call,
};

/// Exchanges some frames in both directions.
async fn exchange(a: &mut Peer, b: &mut Peer) {
    for superstep in 0..20 {
        let there_and_back = async {
            a.sender.send(frame(&start_call(superstep))).await.unwrap();
            assert_eq!(receive(b).await, start_call(superstep));
            b.sender.send(frame(&start_call(superstep))).await.unwrap();
            assert_eq!(receive(a).await, start_call(superstep));
        };
        let done = tokio::time::timeout(Duration::from_secs(10), there_and_back).await;
        assert!(done.is_ok(), "no answer");
    }
}

/// The header of a handshake, followed by random bytes.
fn random_handshake(number: u64) -> Vec<u8> {
    let mut datagram = vec![0xC3, 0, 0, 0, 1, 8];
    datagram.extend(number.to_be_bytes());
    datagram.extend([8, 1, 2, 3, 4, 5, 6, 7, 8]);
    // No token, and a length of two bytes for all that follows.
    datagram.extend([0, 0x44, 0xA0]);
    let word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let noise = (0..).flat_map(|turn| word.rotate_left(turn).to_le_bytes());
    datagram.extend(noise.take(0x4A0));
    datagram
}

/// The first datagrams of `count` handshakes, each valid by itself.
async fn beginnings(count: usize) -> Vec<Vec<u8>> {
    let silent = UdpSocket::bind(loopback()).await.unwrap();
    let address = silent.local_addr().unwrap();
    let client = RawPeer::of(&identity(Role::Node, "n2")).client();
    let mut beginnings = BTreeMap::new();
    let mut connecting = Vec::new();
    let mut buffer = vec![0; 65_536];
    while beginnings.len() < count {
        connecting.push(client.connect(address, "n2").unwrap());
        // Later datagrams of the same handshake go to the same connection ID.
        while beginnings.len() < connecting.len() {
            let (length, _) = silent.recv_from(&mut buffer).await.unwrap();
            let id = buffer[6..][..buffer[5].into()].to_vec();
            let datagram = &buffer[..length];
            beginnings.entry(id).or_insert_with(|| datagram.to_vec());
        }
    }
    beginnings.into_values().collect()
}

/// Sends `datagrams` to `there`, each from a separate port, from `hosts` addresses in turn.
async fn flood(there: &Endpoint, datagrams: Vec<Vec<u8>>, hosts: u8) {
    let there = there.address().unwrap();
    for (number, datagram) in datagrams.into_iter().enumerate() {
        let host = u8::try_from(number % usize::from(hosts)).unwrap();
        let from = SocketAddr::from((Ipv4Addr::new(127, 0, 1, host), 0));
        let socket = UdpSocket::bind(from).await.unwrap();
        socket.send_to(&datagram, there).await.unwrap();
        // The receiving socket drops what its buffer cannot hold: about 90 of these datagrams.
        if number % 16 == 15 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Waits until the counters of `endpoint` satisfy `is_enough`.
async fn counted(endpoint: &Endpoint, is_enough: impl Fn(&Counters) -> bool) {
    let counted = async {
        while !is_enough(&endpoint.counters()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), counted).await;
    assert!(in_time.is_ok(), "{:?}", endpoint.counters());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_datagrams_do_not_block_handshakes() {
    let here = endpoint(Role::SetManager, "n1", any_role(), Bounds::default());
    let there = endpoint(
        Role::SetManager,
        "n2",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (mut a, mut b) = connected(&there, &here).await;
    flood(&here, (0..2000).map(random_handshake).collect(), 50).await;
    exchange(&mut a, &mut b).await;
    // One datagram in four passes the first checks of QUIC, and the socket may drop some.
    counted(&here, |counters| {
        250 <= counters.handshakes_failed + counters.retries
    })
    .await;
    let late = endpoint(
        Role::SetManager,
        "n3",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (mut c, mut d) = connected(&late, &here).await;
    exchange(&mut c, &mut d).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_handshakes_do_not_block_others() {
    // Long enough for the last datagram to arrive before the first handshake times out, on any machine.
    let bounds = Bounds {
        handshake: Duration::from_secs(60),
        ..Bounds::default()
    };
    let here = endpoint(Role::SetManager, "n1", any_role(), bounds);
    let there = endpoint(
        Role::SetManager,
        "n2",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (mut a, mut b) = connected(&there, &here).await;
    let beginnings = beginnings(800).await;
    // All from one address: from 16 on, a quarter of its share, a Retry is required.
    let (first, second) = beginnings.split_at(200);
    flood(&here, first.to_vec(), 1).await;
    counted(&here, |counters| 150 <= counters.retries).await;
    // From 100 addresses, six each: from 256 on, a Retry is required from all. Enough arrive if half of them are dropped.
    flood(&here, second.to_vec(), 100).await;
    counted(&here, |counters| 200 < counters.retries).await;
    exchange(&mut a, &mut b).await;
    let late = endpoint(
        Role::SetManager,
        "n3",
        PeerPolicy::RefuseAll,
        Bounds::default(),
    );
    let (mut c, mut d) = connected(&late, &here).await;
    exchange(&mut c, &mut d).await;
    let Counters {
        handshakes_refused,
        handshakes_ignored,
        ..
    } = here.counters();
    assert_eq!((handshakes_refused, handshakes_ignored), (0, 0));
}

#[tokio::test]
async fn ignored_handshakes_succeed_once_others_have_ended() {
    let bounds = Bounds {
        handshakes_per_address: 2,
        handshake: Duration::from_secs(1),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", any_role(), bounds);
    let address = here.address().unwrap();
    let silent = RawPeer::of(&identity(Role::Node, "n2"));
    let _first = silent.connect(address).await.unwrap();
    let _second = silent.connect(address).await.unwrap();
    // It repeats its first packet until it is answered.
    let third = silent.connect(address).await.unwrap();
    let _stream = raw_peer::control_stream(&third).await;
    assert_eq!(here.accept().await.unwrap().info.subject.role, Role::Node);
    let Counters {
        handshakes_ignored,
        handshakes_failed,
        handshakes_refused,
        ..
    } = here.counters();
    assert!(1 <= handshakes_ignored, "{handshakes_ignored}");
    assert_eq!((handshakes_failed, handshakes_refused), (2, 0));
}
