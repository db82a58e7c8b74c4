//! Entries of the engine's calendar, and the tokens of what ends.

/// Something that is due at a date.
///
/// An event cannot be removed from the calendar. One that may become obsolete carries the
/// generation of its host or flow, and is ignored if that has moved on since.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The activity at this place among those whose ends are scheduled ends.
    Ends { place: u32 },
    /// The first computation on a host ends.
    HostEnds { host: u32, generation: u32 },
    /// The sending host has processed a message: its latency phase begins.
    FlowLeaves { flow: u32 },
    /// The latency phase of a message is over.
    FlowBegins { flow: u32 },
    /// The last byte of a message that no link holds back has arrived.
    FlowEnds { flow: u32, generation: u32 },
}

/// A token for a computation, a message or a timer. The caller chooses it at the start, and the engine
/// returns it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub u64);
