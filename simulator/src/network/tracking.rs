//! Which bottleneck links are tracked.

use super::allocation::Allocation;
use super::bundle::Bundle;
use super::flow::{BOUNDED, WAITING};
use super::link::LEVEL_RESOLUTION;
use super::region::{Region, Share};
use super::track::{Sum, Track};

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
