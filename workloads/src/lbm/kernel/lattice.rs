//! One cell of the lattice: nine populations, and how they relax.

use serde::{Deserialize, Serialize};

/// How much of the fluid of one cell travels in each of the nine directions of D2Q9, by direction.
///
/// In lattice units: cells are one apart, a time step lasts one, and fluid at rest has density one.
pub(super) type Populations = [f64; 9];

/// Cells one above the other, by direction: a lane for each. What is beyond the cells that there are has no meaning.
pub(super) type Block = [[f64; BLOCK]; 9];

/// The most cells of a block: few enough for the fastest cache, and enough to begin a block seldom.
pub(super) const BLOCK: usize = 64;

/// What relaxation depends on; the same for all cells.
///
/// Invariant: stable, `0 < rate < 2`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fluid {
    /// What share of its distance to equilibrium a cell covers in a time step, `1 / τ`.
    rate: f64,
    /// Force to the east on every cell.
    force: f64,
}

/// What the populations of a cell amount to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    pub(super) density: f64,
    /// To the east and to the north.
    pub(super) velocity: [f64; 2],
}

impl Fluid {
    /// With relaxation time `tau`, above one half.
    pub(super) fn new(tau: f64, force: f64) -> Self {
        assert!(0.5 < tau, "a relaxation time of {tau} is unstable");
        let rate = 1.0 / tau;
        Self { rate, force }
    }

    /// The populations after their collision: BGK with Guo's force.
    ///
    /// `f ← f + (feq − f) / τ + (1 − 1 / (2τ)) w (3 (e − u) + 9 (e · u) e) · F`,
    /// `feq = w ρ (1 + 3 e · u + 4.5 (e · u)² − 1.5 u · u)`
    ///
    /// Source: Qian, d'Humières, Lallemand, Europhys. Lett. 17 (1992), for `feq`; Guo, Zheng, Shi,
    /// Phys. Rev. E 65 (2002) 046308, equation 20, for the force. Opposite directions are computed
    /// together, because they differ in signs only.
    #[inline]
    pub(super) fn relax(&self, before: Populations) -> Populations {
        let moments = self.moments(before, 0.5);
        let [u, v] = moments.velocity;
        let base = 1.0 - 1.5 * (u * u + v * v);
        let drive = self.rate * moments.density;
        let push = 3.0 * (1.0 - 0.5 * self.rate) * self.force;
        let keep = 1.0 - self.rate;
        let mut after = [0.0; 9];
        after[REST] = keep * before[REST] + WEIGHTS[REST] * (drive * base - push * u);
        // `x` is the first direction's part to the east, and `along` the fluid's velocity along it.
        let mut pair = |one: usize, other: usize, x: f64, along: f64| {
            let even = drive * (base + 4.5 * (along * along)) + push * (3.0 * along * x - u);
            let odd = 3.0 * drive * along + push * x;
            after[one] = keep * before[one] + WEIGHTS[one] * (even + odd);
            after[other] = keep * before[other] + WEIGHTS[one] * (even - odd);
        };
        pair(EAST, WEST, 1.0, u);
        pair(NORTH, SOUTH, 0.0, v);
        pair(NORTH_EAST, SOUTH_WEST, 1.0, u + v);
        pair(SOUTH_EAST, NORTH_WEST, 1.0, u - v);
        after
    }

    /// Relaxes the first `count` cells of a block. Returns whether all of them are fluid that is slower than sound.
    ///
    /// Several cells are computed at once, by the same operations as one. For that the compiler has to see that lanes do not
    /// overlap, and that `count` is within them.
    #[inline(never)]
    pub(super) fn relax_block(&self, block: &mut Block, count: usize) -> bool {
        let [rest, e, n, w, s, ne, nw, sw, se] = block;
        let mut is_stable = true;
        for i in 0..count.min(BLOCK) {
            let before = [rest[i], e[i], n[i], w[i], s[i], ne[i], nw[i], sw[i], se[i]];
            is_stable &= self.is_stable(before);
            [rest[i], e[i], n[i], w[i], s[i], ne[i], nw[i], sw[i], se[i]] = self.relax(before);
        }
        is_stable
    }

    /// Density and velocity of a cell that has relaxed.
    pub(super) fn fields(&self, relaxed: Populations) -> Moments {
        self.moments(relaxed, -0.5)
    }

    /// Whether a cell before its collision is fluid, and slower than sound: at that speed the method is
    /// far outside its range, and populations only grow. False for NaN.
    ///
    /// The collision keeps density, and adds to the momentum what `share` takes back: but for rounding, the answer is the same
    /// after it.
    #[inline]
    fn is_stable(&self, before: Populations) -> bool {
        let (density, [east, north]) = self.momentum(before, 0.5);
        let squared = density * density;
        // The square of the speed of sound is a third. Nothing is divided: all cells are looked at. Nor is there a branch,
        // so that several are looked at at once.
        let is_subsonic = 3.0 * (east * east + north * north) <= squared;
        (0.0 < density) & (squared < f64::INFINITY) & is_subsonic
    }

    #[inline]
    fn moments(&self, cell: Populations, share: f64) -> Moments {
        let (density, [east, north]) = self.momentum(cell, share);
        let inverse = 1.0 / density;
        let velocity = [inverse * east, inverse * north];
        Moments { density, velocity }
    }

