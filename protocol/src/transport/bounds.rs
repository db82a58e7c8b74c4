use std::sync::Arc;
use std::time::Duration;

use quinn::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use crate::Limits;

/// Limits on the memory that an endpoint spends on peers, and on the time that it waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// One frame of a control stream.
    pub frame: Limits,
    /// One migrated state.
    pub state: Limits,
    /// States in transfer from one peer at a time; more wait at their source.
    pub states: u8,
    /// Bytes of one stream that have arrived and are not yet read.
    pub stream_window: u32,
    /// Bytes of frames that wait to be sent to one peer.
    pub queue: u32,
    /// Handshakes in progress at a time. More are refused.
    pub handshakes: u16,
    /// Handshakes in progress from one IPv4 address, or one IPv6 network of 64 bits. More are ignored; their
    /// peers may ask again.
    pub handshakes_per_address: u16,
    /// Handshakes in progress from which on a peer has to prove its address (Retry).
    pub retry_from: u16,
    /// Time limit for a handshake, and for flushing a connection that closes.
    pub handshake: Duration,
    /// Interval of keep-alive packets to a silent peer.
    pub keep_alive: Duration,
    /// Silence after which a peer counts as lost.
    pub idle: Duration,
    /// Bytes of a UDP datagram, where the path carries that many.
    pub datagram: u16,
}

impl Default for Bounds {
    /// `ARCHITECTURE.md` gives the reasons for these values.
    fn default() -> Self {
        Self {
            frame: Limits::default(),
            state: Limits {
                head: 4 << 10,
                payload: 16 << 30,
            },
            states: 4,
            stream_window: 1 << 20,
            queue: 8 << 20,
            handshakes: 1024,
            handshakes_per_address: 64,
            retry_from: 256,
            handshake: Duration::from_secs(5),
            keep_alive: Duration::from_secs(2),
            idle: Duration::from_secs(8),
            datagram: 6500,
        }
    }
}

impl Bounds {
    /// Bytes of all streams of a connection that have arrived and are not yet read. The control stream proceeds
    /// even if all state streams are full.
    #[must_use]
    pub fn connection_window(&self) -> u64 {
        u64::from(self.stream_window) * (u64::from(self.states) + 2)
    }

    pub(super) fn transport(&self) -> Arc<TransportConfig> {
        let varint = |value: u64| VarInt::from_u64(value).unwrap_or(VarInt::MAX);
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.datagram);
        let mut acknowledging = AckFrequencyConfig::default();
        acknowledging
            .ack_eliciting_threshold(UNACKNOWLEDGED)
            .max_ack_delay(Some(ACKNOWLEDGING));
        let mut transport = TransportConfig::default();
        transport
            .ack_frequency_config(Some(acknowledging))
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .max_concurrent_uni_streams(VarInt::from_u32(u32::from(self.states) + 1))
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .receive_window(varint(self.connection_window()))
            .send_window(self.connection_window())
            .datagram_receive_buffer_size(None)
            .crypto_buffer_size(CRYPTO_BUFFER)
            .keep_alive_interval(Some(self.keep_alive))
            .max_idle_timeout(Some(idle(self.idle)))
            .mtu_discovery_config(Some(discovery));
        Arc::new(transport)
    }
}

fn idle(idle: Duration) -> IdleTimeout {
    let milliseconds = u32::try_from(idle.as_millis()).unwrap_or(u32::MAX);
    VarInt::from_u32(milliseconds).into()
}

/// Bytes of the TLS handshake of one connection; the certificates of a cluster take less than 2 KiB.
const CRYPTO_BUFFER: usize = 16 << 10;
/// Packets received before a separate acknowledgement is sent. Mostly an answer carries the acknowledgement; a
/// separate packet would wake the peer for nothing.
const UNACKNOWLEDGED: VarInt = VarInt::from_u32(8);
/// Longest delay of an acknowledgement.
const ACKNOWLEDGING: Duration = Duration::from_millis(5);
