//! What an event's line tells before the event is read.

use bsp::{HostId, Rank, SetId};
use serde::Deserialize;

/// The fields of an event's line that tell whether it is wanted and whether it belongs where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHeader {
    /// What kind of event.
    #[serde(rename = "event")]
    pub kind: EventKind,
    /// How many supersteps were over, if it belongs to a call.
    #[serde(default)]
    pub superstep: Option<u64>,
    /// Which superstep it is, if it is one.
    #[serde(default)]
    pub index: Option<u64>,
    /// How many supersteps there were, if the run ends with it.
    #[serde(default)]
    pub supersteps: Option<u64>,
    /// Which process, if one observed something or moved.
    #[serde(default)]
    pub(super) rank: Option<Rank>,
    /// Where to, if it moved.
    #[serde(default)]
    pub(super) host: Option<HostId>,
    /// Which Set, if one found something.
    #[serde(default)]
    pub(super) set: Option<SetId>,
}

/// The kinds of [`Event`](super::Event).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// [`Event::Run`](super::Event::Run).
    Run,
    /// [`Event::Superstep`](super::Event::Superstep).
    Superstep,
    /// [`Event::Observed`](super::Event::Observed).
    Observed,
    /// [`Event::Evaluated`](super::Event::Evaluated).
    Evaluated,
    /// [`Event::Call`](super::Event::Call).
    Call,
    /// [`Event::Moved`](super::Event::Moved).
    Moved,
    /// [`Event::End`](super::Event::End).
    End,
}
