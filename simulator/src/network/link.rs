//! Links, the flows that cross them, and how often.

use smallvec::SmallVec;

use super::{Factors, Flow};
use crate::emptied::{emptied, vacated};
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

/// One use of a link by a flow.
///
/// `code` packs the link and how often the flow crosses it: bits 6 to 31 are the link, bits 3 to 5
/// the crossings forward and bits 0 to 2 those of the reverse route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    code: u32,
    /// Position in the link's list of flows.
    pub(super) position: u32,
}

impl Leg {
    /// A placeholder.
    pub(super) const NONE: Self = Self {
        code: 0,
        position: 0,
    };

    /// # Panics
    ///
    /// If the link's number does not fit, or a crossing count exceeds seven.
    pub(super) fn new(link: usize, forward: u32, reverse: u32) -> Self {
        let link = u32::try_from(link).expect("a link's number fits 32 bits");
        assert!(
            link < 1 << 26 && forward < 8 && reverse < 8,
            "a leg over link {link} overflows"
        );
        Self {
            code: link << 6 | forward << 3 | reverse,
            position: 0,
        }
    }

    /// The link's number.
    #[inline]
    pub(super) fn id(self) -> u32 {
        self.code >> 6
    }

    /// The same use of another link, `by` numbers further on.
    #[inline]
    pub(super) fn moved(self, by: u32) -> Self {
        Self {
            code: self.code.wrapping_add(by << 6),
            ..self
        }
    }

    /// The link's position among all links.
    #[inline]
    pub(super) fn link(self) -> usize {
        self.id() as usize
    }

    /// Bytes of the link's capacity that a byte of the flow takes.
    #[inline]
    pub(super) fn usage(self) -> f64 {
        USAGES[(self.code & 63) as usize]
    }
}

/// Usage by crossings forward and reverse: acknowledgements take a twentieth of the data.
const USAGES: [f64; 64] = {
    let mut usages = [0.0; 64];
    let mut code = 0;
    while code < 64 {
        usages[code] = (code >> 3) as f64 + 0.05 * (code & 7) as f64;
        code += 1;
    }
    usages
};

/// The legs of all flows; those of one flow are neighbours.
#[derive(Debug, Default)]
pub(super) struct Legs {
    legs: Vec<Leg>,
    /// Freed runs by length.
    free: Vec<Vec<u32>>,
}

impl Legs {
    /// Removes all legs.
    pub(super) fn clear(&mut self) {
        self.legs = vacated(std::mem::take(&mut self.legs));
        for free in &mut self.free {
            *free = emptied(std::mem::take(free));
        }
    }

    pub(super) fn insert(&mut self, legs: &[Leg]) -> u32 {
        if let Some(start) = self.free.get_mut(legs.len()).and_then(Vec::pop) {
            let at = start as usize;
            self.legs[at..at + legs.len()].copy_from_slice(legs);
            return start;
        }
        let start = u32::try_from(self.legs.len()).expect("fewer than 2^32 legs are under way");
        self.legs.extend_from_slice(legs);
        start
    }

    pub(super) fn remove(&mut self, start: u32, count: u16) {
        let count = usize::from(count);
        if self.free.len() <= count {
            self.free.resize_with(count + 1, Vec::new);
        }
        self.free[count].push(start);
    }

    #[inline]
    pub(super) fn at(&self, at: u32) -> Leg {
        self.legs[at as usize]
    }

    /// Updates the flow's position in the list of a link.
    pub(super) fn relocate(&mut self, flow: &Flow, link: usize, (from, to): (u32, u32)) {
        let leg = self
            .get_mut(flow)
            .iter_mut()
            .find(|leg| leg.position == from && leg.link() == link)
            .expect("a link lists flows that cross it");
        leg.position = to;
    }

    /// Bytes of the link's capacity that a byte of the flow takes.
    pub(super) fn usage(&self, flow: &Flow, link: usize) -> f64 {
        self.get(flow)
            .iter()
            .filter(|leg| leg.link() == link)
            .map(|leg| leg.usage())
            .sum()
    }

    #[inline]
    pub(super) fn get(&self, flow: &Flow) -> &[Leg] {
        let start = flow.legs as usize;
        &self.legs[start..start + usize::from(flow.leg_count)]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, flow: &Flow) -> &mut [Leg] {
        let start = flow.legs as usize;
        &mut self.legs[start..start + usize::from(flow.leg_count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_packs_its_link_and_its_crossings() {
        let leg = Leg::new(70_000, 2, 3);
        assert_eq!(leg.link(), 70_000);
        assert!((leg.usage() - 2.15).abs() < 1e-15);
    }

    #[test]
    fn freed_legs_are_reused_by_length() {
        let mut legs = Legs::default();
        let three = [Leg::new(1, 1, 0), Leg::new(2, 1, 0), Leg::new(3, 1, 0)];
        let first = legs.insert(&three);
        let second = legs.insert(&three[..2]);
        legs.remove(first, 3);
        assert_ne!(legs.insert(&three[..2]), first);
        assert_eq!(legs.insert(&three), first);
        assert_ne!(first, second);
    }
}
