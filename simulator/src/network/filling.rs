//! The levels of a region by progressive filling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::allocation::Allocation;
use super::flow::{BOUNDED, Flow, WAITING};
use super::link::{LEVEL_RESOLUTION, Link};
use super::region::{Region, Share};
use super::track::Sum;

impl Region {
    /// Finds the links that can limit the members, and the capacity that the members may use.
    pub(super) fn gather(&mut self, allocation: &mut Allocation) {
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
        // Links that are met first may add members.
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
