//! The columns of one process: streaming, walls, and what crosses to the neighbours.

use bsp::Array;
use serde::{Deserialize, Serialize};

use super::lattice::{
    AT_REST, BLOCK, Block, EAST, Fluid, NORTH, NORTH_EAST, NORTH_WEST, OPPOSITE, Populations, REST,
    SOUTH, SOUTH_EAST, SOUTH_WEST, VELOCITIES, WEIGHTS, WEST,
};

/// What leaves a column to one side: for each cell, from the floor up, what travels straight, up and
/// down. The lowest cell's last and the highest cell's middle one meet floor and ceiling instead.
pub(super) type Crossing = [f64; 3];

/// What is beside a strip.
#[derive(Clone, Debug)]
pub(super) enum Side {
    /// A wall that does not move.
    Wall,
    /// Another strip, and what its nearest column sent across.
    Open(Array<Crossing>),
}

/// Adjacent columns of the lattice, between a floor and a ceiling.
///
/// Invariant: at least one column; all as high as the lattice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Strip {
    height: usize,
    /// Column after column from the west, each from the floor up; after relaxation.
    cells: Array<Populations>,
}

impl Strip {
    /// Columns of fluid at rest; nothing if there is no memory for them.
    pub(super) fn at_rest(columns: usize, height: usize) -> Option<Self> {
        let count = columns.checked_mul(height)?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).ok()?;
        cells.resize(count, AT_REST);
        Some(Self {
            height,
            cells: cells.into(),
        })
    }

    /// One time step: populations move on to the next cell, and relax there. The ceiling moves to the
    /// east with velocity `lid`. Returns whether all cells are fluid that is slower than sound.
    ///
    /// Cells are computed in their places, column after column from the west. What a column passes on to the next one is taken
    /// out of it before it is computed.
    pub(super) fn advance(&mut self, fluid: &Fluid, lid: f64, [west, east]: &[Side; 2]) -> bool {
        let last = self.cells.len() - self.height;
        let mut passing = west.crossing(&self.cells[..self.height], EASTWARD);
        let beyond = east.crossing(&self.cells[last..], WESTWARD);
        let mut from_east = Vec::new();
        let mut is_stable = true;
        let mut rest = &mut self.cells[..];
        while !rest.is_empty() {
            let (column, others) = rest.split_at_mut(self.height);
            from_east.clear();
            if others.is_empty() {
                from_east.extend_from_slice(&beyond);
            } else {
                // A loop of its own, because processors fetch ahead what is read in order. Without it a time step of a lattice
                // that does not fit in a cache takes 1.2 times as long.
                let cells = others[..self.height].iter();
                from_east.extend(cells.map(|cell| leaving(cell, WESTWARD)));
            }
            is_stable &= relax_column(column, &mut passing, &from_east, (fluid, lid));
            rest = others;
        }
        is_stable
    }

    /// What leaves to the west, and what to the east.
    pub(super) fn leaving(&self) -> [Array<Crossing>; 2] {
        let west = &self.cells[..self.height];
        let east = &self.cells[self.cells.len() - self.height..];
        [crossing(west, WESTWARD), crossing(east, EASTWARD)]
    }

    /// What leaves to either side when nothing moves.
    pub(super) fn leaving_at_rest(&self) -> Array<Crossing> {
        crossing(&vec![AT_REST; self.height], EASTWARD)
    }

    pub(super) fn cells(&self) -> &[Populations] {
        &self.cells
    }

    pub(super) const fn height(&self) -> usize {
        self.height
    }
}