    /// Density, and momentum to the east and to the north.
    ///
    /// Half of the force acts before populations relax, and half of it after: `share` is 0.5 before
    /// and -0.5 after.
    #[inline]
    fn momentum(&self, cell: Populations, share: f64) -> (f64, [f64; 2]) {
        let [rest, e, n, w, s, ne, nw, sw, se] = cell;
        let density = rest + ((e + w) + (n + s)) + ((ne + sw) + (nw + se));
        let east = (e - w) + ((ne - sw) + (se - nw)) + share * self.force;
        let north = (n - s) + ((ne - sw) + (nw - se));
        (density, [east, north])
    }
}

/// Fluid of density one that does not move.
pub(super) const AT_REST: Populations = WEIGHTS;

pub(super) const REST: usize = 0;
pub(super) const EAST: usize = 1;
pub(super) const NORTH: usize = 2;
pub(super) const WEST: usize = 3;
pub(super) const SOUTH: usize = 4;
pub(super) const NORTH_EAST: usize = 5;
pub(super) const NORTH_WEST: usize = 6;
pub(super) const SOUTH_WEST: usize = 7;
pub(super) const SOUTH_EAST: usize = 8;

/// By direction: where it goes in a time step, to the east and to the north.
pub(super) const VELOCITIES: [[i8; 2]; 9] = [
    [0, 0],
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
    [1, -1],
];

/// By direction: the one that leads back.
pub(super) const OPPOSITE: [usize; 9] = [
    REST, WEST, SOUTH, EAST, NORTH, SOUTH_WEST, SOUTH_EAST, NORTH_EAST, NORTH_WEST,
];

/// By direction: the share of fluid at rest that travels in it.
pub(super) const WEIGHTS: [f64; 9] = [
    4.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 9.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
    1.0 / 36.0,
];

/// What updating a cell is charged for unless it is said otherwise: 108 operations on numbers (a
/// division counts as one), and 18 populations read and written. What is the same for all cells, and
/// products with 0 and 1, are not counted.
///
/// | part | operations |
/// |---|---|
/// | density, momentum, velocity | 8 + 10 + 3 |
/// | what all directions share | 7 |
/// | rest | 6 |
/// | pairs along the axes, diagonal pairs | 2 · 18 + 2 · 19 |
/// | reading and writing | 9 + 9 |
pub(super) const INSTRUCTIONS_PER_CELL: u32 = 126;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `of` of the directions, weighted with the populations, adds up to.
    fn sum(cell: Populations, of: impl Fn([f64; 2]) -> f64) -> f64 {
        let velocities = VELOCITIES.map(|velocity| velocity.map(f64::from));
        cell.into_iter()
            .zip(velocities)
            .map(|(population, velocity)| population * of(velocity))
            .sum()
    }

    #[test]
    fn the_lattice_is_isotropic() {
        let rest = AT_REST;
        for (of, expected) in [
            (&(|_| 1.0) as &dyn Fn([f64; 2]) -> f64, 1.0),
            (&|[x, _]| x, 0.0),
            (&|[_, y]| y, 0.0),
            (&|[x, _]| x * x, 1.0 / 3.0),
            (&|[_, y]| y * y, 1.0 / 3.0),
            (&|[x, y]| x * y, 0.0),
            (&|[x, y]| x * x * y * y, 1.0 / 9.0),
            (&|[x, _]| x.powi(4), 1.0 / 3.0),
        ] {
            assert!((sum(rest, of) - expected).abs() < 1e-15);
        }
        for direction in 0..9 {
            let back = VELOCITIES[OPPOSITE[direction]];
            assert_eq!(VELOCITIES[direction].map(|part| -part), back);
        }
    }

    #[test]
    fn with_a_relaxation_time_of_one_a_cell_takes_its_equilibrium() {
        let cell = [0.5, 0.2, 0.1, 0.08, 0.13, 0.04, 0.02, 0.03, 0.01];
        let fluid = Fluid::new(1.0, 0.0);
        let Moments {
            density,
            velocity: [u, v],
        } = fluid.fields(cell);
        let relaxed = fluid.relax(cell);
        for (direction, [x, y]) in VELOCITIES.into_iter().enumerate() {
            let along = f64::from(x) * u + f64::from(y) * v;
            let speed = u * u + v * v;
            let expected = WEIGHTS[direction]
                * density
                * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * speed);
            assert!((relaxed[direction] - expected).abs() < 1e-15);
        }
    }

    proptest! {
        #[test]
        fn relaxing_keeps_mass_and_adds_the_force_to_momentum(
            cell in prop::array::uniform9(0.01_f64..1.0),
            tau in 0.51_f64..3.0,
            force in -0.01_f64..0.01,
        ) {
            let before = cell;
            let after = Fluid::new(tau, force).relax(before);
            let kept = |of: fn([f64; 2]) -> f64, added: f64| {
                (sum(after, of) - sum(before, of) - added).abs() < 1e-13
            };
            prop_assert!(kept(|_| 1.0, 0.0));
            prop_assert!(kept(|[x, _]| x, force));
            prop_assert!(kept(|[_, y]| y, 0.0));
        }
    }
}
