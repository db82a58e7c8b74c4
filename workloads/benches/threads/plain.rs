//! The computations of two workloads as one writes them with `rayon`: two arrays, and a parallel loop over rows or columns.

use rayon::prelude::*;
use workloads::{heat, lbm};

/// The plate of `parameters`, which is no pipe, after some time steps.
pub(crate) fn heat(parameters: &heat::Parameters, plate: &[f64], steps: u64) -> Vec<f64> {
    let width = usize::try_from(parameters.width).expect("32 bits");
    let border = vec![0.0; width];
    let mut now = plate.to_vec();
    let mut next = vec![0.0; now.len()];
    for _ in 0..steps {
        next.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
            let at = y * width;
            let here = &now[at..at + width];
            let above = if y == 0 {
                &border
            } else {
                &now[at - width..at]
            };
            let below = now.get(at + width..at + 2 * width).unwrap_or(&border);
            let cell = |x: usize, left: f64, right: f64| {
                let around = left + right + (above[x] + below[x]);
                here[x] + parameters.diffusion * (around - 4.0 * here[x])
            };
            row[0] = cell(0, 0.0, here[1]);
            for x in 1..width - 1 {
                row[x] = cell(x, here[x - 1], here[x + 1]);
            }
            row[width - 1] = cell(width - 1, here[width - 2], 0.0);
        });
        std::mem::swap(&mut now, &mut next);
    }
    now
}

/// A cell: rest, east, north, west, south, north-east, north-west, south-west, south-east.
type Cell = [f64; 9];

/// Where the populations of a cell go.
const VELOCITIES: [[isize; 2]; 9] = [
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

const OPPOSITE: [usize; 9] = [0, 3, 4, 1, 2, 7, 8, 5, 6];

const WEIGHTS: Cell = [
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

/// Two opposite directions and the velocity of the first.
const PAIRS: [(usize, usize, [f64; 2]); 4] = [
    (1, 3, [1.0, 0.0]),
    (2, 4, [0.0, 1.0]),
    (5, 7, [1.0, 1.0]),
    (8, 6, [1.0, -1.0]),
];

/// Density and velocity of the cells of a cavity, column after column, after some time steps.
///
/// # Panics
///
/// If the flow becomes unstable.
pub(crate) fn cavity(parameters: &lbm::kernel::Parameters, steps: u64) -> Vec<(f64, [f64; 2])> {
    let [width, height] =
        [parameters.width, parameters.height].map(|count| usize::try_from(count).expect("32 bits"));
    let tau = 0.5 + 3.0 * parameters.velocity * f64::from(parameters.height) / parameters.reynolds;
    let rate = 1.0 / tau;
    let mut now = vec![WEIGHTS; width * height];
    let mut next = now.clone();
    for _ in 0..steps {
        let columns = next.par_chunks_mut(height).enumerate();
        let is_stable = columns.map(|(x, column)| {
            let update = |cell: &mut Cell, before: Cell| *cell = relaxed(before, rate);
            let beside = |y: usize| arriving(&now, [width, height], [x, y], parameters.velocity);
            if x == 0 || x + 1 == width {
                for (y, cell) in column.iter_mut().enumerate() {
                    update(cell, beside(y));
                }
            } else {
                let [west, middle, east] =
                    [x - 1, x, x + 1].map(|x| &now[x * height..(x + 1) * height]);
                update(&mut column[0], beside(0));
                update(&mut column[height - 1], beside(height - 1));
                let windows = west.windows(3).zip(middle.windows(3)).zip(east.windows(3));
                for (cell, ((west, middle), east)) in column[1..].iter_mut().zip(windows) {
                    let before = [
                        middle[1][0],
                        west[1][1],
                        middle[0][2],
                        east[1][3],
                        middle[2][4],
                        west[0][5],
                        east[0][6],
                        east[2][7],
                        west[2][8],
                    ];
                    update(cell, before);
                }
            }
            column.iter().all(|cell| is_subsonic(*cell))
        });
        assert!(columns_are_stable(is_stable), "the flow became unstable");
        std::mem::swap(&mut now, &mut next);
    }
    now.into_iter().map(moments).collect()
}

fn columns_are_stable(columns: impl ParallelIterator<Item = bool>) -> bool {
    columns.reduce(|| true, |one, other| one && other)
}

/// What reaches a cell beside a wall. The ceiling moves to the east.
fn arriving(cells: &[Cell], [width, height]: [usize; 2], [x, y]: [usize; 2], lid: f64) -> Cell {
    let mut cell = [0.0; 9];
    for (direction, [east, north]) in VELOCITIES.into_iter().enumerate() {
        let column = x.checked_add_signed(-east).filter(|x| *x < width);
        let row = y.checked_add_signed(-north).filter(|y| *y < height);
        cell[direction] = if let (Some(x), Some(y)) = (column, row) {
            cells[x * height + y][direction]
        } else {
            let back = OPPOSITE[direction];
            let is_ceiling = row.is_none() && 0 < y;
            let velocity = if is_ceiling { lid } else { 0.0 };
            let eastward = [0.0, 1.0, -1.0]
                [usize::from(VELOCITIES[back][0] != 0) + usize::from(VELOCITIES[back][0] < 0)];
            cells[x * height + y][back] - 6.0 * WEIGHTS[back] * eastward * velocity
        };
    }
    cell
}

#[inline]
fn moments(cell: Cell) -> (f64, [f64; 2]) {
    let (density, [east, north]) = momentum(cell);
    let inverse = 1.0 / density;
    (density, [inverse * east, inverse * north])
}

#[inline]
fn momentum([rest, e, n, w, s, ne, nw, sw, se]: Cell) -> (f64, [f64; 2]) {
    let density = rest + ((e + w) + (n + s)) + ((ne + sw) + (nw + se));
    let east = (e - w) + ((ne - sw) + (se - nw));
    let north = (n - s) + ((ne - sw) + (nw - se));
    (density, [east, north])
}

#[inline]
fn relaxed(before: Cell, rate: f64) -> Cell {
    let (density, [u, v]) = moments(before);
    let base = 1.0 - 1.5 * (u * u + v * v);
    let drive = rate * density;
    let keep = 1.0 - rate;
    let mut after = [0.0; 9];
    after[0] = keep * before[0] + WEIGHTS[0] * (drive * base);
    for (one, other, [x, y]) in PAIRS {
        let along = x * u + y * v;
        let even = drive * (base + 4.5 * (along * along));
        let odd = 3.0 * drive * along;
        after[one] = keep * before[one] + WEIGHTS[one] * (even + odd);
        after[other] = keep * before[other] + WEIGHTS[one] * (even - odd);
    }
    after
}

#[inline]
fn is_subsonic(cell: Cell) -> bool {
    let (density, [east, north]) = momentum(cell);
    let squared = density * density;
    0.0 < density && squared < f64::INFINITY && 3.0 * (east * east + north * north) <= squared
}
