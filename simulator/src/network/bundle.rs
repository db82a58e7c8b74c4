//! The flows of a tracked link that are solved as one.
//!
//! Flows that a tracked link limits and that have room on all other links that they cross always have its level. So a
//! solution need not look at each of them: it knows their share of the link, which it takes from the track, and the
//! level up to which they have room. All other flows that cross the link are members of the region: those that begin,
//! those that are limited elsewhere, and those that may meet another limit ([`Track::apart`]).
//!
//! If the level turns out to be higher than the bundle has room for, the bundle is opened: its flows become members,
//! and the region is solved again.

use super::track::{Sum, Track};

/// The flows of a tracked link that are not members of the region.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) link: u32,
    /// Positions of the members that cross the link.
    pub(super) members: Vec<u32>,
    /// Usage over weight of the bundled flows, at the link.
    pub(super) share: Sum,
    /// Number of bundled flows.
    pub(super) flows: u32,
    /// The level up to which they have room.
    pub(super) ceiling: f64,
    /// Whether they have a bottleneck, which is the link.
    pub(super) is_assigned: bool,
    /// Whether the link's new level is above the ceiling.
    pub(super) is_exceeded: bool,
}

impl Bundle {
    /// All flows that a tracked link limits.
    pub(super) fn new(link: u32, track: &Track) -> Self {
        Self {
            link,
            members: Vec::new(),
            share: track.share,
            flows: 0,
            ceiling: track.ceiling,
            is_assigned: false,
            is_exceeded: false,
        }
    }

    /// Begins a pass: all flows of the link, which have `share`, are in the bundle.
    pub(super) fn restart(&mut self, share: Sum) {
        self.members.clear();
        self.share = share;
        self.is_assigned = false;
        self.is_exceeded = false;
    }

    /// Adds a member that crosses the link, which takes it out of the bundle if the link limited it.
    pub(super) fn add_member(&mut self, slot: usize, part: f64, was_limited: bool) {
        let slot = u32::try_from(slot).expect("fewer than 2^32 flows");
        if self.members.last() != Some(&slot) {
            self.members.push(slot);
        }
        if was_limited {
            self.share.add(-part);
        }
    }
}

/// No bundle.
pub(super) const UNBUNDLED: u32 = u32::MAX;
