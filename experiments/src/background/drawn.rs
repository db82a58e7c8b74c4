//! What is drawn from the seed.

use simulator::Discipline;
use workloads::background::{Background, Levels, OwnerLoad};

/// What is drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Drawn {
    /// Fractions of hosts or links.
    Pattern(Background),
    /// Jobs on hosts.
    Jobs(OwnerLoad, Discipline),
    /// Levels of links.
    Levels(Levels),
}
