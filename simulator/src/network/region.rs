//! The part of the network that a change affects.
//!
//! The region starts with the flows that begin, and with those on bottleneck links that lost or
//! gained a flow. Their levels are calculated with the rates of all other flows fixed. If that
//! changes a flow on a link that also limits flows outside the region, those flows join it, and it
//! is calculated again. What is left outside keeps its rates: none of its links has changed.
//!
//! The flows of a tracked link join as a bundle; see [`Bundle`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::allocation::Allocation;
use super::bundle::{Bundle, UNBUNDLED};
use super::flow::{BOUNDED, Flow, WAITING};
use super::link::{HEADROOM_MAX, LEVEL_RESOLUTION, Link};
use crate::emptied::emptied;

/// The flows and links to be solved, and the bottlenecks found so far.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub(super) members: Vec<Member>,
    /// Flows that are solved as one.
    pub(super) bundles: Vec<Bundle>,
    /// The legs of the members over links that can limit them, member by member.
    pub(super) shares: Vec<Share>,
    /// Links that are crossed by members and can limit them.
    pub(super) touched: Vec<u32>,
    /// Bottleneck links all of whose flows were included.
    pub(super) included: Vec<u32>,
    /// Links by the level at which they are saturated; levels are not negative, so that their bits
    /// have the order of their values.
    pub(super) order: BinaryHeap<Reverse<(u64, u32)>>,
    pub(super) pass: u32,
    round: u32,
    /// Members and bundles without a bottleneck.
    pub(super) unassigned: usize,
    /// Whether a touched link has flows outside.
    pub(super) has_border: bool,
}

/// A flow in the region and its new bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) flow: u32,
    pub(super) bottleneck: u32,
    /// Where its shares end; they begin where those of the member before end.
    pub(super) shares_end: u32,
}

/// What a flow at level one uses of a link, in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) link: u32,
    pub(super) part: f64,
}

impl Region {
    /// Finds the bottlenecks of all flows that begin or are affected by the dirty links.
    pub(super) fn solve(&mut self, allocation: &mut Allocation) {
        self.members.clear();
        self.bundles.clear();
        self.included.clear();
        self.round = self.round.wrapping_add(1);
        let mut arrived = std::mem::take(&mut allocation.arrived);
        for id in arrived.drain(..) {
            self.include(allocation, id);
        }
        allocation.arrived = emptied(arrived);
        let mut dirty = std::mem::take(&mut allocation.dirty);
        for index in dirty.drain(..) {
            allocation.links[index as usize].is_dirty = false;
            self.include_link(allocation, index);
        }
        allocation.dirty = dirty;
        let mut hops = 1;
        loop {
            self.gather(allocation);
            self.fill(allocation);
            let is_opened = self.open_bundles(allocation);
            if self.raise_ceilings(allocation) || is_opened {
                continue;
            }
            if !self.has_border || !self.grow(allocation, hops) {
                break;
            }
            hops *= 2;
        }
    }

    /// Forgets the solution, which has been applied.
    pub(super) fn end(&mut self) {
        self.members = emptied(std::mem::take(&mut self.members));
        self.shares = emptied(std::mem::take(&mut self.shares));
        self.touched = emptied(std::mem::take(&mut self.touched));
        self.order = emptied(std::mem::take(&mut self.order).into_vec()).into();
    }

    /// The shares of the member at `slot`.
    #[inline]
    pub(super) fn shares_of(&self, slot: usize) -> &[Share] {
        let end = |slot: usize| self.members[slot].shares_end as usize;
        let begin = slot.checked_sub(1).map_or(0, end);
        &self.shares[begin..end(slot)]
    }

    /// The position of a flow among the members, if it is one.
    #[inline]
    pub(super) fn slot(&self, id: u32, flow: &Flow) -> Option<usize> {
        let slot = flow.slot as usize;
        self.members
            .get(slot)
            .is_some_and(|member| member.flow == id)
            .then_some(slot)
    }

    /// The position of the bundle of a link, if it has one.
    #[inline]
    pub(super) fn bundle_of(&self, link: &Link) -> Option<usize> {
        (link.round == self.round && link.bundle != UNBUNDLED).then_some(link.bundle as usize)
    }

    /// Whether flows of the link are solved as one.
    pub(super) fn is_bundled(&self, link: &Link) -> bool {
        self.bundle_of(link)
            .is_some_and(|bundle| 0 < self.bundles[bundle].flows)
    }

    fn include(&mut self, allocation: &mut Allocation, id: u32) {
        let flow = &mut allocation.flows[id as usize];
        if self.slot(id, flow).is_none() {
            flow.slot = u32::try_from(self.members.len()).expect("fewer than 2^32 flows");
            self.members.push(Member {
                flow: id,
                bottleneck: WAITING,
                shares_end: 0,
            });
            if flow.bottleneck == WAITING {
                allocation.set_ceiling(id, allocation.estimated_ceiling(id));
            }
        }
    }

