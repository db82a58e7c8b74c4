//! Solving the part of the network that a change touches.
//!
//! The region starts with the flows that begin, and with those on the links that held flows back
//! and lost or gained one. Their rates are worked out with everybody else's held fixed. Where that
//! changes a flow on a link that also holds back flows outside the region, those flows join it,
//! and it is worked out again. What is left outside keeps its rates: nothing it meets has changed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::flow::{BOUNDED, Flow, WAITING};
use super::{ALMOST_ONE, Network};
use crate::calendar::Calendar;
use crate::engine::Event;

/// What is being solved.
#[derive(Debug, Default)]
pub(super) struct Region {
    members: Vec<Member>,
    /// The legs of the members that are over links that matter, member by member.
    shares: Vec<Share>,
    /// Links that matter and are crossed by members.
    touched: Vec<u32>,
    /// Links that held flows back and changed.
    opened: Vec<u32>,
    /// Links by the level at which they are used up; levels are not negative, so that their bits
    /// have the order of their values.
    order: BinaryHeap<Reverse<(u64, u32)>>,
    pass: u32,
    round: u32,
    /// Members that nothing holds back yet.
    unfixed: usize,
    /// Some touched link has flows outside.
    has_border: bool,
}

/// A flow in the region and what will hold it back.
#[derive(Clone, Copy, Debug)]
struct Member {
    flow: u32,
    holder: u32,
    /// Where its shares end; they begin where those of the member before end.
    shares_end: u32,
}

/// What a flow at level one takes of a link, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Share {
    link: u32,
    part: f64,
}

impl Region {
    /// The shares of the member at `slot`.
    #[inline]
    fn shares_of(&self, slot: usize) -> &[Share] {
        let end = |slot: usize| self.members[slot].shares_end as usize;
        let begin = slot.checked_sub(1).map_or(0, end);
        &self.shares[begin..end(slot)]
    }

    #[inline]
    fn slot(&self, id: u32, flow: &Flow) -> Option<usize> {
        let slot = flow.slot as usize;
        self.members
            .get(slot)
            .is_some_and(|member| member.flow == id)
            .then_some(slot)
    }
}

