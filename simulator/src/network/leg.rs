//! The links that flows cross, and how often.

use super::flow::Flow;
use crate::emptied::{emptied, vacated};

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
