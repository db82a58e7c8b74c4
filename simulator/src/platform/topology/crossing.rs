//! What a message crosses on its way through a topology.

/// What a message crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) enum Crossing {
    /// The limiter of a node. Nodes are the hosts, then the switches.
    Limiter(u32),
    /// A cable, in the direction it was declared in or the other.
    Cable { number: u32, up: bool },
}
