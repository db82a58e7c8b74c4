//! Strangers in great numbers: those who have come before do not notice, and those who belong here
//! still get in.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol::identity::Role;
use protocol::transport::{Bounds, Counters, Endpoint, Guests, Peer};
use tokio::net::UdpSocket;

use crate::transport::raw::{self, Shown};
use crate::transport::{anybody, confer, connected, endpoint, frame, identity, loopback, receive};

/// There and back, a few times.
async fn exchange(a: &mut Peer, b: &mut Peer) {
    for superstep in 0..20 {
        let there_and_back = async {
            a.sender.send(frame(&confer(superstep))).await.unwrap();
            assert_eq!(receive(b).await, confer(superstep));
            b.sender.send(frame(&confer(superstep))).await.unwrap();
            assert_eq!(receive(a).await, confer(superstep));
        };
        let done = tokio::time::timeout(Duration::from_secs(10), there_and_back).await;
        assert!(done.is_ok(), "no answer");
    }
}

/// What begins as a handshake does, and goes on as nothing does.
fn gibberish(number: u64) -> Vec<u8> {
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
    let client = Shown::of(&identity(Role::Node, "n2")).client();
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

/// Sends `datagrams` to `there`, each from a port of its own, of as many addresses as `hosts`.
async fn flood(there: &Endpoint, datagrams: Vec<Vec<u8>>, hosts: u8) {
    let there = there.address().unwrap();
    for (number, datagram) in datagrams.into_iter().enumerate() {
        let host = u8::try_from(number % usize::from(hosts)).unwrap();
        let from = SocketAddr::from((Ipv4Addr::new(127, 0, 1, host), 0));
        let socket = UdpSocket::bind(from).await.unwrap();
        socket.send_to(&datagram, there).await.unwrap();
        // Loopback loses what is not taken from it in time.
        tokio::task::yield_now().await;
    }
}

/// Waits until `endpoint` has counted enough.
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
async fn gibberish_keeps_nobody_out() {
    let here = endpoint(Role::SetManager, "n1", anybody(), Bounds::default());
    let there = endpoint(Role::SetManager, "n2", Guests::Nobody, Bounds::default());
    let (mut a, mut b) = connected(&there, &here).await;
    flood(&here, (0..2000).map(gibberish).collect(), 50).await;
    exchange(&mut a, &mut b).await;
    // One in four looks like a handshake for longer than a moment, and the socket may lose some.
    counted(&here, |counters| {
        250 <= counters.handshakes + counters.retries
    })
    .await;
    let late = endpoint(Role::SetManager, "n3", Guests::Nobody, Bounds::default());
    let (mut c, mut d) = connected(&late, &here).await;
    exchange(&mut c, &mut d).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_are_begun_and_left_keep_nobody_out() {
    // Long enough for the last to come before the first is given up, on any machine.
    let bounds = Bounds {
        handshake: Duration::from_secs(30),
        ..Bounds::default()
    };
    let here = endpoint(Role::SetManager, "n1", anybody(), bounds);
    let there = endpoint(Role::SetManager, "n2", Guests::Nobody, Bounds::default());
    let (mut a, mut b) = connected(&there, &here).await;
    let beginnings = beginnings(500).await;
    // All from one address: from 16 on, a quarter of what it may have, it has to prove that it is one.
    let (first, second) = beginnings.split_at(200);
    flood(&here, first.to_vec(), 1).await;
    counted(&here, |counters| 150 <= counters.retries).await;
    // From fifty, six each: from 256 on everybody has to.
    flood(&here, second.to_vec(), 50).await;
    counted(&here, |counters| 184 < counters.retries).await;
    exchange(&mut a, &mut b).await;
    let late = endpoint(Role::SetManager, "n3", Guests::Nobody, Bounds::default());
    let (mut c, mut d) = connected(&late, &here).await;
    exchange(&mut c, &mut d).await;
    let Counters {
        turned_away,
        crowded,
        ..
    } = here.counters();
    assert_eq!((turned_away, crowded), (0, 0));
}

#[tokio::test]
async fn who_is_ignored_in_a_crowd_gets_in_once_the_others_have_gone() {
    let bounds = Bounds {
        handshakes_per_address: 2,
        handshake: Duration::from_secs(1),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", anybody(), bounds);
    let address = here.address().unwrap();
    let silent = Shown::of(&identity(Role::Node, "n2"));
    let _first = silent.connect(address).await.unwrap();
    let _second = silent.connect(address).await.unwrap();
    // It asks again until it is heard.
    let third = silent.connect(address).await.unwrap();
    let _stream = raw::greeted(&third).await;
    assert_eq!(here.accept().await.unwrap().party.subject.role, Role::Node);
    let Counters {
        crowded,
        handshakes,
        turned_away,
        ..
    } = here.counters();
    assert!(1 <= crowded, "{crowded}");
    assert_eq!((handshakes, turned_away), (2, 0));
}
