//! Tokens of what is under way.

/// A token for a computation, a message or a timer: the caller chooses it when it starts one, and
/// gets it back when that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub u64);