    /// Includes all flows of a link, those of a tracked link as a bundle.
    fn include_link(&mut self, allocation: &mut Allocation, index: u32) {
        let link = &mut allocation.links[index as usize];
        if link.round == self.round {
            return;
        }
        link.round = self.round;
        link.bundle = UNBUNDLED;
        self.included.push(index);
        if link.is_bottleneck()
            && link.can_limit()
            && allocation.clocks.track(link.clock).can_be_bundled()
        {
            let track = allocation.clocks.track(link.clock);
            let others: Vec<u32> = track.foreign.iter().chain(&track.apart).copied().collect();
            link.bundle = u32::try_from(self.bundles.len()).expect("fewer bundles than links");
            self.bundles.push(Bundle::new(index, track));
            for id in others {
                self.include(allocation, id);
            }
        } else {
            self.include_all(allocation, index);
        }
    }

    /// Includes all flows of a link one by one.
    fn include_all(&mut self, allocation: &mut Allocation, index: u32) {
        for at in 0..allocation.links[index as usize].flows.len() {
            self.include(allocation, allocation.links[index as usize].flows[at]);
        }
    }

    /// Includes what has to be known of a link that members cross: all its flows if it is tracked, and the flows of
    /// tracked links if it may become a bottleneck.
    pub(super) fn include_tracked(&mut self, allocation: &mut Allocation, index: u32) {
        let link = &mut allocation.links[index as usize];
        if link.is_bottleneck() {
            if allocation.clocks.track(link.clock).is_on {
                self.include_link(allocation, index);
            }
        } else if link.searched != self.round {
            link.searched = self.round;
            self.include_tracked_on(allocation, index);
        }
    }

    /// Includes the flows of tracked links that cross a link.
    fn include_tracked_on(&mut self, allocation: &mut Allocation, index: u32) {
        for at in 0..allocation.links[index as usize].flows.len() {
            let id = allocation.links[index as usize].flows[at];
            let bottleneck = allocation.flows[id as usize].bottleneck;
            if bottleneck != WAITING
                && bottleneck != BOUNDED
                && allocation
                    .clocks
                    .track(allocation.links[bottleneck as usize].clock)
                    .is_on
            {
                self.include(allocation, id);
            }
        }
    }

    /// Raises the ceilings of members whose new levels are above them; returns whether there were any.
    fn raise_ceilings(&mut self, allocation: &mut Allocation) -> bool {
        let mut any = false;
        for at in 0..self.members.len() {
            let Member {
                flow: id,
                bottleneck,
                ..
            } = self.members[at];
            let flow = &allocation.flows[id as usize];
            let level = match bottleneck {
                // It joined when a bundle was opened.
                WAITING => continue,
                BOUNDED => flow.bound,
                link => allocation.links[link as usize].next_level,
            };
            let ceiling = flow.bound.min(HEADROOM_MAX * level);
            // A level may be above the bound by what rounding adds.
            if flow.ceiling < ceiling && flow.ceiling * (1.0 + LEVEL_RESOLUTION) < level {
                any = true;
                allocation.set_ceiling(id, ceiling);
            }
        }
        any
    }

    /// Includes one by one the flows of bundles without room for the new level; returns whether there were any.
    fn open_bundles(&mut self, allocation: &mut Allocation) -> bool {
        let before = self.bundles.len();
        let mut bundles = std::mem::take(&mut self.bundles);
        bundles.retain(|bundle| {
            if bundle.is_exceeded {
                self.open(allocation, bundle.link);
            }
            !bundle.is_exceeded
        });
        for (slot, bundle) in (0..).zip(&bundles) {
            allocation.links[bundle.link as usize].bundle = slot;
        }
        self.bundles = bundles;
        self.bundles.len() < before
    }

    /// Includes one by one the flows of the bundle of a link.
    fn open(&mut self, allocation: &mut Allocation, index: u32) {
        let link = &mut allocation.links[index as usize];
        link.bundle = UNBUNDLED;
        let ceiling = HEADROOM_MAX * link.next_level;
        allocation.clocks.track_mut(link.clock).is_on = false;
        for at in 0..allocation.links[index as usize].flows.len() {
            let id = allocation.links[index as usize].flows[at];
            let flow = &allocation.flows[id as usize];
            if self.slot(id, flow).is_none() {
                let ceiling = flow.bound.min(ceiling);
                allocation.set_ceiling(id, ceiling);
                self.include(allocation, id);
            }
        }
    }

    /// Includes the flows outside that a changed member affects; returns whether there were any.
    fn grow(&mut self, allocation: &mut Allocation, hops: u32) -> bool {
        let before = self.members.len();
        let mut affected = Vec::new();
        for (slot, member) in self.members.iter().enumerate() {
            let flow = &allocation.flows[member.flow as usize];
            let has_changed = flow.bottleneck != member.bottleneck
                || (member.bottleneck != BOUNDED
                    && allocation.links[member.bottleneck as usize].has_new_level());
            if !has_changed {
                continue;
            }
            for share in self.shares_of(slot) {
                let link = &allocation.links[share.link as usize];
                if (link.inside as usize) < link.flows.len()
                    && link.level.min(link.next_level) < f64::INFINITY
                {
                    affected.push(share.link);
                }
            }
        }
        for index in affected {
            self.include_link(allocation, index);
        }
        let mut from = before;
        for _ in 1..hops {
            let to = self.members.len();
            for slot in from..to {
                let flow = allocation.flows[self.members[slot].flow as usize];
                for at in flow.leg_range() {
                    let leg = allocation.legs.at(at);
                    if allocation.links[leg.link()].level < f64::INFINITY {
                        self.include_link(allocation, leg.id());
                    }
                }
            }
            from = to;
        }
        before < self.members.len()
    }
}
