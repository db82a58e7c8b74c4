//! The part of the network that a change affects, and its levels by progressive filling.
//!
//! The region starts with the flows that begin, and with those on bottleneck links that lost or
//! gained a flow. Their levels are calculated with the rates of all other flows fixed. If that
//! changes a flow on a link that also limits flows outside the region, those flows join it, and it
//! is calculated again. What is left outside keeps its rates: none of its links has changed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::allocation::Allocation;
use super::flow::{BOUNDED, Flow, WAITING};
use super::link::LEVEL_RESOLUTION;

/// The flows and links to be solved, and the bottlenecks found so far.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub(super) members: Vec<Member>,
    /// The legs of the members over links that can limit them, member by member.
    shares: Vec<Share>,
    /// Links that are crossed by members and can limit them.
    pub(super) touched: Vec<u32>,
    /// Bottleneck links all of whose flows were included.
    pub(super) included: Vec<u32>,
    /// Links by the level at which they are saturated; levels are not negative, so that their bits
    /// have the order of their values.
    order: BinaryHeap<Reverse<(u64, u32)>>,
    pub(super) pass: u32,
    round: u32,
    /// Members without a bottleneck.
    unassigned: usize,
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
    part: f64,
}

impl Region {
    /// Finds the bottlenecks of all flows that begin or are affected by the dirty links.
    pub(super) fn solve(&mut self, allocation: &mut Allocation) {
        self.members.clear();
        self.included.clear();
        self.round = self.round.wrapping_add(1);
        let mut arrived = std::mem::take(&mut allocation.arrived);
        for id in arrived.drain(..) {
            self.include(allocation, id);
        }
        allocation.arrived = arrived;
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
            if !self.has_border || !self.grow(allocation, hops) {
                break;
            }
            hops *= 2;
        }
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

    fn include(&mut self, allocation: &mut Allocation, id: u32) {
        let flow = &mut allocation.flows[id as usize];
        if self.slot(id, flow).is_none() {
            flow.slot = u32::try_from(self.members.len()).expect("fewer than 2^32 flows");
            self.members.push(Member {
                flow: id,
                bottleneck: WAITING,
                shares_end: 0,
            });
        }
    }

    /// Includes all flows of a link.
    fn include_link(&mut self, allocation: &mut Allocation, index: u32) {
        let link = &mut allocation.links[index as usize];
        if link.round == self.round {
            return;
        }
        link.round = self.round;
        self.included.push(index);
        for at in 0..allocation.links[index as usize].flows.len() {
            self.include(allocation, allocation.links[index as usize].flows[at]);
        }
    }

    /// Finds the links that can limit the members, and the capacity that the members may use.
    fn gather(&mut self, allocation: &mut Allocation) {
        self.pass = self.pass.wrapping_add(1);
        self.touched.clear();
        self.shares.clear();
        self.has_border = false;
        self.unassigned = self.members.len();
        for member in &mut self.members {
            member.bottleneck = WAITING;
            let flow = &allocation.flows[member.flow as usize];
            for leg in allocation.legs.get(flow) {
                let link = &mut allocation.links[leg.link()];
                if !link.can_limit() {
                    continue;
                }
                if link.pass != self.pass {
                    link.pass = self.pass;
                    (link.spare, link.share) = (link.capacity, 0.0);
                    (link.inside, link.next_level) = (0, f64::INFINITY);
                    (link.ceiling_inside, link.outside) = (0.0, 0.0);
                    self.touched.push(leg.id());
                }
                let part = leg.usage() * flow.inverse;
                link.inside += 1;
                link.share += part;
                link.ceiling_inside += part * flow.ceiling;
                self.shares.push(Share {
                    link: leg.id(),
                    part,
                });
            }
            member.shares_end = u32::try_from(self.shares.len()).expect("fewer than 2^32 legs");
        }
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

    /// Capacity of a link that is not yet given to flows, and usage over weight of the members without
    /// a bottleneck, summed anew.
    fn remainder(&self, allocation: &Allocation, index: usize) -> (f64, f64) {
        let link = &allocation.links[index];
        let (mut taken, mut share) = (0.0, 0.0);
        for id in &link.flows {
            let flow = &allocation.flows[*id as usize];
            let part = allocation.legs.usage(flow, index) * flow.inverse;
            let (bottleneck, is_inside) = match self.slot(*id, flow) {
                Some(slot) => (self.members[slot].bottleneck, true),
                None => (flow.bottleneck, false),
            };
            match bottleneck {
                WAITING => share += part,
                BOUNDED => taken += part * flow.bound,
                link if is_inside => taken += part * allocation.links[link as usize].next_level,
                link => taken += part * allocation.links[link as usize].level,
            }
        }
        (link.capacity - taken, share)
    }

    /// Raises the level of all members together until each has a bottleneck.
    fn fill(&mut self, allocation: &mut Allocation) {
        let mut last = 0.0;
        while 0 < self.unassigned
            && let Some(Reverse((lowest, index))) = self.order.pop()
        {
            let link = &allocation.links[index as usize];
            if link.unassigned == 0 {
                continue;
            }
            let lowest = f64::from_bits(lowest);
            let mut level = link.saturation_level();
            if lowest * (1.0 + LEVEL_RESOLUTION) < level {
                self.order.push(Reverse((level.to_bits(), index)));
                continue;
            }
            if link.unassigned < link.inside || (link.inside as usize) < link.flows.len() {
                let (spare, share) = self.remainder(allocation, index as usize);
                let link = &mut allocation.links[index as usize];
                (link.spare, link.share) = (spare, share);
                level = link.saturation_level();
            }
            if level <= last * (1.0 + LEVEL_RESOLUTION) {
                level = last;
            }
            if self.assign_bounded(allocation, index as usize, level) {
                let link = &allocation.links[index as usize];
                if 0 < link.unassigned {
                    let level = link.saturation_level();
                    self.order.push(Reverse((level.to_bits(), index)));
                }
                continue;
            }
            last = level;
            allocation.links[index as usize].next_level = level;
            for at in 0..allocation.links[index as usize].flows.len() {
                let id = allocation.links[index as usize].flows[at];
                self.assign(allocation, id, index, level);
            }
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

    /// Lets the members on a link whose own bound is below `level` run at that; returns whether there
    /// were any.
    fn assign_bounded(&mut self, allocation: &mut Allocation, index: usize, level: f64) -> bool {
        let mut any = false;
        for at in 0..allocation.links[index].flows.len() {
            let id = allocation.links[index].flows[at];
            let bound = allocation.flows[id as usize].bound;
            if bound < level * (1.0 - LEVEL_RESOLUTION) {
                any |= self.assign(allocation, id, BOUNDED, bound);
            }
        }
        any
    }

    /// Sets the bottleneck of a flow, if it is a member without one.
    fn assign(
        &mut self,
        allocation: &mut Allocation,
        id: u32,
        bottleneck: u32,
        level: f64,
    ) -> bool {
        let flow = &allocation.flows[id as usize];
        let Some(slot) = self.slot(id, flow) else {
            return false;
        };
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
