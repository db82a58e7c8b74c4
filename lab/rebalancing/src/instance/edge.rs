//! What two processes of an instance exchange.

/// What two processes exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The positions of both.
    pub processes: (usize, usize),
    /// Bytes in a superstep, both ways together.
    pub bytes: f64,
}
