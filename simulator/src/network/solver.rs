//! Gives every flow the rate that max-min fairness allots to it.

use super::allocation::Allocation;
use super::flow::BOUNDED;
use super::link::{ALMOST_ONE, HEADROOM_MAX};
use super::region::{Member, Region};
use super::trial::Trial;
use crate::calendar::Calendar;
use crate::event::Event;

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

#[cfg(test)]
mod tests;
