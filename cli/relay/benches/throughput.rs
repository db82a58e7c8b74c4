//! Bytes that a relay carries over a link without a limit, in datagrams as nodes send them.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use relay::{LinkSettings, Relay};
use std::net::UdpSocket;

/// Datagrams that are under way at a time, as few as fit the buffers that systems grant.
const WINDOW: u64 = 16;

fn throughput(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("throughput");
    for length in [6500_u64, 1452] {
        let (proxy, [sender, receiver]) = relayed();
        group.throughput(Throughput::Bytes(length));
        let id = BenchmarkId::new("unlimited", length);
        group.bench_function(id, |bencher| {
            bencher.iter_custom(|count| carry(count, length, (&sender, &receiver, proxy)));
        });
    }
    group.finish();
}

/// The time that `count` datagrams take.
fn carry(
    count: u64,
    length: u64,
    (sender, receiver, proxy): (&UdpSocket, &UdpSocket, SocketAddr),
) -> Duration {
    let datagram = vec![1; usize::try_from(length).expect("a short length")];
    let mut buffer = vec![0; 65_535];
    let began = Instant::now();
    let mut sent = 0;
    for received in 0..count {
        while sent < count.min(received + WINDOW) {
            sender
                .send_to(&datagram, proxy)
                .expect("a datagram is sent");
            sent += 1;
        }
        receiver.recv(&mut buffer).expect("a datagram arrives");
    }
    began.elapsed()
}

/// A relay between two sockets, and where the first reaches the second.
fn relayed() -> (SocketAddr, [UdpSocket; 2]) {
    let rate = BytesPerSecond::new(1e12).expect("a rate");
    let settings = LinkSettings::new(rate, Seconds::ZERO);
    let relay = Relay::bind(&[SetId(0), SetId(1)], |_, _| settings).expect("a relay");
    let proxy = relay.address(HostId(1));
    let nodes = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    for node in &nodes {
        node.set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a time limit");
    }
    let addresses = nodes
        .iter()
        .map(|node| node.local_addr().expect("an address"))
        .collect();
    let (begun, begins) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        begun.send(()).expect("the benchmark waits");
        runtime.expect("a runtime").block_on(relay.run(addresses))
    });
    begins.recv().expect("a thread");
    (proxy, nodes)
}

criterion_group!(benches, throughput);
criterion_main!(benches);
