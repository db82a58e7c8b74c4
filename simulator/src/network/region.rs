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
use super::link::{HEADROOM_MAX, LEVEL_RESOLUTION, Link};
use super::track::{Bundle, Sum, UNBUNDLED};
use super::{BOUNDED, Flow, WAITING};
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
    has_border: bool,
}

/// A flow in the region and its new bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) flow: u32,
    pub(super) bottleneck: u32,
    /// Where its shares end; they begin where those of the member before end.
    shares_end: u32,
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
    fn bundle_of(&self, link: &Link) -> Option<usize> {
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
    fn include_tracked(&mut self, allocation: &mut Allocation, index: u32) {
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

    /// Finds the links that can limit the members, and the capacity that the members may use.
    fn gather(&mut self, allocation: &mut Allocation) {
        self.pass = self.pass.wrapping_add(1);
        self.touched.clear();
        self.shares.clear();
        self.has_border = false;
        for bundle in &mut self.bundles {
            let link = &mut allocation.links[bundle.link as usize];
            link.begin_pass(self.pass);
            self.touched.push(bundle.link);
            bundle.restart(allocation.clocks.track(link.clock).share);
        }
        // Links that are visited first may add members.
        let mut slot = 0;
        while slot < self.members.len() {
            self.gather_member(allocation, slot);
            slot += 1;
        }
        self.unassigned = self.members.len();
        self.gather_bundles(allocation);
        self.order.clear();
        let mut order = std::mem::take(&mut self.order).into_vec();
        for at in 0..self.touched.len() {
            let index = self.touched[at];
            let link = &mut allocation.links[index as usize];
            link.unassigned = link.inside;
            if (link.inside as usize) < link.flows.len() {
                self.has_border = true;
                let (spare, share) = self.remainder(allocation, index as usize);
                let link = &mut allocation.links[index as usize];
                (link.spare, link.share) = (spare, share);
                link.outside = link.capacity - spare;
            }
            let level = allocation.links[index as usize].saturation_level();
            order.push(Reverse((level.to_bits(), index)));
        }
        self.order = BinaryHeap::from(order);
    }

    /// Finds the links that can limit a member.
    fn gather_member(&mut self, allocation: &mut Allocation, slot: usize) {
        let member = &mut self.members[slot];
        member.bottleneck = WAITING;
        let Flow {
            inverse,
            ceiling,
            bottleneck,
            ..
        } = allocation.flows[member.flow as usize];
        for at in allocation.flows[member.flow as usize].leg_range() {
            let leg = allocation.legs.at(at);
            let link = &mut allocation.links[leg.link()];
            if !link.can_limit() {
                continue;
            }
            if link.pass != self.pass {
                link.begin_pass(self.pass);
                self.touched.push(leg.id());
                if allocation.has_tracks {
                    self.include_tracked(allocation, leg.id());
                }
            }
            let link = &mut allocation.links[leg.link()];
            let part = leg.usage() * inverse;
            link.inside += 1;
            link.share += part;
            link.ceiling_inside += part * ceiling;
            self.shares.push(Share {
                link: leg.id(),
                part,
            });
            if let Some(bundle) = self.bundle_of(link) {
                self.bundles[bundle].add_member(slot, part, bottleneck == leg.id());
            }
        }
        self.members[slot].shares_end =
            u32::try_from(self.shares.len()).expect("fewer than 2^32 legs");
    }

    /// Adds the bundles to their links: what crosses these and is no member.
    fn gather_bundles(&mut self, allocation: &mut Allocation) {
        for bundle in &mut self.bundles {
            let link = &mut allocation.links[bundle.link as usize];
            let flows = u32::try_from(link.flows.len()).expect("fewer than 2^32 flows");
            bundle.flows = flows - link.inside;
            link.inside = flows;
            if bundle.flows == 0 {
                bundle.share = Sum::default();
                bundle.is_assigned = true;
            } else {
                link.share += bundle.share.get();
                self.unassigned += 1;
            }
        }
    }

    /// Capacity of a link that is not yet given to flows, and usage over weight of the members without
    /// a bottleneck, summed anew.
    fn remainder(&self, allocation: &Allocation, index: usize) -> (f64, f64) {
        let link = &allocation.links[index];
        let (mut taken, mut share) = (0.0, 0.0);
        let mut add = |id: u32| {
            let flow = &allocation.flows[id as usize];
            let part = allocation.legs.usage(flow, index) * flow.inverse;
            let (bottleneck, is_inside) = match self.slot(id, flow) {
                Some(slot) => (self.members[slot].bottleneck, true),
                None => (flow.bottleneck, false),
            };
            match bottleneck {
                WAITING => share += part,
                BOUNDED => taken += part * flow.bound,
                link if is_inside => taken += part * allocation.links[link as usize].next_level,
                link => taken += part * allocation.links[link as usize].level,
            }
        };
        match self.bundle_of(link) {
            Some(bundle) => {
                let bundle = &self.bundles[bundle];
                for slot in &bundle.members {
                    add(self.members[*slot as usize].flow);
                }
                share += bundle.share.get();
            }
            None => link.flows.iter().for_each(|id| add(*id)),
        }
        (link.capacity - taken, share)
    }

    /// Raises the level of all members together until each has a bottleneck.
    pub(super) fn fill(&mut self, allocation: &mut Allocation) {
        let mut last = 0.0;
        while 0 < self.unassigned
            && let Some(Reverse((lowest, index))) = self.order.pop()
        {
            if allocation.links[index as usize].unassigned == 0 {
                continue;
            }
            let lowest = f64::from_bits(lowest);
            let mut level = self.saturation_level(allocation, index as usize);
            if lowest * (1.0 + LEVEL_RESOLUTION) < level {
                self.order.push(Reverse((level.to_bits(), index)));
                continue;
            }
            let link = &allocation.links[index as usize];
            if link.unassigned < link.inside || (link.inside as usize) < link.flows.len() {
                self.sum_anew(allocation, index as usize);
                level = allocation.links[index as usize].saturation_level();
            }
            if level <= last * (1.0 + LEVEL_RESOLUTION) {
                level = last;
            }
            if self.assign_bounded(allocation, index as usize, level) {
                if 0 < allocation.links[index as usize].unassigned {
                    let level = self.saturation_level(allocation, index as usize);
                    self.order.push(Reverse((level.to_bits(), index)));
                }
                continue;
            }
            last = level;
            allocation.links[index as usize].next_level = level;
            self.assign_all(allocation, index, level);
        }
        if 0 < self.unassigned {
            for member in self
                .members
                .iter_mut()
                .filter(|member| member.bottleneck == WAITING)
            {
                member.bottleneck = BOUNDED;
            }
        }
    }

    /// The level at which a link with members that have no bottleneck is saturated.
    fn saturation_level(&self, allocation: &mut Allocation, index: usize) -> f64 {
        if allocation.links[index].share <= 0.0 {
            // Members that need much more have been subtracted, and rounding has left nothing of the others.
            self.sum_anew(allocation, index);
        }
        allocation.links[index].saturation_level()
    }

    /// Sums what the members without a bottleneck may use of a link, and what they need at level one.
    fn sum_anew(&self, allocation: &mut Allocation, index: usize) {
        let (spare, share) = self.remainder(allocation, index);
        let link = &mut allocation.links[index];
        (link.spare, link.share) = (spare, share);
    }

    /// Lets the members on a link whose own bound is below `level` run at that; returns whether there
    /// were any.
    fn assign_bounded(&mut self, allocation: &mut Allocation, index: usize, level: f64) -> bool {
        let mut any = false;
        for at in 0..self.crossing_count(&allocation.links[index]) {
            if let Some(slot) = self.crossing(allocation, index, at) {
                let flow = self.members[slot].flow;
                let bound = allocation.flows[flow as usize].bound;
                if bound < level * (1.0 - LEVEL_RESOLUTION) {
                    any |= self.assign(allocation, slot, BOUNDED, bound);
                }
            }
        }
        any
    }

    /// Makes a link, saturated at `level`, the bottleneck of all that crosses it and has none yet.
    fn assign_all(&mut self, allocation: &mut Allocation, index: u32, level: f64) {
        for at in 0..self.crossing_count(&allocation.links[index as usize]) {
            if let Some(slot) = self.crossing(allocation, index as usize, at) {
                self.assign(allocation, slot, index, level);
            }
        }
        let link = &mut allocation.links[index as usize];
        if let Some(bundle) = self.bundle_of(link) {
            let bundle = &mut self.bundles[bundle];
            if !bundle.is_assigned {
                bundle.is_assigned = true;
                // Shares that differ by thirty digits may have left a sum that is none.
                let has_room = level <= bundle.ceiling * (1.0 + LEVEL_RESOLUTION);
                bundle.is_exceeded = !(0.0 < level && has_room);
                link.unassigned -= bundle.flows;
                self.unassigned -= 1;
            }
        }
    }

    /// Number of flows on a link that are to be looked at one by one.
    fn crossing_count(&self, link: &Link) -> usize {
        self.bundle_of(link).map_or(link.flows.len(), |bundle| {
            self.bundles[bundle].members.len()
        })
    }

    /// The position of one of these flows among the members, if it is one.
    fn crossing(&self, allocation: &Allocation, index: usize, at: usize) -> Option<usize> {
        let link = &allocation.links[index];
        match self.bundle_of(link) {
            Some(bundle) => Some(self.bundles[bundle].members[at] as usize),
            None => self.slot(link.flows[at], &allocation.flows[link.flows[at] as usize]),
        }
    }

    /// Sets the bottleneck of a member, if it has none; returns whether it had none.
    fn assign(
        &mut self,
        allocation: &mut Allocation,
        slot: usize,
        bottleneck: u32,
        level: f64,
    ) -> bool {
        let member = &mut self.members[slot];
        if member.bottleneck != WAITING {
            return false;
        }
        member.bottleneck = bottleneck;
        self.unassigned -= 1;
        for share in self.shares_of(slot) {
            let link = &mut allocation.links[share.link as usize];
            link.share -= share.part;
            link.spare -= share.part * level;
            link.unassigned -= 1;
        }
        true
    }
}
