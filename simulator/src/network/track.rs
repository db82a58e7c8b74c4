//! What a tracked link keeps so that its level can be calculated from a few numbers.
//!
//! A bottleneck of a thousand flows need not visit each of them whenever one starts or ends: they all
//! have its level, and only the level changes. A tracked link keeps the usage over weight of the
//! flows that it limits, summed; the few flows that cross it and are limited elsewhere; and the
//! tracked links that its flows cross. With these,
//!
//! ```text
//! level = (capacity - usage of the foreign flows at their own levels) / share
//! ```
//!
//! That holds as long as no other flow or link is affected. The flows of a tracked link have a
//! ceiling, up to which no other link that they cross is saturated and none of them meets its bound.
//! While the level stays below the ceiling, and above the levels of the foreign flows, no flow
//! changes its bottleneck. Otherwise the region is solved, with the flows of the link as a bundle. A
//! flow for which that does not hold is *apart*: it is solved one by one, and until then the level
//! does not rise.

use super::allocation::Allocation;
use super::link::LEVEL_RESOLUTION;
use super::region::{Region, Share};
use super::{BOUNDED, WAITING};

/// Sums and lists of a bottleneck link.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Whether the rest is kept up to date.
    pub(super) is_on: bool,
    /// Solutions of the whole region since the link became a bottleneck.
    pub(super) solutions: u32,
    /// Usage over weight of the flows that the link limits.
    pub(super) share: Sum,
    /// The level up to which its flows have room on the other links that they cross.
    pub(super) ceiling: f64,
    /// The level above which the region has to be solved: the ceiling, or less.
    pub(super) level_max: f64,
    /// Flows that cross it and are limited elsewhere.
    pub(super) foreign: Vec<u32>,
    /// Links that its flows cross as foreign ones.
    pub(super) feeds: Vec<u32>,
    /// Flows that it limits and that may meet another limit below the ceiling: at a link of `feeds`, at one without
    /// room for the ceilings of its flows, or at their bound.
    pub(super) apart: Vec<u32>,
    /// Whether more flows than `apart` lists may do so.
    is_scattered: bool,
}

/// A sum from which terms can be subtracted again: it keeps what rounding cuts off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Track {
    /// Whether the lists are short, for a link that limits this number of flows.
    pub(super) fn is_short(&self, flows: usize) -> bool {
        self.foreign.len() <= LISTED_MAX.max(flows / OWN_PER_FOREIGN)
            && self.feeds.len() <= LISTED_MAX
    }

    /// Whether all flows that the link limits, but those apart, have room up to the ceiling.
    pub(super) fn can_be_bundled(&self) -> bool {
        self.is_on && !self.is_scattered
    }

    /// Empties all lists; the flows that are not added again have `share`.
    pub(super) fn restart(&mut self, share: Sum) {
        self.share = share;
        self.level_max = self.ceiling;
        self.foreign.clear();
        self.feeds.clear();
        self.apart.clear();
        self.is_scattered = false;
    }

    /// Notes that a flow that the link limits may meet another limit.
    pub(super) fn set_apart(&mut self, id: u32) {
        if self.apart.len() < LISTED_MAX {
            if !self.apart.contains(&id) {
                self.apart.push(id);
            }
        } else {
            self.is_scattered = true;
        }
    }

    /// Notes that flows that the link limits cross another bottleneck link.
    pub(super) fn add_feed(&mut self, index: u32) {
        if !self.feeds.contains(&index) {
            self.feeds.push(index);
        }
    }

    /// Whether the link has been solved often enough, and for enough flows.
    pub(super) fn is_worth_it(&self, flows: usize) -> bool {
        FLOWS_MIN <= flows && (SOLUTIONS_MIN <= self.solutions || FLOWS_MANY <= flows)
    }
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let high = self.high + term;
        let shift = high - self.high;
        self.low += (self.high - (high - shift)) + (term - shift);
        self.high = high;
    }

    pub(super) fn get(self) -> f64 {
        self.high + self.low
    }
}

/// A link that limits fewer flows is solved faster than tracked.
const FLOWS_MIN: usize = 4;
/// Links that are solved seldom are not worth tracking.
const SOLUTIONS_MIN: u32 = 2;
/// A link that limits this many flows is tracked from its first solution on.
const FLOWS_MANY: usize = 500;
/// Most links fed, and most flows apart, of a tracked link, and most foreign flows of one that limits few.
const LISTED_MAX: usize = 64;
/// A link that limits many flows may have one foreign flow for this many of them.
const OWN_PER_FOREIGN: usize = 16;

