//! A relay beside the queueing discipline `tbf` of Linux, at the same rate.
//!
//! Needs the right to make network namespaces (root) and the programs `ip` and `tc` with `tbf`; where one of them is
//! missing, the test says so and does nothing.

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, SetId};
use relay::{Controls, LinkSettings, Relay};

use crate::flood::{Flood, check_rate, forward_on_a_thread};

/// 80 Mbit/s.
const RATE: f64 = 1e7;
#[test]
fn a_relay_has_the_throughput_of_tbf() {
    let Some(link) = ShapedLink::new() else {
        eprintln!("SKIPPED: no network namespaces here; they take root, `ip`, and `tc` with `tbf`");
        return;
    };
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let mut tbf = 0.0;
    check_rate(RATE, || {
        tbf = rate(&socket, ShapedLink::address(), || link.received());
        tbf
    });
    check_rate(tbf, relayed);
}

/// The rate of a relay between sockets of this process.
fn relayed() -> f64 {
    let sets = [SetId(0), SetId(1)];
    let rate_of_link = BytesPerSecond::new(RATE).unwrap();
    let settings = LinkSettings::new(rate_of_link, Seconds::ZERO);
    let relay = Relay::bind(&sets, |_, _| settings).unwrap();
    let controls: Controls = relay.controls();
    let proxy = relay.address(HostId(1));
    let nodes = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    forward_on_a_thread(relay, &nodes);
    rate(&nodes[0], proxy, || {
        controls
            .counters(sets[0], sets[1])
            .unwrap()
            .delivered_bytes
            .0
    })
}

/// The growth of `received` in a second.
fn rate(socket: &UdpSocket, to: SocketAddr, received: impl Fn() -> u64) -> f64 {
    let flood = Flood {
        socket,
        to,
        // An Ethernet frame holds it.
        length: 1200,
        rate: 1.3 * RATE,
    };
    flood.rate_of(Duration::from_millis(300), 15_000_000, received)
}

/// A link into a namespace, limited by `tbf`; gone when this is dropped.
struct ShapedLink {
    space: String,
    outer: String,
}

impl ShapedLink {
    fn new() -> Option<Self> {
        // Names of interfaces are short.
        let id = std::process::id() % 10_000;
        let link = Self {
            space: format!("rt{id}"),
            outer: format!("ro{id}"),
        };
        let (space, outer) = (&link.space, &link.outer);
        let commands = [
            format!("ip netns add {space}"),
            format!("ip link add {outer} type veth peer name inner netns {space}"),
            format!("ip addr add 10.79.0.1/24 dev {outer}"),
            format!("ip link set {outer} up"),
            format!("ip -n {space} addr add 10.79.0.2/24 dev inner"),
            format!("ip -n {space} link set inner up"),
            format!(
                "tc qdisc add dev {outer} root tbf rate {}bit burst 64kb latency 50ms",
                8.0 * RATE
            ),
        ];
        commands.iter().all(|words| does(words)).then_some(link)
    }

    /// Behind the link.
    fn address() -> SocketAddr {
        "10.79.0.2:9".parse().unwrap()
    }

    /// The bytes of frames that have arrived behind the link.
    fn received(&self) -> u64 {
        let file = "/sys/class/net/inner/statistics/rx_bytes";
        let words = ["netns", "exec", &self.space, "cat", file];
        let output = Command::new("ip").args(words).output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }
}

impl Drop for ShapedLink {
    fn drop(&mut self) {
        does(&format!("ip link del {}", self.outer));
        does(&format!("ip netns del {}", self.space));
    }
}

/// Whether a command of the system succeeds.
fn does(words: &str) -> bool {
    let mut words = words.split(' ');
    let command = Command::new(words.next().unwrap())
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    command.is_ok_and(|status| status.success())
}
