//! Links whose level follows from a few numbers.
//!
//! A trunk that holds a thousand flows back need not look at each of them whenever one comes or
//! goes: they all keep its level, and only the level changes. A tracked link keeps what that takes:
//! the usage over weight of the flows it holds, summed; the few flows that cross it and are held
//! by others; and the tracked links whose flows it holds.
//!
//! That suffices as long as nobody else is drawn in. Flows that are held by a tracked link have a
//! ceiling, up to which no link that they cross is used up and none of them meets its bound; while
//! the level stays below, and above the levels of the flows that others hold, what holds whom
//! cannot change. Otherwise the region is solved as a whole.

use super::flow::{BOUNDED, WAITING};
use super::region::TIE;
use super::{ALMOST_ONE, Network};
use crate::calendar::Calendar;
use crate::engine::Event;

/// What a tracked link knows of its flows.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Whether the rest is kept up to date.
    pub(super) is_on: bool,
    /// Solutions of the whole region since the link began to hold flows back.
    pub(super) solutions: u32,
    /// Usage over weight of the flows it holds.
    pub(super) share: Sum,
    /// The level up to which its flows have room on the other links that they cross.
    ceiling: f64,
    /// The level above which the region has to be solved: the ceiling, or less.
    roof: f64,
    /// Flows that cross it and are held by others.
    foreign: Vec<u32>,
    /// Links that its flows cross as foreign ones.
    feeds: Vec<u32>,
}

/// A sum from which terms can be taken away again: it carries what rounding cuts off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Track {
    /// Whether the link has been solved often enough, and for enough flows.
    pub(super) fn is_worth_it(&self, held: usize) -> bool {
        HELD_MIN <= held && (SOLUTIONS_MIN <= self.solutions || HELD_MANY <= held)
    }
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let high = self.high + term;
        let shift = high - self.high;
        self.low += (self.high - (high - shift)) + (term - shift);
        self.high = high;
    }

    fn get(self) -> f64 {
        self.high + self.low
    }
}

/// Levels tried out, to be undone if they do not hold.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Links to be worked out.
    queue: Vec<u32>,
    /// Links that were, and their levels before.
    changed: Vec<(u32, f64)>,
}

impl Network {
    /// Lets flows come and go on tracked links alone; whether that was possible.
    pub(super) fn solve_tracked(&mut self, now: f64, calendar: &mut Calendar<Event>) -> bool {
        let clocks = &self.clocks;
        let tracked = |index: &u32| {
            let link = &self.links[*index as usize];
            link.level < f64::INFINITY && clocks.track(link.clock).is_on
        };
        if !self.dirty.iter().all(tracked) {
            return false;
        }
        let mut trial = std::mem::take(&mut self.trial);
        trial.queue.clear();
        trial.changed.clear();
        let placed = (0..self.arrived.len()).all(|at| self.place(self.arrived[at]));
        trial.queue.extend(&self.dirty);
        let holds = placed && self.settle_levels(&mut trial);
        if holds {
            self.accept(&trial, now, calendar);
        } else {
            for (index, level) in trial.changed.iter().rev() {
                self.links[*index as usize].level = *level;
            }
            for id in &self.arrived {
                self.flows[*id as usize].holder = WAITING;
            }
        }
        self.trial = trial;
        holds
    }

    /// Finds the holder of a flow that begins; whether that is possible by looking at it alone.
    fn place(&mut self, id: u32) -> bool {
        let flow = self.flows[id as usize];
        let mut holder: Option<(f64, u32)> = None;
        for leg in self.legs.of(&flow) {
            let link = &self.links[leg.link()];
            if link.level < holder.map_or(f64::INFINITY, |(level, _)| level) {
                holder = Some((link.level, leg.id()));
            }
        }
        let mut ceiling = flow.bound;
        let held_by = match holder {
            Some((_, index)) => {
                let clock = self.links[index as usize].clock;
                let track = self.clocks.track_mut(clock);
                if flow.bound < track.roof {
                    return false;
                }
                ceiling = ceiling.min(track.ceiling);
                let usage = self.legs.usage(&flow, index as usize);
                track.share.add(usage * flow.inverse);
                index
            }
            None => BOUNDED,
        };
        self.flows[id as usize].holder = held_by;
        self.lower_ceiling(id, ceiling);
        for at in flow.range() {
            let index = self.legs.at(at).id();
            let link = &self.links[index as usize];
            if link.level == f64::INFINITY {
                if link.matters() && !link.is_safe() {
                    return false;
                }
            } else if index != held_by {
                let foreign = &mut self.clocks.track_mut(link.clock).foreign;
                foreign.push(id);
                if FOREIGN_MAX < foreign.len() || held_by == BOUNDED {
                    return false;
                }
                let feeds = &mut self
                    .clocks
                    .track_mut(self.links[held_by as usize].clock)
                    .feeds;
                if !feeds.contains(&index) {
                    feeds.push(index);
                }
            }
        }
        true
    }

    /// Works out the levels of the queued links and of those that they feed; whether what holds
    /// whom stays as it is.
    fn settle_levels(&mut self, trial: &mut Trial) -> bool {
        let mut at = 0;
        while let Some(index) = trial.queue.get(at).copied() {
            at += 1;
            let link = &self.links[index as usize];
            let (capacity, old) = (link.capacity, link.level);
            if old == f64::INFINITY || QUEUE_MAX < at {
                // A flow held elsewhere has left, or the levels do not come to rest.
                return false;
            }
            let track = self.clocks.track(link.clock);
            if !track.is_on || self.clocks.is_empty(link.clock) {
                return false;
            }
            let mut taken = 0.0;
            for id in &track.foreign {
                let flow = &self.flows[*id as usize];
                taken += self.legs.usage(flow, index as usize) * flow.inverse * self.level_of(*id);
            }
            let level = (capacity - taken) / track.share.get();
            if !(0.0 < level && level <= track.roof) {
                return false;
            }
            self.links[index as usize].level = level;
            trial.changed.push((index, old));
            if REST * old < (level - old).abs() {
                trial.queue.extend(&track.feeds);
            }
        }
        trial.changed.iter().all(|(index, _)| {
            let link = &self.links[*index as usize];
            let top = link.level * (1.0 + TIE);
            let track = self.clocks.track(link.clock);
            track.foreign.iter().all(|id| self.level_of(*id) <= top)
        })
    }

