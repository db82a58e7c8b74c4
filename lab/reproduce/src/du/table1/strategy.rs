//! How a host is chosen.

use serde::Serialize;

/// How a host is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Strategy {
    /// The least expected completion.
    Dsa,
    /// The least time of the move.
    Mcm,
    /// The least expected time of execution.
    Etm,
    /// Any.
    Rs,
    /// As DSA, with the ages of jobs.
    DsaPlus,
    /// The host that turns out to be the best.
    Clairvoyant,
}

impl Strategy {
    /// Those of the paper, in its order, and then ours.
    pub(super) const ALL: [Self; 6] = [
        Self::Dsa,
        Self::Mcm,
        Self::Etm,
        Self::Rs,
        Self::DsaPlus,
        Self::Clairvoyant,
    ];

    /// Those of the paper, in its order.
    pub(super) const PAPER: [Self; 4] = [Self::Dsa, Self::Mcm, Self::Etm, Self::Rs];

    /// The policy that chooses so; `None`: no policy can.
    pub(super) const fn policy(self) -> Option<&'static str> {
        match self {
            Self::Dsa => Some("once+dsa"),
            Self::Mcm => Some("once+mcm"),
            Self::Etm => Some("once+etm"),
            Self::Rs => Some("once+random"),
            Self::DsaPlus => Some("once+dsa-plus"),
            Self::Clairvoyant => None,
        }
    }

    /// As the paper writes it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Dsa => "DSA",
            Self::Mcm => "MCM",
            Self::Etm => "ETM",
            Self::Rs => "RS",
            Self::DsaPlus => "DSA+",
            Self::Clairvoyant => "clairvoyant",
        }
    }

    /// Its place in [`Self::ALL`].
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Dsa => 0,
            Self::Mcm => 1,
            Self::Etm => 2,
            Self::Rs => 3,
            Self::DsaPlus => 4,
            Self::Clairvoyant => 5,
        }
    }
}
