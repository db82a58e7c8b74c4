//! A host that joined, as all results show it.

use agents::record::Join;
use bsp::HostId;
use bsp::units::Seconds;
use serde::Serialize;

/// A host that has joined, or for which it was decided that it does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JoinSummary {
    /// Its name.
    pub host: String,
    /// Number of completed supersteps.
    pub superstep: u64,
    /// Seconds from the start of the run until it was asked.
    pub asked: f64,
    /// Seconds from the start of the run until the last of the supersteps was complete.
    pub at: f64,
    /// Seconds that its preparation takes.
    pub creation_seconds: f64,
    /// Seconds that the rest was expected to take without it, if the program knows how much is done.
    pub remaining_seconds: Option<f64>,
    /// Seconds that it was expected to save.
    pub saves_seconds: Option<f64>,
    /// Whether it has joined.
    pub joined: bool,
    /// Seconds that processes waited for it and the hosts that joined with it.
    pub waited_seconds: f64,
    /// The processes that moved to it.
    pub processes: Vec<String>,
}

impl JoinSummary {
    /// The summary of what is recorded; `name` is that of a host.
    #[must_use]
    pub fn new(join: &Join, name: impl Fn(HostId) -> String) -> Self {
        Self {
            host: name(join.host),
            superstep: join.superstep,
            asked: join.asked.get(),
            at: join.at.get(),
            creation_seconds: join.creation.get(),
            remaining_seconds: join.remaining.map(Seconds::get),
            saves_seconds: join.saves,
            joined: join.joined,
            waited_seconds: (join.ended - join.at).get(),
            processes: join.processes.iter().map(ToString::to_string).collect(),
        }
    }
}
