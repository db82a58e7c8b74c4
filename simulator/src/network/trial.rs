//! Starts and ends of flows on tracked links alone.

use super::allocation::Allocation;
use super::flow::{BOUNDED, WAITING};
use super::link::LEVEL_RESOLUTION;
use crate::calendar::Calendar;
use crate::event::Event;

/// New levels of tracked links, undone if one of them changes the bottleneck of a flow.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Links whose levels are to be calculated.
    queue: Vec<u32>,
    /// Links whose levels were calculated, and the levels before.
    changed: Vec<(u32, f64)>,
}

impl Trial {
    /// Starts the flows that arrived and updates the links that are dirty, all by tracked links alone;
    /// returns whether that was possible.
    pub(super) fn solve(
        &mut self,
        allocation: &mut Allocation,
        now: f64,
        calendar: &mut Calendar<Event>,
    ) -> bool {
        let clocks = &allocation.clocks;
        let is_tracked = |index: &u32| {
            let link = &allocation.links[*index as usize];
            link.level < f64::INFINITY && clocks.track(link.clock).is_on
        };
        if !allocation.dirty.iter().all(is_tracked) {
            return false;
        }
        self.queue.clear();
        self.changed.clear();
        let is_possible =
            (0..allocation.arrived.len()).all(|at| assign(allocation, allocation.arrived[at]));
        self.queue.extend(&allocation.dirty);
        let is_possible = is_possible && self.find_levels(allocation);
        if is_possible {
            self.apply(allocation, now, calendar);
        } else {
            for (index, level) in self.changed.iter().rev() {
                allocation.links[*index as usize].level = *level;
            }
            for at in 0..allocation.arrived.len() {
                undo_assign(allocation, allocation.arrived[at]);
            }
        }
        is_possible
    }

    /// Calculates the levels of the queued links and of those that they feed; returns whether every
    /// flow keeps its bottleneck.
    fn find_levels(&mut self, allocation: &mut Allocation) -> bool {
        let mut at = 0;
        while let Some(index) = self.queue.get(at).copied() {
            at += 1;
            let link = &allocation.links[index as usize];
            let (capacity, old) = (link.capacity, link.level);
            if old == f64::INFINITY || LEVELS_MAX < at {
                // A flow limited elsewhere has ended, or the levels do not converge.
                return false;
            }
            let track = allocation.clocks.track(link.clock);
            if !track.is_on || allocation.clocks.is_empty(link.clock) {
                return false;
            }
            let mut taken = 0.0;
            for id in &track.foreign {
                let flow = &allocation.flows[*id as usize];
                taken += allocation.legs.usage(flow, index as usize)
                    * flow.inverse
                    * level_of_flow(allocation, *id);
            }
            let level = (capacity - taken) / track.share.get();
            if !(0.0 < level && level <= track.level_max) {
                return false;
            }
            allocation.links[index as usize].level = level;
            self.changed.push((index, old));
            if CHANGE_MIN * old < (level - old).abs() {
                self.queue.extend(&track.feeds);
            }
        }
        self.changed.iter().all(|(index, _)| {
            let link = &allocation.links[*index as usize];
            let top = link.level * (1.0 + LEVEL_RESOLUTION);
            let track = allocation.clocks.track(link.clock);
            let mut foreign = track.foreign.iter();
            foreign.all(|id| level_of_flow(allocation, *id) <= top)
        })
    }

    /// Runs the clocks at their new levels.
    fn apply(&self, allocation: &mut Allocation, now: f64, calendar: &mut Calendar<Event>) {
        for (index, _) in &self.changed {
            let clock = allocation.links[*index as usize].clock;
            allocation.clocks.advance(clock, now);
        }
        let mut arrived = std::mem::take(&mut allocation.arrived);
        for id in arrived.drain(..) {
            let flow = allocation.flows[id as usize];
            if flow.bottleneck == BOUNDED {
                allocation.run_at_bound(id, flow.amount, now, calendar);
            } else {
                let clock = allocation.links[flow.bottleneck as usize].clock;
                let amount = flow.amount * flow.weight;
                allocation
                    .clocks
                    .add_flow(clock, &mut allocation.flows, id, amount);
            }
        }
        allocation.arrived = arrived;
        for (index, _) in &self.changed {
            let link = &allocation.links[*index as usize];
            allocation.clocks.set_level(link.clock, link.level);
        }
        let mut dirty = std::mem::take(&mut allocation.dirty);
        for index in dirty.drain(..) {
            allocation.links[index as usize].is_dirty = false;
        }
        allocation.dirty = dirty;
    }
}

/// Finds the bottleneck of a flow that begins; returns whether no other flow is affected.
fn assign(allocation: &mut Allocation, id: u32) -> bool {
    let flow = allocation.flows[id as usize];
    let mut lowest: Option<(f64, u32)> = None;
    for leg in allocation.legs.get(&flow) {
        let link = &allocation.links[leg.link()];
        if link.level < lowest.map_or(f64::INFINITY, |(level, _)| level) {
            lowest = Some((link.level, leg.id()));
        }
    }
    let mut ceiling = flow.bound;
    let bottleneck = match lowest {
        Some((_, index)) => {
            let clock = allocation.links[index as usize].clock;
            let track = allocation.clocks.track_mut(clock);
            if flow.bound < track.ceiling {
                return false;
            }
            ceiling = ceiling.min(track.ceiling);
            let usage = allocation.legs.usage(&flow, index as usize);
            track.share.add(usage * flow.inverse);
            index
        }
        None => BOUNDED,
    };
    allocation.flows[id as usize].bottleneck = bottleneck;
    allocation.set_ceiling(id, ceiling);
    for at in flow.leg_range() {
        let index = allocation.legs.at(at).id();
        let link = &allocation.links[index as usize];
        if link.level == f64::INFINITY {
            if link.is_tight() {
                return false;
            }
        } else if index != bottleneck {
            let flows = allocation.clocks.flow_count(link.clock);
            let track = allocation.clocks.track_mut(link.clock);
            if track.foreign.last() != Some(&id) {
                track.foreign.push(id);
            }
            if bottleneck == BOUNDED || !track.is_short(flows) {
                return false;
            }
            let clock = allocation.links[bottleneck as usize].clock;
            let track = allocation.clocks.track_mut(clock);
            track.add_feed(index);
            track.set_apart(id);
        }
    }
    true
}

/// Lets a flow that begins have no bottleneck again.
fn undo_assign(allocation: &mut Allocation, id: u32) {
    let flow = allocation.flows[id as usize];
    if flow.bottleneck == WAITING {
        return;
    }
    for at in flow.leg_range() {
        let leg = allocation.legs.at(at);
        if allocation.links[leg.link()].level < f64::INFINITY {
            allocation.untrack_flow(id, leg.link(), leg.usage() * flow.inverse);
        }
    }
    allocation.set_ceiling(id, flow.bound);
    allocation.flows[id as usize].bottleneck = WAITING;
}

fn level_of_flow(allocation: &Allocation, id: u32) -> f64 {
    let flow = &allocation.flows[id as usize];
    match flow.bottleneck {
        WAITING => f64::INFINITY,
        BOUNDED => flow.bound,
        bottleneck => allocation.links[bottleneck as usize].level,
    }
}

/// Most levels calculated before the region is solved instead.
const LEVELS_MAX: usize = 1000;
/// A level that changes by less, relatively, has not changed.
const CHANGE_MIN: f64 = 1e-15;
