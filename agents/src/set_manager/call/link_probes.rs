//! The links that are probed in a call.

use bsp::HostId;
use migbsp::{LinkProbe, ProbedLink};

/// The probes of a call.
#[derive(Debug, Default)]
pub(super) struct LinkProbes {
    /// The links to be probed, the next one last.
    pub(super) waiting: Vec<LinkProbe>,
    /// The one that is being probed, by its hosts.
    pub(super) asked: Option<(HostId, HostId)>,
    /// What was found, in the order of the probes.
    pub(super) probed: Vec<ProbedLink>,
}

impl LinkProbes {
    /// These probes, one after the other.
    pub(super) fn new(mut probes: Vec<LinkProbe>) -> Self {
        probes.reverse();
        Self {
            waiting: probes,
            ..Self::default()
        }
    }
}
