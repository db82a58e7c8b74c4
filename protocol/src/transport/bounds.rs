use std::sync::Arc;
use std::time::Duration;

use quinn::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use crate::Limits;

/// Limits on the memory that an endpoint spends on peers, and on the time that it waits for them.
///
/// A *visitor* is a peer that has connected without a job: a client. Its bounds are narrower, because any member of the
/// cluster may be one, several times.
///
/// **Memory of hostile peers.** With the defaults, eight members that open all connections they may, and fill all
/// windows and frames, make an endpoint take 212 MiB: 96 + 16 MiB of frames of a job, 8 + 8 MiB of visitors, 7 MiB for
/// each connection with a job, and 0.5 MiB for each other. With both ends in one process and what the allocator keeps,
/// the resident set grew by 130 to 350 MB, and has to stay below 384 MiB (`protocol/tests/memory`). Decoding one head
/// may take up to 200 MiB in addition for a moment.
///
/// **Silence of 2.5 s** is a compromise. Hosts that are stopped for longer (a debugger, a suspended machine, a network
/// that reconfigures itself) are lost, and with them the job. Two processors that four other programs keep busy (load
/// average 12) bear it, with states of 288 MB that migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// One frame of a control stream.
    pub frame: Limits,
    /// One frame of a visitor.
    pub visitor_frame: Limits,
    /// Bytes of incomplete frames of all peers together, visitors not included. One frame at a time may exceed it:
    /// the one that has waited longest.
    pub frames: u32,
    /// The same for all visitors together.
    pub visitor_frames: u32,
    /// The first bytes of an incomplete frame, which count for no budget. Of a visitor, the first
    /// [`visitor_window`](Self::visitor_window) bytes.
    pub uncounted: u32,
    /// Bytes of incomplete frames on all connections of one member. A frame that needs more is refused. Visitors may
    /// take as much as one frame.
    pub member_frames: u32,
    /// The longest time in which a frame or a state that has begun neither ends nor grows by 1 MiB, nor by 64 KiB that are an eighth of what
    /// its connection has brought meanwhile.
    pub unfinished: Duration,
    /// One migrated state.
    pub state: Limits,
    /// States in transfer from one peer at a time; more wait at their source.
    pub states: u8,
    /// Bytes of one stream that have arrived and are not yet read.
    pub stream_window: u32,
    /// Bytes in each direction that are in transfer or queued on the connection of a visitor, until this end receives
    /// states on it.
    pub visitor_window: u32,
    /// Bytes of frames that wait to be sent to one peer.
    pub queue: u32,
    /// Connections that one member has opened. More are refused.
    pub connections_per_member: u16,
    /// Connections that all members have opened. More are refused.
    pub connections: u16,
    /// Handshakes in progress at a time. More are refused.
    pub handshakes: u16,
    /// Handshakes in progress from one IPv4 address, or one IPv6 network of 64 bits. More are ignored; their
    /// peers may ask again.
    pub handshakes_per_address: u16,
    /// Handshakes in progress from which on a peer has to prove its address (Retry).
    pub retry_from: u16,
    /// Time limit for the first answer of a peer that is called, and for flushing a connection that closes.
    pub answer: Duration,
    /// Time limit for a handshake: meanwhile, packets that are lost are repeated.
    pub handshake: Duration,
    /// Silence after which a peer counts as lost. Peers send a sign of life five times as often.
    pub silence: Duration,
    /// The same while a job starts, when all of its nodes call each other: see
    /// [`Endpoint::set_patience`](crate::transport::Endpoint::set_patience).
    pub starting: Duration,
    /// Bytes of a UDP datagram, where the path carries that many.
    pub datagram: u16,
}

