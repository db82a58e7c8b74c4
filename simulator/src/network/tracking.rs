//! Which bottleneck links are tracked.

use super::allocation::Allocation;
use super::flow::{BOUNDED, WAITING};
use super::link::LEVEL_RESOLUTION;
use super::track::{Sum, Track};

impl Allocation {
    /// Starts, or restarts, to track a bottleneck link that has just been solved, if that pays; its
    /// level may rise by `factor` before its flows meet another limit.
    pub(super) fn track(&mut self, index: u32, factor: f64) {
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
                self.track_flow(&mut track, id, index);
            }
        }
        track.is_on = pays && track.is_short(flows);
        self.has_tracks |= track.is_on;
        *self.clocks.track_mut(clock) = track;
    }

    /// Updates the track of a link after a solution with a bundle: `share` is that of the bundled flows, and `others` are
    /// all other flows that cross the link.
    pub(super) fn update_track(
        &mut self,
        index: u32,
        share: Sum,
        others: impl Iterator<Item = u32>,
    ) {
        let clock = self.links[index as usize].clock;
        let mut track = std::mem::take(self.clocks.track_mut(clock));
        track.restart(share);
        for id in others {
            if self.flows[id as usize].bottleneck == index {
                self.track_flow(&mut track, id, index);
            } else {
                self.add_feed(id, index);
                track.foreign.push(id);
            }
        }
        track.is_on = track.is_short(self.clocks.flow_count(clock));
        *self.clocks.track_mut(clock) = track;
    }

    /// Adds a flow that the link limits to its track.
    fn track_flow(&mut self, track: &mut Track, id: u32, index: u32) {
        let flow = &self.flows[id as usize];
        let ceiling = flow.ceiling;
        track
            .share
            .add(self.legs.usage(flow, index as usize) * flow.inverse);
        for leg in self.legs.get(flow) {
            if leg.id() != index && self.links[leg.link()].level < f64::INFINITY {
                track.add_feed(leg.id());
                track.set_apart(id);
            }
        }
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