impl Allocation {
    /// Starts, or restarts, to track a bottleneck link all of whose flows have just been solved, if that pays. Its
    /// level may rise by `factor` before its flows meet another limit.
    pub(super) fn track(&mut self, region: &Region, index: u32, factor: f64) {
        let link = &self.links[index as usize];
        let level = link.level;
        let clock = link.clock;
        let mut track = std::mem::take(self.clocks.track_mut(clock));
        track.solutions += 1;
        track.is_on = false;
        let flows = self.clocks.flow_count(clock);
        let pays = track.is_worth_it(flows);
        track.ceiling = level * factor;
        track.restart(Sum::default());
        for at in 0..self.links[index as usize].flows.len() {
            let id = self.links[index as usize].flows[at];
            let flow = &self.flows[id as usize];
            if flow.bottleneck != index {
                self.add_feed(id, index);
                if pays {
                    track.foreign.push(id);
                }
            } else if pays {
                let slot = region.slot(id, flow);
                let slot = slot.expect("the region has all flows of the link");
                self.track_flow(&mut track, id, index, region.shares_of(slot));
            }
        }
        track.is_on = pays && track.is_short(flows);
        self.has_tracks |= track.is_on;
        *self.clocks.track_mut(clock) = track;
    }

    /// Updates the track of a link after a solution with a bundle of its flows.
    pub(super) fn update_track(&mut self, region: &Region, bundle: &Bundle) {
        let index = bundle.link;
        let clock = self.links[index as usize].clock;
        let mut track = std::mem::take(self.clocks.track_mut(clock));
        track.restart(bundle.share);
        for slot in &bundle.members {
            let slot = *slot as usize;
            let id = region.members[slot].flow;
            if self.flows[id as usize].bottleneck == index {
                self.track_flow(&mut track, id, index, region.shares_of(slot));
            } else {
                self.add_feed(id, index);
                track.foreign.push(id);
            }
        }
        track.is_on = track.is_short(self.clocks.flow_count(clock));
        *self.clocks.track_mut(clock) = track;
    }

    /// Adds a flow that the link limits, and that has these shares of all bottlenecks, to its track.
    fn track_flow(&mut self, track: &mut Track, id: u32, index: u32, shares: &[Share]) {
        for share in shares {
            if share.link == index {
                track.share.add(share.part);
            } else if self.links[share.link as usize].is_bottleneck() {
                track.add_feed(share.link);
                track.set_apart(id);
            }
        }
        let ceiling = self.flows[id as usize].ceiling;
        if ceiling < track.ceiling * (1.0 - LEVEL_RESOLUTION) {
            track.set_apart(id);
            track.level_max = track.level_max.min(ceiling);
        } else if track.ceiling * CEILING_EXCESS < ceiling {
            self.set_ceiling(id, track.ceiling);
        }
    }

    /// Notes at the bottleneck of a flow, if that is tracked, that the flow crosses another
    /// bottleneck link.
    fn add_feed(&mut self, id: u32, index: u32) {
        let bottleneck = self.flows[id as usize].bottleneck;
        if bottleneck != BOUNDED {
            let clock = self.links[bottleneck as usize].clock;
            let track = self.clocks.track_mut(clock);
            if track.is_on {
                track.add_feed(index);
                track.set_apart(id);
            }
        }
    }

    /// Lets no flow of a link rise before it is looked at: if all rose to their ceilings, the link might be saturated.
    pub(super) fn revoke_ceilings(&mut self, index: u32) {
        for id in &self.links[index as usize].flows {
            let bottleneck = self.flows[*id as usize].bottleneck;
            if bottleneck != BOUNDED && bottleneck != WAITING {
                let link = &self.links[bottleneck as usize];
                let track = self.clocks.track_mut(link.clock);
                if track.is_on {
                    track.level_max = track.level_max.min(link.level);
                    track.set_apart(*id);
                }
            }
        }
    }
}

/// A flow's ceiling is lowered to that of its bottleneck if it is higher by more than this factor.
const CEILING_EXCESS: f64 = 1.25;

/// The flows of a tracked link that are solved as one, and are not members of the region.
///
/// Flows that a tracked link limits and that have room on all other links that they cross always have its level. So a
/// solution need not look at each of them: it knows their share of the link, which it takes from the track, and the
/// level up to which they have room. All other flows that cross the link are members of the region: those that begin,
/// those that are limited elsewhere, and those that may meet another limit ([`Track::apart`]).
///
/// If the level turns out to be higher than the bundle has room for, the bundle is opened: its flows become members,
/// and the region is solved again.
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