impl Side {
    /// What comes in `directions` from this side of `column`: what the wall or the other strip would have sent.
    fn crossing(&self, column: &[Populations], directions: [usize; 3]) -> Vec<Crossing> {
        match self {
            Self::Open(crossing) => {
                assert_eq!(crossing.len(), column.len(), "a part of it for each cell");
                crossing.to_vec()
            }
            // What it sends up or down comes from a cell above or below. At its ends it sends nothing: what would arrive from
            // there comes from floor and ceiling.
            Self::Wall => {
                let back = |row: Option<usize>, direction: usize| {
                    let cell = row.and_then(|row| column.get(row));
                    cell.map_or(0.0, |cell| reflected(cell, OPPOSITE[direction], 0.0))
                };
                let [straight, up, down] = directions;
                let rows = 0..column.len();
                rows.map(|row| {
                    [
                        back(Some(row), straight),
                        back(Some(row + 1), up),
                        back(row.checked_sub(1), down),
                    ]
                })
                .collect()
            }
        }
    }
}

/// What a wall sends back of what travels in `direction` from `cell`. The wall moves to the east with `velocity`. Halfway
/// bounce-back: the wall lies half a cell from the cell's centre.
///
/// `f(−e) = f(e) − 6 w ρ e · u`
///
/// Source: Ladd, J. Fluid Mech. 271 (1994) 285, with the density of fluid at rest for `ρ`, so that
/// a moving wall adds as much as it takes away.
#[inline]
fn reflected(cell: &Populations, direction: usize, velocity: f64) -> f64 {
    let [east, _] = VELOCITIES[direction];
    let moved = 6.0 * WEIGHTS[direction] * f64::from(east) * velocity;
    cell[direction] - moved
}

/// Relaxes what reaches a column: from the west, which is `passing`; from the east; from itself; from the floor; and from the
/// ceiling, which moves to the east with velocity `lid`. Returns whether all of it is fluid that is slower than sound. Afterwards
/// `passing` is what the column passes on to the east.
#[inline(never)]
fn relax_column(
    column: &mut [Populations],
    passing: &mut [Crossing],
    from_east: &[Crossing],
    (fluid, lid): (&Fluid, f64),
) -> bool {
    let height = column.len();
    let mut block: Block = [[0.0; BLOCK]; 9];
    let mut is_stable = true;
    // What comes up to the lowest cell of a block. What it comes from has been computed by then.
    let mut rising = [
        (NORTH, reflected(&column[0], SOUTH, 0.0)),
        (NORTH_EAST, reflected(&column[0], SOUTH_WEST, 0.0)),
        (NORTH_WEST, reflected(&column[0], SOUTH_EAST, 0.0)),
    ];
    for start in (0..height).step_by(BLOCK) {
        let count = BLOCK.min(height - start);
        let (cells, above) = (&column[start..][..count], &column[start + 1..]);
        let (west, east) = (&mut passing[start..], &from_east[start..]);
        fill(&mut block[REST][..count], cells, REST);
        fill(&mut block[EAST][..count], west, STRAIGHT);
        fill(&mut block[WEST][..count], east, STRAIGHT);
        for (direction, population) in rising {
            block[direction][0] = population;
        }
        fill(&mut block[NORTH][1..count], cells, NORTH);
        fill(&mut block[NORTH_EAST][1..count], west, UP);
        fill(&mut block[NORTH_WEST][1..count], east, UP);
        fill(&mut block[SOUTH][..count], above, SOUTH);
        fill(&mut block[SOUTH_EAST][..count], &west[1..], DOWN);
        fill(&mut block[SOUTH_WEST][..count], &east[1..], DOWN);
        let highest = count - 1;
        if start + count == height {
            let falling = [
                (SOUTH, NORTH),
                (SOUTH_WEST, NORTH_EAST),
                (SOUTH_EAST, NORTH_WEST),
            ];
            for (to, from) in falling {
                block[to][highest] = reflected(&cells[highest], from, lid);
            }
        }
        rising = [
            (NORTH, cells[highest][NORTH]),
            (NORTH_EAST, west[highest][UP]),
            (NORTH_WEST, east[highest][UP]),
        ];
        for (passing, cell) in west.iter_mut().zip(cells) {
            *passing = leaving(cell, EASTWARD);
        }
        is_stable &= fluid.relax_block(&mut block, count);
        let [rest, e, n, w, s, ne, nw, sw, se] = &block;
        for (i, cell) in column[start..][..count].iter_mut().enumerate() {
            *cell = [rest[i], e[i], n[i], w[i], s[i], ne[i], nw[i], sw[i], se[i]];
        }
    }
    is_stable
}

