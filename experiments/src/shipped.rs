//! The shipped workloads by name.

mod h_relation;
mod heat;
mod lu_kernel;
mod matrix_product;
mod smith_waterman_kernel;
mod state_kinds;
mod task_farm;

#[cfg(test)]
mod changed_outputs;

use bsp::numbers::index;
use settings::{Files, Unit};
use workloads::{Matrix, MatrixError, lbm, lu, smith_waterman, synthetic};

use self::h_relation::HRelations;
use self::heat::HeatEquation;
use self::lu_kernel::LuKernel;
use self::matrix_product::MatrixProduct;
use self::smith_waterman_kernel::SmithWatermanKernel;
use self::state_kinds::KindsOfState;
use self::task_farm::ModelFarm;
use crate::outputs::OutputFile;
use crate::registry::Registry;
use crate::workload::{Common, Rejection, Supersteps, Unbuilt, Workload};

impl Registry {
    /// The shipped workloads; users add theirs.
    #[must_use]
    pub fn shipped() -> Self {
        Self::new()
            .with::<LatticeBoltzmann>()
            .with::<LatticeBoltzmannKernel>()
            .with::<SmithWaterman>()
            .with::<SmithWatermanKernel>()
            .with::<LuDecomposition>()
            .with::<LuKernel>()
            .with::<HeatEquation>()
            .with::<KindsOfState>()
            .with::<HRelations>()
            .with::<MatrixProduct>()
            .with::<ModelFarm>()
            .with::<Synthetic>()
    }
}

/// Lattice Boltzmann on vertical strips, as the papers model it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatticeBoltzmann;

/// The wavefront of Smith-Waterman on one column a process, as the papers model it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmithWaterman;

/// LU decomposition on a square cyclic distribution, as the papers model it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LuDecomposition;

/// Lattice Boltzmann on vertical strips, computed: cavity and channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatticeBoltzmannKernel;

/// Instructions and messages by lists, with load that may change over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synthetic;

impl Workload for LatticeBoltzmann {
    type Parameters = lbm::Parameters;
    type Program = lbm::Lbm;
    const NAME: &'static str = "lbm";
    const ABOUT: &'static str = "Lattice Boltzmann on vertical strips, as the papers model it";
    const IS_MODEL: bool = true;

    fn draws(_: &lbm::Parameters) -> bool {
        false
    }

    fn build(parameters: &lbm::Parameters, common: Common) -> Result<Vec<lbm::Lbm>, String> {
        lbm::processes(parameters, common).map_err(|error| error.to_string())
    }
}

impl Workload for SmithWaterman {
    type Parameters = smith_waterman::Parameters;
    type Program = smith_waterman::SmithWaterman;
    const NAME: &'static str = "smith-waterman";
    const ABOUT: &'static str = "Smith-Waterman along antidiagonals, as the papers model it";
    const SUPERSTEPS: Supersteps = Supersteps::Optional;
    const IS_MODEL: bool = true;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_first" | "instructions_last" => Unit::Instructions,
            _ => Unit::of_key(key),
        }
    }

    fn draws(_: &smith_waterman::Parameters) -> bool {
        false
    }

    fn build(
        parameters: &smith_waterman::Parameters,
        common: Common,
    ) -> Result<Vec<smith_waterman::SmithWaterman>, String> {
        smith_waterman::processes(parameters, common).map_err(|error| error.to_string())
    }
}

impl Workload for LuDecomposition {
    type Parameters = lu::Parameters;
    type Program = lu::Lu;
    const NAME: &'static str = "lu";
    const ABOUT: &'static str = "LU decomposition, square cyclic, as the papers model it";
    const SUPERSTEPS: Supersteps = Supersteps::Optional;
    const IS_MODEL: bool = true;

    fn unit(key: &str) -> Unit {
        match key {
            "update_instructions" | "division_instructions" => Unit::Instructions,
            "element_bytes" | "element_memory" => Unit::Bytes,
            _ => Unit::of_key(key),
        }
    }

    fn draws(_: &lu::Parameters) -> bool {
        false
    }

