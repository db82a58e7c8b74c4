//! What a flow looks like: density and velocity of every cell.

use serde::{Deserialize, Serialize};

use super::lattice::Fluid;
use super::strip::Strip;

/// Density and velocity of adjacent columns of the lattice, after the last time step.
///
/// Lattice units: cells are one apart, a time step lasts one, fluid at rest has density one. Centres
/// of cells lie half a cell from the walls.
///
/// Invariant: whole columns, as many densities as velocities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    height: usize,
    /// Column after column, each from the floor up.
    densities: Vec<f64>,
    velocities: Vec<[f64; 2]>,
}

impl Fields {
    /// The whole lattice, out of the outputs of all processes in rank order.
    ///
    /// # Panics
    ///
    /// If the outputs are not of one computation: their heights differ.
    ///
    /// # Examples
    ///
    /// The flow in a channel, fastest in its middle:
    ///
    /// ```
    /// use bsp::reference;
    /// use workloads::Common;
    /// use workloads::lbm::kernel::{Case, Fields, Parameters, processes};
    ///
    /// let parameters = Parameters {
    ///     case: Case::Poiseuille,
    ///     width: 5,
    ///     height: 9,
    ///     reynolds: 10.0,
    ///     ..Parameters::default()
    /// };
    /// let common = Common { processes: 2, supersteps: Some(1000), seed: 0 };
    /// let strips = processes(&parameters, common)?;
    /// let run = reference::run(strips, reference::Limit::default()).expect("a stable flow");
    /// let flow = Fields::assemble(run.outputs);
    /// assert_eq!((flow.width(), flow.height()), (5, 9));
    /// let [fastest, _] = flow.velocity(2, 4);
    /// assert!((fastest - parameters.velocity).abs() < 0.02 * parameters.velocity);
    /// # Ok::<(), workloads::Error>(())
    /// ```
    #[must_use]
    pub fn assemble(strips: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self {
            height: 0,
            densities: Vec::new(),
            velocities: Vec::new(),
        };
        for strip in strips {
            let height = strip.height;
            assert!(
                [0, height].contains(&whole.height),
                "a strip of height {height} does not fit beside one of height {}",
                whole.height
            );
            whole.height = height;
            whole.densities.extend(strip.densities);
            whole.velocities.extend(strip.velocities);
        }
        whole
    }

    /// Whether these are whole columns of `height` cells: not every value of this type that has been received is.
    #[must_use]
    pub fn is_strip_of(&self, height: usize) -> bool {
        self.height == height
            && self.densities.len() == self.velocities.len()
            && self.densities.len().checked_rem(height) == Some(0)
    }

    pub(super) fn of(strip: &Strip, fluid: &Fluid) -> Self {
        let moments = strip.cells().iter().map(|cell| fluid.fields(*cell));
        let (densities, velocities) = moments
            .map(|moments| (moments.density, moments.velocity))
            .unzip();
        Self {
            height: strip.height(),
            densities,
            velocities,
        }
    }

    /// How many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.densities.len().checked_div(self.height).unwrap_or(0)
    }

    /// How many cells a column has.
    #[must_use]
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Density of the cell in column `x` from the west, `y` cells above the lowest.
    ///
    /// # Panics
    ///
    /// If there is no such cell.
    #[must_use]
    pub fn density(&self, x: usize, y: usize) -> f64 {
        self.densities[self.cell(x, y)]
    }

    /// Velocity of the cell in column `x` from the west, `y` cells above the lowest, to the east and
    /// to the north.
    ///
    /// # Panics
    ///
    /// If there is no such cell.
    #[must_use]
    pub fn velocity(&self, x: usize, y: usize) -> [f64; 2] {
        self.velocities[self.cell(x, y)]
    }

    /// All densities together.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.densities.iter().sum()
    }

    /// The speed of the fastest cell.
    #[must_use]
    pub fn speed_max(&self) -> f64 {
        let speeds = self.velocities.iter().map(|[u, v]| (u * u + v * v).sqrt());
        speeds.fold(0.0, f64::max)
    }

    fn cell(&self, x: usize, y: usize) -> usize {
        assert!(
            x < self.width() && y < self.height,
            "there is no cell ({x}, {y}) in {} × {}",
            self.width(),
            self.height
        );
        x * self.height + y
    }
}