/// Fills a lane with one number of each of the next cells, as far as there are cells.
#[inline]
fn fill<const LENGTH: usize>(lane: &mut [f64], cells: &[[f64; LENGTH]], number: usize) {
    let count = lane.len().min(cells.len());
    let (lane, cells) = (&mut lane[..count], &cells[..count]);
    for i in 0..count {
        lane[i] = cells[i][number];
    }
}

fn crossing(column: &[Populations], directions: [usize; 3]) -> Array<Crossing> {
    let cells = column.iter();
    cells.map(|cell| leaving(cell, directions)).collect()
}

#[inline]
const fn leaving(cell: &Populations, [straight, up, down]: [usize; 3]) -> Crossing {
    [cell[straight], cell[up], cell[down]]
}

/// Straight, up, down: the numbers of a [`Crossing`], and where they go to either side.
const STRAIGHT: usize = 0;
const UP: usize = 1;
const DOWN: usize = 2;
const EASTWARD: [usize; 3] = [EAST, NORTH_EAST, SOUTH_EAST];
const WESTWARD: [usize; 3] = [WEST, NORTH_WEST, SOUTH_WEST];

#[cfg(test)]
mod tests {
    use super::*;

    const FLUID: (f64, f64) = (0.6, 1e-4);

    /// Density and velocity of all cells after some time steps of a ring of strips of `widths`, in
    /// which one cell is denser than the others at first.
    fn ring(widths: &[usize], dense: usize) -> Vec<Populations> {
        let fluid = Fluid::new(FLUID.0, FLUID.1);
        let strips = widths
            .iter()
            .map(|&width| Strip::at_rest(width, 5).unwrap());
        let mut strips: Vec<_> = strips.collect();
        let mut cells = strips.iter_mut().flat_map(|strip| strip.cells.iter_mut());
        cells.nth(5 * dense + 3).unwrap()[NORTH_EAST] += 0.1;
        for _ in 0..40 {
            let [mut from_east, mut from_west]: [Vec<_>; 2] = [0, 1].map(|side| {
                strips
                    .iter()
                    .map(|strip| strip.leaving()[side].clone())
                    .collect()
            });
            from_east.rotate_left(1);
            from_west.rotate_right(1);
            for ((strip, west), east) in strips.iter_mut().zip(from_west).zip(from_east) {
                strip.advance(&fluid, 0.05, &[Side::Open(west), Side::Open(east)]);
            }
        }
        strips.into_iter().flat_map(|strip| strip.cells).collect()
    }

    #[test]
    fn a_ring_of_strips_equals_one_strip() {
        let whole = ring(&[12], 4);
        for widths in [&[1; 12][..], &[5, 7], &[3, 1, 8]] {
            assert_eq!(ring(widths, 4), whole, "{widths:?}");
        }
        let mut turned = ring(&[12], 11);
        turned.rotate_left(7 * 5);
        assert_eq!(turned, whole);
    }

    #[test]
    fn a_population_meets_floor_ceiling_and_corners_and_comes_back() {
        // What arrives stays as it is.
        let fluid = Fluid::new(f64::INFINITY, 0.0);
        for (direction, opposite) in OPPOSITE.into_iter().enumerate() {
            let mut strip = Strip::at_rest(1, 1).unwrap();
            strip.cells[0][direction] += 1.0;
            strip.advance(&fluid, 0.0, &[Side::Wall, Side::Wall]);
            let mut expected = AT_REST;
            expected[opposite] += 1.0;
            let bits = |cell: Populations| cell.map(f64::to_bits);
            assert_eq!(bits(strip.cells[0]), bits(expected));
        }
    }