    fn build(parameters: &lu::Parameters, common: Common) -> Result<Vec<lu::Lu>, String> {
        lu::processes(parameters, common).map_err(|error| error.to_string())
    }
}

impl Workload for LatticeBoltzmannKernel {
    type Parameters = lbm::kernel::Parameters;
    type Program = lbm::kernel::Kernel;
    const NAME: &'static str = "lbm-kernel";
    const ABOUT: &'static str = "Lattice Boltzmann on vertical strips, computed: cavity, channel";

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_cell" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &lbm::kernel::Parameters) -> bool {
        false
    }

    fn build(
        parameters: &lbm::kernel::Parameters,
        common: Common,
    ) -> Result<Vec<lbm::kernel::Kernel>, String> {
        lbm::kernel::processes(parameters, common).map_err(|error| error.to_string())
    }

    fn verify(
        parameters: &lbm::kernel::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[lbm::kernel::Fields],
    ) -> Result<Option<String>, Rejection> {
        let [width, height] = [parameters.width, parameters.height].map(index);
        if let Some(index) = outputs.iter().position(|strip| !strip.is_strip_of(height)) {
            let problem = format!("is no strip of columns of {height} cells");
            return Err(Rejection::output(index, problem));
        }
        let flow = lbm::kernel::Fields::assemble(outputs.iter().cloned());
        if flow.width() != width {
            let met = flow.width();
            let problem = format!("{met} columns have come out, not {width}");
            return Err(Rejection::Outputs(problem));
        }
        let cells = f64::from(parameters.width) * f64::from(parameters.height);
        let kept = flow.mass() / cells;
        // Fluid has density one at first, and no wall lets any through.
        if kept.is_nan() || 1e-9 < (kept - 1.0).abs() {
            let problem = format!("of the fluid, {kept} times what there was is left");
            return Err(Rejection::Outputs(problem));
        }
        let fastest = flow.speed_max();
        let text = format!("no fluid is lost; the fastest moves {fastest:.6} cells a time step");
        Ok(Some(text))
    }

    /// `density.npy` and `velocity.npy`, rows from the floor up; `speed.pgm`, in which the fastest cell is white.
    fn files(
        _parameters: &lbm::kernel::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[lbm::kernel::Fields],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let flow = lbm::kernel::Fields::assemble(outputs.iter().cloned());
        let (width, height) = (flow.width(), flow.height());
        let cells = || (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let densities: Vec<f64> = cells().map(|(x, y)| flow.density(x, y)).collect();
        let velocities: Vec<f64> = cells().flat_map(|(x, y)| flow.velocity(x, y)).collect();
        let fastest = flow.speed_max();
        let picture = OutputFile::picture("speed.pgm", [width, height], |x, row| {
            let [east, north] = flow.velocity(x, height - 1 - row);
            (east * east + north * north).sqrt() / fastest
        });
        Ok(vec![
            OutputFile::array("density.npy", &[height, width], densities),
            OutputFile::array("velocity.npy", &[height, width, 2], velocities),
            picture,
        ])
    }
}

impl Workload for Synthetic {
    type Parameters = synthetic::Parameters;
    type Program = synthetic::Synthetic;
    const NAME: &'static str = "synthetic";
    const ABOUT: &'static str = "instructions and messages by lists, with load that may change";
    const IS_MODEL: bool = true;

    fn draws(parameters: &synthetic::Parameters) -> bool {
        parameters.dynamics.draws()
    }

    fn build(
        parameters: &synthetic::Parameters,
        common: Common,
    ) -> Result<Vec<synthetic::Synthetic>, String> {
        synthetic::processes(parameters, common).map_err(|error| error.to_string())
    }
}

/// The matrix in the CSV file `file`, the value of the parameter `key`, if it is as `accept` wants it.
fn read_matrix(
    (key, file): (&str, &str),
    files: Files<'_>,
    accept: impl FnOnce(Matrix) -> Result<Matrix, MatrixError>,
) -> Result<Matrix, Unbuilt> {
    let text = files.read(key, file)?;
    Matrix::from_csv(&text).and_then(accept).map_err(|error| {
        let path = files.path(key, file);
        Unbuilt::File(format!("`{key}`: {} {error}", path.display()))
    })
}
