//! How the capacity of the links is allocated to the flows: which link limits which flow.

use std::cmp::Reverse;

use super::clock::Clocks;
use super::link::{HEADROOM_MAX, Leg, Legs, Link};
use super::{BOUNDED, ClosedFlow, Flow, WAITING};
use crate::calendar::{CLOCK_RESOLUTION, Calendar, Event};
use crate::emptied::{emptied, vacated};

/// The links, the flows, and the bottleneck of each flow.
#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) links: Vec<Link>,
    pub(super) flows: Vec<Flow>,
    free: Vec<u32>,
    pub(super) legs: Legs,
    pub(super) clocks: Clocks,
    /// Flows whose transfer begins now.
    pub(super) arrived: Vec<u32>,
    /// Bottleneck links that lost or gained a flow, or that changed.
    pub(super) dirty: Vec<u32>,
    /// Links that flows have crossed since the network was last at rest.
    used: Vec<u32>,
    /// Whether any link has been tracked since then.
    pub(super) has_tracks: bool,
}

impl Allocation {
    pub(super) fn new(links: Vec<Link>) -> Self {
        Self {
            links,
            flows: Vec::new(),
            free: Vec::new(),
            legs: Legs::default(),
            clocks: Clocks::default(),
            arrived: Vec::new(),
            dirty: Vec::new(),
            used: Vec::new(),
            has_tracks: false,
        }
    }

    /// Forgets all flows, none of which is under way, and what links remember of them.
    pub(super) fn rest(&mut self) {
        self.flows = vacated(std::mem::take(&mut self.flows));
        self.free = emptied(std::mem::take(&mut self.free));
        self.legs.clear();
        self.clocks.clear();
        self.arrived.clear();
        self.dirty.clear();
        self.has_tracks = false;
        for link in self.used.drain(..) {
            self.links[link as usize].rest();
        }
    }

    /// Adds a flow that crosses `legs`; it waits for [`Self::begin`].
    pub(super) fn insert(&mut self, mut flow: Flow, legs: &[Leg]) -> u32 {
        flow.legs = self.legs.insert(legs);
        flow.leg_count = u16::try_from(legs.len()).expect("a route has fewer than 2^16 links");
        match self.free.pop() {
            Some(id) => {
                flow.generation = self.flows[id as usize].generation;
                self.flows[id as usize] = flow;
                id
            }
            None => {
                self.flows.push(flow);
                let id = u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows");
                assert!(id < BOUNDED, "too many messages are under way");
                id
            }
        }
    }

    /// Begins the transfer of a flow: it is to be solved with the others.
    pub(super) fn begin(&mut self, id: u32) {
        self.attach(id);
        self.arrived.push(id);
    }

    /// Whether the event of the end of a flow that carries `generation` is valid.
    pub(super) fn is_current(&self, id: u32, generation: u32) -> bool {
        let flow = self.flows.get(id as usize);
        flow.is_some_and(|flow| flow.generation == generation && flow.bottleneck == BOUNDED)
    }

    /// Ends the flow if the event of its end that carries `generation` is valid.
    pub(super) fn end_bounded(&mut self, id: u32, generation: u32) -> Option<ClosedFlow> {
        if !self.is_current(id, generation) {
            return None;
        }
        self.detach(id);
        Some(self.close(id))
    }

    /// Ends the flows that links limit and that end at `now`: adds them to `ended`, which is empty.
    pub(super) fn end_limited(&mut self, now: f64, ended: &mut Vec<u32>) {
        while let Some((clock, end)) = self.clocks.next()
            && end <= now + now * CLOCK_RESOLUTION
        {
            self.clocks.advance_to_end(clock, now);
            self.clocks.drain_due(clock, &mut self.flows, ended);
            self.clocks.update_end(clock);
        }
        // The latest flows are detached first: they are at the end of the links' lists, and memory is
        // visited in order.
        ended.sort_unstable_by_key(|id| Reverse(self.flows[*id as usize].sequence));
        for id in &*ended {
            self.detach(*id);
            self.close(*id);
        }
        ended.reverse();
    }

    /// Takes the flow off its links and its clock, for its weight and bound to be set anew, and
    /// returns whether it was running.
    pub(super) fn suspend(&mut self, id: u32, now: f64) -> bool {
        let left = self.bytes_left(id, now);
        self.leave_clock(id);
        self.detach(id);
        let flow = &mut self.flows[id as usize];
        flow.amount = left;
        let was_running = flow.bottleneck != WAITING;
        flow.bottleneck = WAITING;
        was_running
    }

    /// Bytes of the flow not yet transferred at `now`.
    pub(super) fn bytes_left(&self, id: u32, now: f64) -> f64 {
        let flow = &self.flows[id as usize];
        match flow.bottleneck {
            WAITING => flow.amount,
            BOUNDED if flow.bound == f64::INFINITY => 0.0,
            BOUNDED => ((flow.amount - now) * flow.bound * flow.inverse).max(0.0),
            link => {
                let clock = self.clocks.get(self.links[link as usize].clock);
                ((clock.mark(flow) - clock.value_at(now)) * flow.inverse).max(0.0)
            }
        }
    }

