//! Numbers of processes, hosts and Sets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a process, `0..size`; a process keeps it wherever it runs.
///
/// Shown as the papers do, from one: rank 0 is `p1`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Rank(pub u32);

/// Number of a host of a platform, in the order of the platform's file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct HostId(pub u32);

/// Number of a Set (the hosts under one Set Manager), in the order of the platform's file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct SetId(pub u32);

macro_rules! index {
    ($($id:ident)*) => {$(
        impl $id {
            /// The id at position `index` of a list.
            ///
            /// # Panics
            ///
            /// If `index` does not fit 32 bits.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an id fits 32 bits"))
            }

            /// The position in a list ordered by id.
            #[must_use]
            #[inline]
            #[expect(clippy::as_conversions, reason = "u32 fits usize; on the hot path")]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index!(Rank HostId SetId);

impl fmt::Display for Rank {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "p{}", u64::from(self.0) + 1)
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "host {}", self.0)
    }
}

impl fmt::Display for SetId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Set {}", self.0)
    }
}
