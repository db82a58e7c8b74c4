//! A relay between sockets of loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bsp::units::{Bytes, BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use relay::{Controls, Level, LinkSettings, Relay, WIRE_OVERHEAD};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::flood::{Flood, check_rate, forward_on_a_thread};

const SETS: [SetId; 2] = [SetId(0), SetId(1)];

/// Two nodes in different Sets, and a relay between them on a thread of its own.
struct Pair {
    nodes: [UdpSocket; 2],
    proxies: [SocketAddr; 2],
    controls: Controls,
    relay: JoinHandle<()>,
}

impl Pair {
    async fn new(settings: LinkSettings) -> Self {
        let relay = Relay::bind(&SETS, |_, _| settings).unwrap();
        let controls = relay.controls();
        let proxies = [0, 1].map(|host| relay.address(HostId(host)));
        let nodes = [socket().await, socket().await];
        let addresses = nodes
            .iter()
            .map(|node| node.local_addr().unwrap())
            .collect();
        let relay = tokio::spawn(async move {
            relay.run(addresses).await.unwrap();
        });
        Self {
            nodes,
            proxies,
            controls,
            relay,
        }
    }

    async fn receive(&self, node: usize) -> (Vec<u8>, SocketAddr) {
        let mut buffer = vec![0; 65_535];
        let received = self.nodes[node].recv_from(&mut buffer);
        let (length, source) = tokio::time::timeout(LIMIT, received)
            .await
            .unwrap()
            .unwrap();
        (buffer[..length].to_vec(), source)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

async fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").await.unwrap()
}

fn settings(rate: f64, latency: f64) -> LinkSettings {
    let rate = BytesPerSecond::new(rate).unwrap();
    LinkSettings::new(rate, Seconds::new(latency).unwrap())
}

const LIMIT: Duration = Duration::from_secs(20);

/// A relay on a thread of its own with a link of 20 MB/s, its controls, a socket, and where this reaches the other one.
fn flooded() -> (Controls, [std::net::UdpSocket; 2], SocketAddr) {
    let relay = Relay::bind(&SETS, |_, _| settings(RATE, 0.0)).unwrap();
    let (controls, proxy) = (relay.controls(), relay.address(HostId(1)));
    let nodes = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    forward_on_a_thread(relay, &nodes);
    (controls, nodes, proxy)
}

/// Bytes per second.
const RATE: f64 = 20e6;

#[test]
fn ten_megabytes_take_the_time_of_the_rate() {
    for length in [6000, 1200] {
        let (controls, [socket, receiver], to) = flooded();
        let received = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&received);
        thread::spawn(move || {
            let mut buffer = [0; 65_535];
            loop {
                let length = u64::try_from(receiver.recv(&mut buffer).unwrap()).unwrap();
                counted.fetch_add(length + WIRE_OVERHEAD.0, Ordering::Relaxed);
            }
        });
        let flood = Flood {
            socket: &socket,
            to,
            length,
            rate: 1.3 * RATE,
        };
        let before = Duration::from_millis(100);
        check_rate(RATE, || {
            flood.rate_of(before, 10_000_000, || received.load(Ordering::Relaxed))
        });
        assert!(0 < controls.counters(SETS[0], SETS[1]).unwrap().dropped);
    }
}

#[test]
fn a_level_is_a_part_of_the_rate_and_may_change() {
    let (controls, [socket, _], to) = flooded();
    let bytes = || {
        controls
            .counters(SETS[0], SETS[1])
            .unwrap()
            .delivered_bytes
            .0
    };
    let flood = Flood {
        socket: &socket,
        to,
        length: 1200,
        rate: 1.3 * RATE,
    };
    let rate_of = |part: f64| {
        check_rate(RATE * part, || {
            flood.rate_of(Duration::from_millis(100), 4_000_000, bytes)
        });
    };
    for part in [0.5, 0.25, 1.0] {
        controls
            .set_level(SETS[0], SETS[1], Level::new(part).unwrap())
            .unwrap();
        rate_of(part);
    }
    // One direction has no part in the other.
    let level = Level::new(0.1).unwrap();
    controls.set_level(SETS[1], SETS[0], level).unwrap();
    rate_of(1.0);
    assert!(controls.set_level(SETS[0], SETS[0], level).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latency_is_added_in_each_direction() {
    let latency = 0.02;
    let pair = Pair::new(settings(1e9, latency)).await;
    let mut fastest = f64::INFINITY;
    for number in 0..20 {
        let began = Instant::now();
        pair.nodes[0]
            .send_to(&[number], pair.proxies[1])
            .await
            .unwrap();
        assert_eq!(pair.receive(1).await, (vec![number], pair.proxies[0]));
        let there = began.elapsed().as_secs_f64();
        pair.nodes[1]
            .send_to(&[number], pair.proxies[0])
            .await
            .unwrap();
        assert_eq!(pair.receive(0).await, (vec![number], pair.proxies[1]));
        let both = began.elapsed().as_secs_f64();
        assert!(
            latency <= there && there + latency <= both + 1e-3,
            "{there} {both}"
        );
        fastest = fastest.min(both);
    }
    assert!(fastest < 2.0 * latency + 0.003, "{fastest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_drops_and_what_it_holds_arrives_in_order() {
    let mut settings = settings(1e6, 0.0);
    settings.queue = Bytes(10 * (1000 + WIRE_OVERHEAD.0));
    let pair = Pair::new(settings).await;
    // 100 datagrams take 0.1 s to transmit and arrive within much less.
    for number in 0..100 {
        pair.nodes[0]
            .send_to(&[number; 1000], pair.proxies[1])
            .await
            .unwrap();
    }
    let mut arrived = Vec::new();
    for _ in 0..10 {
        arrived.push(pair.receive(1).await.0[0]);
    }
    assert_eq!(arrived[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let counters = || pair.controls.counters(SETS[0], SETS[1]).unwrap();
    let began = Instant::now();
    while counters().delivered + counters().dropped < 100 {
        assert!(began.elapsed() < LIMIT, "{:?}", counters());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(50 < counters().dropped, "{:?}", counters());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datagrams_of_other_sockets_are_not_forwarded() {
    let pair = Pair::new(settings(1e9, 0.0)).await;
    let other = socket().await;
    other.send_to(b"other", pair.proxies[1]).await.unwrap();
    // Nor does a node reach itself through its own proxy.
    pair.nodes[1]
        .send_to(b"itself", pair.proxies[1])
        .await
        .unwrap();
    pair.nodes[0]
        .send_to(b"node", pair.proxies[1])
        .await
        .unwrap();
    assert_eq!(pair.receive(1).await, (b"node".to_vec(), pair.proxies[0]));
}

#[tokio::test]
async fn hosts_reach_those_of_other_sets_through_the_relay_and_no_others() {
    let sets = [SetId(0), SetId(0), SetId(1), SetId(2)];
    let relay = Relay::bind(&sets, |_, _| settings(1e6, 0.0)).unwrap();
    let routes = |host| relay.routes(HostId(host)).collect::<Vec<_>>();
    let to = |host| (HostId(host), relay.address(HostId(host)));
    assert_eq!(routes(0), [to(2), to(3)]);
    assert_eq!(routes(1), [to(2), to(3)]);
    assert_eq!(routes(2), [to(0), to(1), to(3)]);
}