    /// Runs the flow at its bound from `now` on.
    pub(super) fn run_at_bound(
        &mut self,
        id: u32,
        left: f64,
        now: f64,
        calendar: &mut Calendar<Event>,
    ) {
        let flow = &mut self.flows[id as usize];
        flow.generation = flow.generation.wrapping_add(1);
        flow.amount = now + left / (flow.bound * flow.inverse);
        let generation = flow.generation;
        calendar.push(
            flow.amount,
            Event::FlowEnds {
                flow: id,
                generation,
            },
        );
    }

    /// Removes the flow from the clock of its bottleneck, if that is a link.
    pub(super) fn leave_clock(&mut self, id: u32) {
        let bottleneck = self.flows[id as usize].bottleneck;
        if bottleneck != WAITING && bottleneck != BOUNDED {
            let clock = self.links[bottleneck as usize].clock;
            self.clocks.remove_flow(clock, &mut self.flows, id);
        }
    }

    /// Enters the flow on its links.
    pub(super) fn attach(&mut self, id: u32) {
        let flow = &self.flows[id as usize];
        let rate_max = flow.ceiling * flow.inverse;
        for leg in self.legs.get_mut(flow) {
            let index = leg.link();
            let link = &mut self.links[index];
            leg.position = u32::try_from(link.flows.len()).expect("fewer than 2^32 flows");
            link.flows.push(id);
            if !link.is_used {
                link.is_used = true;
                self.used.push(leg.id());
            }
            link.ceiling_sum += leg.usage() * rate_max;
            link.share_sum += leg.usage() * flow.inverse;
            if link.level < f64::INFINITY && !link.is_dirty {
                link.is_dirty = true;
                self.dirty.push(leg.id());
            }
        }
    }

    /// Removes the flow from its links.
    fn detach(&mut self, id: u32) {
        let flow = self.flows[id as usize];
        self.flows[id as usize].ceiling = flow.bound;
        let rate_max = flow.ceiling * flow.inverse;
        for at in flow.leg_range() {
            let leg = self.legs.at(at);
            let index = leg.link();
            let link = &mut self.links[index];
            link.flows.swap_remove(leg.position as usize);
            if link.flows.is_empty() {
                (link.ceiling_sum, link.share_sum) = (0.0, 0.0);
            } else {
                link.ceiling_sum -= leg.usage() * rate_max;
                link.share_sum -= leg.usage() * flow.inverse;
            }
            if let Some(moved) = link.flows.get(leg.position as usize) {
                let old = u32::try_from(link.flows.len()).expect("fewer than 2^32 flows");
                self.legs
                    .relocate(&self.flows[*moved as usize], index, (old, leg.position));
            }
            if link.level < f64::INFINITY {
                if !link.is_dirty {
                    link.is_dirty = true;
                    self.dirty.push(leg.id());
                }
                self.untrack_flow(id, index, leg.usage() * flow.inverse);
            }
        }
    }

    /// Removes a flow from the sums and lists of a bottleneck link, if that is tracked.
    pub(super) fn untrack_flow(&mut self, id: u32, index: usize, part: f64) {
        let bottleneck = self.flows[id as usize].bottleneck;
        let track = self.clocks.track_mut(self.links[index].clock);
        if !track.is_on {
            return;
        }
        let list = if bottleneck as usize == index {
            track.share.add(-part);
            &mut track.apart
        } else {
            &mut track.foreign
        };
        if let Some(position) = list.iter().position(|listed| *listed == id) {
            list.swap_remove(position);
        }
    }

    /// Sets the ceiling of a flow, and updates the links that it crosses.
    pub(super) fn set_ceiling(&mut self, id: u32, ceiling: f64) {
        let flow = &self.flows[id as usize];
        if flow.ceiling.to_bits() == ceiling.to_bits() {
            return;
        }
        let raised = (ceiling - flow.ceiling) * flow.inverse;
        for leg in self.legs.get(flow) {
            self.links[leg.link()].ceiling_sum += leg.usage() * raised;
        }
        self.flows[id as usize].ceiling = ceiling;
    }

    /// A level that a flow that begins will hardly exceed.
    pub(super) fn estimated_ceiling(&self, id: u32) -> f64 {
        let flow = &self.flows[id as usize];
        let mut ceiling = flow.bound;
        for leg in self.legs.get(flow) {
            let link = &self.links[leg.link()];
            if link.is_bottleneck() {
                let track = self.clocks.track(link.clock);
                if track.is_on {
                    ceiling = ceiling.min(track.ceiling);
                    continue;
                }
            }
            if HEADROOM_MAX * link.capacity < ceiling * link.share_sum {
                ceiling = HEADROOM_MAX * link.capacity / link.share_sum;
            }
        }
        ceiling
    }

    /// Removes the flow and returns its message.
    pub(super) fn close(&mut self, id: u32) -> ClosedFlow {
        let flow = &mut self.flows[id as usize];
        flow.generation = flow.generation.wrapping_add(1);
        flow.bottleneck = WAITING;
        self.legs.remove(flow.legs, flow.leg_count);
        self.free.push(id);
        flow.closed()
    }
}