impl Default for Bounds {
    /// The reasons for these values:
    ///
    /// | bound | default | reason |
    /// |---|---|---|
    /// | head and payload of a frame | 64 MiB each | reports of 10 000 processes after 200 supersteps; batches of 8 MiB, in which longer messages of programs are divided; reserved as it arrives |
    /// | a frame of a visitor | 8 MiB, no payload | a submission with its experiment |
    /// | incomplete frames of all peers | 16 MiB, and one frame | more wait; the first 1 MiB of each does not count |
    /// | of all visitors | 8 MiB, and one frame | the first 256 KiB of each does not count |
    /// | of one member | 96 MiB; as a visitor 8 MiB | the longest batch or report; more is refused |
    /// | an incomplete frame or state | ends or grows by 1 MiB in 30 s, or by an eighth of what its connection brings, 64 KiB at least | a link of 280 kbit/s; a slower one that others share, down to 18 kbit/s for each; waiting for the budget does not count |
    /// | the state of a process | 16 GiB | the memory of a host; reserved as it arrives, only from a job's client or an own node |
    /// | streams from a peer | 1 control, 4 states; 1 two-way, for a renewed certificate | a fifth state waits at its source |
    /// | unread bytes of a stream | 1 MiB | how long a message waits behind a state: 1 to 2 ms |
    /// | unread bytes of a connection | 6 MiB: one per stream, and one | unread states cannot block the control stream |
    /// | unread, queued or unacknowledged bytes of a visitor | 256 KiB each | any member may be one, several times |
    /// | frames waiting to be sent | 8 MiB | then `send` waits and `try_send` fails |
    /// | connections that one member has opened | 8 | a client runs one job at a time, and inquires |
    /// | connections that all members have opened | 1024 | 40 KB each while idle |
    /// | handshakes at a time | 1024; from 256 on Retry | an unauthenticated peer proves its address before it costs more than a packet |
    /// | the same from one address | 64; from 16 on Retry | one host cannot take all places |
    /// | the first answer in a handshake, a flush at the end | 5 s | |
    /// | a handshake that has been answered | 15 s | a lost packet is repeated |
    /// | silence, sign of life | 2.5 s, five times as often | ends after at most 2.7 s; two busy processors bear it |
    /// | the same while a job starts | 10 s | 64 nodes on two processors make 2016 handshakes |
    /// | a datagram | 6500 bytes | larger ones are silently dropped with segmentation offload |
    fn default() -> Self {
        Self {
            frame: Limits::default(),
            visitor_frame: Limits {
                head: 8 << 20,
                payload: 0,
            },
            frames: 16 << 20,
            visitor_frames: 8 << 20,
            uncounted: 1 << 20,
            member_frames: 96 << 20,
            unfinished: Duration::from_secs(30),
            state: Limits {
                head: 4 << 10,
                payload: 16 << 30,
            },
            states: 4,
            stream_window: 1 << 20,
            visitor_window: 256 << 10,
            queue: 8 << 20,
            connections_per_member: 8,
            connections: 1024,
            handshakes: 1024,
            handshakes_per_address: 64,
            retry_from: 256,
            answer: Duration::from_secs(5),
            handshake: Duration::from_secs(15),
            silence: Duration::from_millis(2500),
            starting: Duration::from_secs(10),
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

    /// The interval of signs of life.
    #[must_use]
    pub fn keep_alive(&self) -> Duration {
        self.silence / 5
    }

    /// The configuration of connections with windows of `window` bytes in each direction.
    pub(super) fn transport(&self, window: u64) -> Arc<TransportConfig> {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(self.datagram);
        let mut acknowledging = AckFrequencyConfig::default();
        acknowledging
            .ack_eliciting_threshold(UNACKNOWLEDGED)
            .max_ack_delay(Some(ACKNOWLEDGING));
        let mut transport = TransportConfig::default();
        transport
            .ack_frequency_config(Some(acknowledging))
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .max_concurrent_uni_streams(VarInt::from_u32(u32::from(self.states) + 1))
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .receive_window(varint(window))
            .send_window(window)
            .datagram_receive_buffer_size(None)
            .crypto_buffer_size(CRYPTO_BUFFER)
            .initial_rtt(ROUND_TRIP)
            .keep_alive_interval(Some(self.keep_alive()))
            .max_idle_timeout(Some(self.idle()))
            .mtu_discovery_config(Some(discovery));
        Arc::new(transport)
    }

    /// QUIC's own limit for silence, behind the watchdog's and the time limit of a handshake.
    fn idle(&self) -> IdleTimeout {
        let idle = (4 * self.silence.max(self.answer))
            .max(2 * self.starting)
            .max(self.handshake);
        let milliseconds = u32::try_from(idle.as_millis()).unwrap_or(u32::MAX);
        VarInt::from_u32(milliseconds).into()
    }
}

/// `value` as an integer of QUIC.
pub(super) fn varint(value: u64) -> VarInt {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX)
}

/// Bytes of the TLS handshake of one connection; the certificates of a cluster take less than 2 KiB.
const CRYPTO_BUFFER: usize = 16 << 10;
/// The round-trip time that is assumed before the first answer. A packet without an answer is repeated after three times as
/// long, and then after twice as long each time: six times in 5 s. QUIC assumes 333 ms, and repeats a packet three times.
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// Packets received before a separate acknowledgement is sent. Mostly an answer carries the acknowledgement; a
/// separate packet would wake the peer for nothing.
const UNACKNOWLEDGED: VarInt = VarInt::from_u32(8);
/// Longest delay of an acknowledgement.
const ACKNOWLEDGING: Duration = Duration::from_millis(5);
