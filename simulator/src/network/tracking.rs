//! Which bottleneck links are tracked.

use super::allocation::Allocation;
use super::flow::{BOUNDED, WAITING};
use super::track::{FOREIGN_MAX, Sum};

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
        let pays = track.is_worth_it(self.clocks.flow_count(clock));
        track.foreign.clear();
        track.feeds.clear();
        track.share = Sum::default();
        track.ceiling = level * factor;
        track.level_max = track.ceiling;
        let mut foreign = 0;
        for at in 0..self.links[index as usize].flows.len() {
            let id = self.links[index as usize].flows[at];
            let flow = self.flows[id as usize];
            if flow.bottleneck != index {
                self.add_feed(flow.bottleneck, index);
                foreign += 1;
                if pays && foreign <= FOREIGN_MAX {
                    track.foreign.push(id);
                }
            } else if pays {
                track
                    .share
                    .add(self.legs.usage(&flow, index as usize) * flow.inverse);
                for leg in self.legs.get(&flow) {
                    if leg.id() != index
                        && self.links[leg.link()].level < f64::INFINITY
                        && !track.feeds.contains(&leg.id())
                    {
                        track.feeds.push(leg.id());
                    }
                }
                self.lower_ceiling(id, flow.bound.min(track.ceiling));
            } else {
                self.lower_ceiling(id, flow.bound);
            }
        }
        track.is_on = pays && foreign <= FOREIGN_MAX && track.feeds.len() <= FOREIGN_MAX;
        self.has_tracks |= track.is_on;
        *self.clocks.track_mut(clock) = track;
    }

    /// Notes at the bottleneck of a flow, if that is tracked, that the flow crosses another
    /// bottleneck link.
    fn add_feed(&mut self, bottleneck: u32, index: u32) {
        if bottleneck != BOUNDED {
            let clock = self.links[bottleneck as usize].clock;
            let track = self.clocks.track_mut(clock);
            if track.is_on && !track.feeds.contains(&index) {
                track.feeds.push(index);
            }
        }
    }

    /// Lets no flow of a link rise any more: if all rose to their ceilings, the link might be
    /// saturated.
    pub(super) fn revoke_ceilings(&mut self, index: u32) {
        for id in &self.links[index as usize].flows {
            let bottleneck = self.flows[*id as usize].bottleneck;
            if bottleneck != BOUNDED && bottleneck != WAITING {
                let link = &self.links[bottleneck as usize];
                let track = self.clocks.track_mut(link.clock);
                track.level_max = track.level_max.min(link.level);
            }
        }
    }
}
