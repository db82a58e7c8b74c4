//! Messages under way.

use std::ops::Range;

use bsp::HostId;

use crate::event::Activity;

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// When it was started, among all activities.
    pub(super) sequence: u64,
    pub(super) activity: Activity,
    /// Penalty of the flow: its rate is its level divided by this.
    pub(super) weight: f64,
    /// `1 / weight`.
    pub(super) inverse: f64,
    /// The level that the flow has while it is alone.
    pub(super) bound: f64,
    /// The level that it does not exceed unless it is looked at again, at most its bound. It is an estimate at first,
    /// and is raised if a solution exceeds it.
    pub(super) ceiling: f64,
    /// Bytes to be transferred before the transfer begins; from then on, while the flow runs at its
    /// bound, when it ends.
    pub(super) amount: f64,
    pub(super) from: u32,
    pub(super) to: u32,
    /// What limits it: a link, or [`WAITING`], or [`BOUNDED`].
    pub(super) bottleneck: u32,
    /// Position in the heap of the bottleneck's clock.
    pub(super) place: u32,
    /// Position in the region being solved.
    pub(super) slot: u32,
    /// An event of its end is valid if it carries this.
    pub(super) generation: u32,
    /// Where its legs begin.
    pub(super) legs: u32,
    pub(super) leg_count: u16,
    pub(super) has_overhead: bool,
}

/// The bottleneck of a flow whose latency phase is not over.
pub(super) const WAITING: u32 = u32::MAX;
/// The bottleneck of a flow that runs at its own bound.
pub(super) const BOUNDED: u32 = u32::MAX - 1;

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosedFlow {
    pub(crate) sequence: u64,
    pub(crate) activity: Activity,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// Whether the message has an overhead at either host.
    pub(crate) has_overhead: bool,
}

impl Flow {
    /// Its message, when it has ended.
    pub(super) fn closed(&self) -> ClosedFlow {
        ClosedFlow {
            sequence: self.sequence,
            activity: self.activity,
            from: HostId(self.from),
            to: HostId(self.to),
            has_overhead: self.has_overhead,
        }
    }

    /// The positions of its legs.
    #[inline]
    pub(super) fn leg_range(&self) -> Range<u32> {
        self.legs..self.legs + u32::from(self.leg_count)
    }
}
