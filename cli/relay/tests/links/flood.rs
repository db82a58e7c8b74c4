//! More datagrams than a link carries.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use bsp::units::Bytes;
use relay::Relay;

/// A sender that keeps the queue of a link full, so that it matters little when the sender has a processor.
pub(crate) struct Flood<'a> {
    pub(crate) socket: &'a UdpSocket,
    pub(crate) to: SocketAddr,
    /// Bytes of a datagram.
    pub(crate) length: u32,
    /// Bytes per second that are sent: more than the link carries.
    pub(crate) rate: f64,
}

impl Flood<'_> {
    /// The growth of `received` in a second, until it has grown by `total` after `before`, in which the queue fills.
    pub(crate) fn rate_of(&self, before: Duration, total: u64, received: impl Fn() -> u64) -> f64 {
        let datagram = vec![1; usize::try_from(self.length).unwrap()];
        let began = Instant::now();
        let mut sent = 0.0;
        let mut looked = began;
        let mut first: Option<(Instant, u64)> = None;
        loop {
            assert!(began.elapsed() < LIMIT, "{first:?} {}", received());
            if sent < self.rate * began.elapsed().as_secs_f64() {
                // It waits while the queue of `tbf` has all that the socket may send.
                self.socket.send_to(&datagram, self.to).unwrap();
                sent += f64::from(self.length);
            } else {
                thread::sleep(Duration::from_millis(1));
            }
            if looked.elapsed() < LOOKING {
                continue;
            }
            looked = Instant::now();
            match first {
                None if before < began.elapsed() => first = Some((looked, received())),
                Some((since, at)) => {
                    let grown = received() - at;
                    if total <= grown {
                        return Bytes(grown).as_f64() / since.elapsed().as_secs_f64();
                    }
                }
                None => {}
            }
        }
    }
}

/// Lets `relay` forward between `nodes` on a thread of its own, which ends with the test.
pub(crate) fn forward_on_a_thread(relay: Relay, nodes: &[UdpSocket]) {
    let addresses = nodes.iter().map(|node| node.local_addr().unwrap());
    let addresses = addresses.collect();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(relay.run(addresses))
    });
}

/// Checks that a rate is `expected`, within three per cent, in one of five measurements. A program that takes the
/// processors from this one spoils some; a link with another rate spoils all.
pub(crate) fn check_rate(expected: f64, mut measure: impl FnMut() -> f64) {
    let mut rates = Vec::new();
    for _ in 0..5 {
        let rate = measure();
        if (rate / expected - 1.0).abs() < 0.03 {
            return;
        }
        rates.push(rate);
    }
    panic!("{rates:?} B/s, expected {expected}");
}

const LIMIT: Duration = Duration::from_secs(60);
/// The time between two looks at what is received.
const LOOKING: Duration = Duration::from_millis(20);