    /// All cells of a box of columns of `height` cells after the next time step: each population is looked for where it comes
    /// from.
    fn next(cells: &[Populations], height: usize, fluid: &Fluid, lid: f64) -> Vec<Populations> {
        let arriving = |index: usize| {
            let (x, y) = (index / height, index % height);
            std::array::from_fn(|direction| {
                let [east, north] = VELOCITIES[direction].map(isize::from);
                let column = x.checked_add_signed(-east);
                let column = column.filter(|column| *column < cells.len() / height);
                let row = y.checked_add_signed(-north);
                let row = row.filter(|row| *row < height);
                if let (Some(column), Some(row)) = (column, row) {
                    return cells[column * height + row][direction];
                }
                let is_ceiling = north < 0 && y + 1 == height;
                let moving = if is_ceiling { lid } else { 0.0 };
                reflected(&cells[index], OPPOSITE[direction], moving)
            })
        };
        let cells = 0..cells.len();
        cells.map(|index| fluid.relax(arriving(index))).collect()
    }

    #[test]
    fn columns_of_any_height_compute_what_the_formula_says_bit_by_bit() {
        let fluid = Fluid::new(FLUID.0, FLUID.1);
        for height in [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 3] {
            for width in [1, 2, 5] {
                let mut strip = Strip::at_rest(width, height).unwrap();
                let middle = strip.cells.len() / 2;
                strip.cells[middle][NORTH_EAST] += 0.1;
                strip.cells[0][WEST] += 0.05;
                let mut expected = strip.cells.to_vec();
                for _ in 0..3 {
                    strip.advance(&fluid, 0.05, &[Side::Wall, Side::Wall]);
                    expected = next(&expected, height, &fluid, 0.05);
                }
                let bits = |cells: &[Populations]| -> Vec<u64> {
                    cells
                        .as_flattened()
                        .iter()
                        .map(|cell| cell.to_bits())
                        .collect()
                };
                assert!(bits(&strip.cells) == bits(&expected), "{width} x {height}");
            }
        }
    }

    #[test]
    fn supersonic_or_invalid_fluid_is_unstable() {
        let fluid = Fluid::new(FLUID.0, 0.0);
        let is_stable = |populations: &[(usize, f64)]| {
            let mut strip = Strip::at_rest(3, 3).unwrap();
            for (direction, population) in populations {
                strip.cells[7][*direction] = *population;
            }
            strip.advance(&fluid, 0.0, &[Side::Wall, Side::Wall])
        };
        assert!(is_stable(&[]));
        // East 0.5 and 1.5 beyond what rests otherwise, of 1.5 and 2.5 in all; back from the wall, they go west.
        assert!(is_stable(&[(EAST, 0.5 + WEIGHTS[EAST])]));
        assert!(!is_stable(&[(EAST, 1.5 + WEIGHTS[EAST])]));
        assert!(!is_stable(&[(REST, -1.0)]));
        assert!(!is_stable(&[(REST, f64::NAN)]));
        assert!(!is_stable(&[(NORTH, f64::INFINITY)]));
        assert!(!is_stable(&[(REST, 1e200)]));
        // Every number is finite, and so are the densities.
        assert!(!is_stable(&[(NORTH, 1e3), (SOUTH, -1e3)]));
    }

    #[test]
    fn a_lid_moves_fluid_and_conserves_mass() {
        let mut strip = Strip::at_rest(4, 4).unwrap();
        let fluid = Fluid::new(FLUID.0, 0.0);
        strip.advance(&fluid, 0.1, &[Side::Wall, Side::Wall]);
        for (index, cell) in strip.cells.iter().enumerate() {
            let moments = fluid.fields(*cell);
            assert!((moments.density - 1.0).abs() < 1e-15);
            let is_highest = index % 4 == 3;
            assert_eq!(
                0.01 < moments.velocity[0],
                is_highest,
                "{index}: {moments:?}"
            );
        }
    }
}