impl Network {
    pub(super) fn solve_region(&mut self, now: f64, calendar: &mut Calendar<Event>) {
        self.region.members.clear();
        self.region.opened.clear();
        self.region.round = self.region.round.wrapping_add(1);
        let mut arrived = std::mem::take(&mut self.arrived);
        for id in arrived.drain(..) {
            self.include(id);
        }
        self.arrived = arrived;
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            self.links[index as usize].is_dirty = false;
            self.open_link(index);
        }
        self.dirty = dirty;
        let mut hops = 1;
        loop {
            self.gather();
            self.fill();
            if !self.region.has_border || !self.grow(hops) {
                break;
            }
            hops *= 2;
        }
        self.commit(now, calendar);
    }

    fn include(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        if self.region.slot(id, flow).is_none() {
            flow.slot = u32::try_from(self.region.members.len()).expect("fewer than 2^32 flows");
            self.region.members.push(Member {
                flow: id,
                holder: WAITING,
                shares_end: 0,
            });
        }
    }

    /// Takes all flows of a link into the region.
    fn open_link(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        if link.round == self.region.round {
            return;
        }
        link.round = self.region.round;
        self.region.opened.push(index);
        for at in 0..self.links[index as usize].flows.len() {
            self.include(self.links[index as usize].flows[at]);
        }
    }

    /// Finds the links that matter to the region, and what they have to give to it.
    fn gather(&mut self) {
        let region = &mut self.region;
        region.pass = region.pass.wrapping_add(1);
        region.touched.clear();
        region.shares.clear();
        region.has_border = false;
        region.unfixed = region.members.len();
        for member in &mut region.members {
            member.holder = WAITING;
            let flow = &self.flows[member.flow as usize];
            for leg in self.legs.of(flow) {
                let link = &mut self.links[leg.link()];
                if !link.matters() {
                    continue;
                }
                if link.pass != region.pass {
                    link.pass = region.pass;
                    (link.spare, link.share) = (link.capacity, 0.0);
                    link.ceiling_inside = 0.0;
                    (link.inside, link.next_level) = (0, f64::INFINITY);
                    (link.ceiling_inside, link.outside) = (0.0, 0.0);
                    region.touched.push(leg.id());
                }
                let part = leg.usage() * flow.inverse;
                link.inside += 1;
                link.share += part;
                link.ceiling_inside += part * flow.ceiling;
                region.shares.push(Share {
                    link: leg.id(),
                    part,
                });
            }
            member.shares_end = u32::try_from(region.shares.len()).expect("fewer than 2^32 legs");
        }
        self.region.order.clear();
        let mut order = std::mem::take(&mut self.region.order).into_vec();
        for at in 0..self.region.touched.len() {
            let index = self.region.touched[at];
            let link = &mut self.links[index as usize];
            link.open = link.inside;
            if (link.inside as usize) < link.flows.len() {
                self.region.has_border = true;
                let (spare, share) = self.rest(index as usize);
                let link = &mut self.links[index as usize];
                (link.spare, link.share) = (spare, share);
                link.outside = link.capacity - spare;
            }
            order.push(Reverse((
                self.links[index as usize].brim().to_bits(),
                index,
            )));
        }
        self.region.order = BinaryHeap::from(order);
    }

    /// Capacity of a link that is not yet given out, and usage over weight of the members that are
    /// not yet held back, summed anew.
    fn rest(&self, index: usize) -> (f64, f64) {
        let link = &self.links[index];
        let (mut taken, mut share) = (0.0, 0.0);
        for id in &link.flows {
            let flow = &self.flows[*id as usize];
            let part = self.legs.usage(flow, index) * flow.inverse;
            let (holder, inside) = match self.region.slot(*id, flow) {
                Some(slot) => (self.region.members[slot].holder, true),
                None => (flow.holder, false),
            };
            match holder {
                WAITING => share += part,
                BOUNDED => taken += part * flow.bound,
                holder if inside => taken += part * self.links[holder as usize].next_level,
                holder => taken += part * self.links[holder as usize].level,
            }
        }
        (link.capacity - taken, share)
    }

    /// Raises the level of all members together until each is held back.
    fn fill(&mut self) {
        let mut last = 0.0;
        while 0 < self.region.unfixed
            && let Some(Reverse((brim, index))) = self.region.order.pop()
        {
            let link = &self.links[index as usize];
            if link.open == 0 {
                continue;
            }
            let brim = f64::from_bits(brim);
            let mut level = link.brim();
            if brim * (1.0 + TIE) < level {
                self.region.order.push(Reverse((level.to_bits(), index)));
                continue;
            }
            if link.open < link.inside || (link.inside as usize) < link.flows.len() {
                let (spare, share) = self.rest(index as usize);
                let link = &mut self.links[index as usize];
                (link.spare, link.share) = (spare, share);
                level = link.brim();
            }
            if level <= last * (1.0 + TIE) {
                level = last;
            }
            if self.fix_bounded(index as usize, level) {
                if 0 < self.links[index as usize].open {
                    let brim = self.links[index as usize].brim();
                    self.region.order.push(Reverse((brim.to_bits(), index)));
                }
                continue;
            }
            last = level;
            self.links[index as usize].next_level = level;
            for at in 0..self.links[index as usize].flows.len() {
                let id = self.links[index as usize].flows[at];
                self.fix(id, index, level);
            }
        }
        if 0 < self.region.unfixed {
            for member in self
                .region
                .members
                .iter_mut()
                .filter(|member| member.holder == WAITING)
            {
                member.holder = BOUNDED;
            }
        }
    }

    /// Fixes the members on a link whose own bound is below `level`; whether there were any.
    fn fix_bounded(&mut self, index: usize, level: f64) -> bool {
        let mut any = false;
        for at in 0..self.links[index].flows.len() {
            let id = self.links[index].flows[at];
            let bound = self.flows[id as usize].bound;
            if bound < level * (1.0 - TIE) {
                any |= self.fix(id, BOUNDED, bound);
            }
        }
        any
    }

    /// Notes what holds a flow back, if it is a member and nothing does yet.
    fn fix(&mut self, id: u32, holder: u32, level: f64) -> bool {
        let flow = &self.flows[id as usize];
        let Some(slot) = self.region.slot(id, flow) else {
            return false;
        };
        let member = &mut self.region.members[slot];
        if member.holder != WAITING {
            return false;
        }
        member.holder = holder;
        self.region.unfixed -= 1;
        for share in self.region.shares_of(slot) {
            let link = &mut self.links[share.link as usize];
            link.share -= share.part;
            link.spare -= share.part * level;
            link.open -= 1;
        }
        true
    }

    /// Takes in the flows outside that a changed member affects; whether there were any.
    fn grow(&mut self, hops: u32) -> bool {
        let before = self.region.members.len();
        let mut affected = Vec::new();
        for (slot, member) in self.region.members.iter().enumerate() {
            let flow = &self.flows[member.flow as usize];
            let changed = flow.holder != member.holder
                || (member.holder != BOUNDED && self.links[member.holder as usize].differs());
            if !changed {
                continue;
            }
            for share in self.region.shares_of(slot) {
                let link = &self.links[share.link as usize];
                if (link.inside as usize) < link.flows.len()
                    && link.level.min(link.next_level) < f64::INFINITY
                {
                    affected.push(share.link);
                }
            }
        }
        for index in affected {
            self.open_link(index);
        }
        let mut from = before;
        for _ in 1..hops {
            let to = self.region.members.len();
            for slot in from..to {
                let flow = self.flows[self.region.members[slot].flow as usize];
                for at in flow.range() {
                    let leg = self.legs.at(at);
                    if self.links[leg.link()].level < f64::INFINITY {
                        self.open_link(leg.id());
                    }
                }
            }
            from = to;
        }
        before < self.region.members.len()
    }

    /// Lets the members run as they are held back from `now` on.
    fn commit(&mut self, now: f64, calendar: &mut Calendar<Event>) {
        let region = std::mem::take(&mut self.region);
        for index in region.touched.iter().chain(&region.opened) {
            let link = &mut self.links[*index as usize];
            if link.level < f64::INFINITY {
                self.clocks.advance(link.clock, now);
            }
        }
        for member in &region.members {
            let old = self.flows[member.flow as usize].holder;
            if member.holder != old {
                self.hand_over(member, now, calendar);
            }
        }
        for index in region.touched.iter().chain(&region.opened) {
            self.set_level(*index as usize, region.pass);
        }
        self.track_region(&region);
        self.region = region;
    }

    /// Begins to track the links that have held flows back for a while, and sees to it that all
    /// ceilings still hold.
    fn track_region(&mut self, region: &Region) {
        // Room is measured while all ceilings are still those that the region was gathered with.
        for index in &region.touched {
            let link = &self.links[*index as usize];
            if link.is_solved() {
                self.links[*index as usize].share = self.headroom(*index as usize, region);
            }
        }
        for member in &region.members {
            let flow = &self.flows[member.flow as usize];
            if flow.ceiling < flow.bound && flow.holder == BOUNDED {
                self.lower_ceiling(member.flow, flow.bound);
            }
        }
        for index in &region.touched {
            let link = &self.links[*index as usize];
            if link.is_solved() {
                self.track(*index, link.share);
            }
        }
        if !self.has_tracks {
            return;
        }
        for index in &region.touched {
            let link = &self.links[*index as usize];
            if link.level == f64::INFINITY && !link.is_safe() {
                self.revoke(*index);
            }
        }
    }

    /// By how much the level of a link may rise before its flows meet another limit, at most
    /// twofold.
    fn headroom(&self, index: usize, region: &Region) -> f64 {
        let mut factor = HEADROOM_MAX;
        let link = &self.links[index];
        if !self
            .clocks
            .track(link.clock)
            .is_worth_it(self.clocks.held(link.clock))
        {
            return 1.0;
        }
        for id in &link.flows {
            let flow = &self.flows[*id as usize];
            if flow.holder as usize != index {
                continue;
            }
            factor = factor.min(flow.bound / link.level);
            let slot = region
                .slot(*id, flow)
                .expect("the region has all flows of the link");
            for share in region.shares_of(slot) {
                let other = &self.links[share.link as usize];
                if other.level < f64::INFINITY {
                    continue;
                }
                let ceilings_outside = other.bound_sum - other.relief - other.ceiling_inside;
                let inside = other.capacity - other.outside - other.spare;
                let room = other.capacity * (2.0 * ALMOST_ONE - 1.0) - ceilings_outside;
                factor = factor.min(room / inside);
            }
        }
        factor.max(1.0)
    }

    /// Puts a member under its new holder.
    fn hand_over(&mut self, member: &Member, now: f64, calendar: &mut Calendar<Event>) {
        let id = member.flow;
        let left = self.bytes_left(id, now);
        self.release(id);
        let flow = &mut self.flows[id as usize];
        flow.holder = member.holder;
        if member.holder == BOUNDED {
            self.run_at_bound(id, left, now, calendar);
            return;
        }
        let amount = left * flow.weight;
        let link = &mut self.links[member.holder as usize];
        if link.level == f64::INFINITY {
            link.clock = self.clocks.insert(member.holder as usize, now);
            // Any level will do until the right one is set.
            link.level = link.next_level;
        }
        self.clocks.hold(link.clock, &mut self.flows, id, amount);
    }

    /// Lets the clock of a link run at its new level.
    fn set_level(&mut self, index: usize, pass: u32) {
        let link = &mut self.links[index];
        if link.level == f64::INFINITY {
            return;
        }
        if link.pass == pass && (link.inside as usize) < link.flows.len() {
            return;
        }
        link.level = if link.pass == pass {
            link.next_level
        } else {
            f64::INFINITY
        };
        if link.level == f64::INFINITY {
            self.clocks.remove(link.clock);
        } else {
            self.clocks.run(link.clock, link.level);
        }
    }
}

impl super::Link {
    /// The level at which the link is used up.
    #[inline]
    fn brim(&self) -> f64 {
        self.spare.max(0.0) / self.share
    }

    /// Whether it holds flows back, and the region has all its flows.
    fn is_solved(&self) -> bool {
        self.level < f64::INFINITY && self.inside as usize == self.flows.len()
    }

    /// Whether the new level is another one.
    fn differs(&self) -> bool {
        TIE * self.level < (self.next_level - self.level).abs() || self.level == f64::INFINITY
    }
}

/// How far levels of tracked links may rise before the region is solved again. More would find a
/// limit sooner, less would have to be set anew more often.
const HEADROOM_MAX: f64 = 2.0;
/// Levels closer together than this, relatively, are one.
pub(super) const TIE: f64 = 1e-13;
