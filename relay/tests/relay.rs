//! A relay between sockets of loopback.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bsp::units::{Bytes, BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use relay::{Controls, Level, LinkSettings, Relay, WIRE_OVERHEAD};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

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
        let relay = Relay::bind(&SETS, settings).unwrap();
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

    /// Sends a datagram of `length` bytes from the first node to the second.
    async fn send(&self, length: usize) {
        let datagram = vec![1; length];
        self.nodes[0]
            .send_to(&datagram, self.proxies[1])
            .await
            .unwrap();
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

/// Sends `total` bytes on the wire as datagrams of `length` and keeps the queue filled; the rate at the receiver.
async fn rate_of(pair: &Pair, total: u64, length: usize) -> f64 {
    let size = u64::try_from(length).unwrap() + WIRE_OVERHEAD.0;
    let count = total / size;
    let (mut sent, mut received, mut began) = (0, 0, None);
    // As many as the queue holds are under way.
    let window = 60_000 / size;
    while received < count {
        while sent < count.min(received + window) {
            pair.send(length).await;
            sent += 1;
        }
        pair.receive(1).await;
        received += 1;
        began.get_or_insert_with(Instant::now);
    }
    let seconds = began.unwrap().elapsed().as_secs_f64();
    Bytes((count - 1) * size).as_f64() / seconds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_megabytes_take_the_time_of_the_rate() {
    for length in [6000, 1200] {
        let pair = Pair::new(settings(20e6, 0.0)).await;
        let rate = rate_of(&pair, 10_000_000, length).await;
        assert!((rate / 20e6 - 1.0).abs() < 0.03, "{length}: {rate}");
        assert_eq!(pair.controls.counters(SETS[0], SETS[1]).unwrap().dropped, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_level_is_a_part_of_the_rate_and_may_change() {
    let pair = Pair::new(settings(20e6, 0.0)).await;
    for part in [0.5, 0.25, 1.0] {
        pair.controls.set_level(Level::new(part).unwrap());
        let rate = rate_of(&pair, 2_000_000, 1200).await;
        assert!((rate / (20e6 * part) - 1.0).abs() < 0.03, "{part}: {rate}");
    }
    // One direction has no part in the other.
    let level = Level::new(0.1).unwrap();
    pair.controls
        .set_level_between(SETS[1], SETS[0], level)
        .unwrap();
    let rate = rate_of(&pair, 2_000_000, 1200).await;
    assert!((rate / 20e6 - 1.0).abs() < 0.03, "{rate}");
    let unknown = pair.controls.set_level_between(SETS[0], SETS[0], level);
    assert!(unknown.is_err());
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
    let relay = Relay::bind(&sets, settings(1e6, 0.0)).unwrap();
    let routes = |host| relay.routes(HostId(host)).collect::<Vec<_>>();
    let to = |host| (HostId(host), relay.address(HostId(host)));
    assert_eq!(routes(0), [to(2), to(3)]);
    assert_eq!(routes(1), [to(2), to(3)]);
    assert_eq!(routes(2), [to(0), to(1), to(3)]);
}
