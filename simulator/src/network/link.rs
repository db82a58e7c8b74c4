//! Links and the flows that cross them.

use smallvec::SmallVec;

use super::options::Factors;
use crate::platform::{self, Sharing};

/// A link and the flows that cross it.
///
/// The fields that every start and end of a flow needs come first and share one 64-byte line of the
/// processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Link {
    pub(super) flows: SmallVec<[u32; 4]>,
    /// Most bytes per second of all flows together; infinite where each flow alone has the bandwidth.
    pub(super) capacity: f64,
    /// Bytes per second if all flows ran at their ceilings.
    pub(super) ceiling_sum: f64,
    /// Usage over weight of all flows.
    pub(super) share_sum: f64,
    /// The level at which it is a bottleneck; infinite if it is none.
    pub(super) level: f64,
    /// Its clock while it is a bottleneck.
    pub(super) clock: u32,
    /// Whether a change of its flows or its capacity has been noted.
    pub(super) is_dirty: bool,
    /// Whether flows have crossed it since the network was last at rest.
    pub(super) is_used: bool,
    /// Scratch of the solver: the latest pass that used the link.
    pub(super) pass: u32,
    /// Scratch of the solver: the latest solution that included all its flows.
    pub(super) round: u32,
    /// Scratch of the solver: the bundle of its flows, if the latest solution that included it has one.
    pub(super) bundle: u32,
    /// Scratch of the solver: the latest solution that searched its flows for those of tracked links.
    pub(super) searched: u32,
    /// Scratch of the solver: its flows inside the region.
    pub(super) inside: u32,
    /// Scratch of the solver: its flows inside the region that have no bottleneck yet.
    pub(super) unassigned: u32,
    /// Scratch of the solver: capacity that is not yet given to flows.
    pub(super) spare: f64,
    /// Scratch of the solver: usage over weight, summed over the flows without a bottleneck.
    pub(super) share: f64,
    /// Scratch of the solver: the new level.
    pub(super) next_level: f64,
    /// Scratch of the solver: bytes per second of its flows inside the region at their ceilings.
    pub(super) ceiling_inside: f64,
    /// Scratch of the solver: bytes per second of its flows outside the region.
    pub(super) outside: f64,
}

/// Bandwidth and latency of a link at the moment, before the factors of the network model.
#[derive(Clone, Copy, Debug)]
pub(super) struct NominalLink {
    /// Bytes per second.
    pub(super) bandwidth: f64,
    /// Seconds.
    pub(super) latency: f64,
    /// Whether each flow alone has the bandwidth.
    pub(super) is_fat_pipe: bool,
}

impl NominalLink {
    pub(super) fn new(link: &platform::Link) -> Self {
        Self {
            bandwidth: link.bandwidth.get(),
            latency: link.latency.get(),
            is_fat_pipe: link.sharing == Sharing::FatPipe,
        }
    }

    /// Bytes per second that flows share.
    pub(super) fn capacity(&self, factors: &Factors) -> f64 {
        if self.is_fat_pipe {
            f64::INFINITY
        } else {
            factors.bandwidth * self.bandwidth
        }
    }
}

impl Link {
    pub(super) fn new(capacity: f64) -> Self {
        Self {
            flows: SmallVec::new(),
            capacity,
            ceiling_sum: 0.0,
            share_sum: 0.0,
            level: f64::INFINITY,
            clock: 0,
            is_dirty: false,
            is_used: false,
            pass: 0,
            round: 0,
            bundle: 0,
            searched: 0,
            inside: 0,
            unassigned: 0,
            spare: 0.0,
            share: 0.0,
            next_level: f64::INFINITY,
            ceiling_inside: 0.0,
            outside: 0.0,
        }
    }

    /// Forgets what is known of flows: none crosses the link.
    pub(super) fn rest(&mut self) {
        debug_assert!(self.flows.is_empty(), "a flow is under way");
        (self.ceiling_sum, self.share_sum) = (0.0, 0.0);
        (self.level, self.next_level) = (f64::INFINITY, f64::INFINITY);
        (self.is_dirty, self.is_used) = (false, false);
    }

    /// Whether it would be saturated before all its flows reached their ceilings. A flow that is alone has a bound that
    /// takes the link into account already.
    #[inline]
    pub(super) fn is_tight(&self) -> bool {
        self.capacity * ALMOST_ONE < self.ceiling_sum && 1 < self.flows.len()
    }

    #[inline]
    pub(super) fn is_bottleneck(&self) -> bool {
        self.level < f64::INFINITY
    }

    /// Whether it is a bottleneck or can become one.
    #[inline]
    pub(super) fn can_limit(&self) -> bool {
        if self.is_bottleneck() {
            1 < self.flows.len()
        } else {
            self.is_tight()
        }
    }

    /// The level at which the link is saturated.
    #[inline]
    pub(super) fn saturation_level(&self) -> f64 {
        if self.share <= 0.0 {
            // Rounding has left nothing of the share.
            return f64::INFINITY;
        }
        self.spare.max(0.0) / self.share
    }

    /// Begins a pass of the solver: no flow is inside the region.
    #[inline]
    pub(super) fn begin_pass(&mut self, pass: u32) {
        self.pass = pass;
        (self.spare, self.share) = (self.capacity, 0.0);
        (self.inside, self.next_level) = (0, f64::INFINITY);
        (self.ceiling_inside, self.outside) = (0.0, 0.0);
    }

    /// Whether it is a bottleneck and all its flows are inside the region.
    pub(super) fn is_solved(&self) -> bool {
        self.level < f64::INFINITY && self.inside as usize == self.flows.len()
    }

    /// Whether the new level differs from the current one.
    pub(super) fn has_new_level(&self) -> bool {
        LEVEL_RESOLUTION * self.level < (self.next_level - self.level).abs()
            || self.level == f64::INFINITY
    }
}

/// Levels closer together than this, relatively, are equal.
pub(super) const LEVEL_RESOLUTION: f64 = 1e-13;
/// Leaves room for the rounding of running sums.
pub(super) const ALMOST_ONE: f64 = 1.0 - 1e-6;
/// How far levels may rise before the region is solved again. A larger factor meets another limit sooner, a smaller one
/// is exceeded more often.
pub(super) const HEADROOM_MAX: f64 = 2.0;
