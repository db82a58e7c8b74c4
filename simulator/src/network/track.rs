//! What a tracked link keeps so that its level can be calculated from a few numbers.
//!
//! A bottleneck of a thousand flows need not visit each of them whenever one starts or ends: they all
//! have its level, and only the level changes. A tracked link keeps the usage over weight of the
//! flows that it limits, summed; the few flows that cross it and are limited elsewhere; and the
//! tracked links that its flows cross. With these,
//!
//! ```text
//! level = (capacity - usage of the foreign flows at their own levels) / share
//! ```
//!
//! That holds as long as no other flow or link is affected. The flows of a tracked link have a
//! ceiling, up to which no other link that they cross is saturated and none of them meets its bound.
//! While the level stays below the ceiling, and above the levels of the foreign flows, no flow
//! changes its bottleneck. Otherwise the region is solved, with the flows of the link as a bundle. A
//! flow for which that does not hold is *apart*: it is solved one by one, and until then the level
//! does not rise.

/// Sums and lists of a bottleneck link.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Whether the rest is kept up to date.
    pub(super) is_on: bool,
    /// Solutions of the whole region since the link became a bottleneck.
    pub(super) solutions: u32,
    /// Usage over weight of the flows that the link limits.
    pub(super) share: Sum,
    /// The level up to which its flows have room on the other links that they cross.
    pub(super) ceiling: f64,
    /// The level above which the region has to be solved: the ceiling, or less.
    pub(super) level_max: f64,
    /// Flows that cross it and are limited elsewhere.
    pub(super) foreign: Vec<u32>,
    /// Links that its flows cross as foreign ones.
    pub(super) feeds: Vec<u32>,
    /// Flows that it limits and that may meet another limit below the ceiling: at a link of `feeds`, at one without
    /// room for the ceilings of its flows, or at their bound.
    pub(super) apart: Vec<u32>,
    /// Whether more flows than `apart` lists may do so.
    pub(super) is_scattered: bool,
}

/// A sum from which terms can be subtracted again: it keeps what rounding cuts off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    high: f64,
    low: f64,
}

impl Track {
    /// Whether the lists are short, for a link that limits this number of flows.
    pub(super) fn is_short(&self, flows: usize) -> bool {
        self.foreign.len() <= LISTED_MAX.max(flows / OWN_PER_FOREIGN)
            && self.feeds.len() <= LISTED_MAX
    }

    /// Whether all flows that the link limits, but those apart, have room up to the ceiling.
    pub(super) fn can_be_bundled(&self) -> bool {
        self.is_on && !self.is_scattered
    }

    /// Empties all lists; the flows that are not added again have `share`.
    pub(super) fn restart(&mut self, share: Sum) {
        self.share = share;
        self.level_max = self.ceiling;
        self.foreign.clear();
        self.feeds.clear();
        self.apart.clear();
        self.is_scattered = false;
    }

    /// Notes that a flow that the link limits may meet another limit.
    pub(super) fn set_apart(&mut self, id: u32) {
        if self.apart.len() < LISTED_MAX {
            if !self.apart.contains(&id) {
                self.apart.push(id);
            }
        } else {
            self.is_scattered = true;
        }
    }

    /// Notes that flows that the link limits cross another bottleneck link.
    pub(super) fn add_feed(&mut self, index: u32) {
        if !self.feeds.contains(&index) {
            self.feeds.push(index);
        }
    }

    /// Whether the link has been solved often enough, and for enough flows.
    pub(super) fn is_worth_it(&self, flows: usize) -> bool {
        FLOWS_MIN <= flows && (SOLUTIONS_MIN <= self.solutions || FLOWS_MANY <= flows)
    }
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let high = self.high + term;
        let shift = high - self.high;
        self.low += (self.high - (high - shift)) + (term - shift);
        self.high = high;
    }

    pub(super) fn get(self) -> f64 {
        self.high + self.low
    }
}

/// A link that limits fewer flows is solved faster than tracked.
const FLOWS_MIN: usize = 4;
/// Links that are solved seldom are not worth tracking.
const SOLUTIONS_MIN: u32 = 2;
/// A link that limits this many flows is tracked from its first solution on.
const FLOWS_MANY: usize = 500;
/// Most links fed, and most flows apart, of a tracked link, and most foreign flows of one that limits few.
const LISTED_MAX: usize = 64;
/// A link that limits many flows may have one foreign flow for this many of them.
const OWN_PER_FOREIGN: usize = 16;
