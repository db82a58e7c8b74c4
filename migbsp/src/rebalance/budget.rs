//! How long to look.

use std::fmt;

/// When to stop.
#[derive(Clone, Copy)]
pub enum Budget<'a> {
    /// After so many moves and exchanges were looked at: the same solution on any machine.
    Steps(u64),
    /// When the share of it that is spent, from 0 on, has come to 1; asked for now and then.
    Spent(&'a dyn Fn() -> f64),
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => formatter.debug_tuple("Steps").field(steps).finish(),
            Self::Spent(spent) => formatter.debug_tuple("Spent").field(&spent()).finish(),
        }
    }
}
