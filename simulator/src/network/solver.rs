//! Gives every flow the rate that max-min fairness allots to it; starts and ends on tracked links alone are tried first.

use super::allocation::Allocation;
use super::link::{ALMOST_ONE, HEADROOM_MAX, LEVEL_RESOLUTION};
use super::region::{Member, Region};
use super::{BOUNDED, WAITING};
use crate::calendar::{Calendar, Event};

/// Solves by tracked links alone where that is possible, otherwise by the region affected.
#[derive(Debug, Default)]
pub(super) struct Solver {
    trial: Trial,
    region: Region,
}

impl Solver {
    pub(super) fn solve(
        &mut self,
        allocation: &mut Allocation,
        now: f64,
        calendar: &mut Calendar<Event>,
    ) {
        if allocation.arrived.is_empty() && allocation.dirty.is_empty() {
            return;
        }
        if !self.trial.solve(allocation, now, calendar) {
            self.region.solve(allocation);
            apply(&self.region, allocation, now, calendar);
            track(&self.region, allocation);
            self.region.end();
        }
    }
}

/// Runs the members at the levels of their new bottlenecks from `now` on.
fn apply(region: &Region, allocation: &mut Allocation, now: f64, calendar: &mut Calendar<Event>) {
    for index in region.touched.iter().chain(&region.included) {
        let link = &mut allocation.links[*index as usize];
        if link.level < f64::INFINITY {
            allocation.clocks.advance(link.clock, now);
        }
    }
    for member in &region.members {
        let old = allocation.flows[member.flow as usize].bottleneck;
        if member.bottleneck != old {
            change_bottleneck(allocation, member, now, calendar);
        }
    }
    for index in region.touched.iter().chain(&region.included) {
        set_level(allocation, *index as usize, region.pass);
    }
}

/// Moves a member to its new bottleneck.
fn change_bottleneck(
    allocation: &mut Allocation,
    member: &Member,
    now: f64,
    calendar: &mut Calendar<Event>,
) {
    let id = member.flow;
    let left = allocation.bytes_left(id, now);
    allocation.leave_clock(id);
    let flow = &mut allocation.flows[id as usize];
    flow.bottleneck = member.bottleneck;
    if member.bottleneck == BOUNDED {
        allocation.run_at_bound(id, left, now, calendar);
        return;
    }
    let amount = left * flow.weight;
    let link = &mut allocation.links[member.bottleneck as usize];
    if link.level == f64::INFINITY {
        link.clock = allocation.clocks.insert(member.bottleneck as usize, now);
        // Any finite level does until `set_level`.
        link.level = link.next_level;
    }
    allocation
        .clocks
        .add_flow(link.clock, &mut allocation.flows, id, amount);
}

/// Runs the clock of a link at its new level, or removes it if the link is no bottleneck any more.
fn set_level(allocation: &mut Allocation, index: usize, pass: u32) {
    let link = &mut allocation.links[index];
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
        allocation.clocks.remove(link.clock);
    } else {
        allocation.clocks.set_level(link.clock, link.level);
    }
}

/// Tracks the links that have been bottlenecks for a while, and makes sure that all ceilings still
/// hold.
fn track(region: &Region, allocation: &mut Allocation) {
    // Headroom is measured while all ceilings are those that the region was gathered with.
    for index in &region.touched {
        let link = &allocation.links[*index as usize];
        if link.is_solved() && !region.is_bundled(link) {
            allocation.links[*index as usize].share = headroom(region, allocation, *index as usize);
        }
    }
    for bundle in &region.bundles {
        if 0 < bundle.flows {
            allocation.update_track(region, bundle);
        }
    }
    for index in &region.touched {
        let link = &allocation.links[*index as usize];
        if link.is_solved() && !region.is_bundled(link) {
            allocation.track(region, *index, link.share);
        }
    }
    if !allocation.has_tracks {
        return;
    }
    for index in &region.touched {
        let link = &allocation.links[*index as usize];
        if !link.is_bottleneck() && link.is_tight() {
            allocation.revoke_ceilings(*index);
        }
    }
}

/// By which factor the level of a link may rise before its flows meet another limit, at most
/// [`HEADROOM_MAX`].
fn headroom(region: &Region, allocation: &Allocation, index: usize) -> f64 {
    let mut factor = HEADROOM_MAX;
    let link = &allocation.links[index];
    if !allocation
        .clocks
        .track(link.clock)
        .is_worth_it(allocation.clocks.flow_count(link.clock))
    {
        return 1.0;
    }
    for id in &link.flows {
        let flow = &allocation.flows[*id as usize];
        if flow.bottleneck as usize != index {
            continue;
        }
        factor = factor.min(flow.ceiling / link.level);
        let slot = region
            .slot(*id, flow)
            .expect("the region has all flows of the link");
        for share in region.shares_of(slot) {
            let other = &allocation.links[share.link as usize];
            if other.level < f64::INFINITY {
                continue;
            }
            let ceilings_outside = other.ceiling_sum - other.ceiling_inside;
            let inside = other.capacity - other.outside - other.spare;
            let room = other.capacity * (2.0 * ALMOST_ONE - 1.0) - ceilings_outside;
            factor = factor.min(room / inside);
        }
    }
    factor.max(1.0)
}

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

#[cfg(test)]
mod tests;
