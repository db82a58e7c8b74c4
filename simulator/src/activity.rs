//! Tokens of activities.

/// A token for a computation, a message or a timer. The caller chooses it at the start, and the engine
/// returns it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub u64);
