//! A process that moves to this node.

use std::time::Duration;

use agents::process_state::{DecodedState, PackingTimes};
use bsp::HostId;
use bsp::units::Seconds;
use protocol::{Address, EncodedState};
use record::MoveTimes;

use crate::input_memory::InputMemory;
use crate::seconds;

/// A process that has arrived on this node.
#[derive(Debug)]
pub struct ArrivedProcess {
    /// The host from which it arrives.
    pub host: HostId,
    /// The sender and the receiver of the state.
    pub ends: (Address, Address),
    /// The head of the state, without a payload.
    pub head: EncodedState,
    /// The state.
    pub decoded: DecodedState,
    /// How long it took.
    pub transfer: Transfer,
    /// The shortest round trip to its source so far. The queue of the link is that of the state itself.
    pub round_trip: Seconds,
    /// Held until it has been handled.
    pub memory: InputMemory,
}

/// The times of a move, as both hosts measured them.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// What the host measured that it left.
    pub packing: PackingTimes,
    /// From the first byte until the last one had arrived.
    pub arrived: Duration,
    /// Unpacking, without waiting for the network.
    pub unpacked: Duration,
    /// From the first byte until the process was decoded.
    pub decoded: Duration,
}

impl Transfer {
    /// The duration of the move, from the beginning of packing until the process was decoded, and its parts.
    ///
    /// The clocks of the two hosts are not compared. The move took at least as long as packing, half of a round trip,
    /// and what was left to decode when the last byte arrived; and at least half of a round trip, and all that came after
    /// the first byte. One of these is exact: the first if packing began long before the first byte was sent, the second
    /// if the network held packing up.
    #[expect(clippy::missing_panics_doc, reason = "durations are finite")]
    pub fn times(&self, round_trip: Seconds) -> (Seconds, MoveTimes) {
        let Self {
            packing,
            arrived,
            unpacked,
            decoded,
        } = *self;
        let latency = round_trip.get() / 2.0;
        let after = (packing.lasted + (decoded.saturating_sub(arrived))).as_secs_f64();
        let took =
            Seconds::new(latency + after.max(decoded.as_secs_f64())).expect("durations are finite");
        let times = MoveTimes {
            frozen: seconds(packing.queued) + took,
            packed: seconds(packing.packed),
            sent: Seconds::new(latency + arrived.as_secs_f64()).expect("durations are finite"),
            unpacked: seconds(unpacked),
            round_trip,
        };
        (took, times)
    }
}
