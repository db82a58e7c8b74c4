//! What hosts have measured in addition to their speed and load.

use serde::{Deserialize, Serialize};

use crate::{ExternalLoad, HostLink};

/// What hosts have measured in addition to their speed and load; empty where nothing is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// The links to other hosts, if the cost of moves is learned.
    pub links: Vec<HostLink>,
    /// The external load of hosts that have one, by host, where plans name processors.
    pub external: Vec<ExternalLoad>,
}

impl Measurements {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.external.is_empty()
    }
}
