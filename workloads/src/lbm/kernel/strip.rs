//! The columns of one process: streaming, walls, and what crosses to the neighbours.

use bsp::Array;
use serde::{Deserialize, Serialize};

use super::lattice::{
    AT_REST, EAST, Fluid, NORTH, NORTH_EAST, NORTH_WEST, OPPOSITE, Populations, REST, SOUTH,
    SOUTH_EAST, SOUTH_WEST, VELOCITIES, WEIGHTS, WEST,
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
    /// Three columns as they were before the time step, with a frame of what comes in from outside: the one that is
    /// computed, and those beside it. Column `c` is the one at `(c + 1) % 3`. Built anew in every time step; kept for its
    /// memory.
    #[serde(skip)]
    framed: Vec<Populations>,
}

impl Strip {
    /// Columns of fluid at rest; nothing if there is no memory for them.
    pub(super) fn at_rest(columns: usize, height: usize) -> Option<Self> {
        let count = columns.checked_mul(height)?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).ok()?;
        cells.resize(count, AT_REST);
        let framed = Vec::new();
        Some(Self {
            height,
            cells: cells.into(),
            framed,
        })
    }

    /// One time step: populations move on to the next cell, and relax there. The ceiling moves to the
    /// east with velocity `lid`. Returns whether all cells are still fluid that is slower than sound.
    pub(super) fn advance(&mut self, fluid: &Fluid, lid: f64, sides: &[Side; 2]) -> bool {
        let stride = self.height + 2;
        let mut is_stable = true;
        for column in 0..self.cells.len() / self.height {
            self.frame(column, lid, sides);
            let [west, middle, east] = [column, column + 1, column + 2]
                .map(|place| self.framed[place % 3 * stride..][..stride].windows(3));
            let cells = &mut self.cells[column * self.height..][..self.height];
            for (cell, ((west, middle), east)) in cells.iter_mut().zip(west.zip(middle).zip(east)) {
                *cell = fluid.relax(arriving(west, middle, east));
            }
            is_stable &= cells.iter().all(|cell| fluid.is_stable(*cell));
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

    /// Frames a column and those beside it, after the column before: what comes in from outside is in a frame one cell wide.
    fn frame(&mut self, column: usize, lid: f64, [west, east]: &[Side; 2]) {
        let stride = self.height + 2;
        self.framed.resize(3 * stride, AT_REST);
        if column == 0 {
            self.copy(0);
        }
        if (column + 1) * self.height < self.cells.len() {
            self.copy(column + 1);
        } else {
            self.enter(column, column + 2, WESTWARD, east);
        }
        if column == 0 {
            self.enter(0, 0, EASTWARD, west);
        }
        // Floor and ceiling come last: what meets them in a corner is theirs.
        for direction in [SOUTH, SOUTH_WEST, SOUTH_EAST] {
            self.reflect(column, 1, direction, 0.0);
        }
        for direction in [NORTH, NORTH_EAST, NORTH_WEST] {
            self.reflect(column, self.height, direction, lid);
        }
    }

    /// Copies a column into its place.
    fn copy(&mut self, column: usize) {
        let start = (column + 1) % 3 * (self.height + 2) + 1;
        let cells = &self.cells[column * self.height..][..self.height];
        self.framed[start..][..self.height].copy_from_slice(cells);
    }

    /// Fills the place beside the outermost `column` with what comes in `directions` from `side`.
    fn enter(&mut self, column: usize, place: usize, directions: [usize; 3], side: &Side) {
        match side {
            Side::Open(crossing) => {
                let start = place % 3 * (self.height + 2) + 1;
                let cells = &mut self.framed[start..][..self.height];
                for (cell, crossing) in cells.iter_mut().zip(crossing) {
                    for (direction, population) in directions.into_iter().zip(crossing) {
                        cell[direction] = *population;
                    }
                }
            }
            Side::Wall => {
                for row in 1..=self.height {
                    for direction in directions {
                        self.reflect(column, row, OPPOSITE[direction], 0.0);
                    }
                }
            }
        }
    }

    /// Has the wall beyond a cell send back what travels in `direction`; rows are counted from the frame. The wall moves to the
    /// east with `velocity`. Halfway bounce-back: the wall lies half a cell from the cell's centre.
    ///
    /// `f(−e) = f(e) − 6 w ρ e · u`
    ///
    /// Source: Ladd, J. Fluid Mech. 271 (1994) 285, with the density of fluid at rest for `ρ`, so that
    /// a moving wall adds as much as it takes away.
    fn reflect(&mut self, column: usize, row: usize, direction: usize, velocity: f64) {
        let [east, north] = VELOCITIES[direction];
        let moved = 6.0 * WEIGHTS[direction] * f64::from(east) * velocity;
        let beyond = |start: usize, by: i8| {
            let beyond = start.checked_add_signed(isize::from(by));
            beyond.expect("the frame is one cell wide")
        };
        let at = |place: usize, row: usize| place % 3 * (self.height + 2) + row;
        let (from, to) = (
            at(column + 1, row),
            at(beyond(column + 1, east), beyond(row, north)),
        );
        self.framed[to][OPPOSITE[direction]] = self.framed[from][direction] - moved;
    }
}

/// The populations that reach the cell in the middle of three columns of three cells.
#[inline]
fn arriving(west: &[Populations], middle: &[Populations], east: &[Populations]) -> Populations {
    let mut cell = [0.0; 9];
    cell[REST] = middle[1][REST];
    cell[EAST] = west[1][EAST];
    cell[NORTH] = middle[0][NORTH];
    cell[WEST] = east[1][WEST];
    cell[SOUTH] = middle[2][SOUTH];
    cell[NORTH_EAST] = west[0][NORTH_EAST];
    cell[NORTH_WEST] = east[0][NORTH_WEST];
    cell[SOUTH_WEST] = east[2][SOUTH_WEST];
    cell[SOUTH_EAST] = west[2][SOUTH_EAST];
    cell
}

fn crossing(column: &[Populations], directions: [usize; 3]) -> Array<Crossing> {
    let cells = column.iter();
    cells
        .map(|cell| directions.map(|direction| cell[direction]))
        .collect()
}

/// Straight, up, down.
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
        let walls = [Side::Wall, Side::Wall];
        for (direction, opposite) in OPPOSITE.into_iter().enumerate() {
            let mut strip = Strip::at_rest(1, 1).unwrap();
            strip.cells[0][direction] += 1.0;
            strip.frame(0, 0.0, &walls);
            let columns = strip.framed.chunks(3).collect::<Vec<_>>();
            let arrived = arriving(columns[0], columns[1], columns[2]);
            let mut expected = AT_REST;
            expected[opposite] += 1.0;
            assert_eq!(arrived.map(f64::to_bits), expected.map(f64::to_bits));
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
            strip.cells.iter().all(|cell| fluid.is_stable(*cell))
        };
        assert!(is_stable(&[]));
        // East 0.5 and 1.5 beyond what rests otherwise, of 1.5 and 2.5 in all.
        assert!(is_stable(&[(EAST, 0.5 + WEIGHTS[EAST])]));
        assert!(!is_stable(&[(EAST, 1.5 + WEIGHTS[EAST])]));
        assert!(!is_stable(&[(REST, -1.0)]));
        assert!(!is_stable(&[(REST, f64::NAN)]));
        assert!(!is_stable(&[(NORTH, f64::INFINITY)]));
        assert!(!is_stable(&[(REST, 1e200)]));
        // Every number is finite, and so is the density.
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