    fn level_of(&self, id: u32) -> f64 {
        let flow = &self.flows[id as usize];
        match flow.holder {
            WAITING => f64::INFINITY,
            BOUNDED => flow.bound,
            holder => self.links[holder as usize].level,
        }
    }

    /// Lets the clocks run at the levels that were tried out.
    fn accept(&mut self, trial: &Trial, now: f64, calendar: &mut Calendar<Event>) {
        for (index, _) in &trial.changed {
            self.clocks.advance(self.links[*index as usize].clock, now);
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        for id in arrived.drain(..) {
            let flow = self.flows[id as usize];
            if flow.holder == BOUNDED {
                self.run_at_bound(id, flow.amount, now, calendar);
            } else {
                let clock = self.links[flow.holder as usize].clock;
                self.clocks
                    .hold(clock, &mut self.flows, id, flow.amount * flow.weight);
            }
        }
        self.arrived = arrived;
        for (index, _) in &trial.changed {
            let link = &self.links[*index as usize];
            self.clocks.run(link.clock, link.level);
        }
        let mut dirty = std::mem::take(&mut self.dirty);
        for index in dirty.drain(..) {
            self.links[index as usize].is_dirty = false;
        }
        self.dirty = dirty;
    }

    /// Brings what a tracked link knows up to date when a flow leaves it.
    pub(super) fn untrack_flow(&mut self, id: u32, index: usize, part: f64) {
        let link = &self.links[index];
        if link.level == f64::INFINITY {
            return;
        }
        let holder = self.flows[id as usize].holder;
        let track = self.clocks.track_mut(link.clock);
        if !track.is_on {
            return;
        }
        if holder as usize == index {
            track.share.add(-part);
        } else if let Some(place) = track.foreign.iter().position(|foreign| *foreign == id) {
            track.foreign.swap_remove(place);
        }
    }

    /// Sets the ceiling of a flow, and what it frees on the links that it crosses.
    pub(super) fn lower_ceiling(&mut self, id: u32, ceiling: f64) {
        let flow = self.flows[id as usize];
        if flow.ceiling.to_bits() == ceiling.to_bits() {
            return;
        }
        let freed = (flow.ceiling - ceiling) * flow.inverse;
        for leg in self.legs.of(&flow) {
            self.links[leg.link()].relief += leg.usage() * freed;
        }
        self.flows[id as usize].ceiling = ceiling;
    }

    /// Begins, or begins anew, to track a link whose flows have all been looked at, if it pays.
    pub(super) fn track(&mut self, index: u32, factor: f64) {
        let link = &self.links[index as usize];
        let level = link.level;
        let clock = link.clock;
        let mut track = std::mem::take(self.clocks.track_mut(clock));
        track.solutions += 1;
        track.is_on = false;
        let pays = track.is_worth_it(self.clocks.held(clock));
        track.foreign.clear();
        track.feeds.clear();
        track.share = Sum::default();
        track.ceiling = level * factor;
        track.roof = track.ceiling;
        let mut foreign = 0;
        for at in 0..self.links[index as usize].flows.len() {
            let id = self.links[index as usize].flows[at];
            let flow = self.flows[id as usize];
            if flow.holder != index {
                self.feed(flow.holder, index);
                foreign += 1;
                if pays && foreign <= FOREIGN_MAX {
                    track.foreign.push(id);
                }
            } else if pays {
                track
                    .share
                    .add(self.legs.usage(&flow, index as usize) * flow.inverse);
                for leg in self.legs.of(&flow) {
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

    /// Tells the holder of a flow, if it is tracked, that the flow crosses another link that holds
    /// flows back.
    fn feed(&mut self, holder: u32, index: u32) {
        if holder != BOUNDED {
            let clock = self.links[holder as usize].clock;
            let track = self.clocks.track_mut(clock);
            if track.is_on && !track.feeds.contains(&index) {
                track.feeds.push(index);
            }
        }
    }

    /// A link might be used up if flows rose to their ceilings: none of them may rise any more.
    pub(super) fn revoke(&mut self, index: u32) {
        for id in &self.links[index as usize].flows {
            let holder = self.flows[*id as usize].holder;
            if holder != BOUNDED && holder != WAITING {
                let link = &self.links[holder as usize];
                let track = self.clocks.track_mut(link.clock);
                track.roof = track.roof.min(link.level);
            }
        }
    }
}

impl super::Link {
    /// Whether the link has room for all its flows at their ceilings.
    #[inline]
    pub(super) fn is_safe(&self) -> bool {
        self.bound_sum - self.relief <= self.capacity * ALMOST_ONE
    }
}

/// A link that holds fewer flows is solved faster than tracked.
const HELD_MIN: usize = 4;
/// Links that are solved seldom are not worth tracking.
const SOLUTIONS_MIN: u32 = 2;
/// So many flows are worth it at once.
const HELD_MANY: usize = 500;
/// Most flows of others, and most links fed, of a tracked link.
const FOREIGN_MAX: usize = 64;
/// Most levels worked out before the region is solved instead.
const QUEUE_MAX: usize = 1000;
/// A level that changes by less, relatively, has not changed.
const REST: f64 = 1e-15;
