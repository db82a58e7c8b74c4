//! The header of an event, which is read before the whole event.

use bsp::{HostId, Rank, SetId};
use serde::Deserialize;

use super::Event;

/// The fields of an event that decide whether it is wanted, and whether it is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHeader {
    /// Its kind.
    #[serde(rename = "event")]
    pub kind: EventKind,
    /// The number of supersteps that were over, if it belongs to a call or to a checkpoint.
    #[serde(default)]
    pub superstep: Option<u64>,
    /// Its index, if it is a superstep.
    #[serde(default)]
    pub index: Option<u64>,
    /// The number of supersteps of the run, if it is the end.
    #[serde(default)]
    pub supersteps: Option<u64>,
    /// The process that observed or moved, if there is one.
    #[serde(default)]
    pub(super) rank: Option<Rank>,
    /// The host to which the process moved.
    #[serde(default)]
    pub(super) host: Option<HostId>,
    /// The Set that evaluated, if there is one.
    #[serde(default)]
    pub(super) set: Option<SetId>,
}

/// The kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// [`Event::Run`].
    Run,
    /// [`Event::Superstep`].
    Superstep,
    /// [`Event::Observed`].
    Observed,
    /// [`Event::Evaluated`].
    Evaluated,
    /// [`Event::Call`].
    Call,
    /// [`Event::Moved`].
    Moved,
    /// [`Event::Join`].
    Join,
    /// [`Event::Checkpoint`].
    Checkpoint,
    /// [`Event::Interaction`].
    Interaction,
    /// [`Event::End`].
    End,
}

impl EventKind {
    /// Parses a line whose kind is known. Parsing by the tag would parse every line twice.
    pub(super) fn parse(self, line: &str) -> serde_json::Result<Event> {
        Ok(match self {
            Self::Run => Event::Run(serde_json::from_str(line)?),
            Self::Superstep => Event::Superstep(serde_json::from_str(line)?),
            Self::Observed => Event::Observed(serde_json::from_str(line)?),
            Self::Evaluated => Event::Evaluated(serde_json::from_str(line)?),
            Self::Call => Event::Call(serde_json::from_str(line)?),
            Self::Moved => Event::Moved(serde_json::from_str(line)?),
            Self::Join => Event::Join(serde_json::from_str(line)?),
            Self::Checkpoint => Event::Checkpoint(serde_json::from_str(line)?),
            Self::Interaction => Event::Interaction(serde_json::from_str(line)?),
            Self::End => Event::End(serde_json::from_str(line)?),
        })
    }
}
