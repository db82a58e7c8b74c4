//! The shipped workloads by name.

mod external;

use std::cmp::Ordering;

use bsp::numbers::index;
use bsp::{Array, Rank};
use settings::{Files, Unit};
use workloads::lu::kernel as lu_kernel;
use workloads::smith_waterman::kernel as alignment;
use workloads::{
    Matrix, MatrixError, h_relation, heat, lbm, lu, matrix_product, smith_waterman, state_kinds,
    synthetic, task_farm,
};

use crate::outputs::OutputFile;
use crate::registry::{
    BuildError, Common, ParameterError, Registry, Rejection, Supersteps, Workload,
};

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
            .with::<external::ExternalProgram>()
            .with::<external::RecordedProgram>()
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

    fn builder(
        parameters: &lbm::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<lbm::Lbm, BuildError>, BuildError> {
        let build = lbm::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
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

    fn builder(
        parameters: &smith_waterman::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<smith_waterman::SmithWaterman, BuildError>, BuildError>
    {
        let build = smith_waterman::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
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

    fn builder(
        parameters: &lu::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<lu::Lu, BuildError>, BuildError> {
        let build = lu::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
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

    fn builder(
        parameters: &lbm::kernel::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<lbm::kernel::Kernel, BuildError>, BuildError> {
        let build = lbm::kernel::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
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
            let found = flow.width();
            let problem = format!("{found} columns have come out, not {width}");
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

    fn builder(
        parameters: &synthetic::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<synthetic::Synthetic, BuildError>, BuildError> {
        let build = synthetic::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }
}

/// The matrix in the CSV file `file`, the value of the parameter `key`, if it is as `accept` wants it.
fn read_matrix(
    (key, file): (&str, &str),
    files: Files<'_>,
    accept: impl FnOnce(Matrix) -> Result<Matrix, MatrixError>,
) -> Result<Matrix, BuildError> {
    let text = files.read(key, file)?;
    let matrix = Matrix::from_csv(&text).and_then(accept);
    matrix.map_err(|error| files.invalid(key, file, error).into())
}

/// The heat equation on a plate, on horizontal strips.
#[derive(Clone, Copy, Debug)]
struct HeatEquation;

impl Workload for HeatEquation {
    type Parameters = heat::Parameters;
    type Program = heat::Heat;
    const NAME: &'static str = "heat";
    const ABOUT: &'static str = "the heat equation on a plate, by horizontal strips";

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_cell" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &heat::Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &heat::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<heat::Heat, BuildError>, BuildError> {
        let build = heat::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    fn verify(
        parameters: &heat::Parameters,
        common: Common,
        _files: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Option<String>, Rejection> {
        let input = |error: workloads::Error| Rejection::Input(error.to_string());
        let mode = heat::Mode::new(parameters).map_err(input)?;
        let steps = common.required_supersteps().map_err(input)?;
        let [width, height] = [parameters.width, parameters.height].map(index);
        if let Some(index) = outputs.iter().position(|strip| strip.len() % width != 0) {
            let problem = format!("is no strip of rows of {width} cells");
            return Err(Rejection::output(index, problem));
        }
        let plate = outputs.concat();
        if plate.len() != width * height {
            let found = plate.len() / width;
            let problem = format!("{found} rows have come out, not {height}");
            return Err(Rejection::Outputs(problem));
        }
        let deviation = mode.deviation(&plate, steps);
        if deviation.is_rounding() {
            Ok(Some(deviation.to_string()))
        } else {
            let (greatest, bound) = (deviation.greatest, deviation.bound);
            let problem = format!(
                "a cell of the plate is {greatest:.1e} off, which is more than rounding can cause, {bound:.1e}"
            );
            Err(Rejection::Outputs(problem))
        }
    }

    /// `plate.npy`, rows from the top; `plate.pgm`, where what is at zero is grey and the hottest cell white.
    fn files(
        parameters: &heat::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let plate = outputs.concat();
        let hottest = plate
            .iter()
            .fold(0.0_f64, |most, cell| most.max(cell.abs()));
        let [width, height] = [parameters.width, parameters.height].map(index);
        let picture = OutputFile::picture("plate.pgm", [width, height], |x, y| {
            // Of a cold plate this is no number, and black.
            0.5 + 0.5 * plate[y * width + x] / hottest
        });
        Ok(vec![
            OutputFile::array("plate.npy", &[height, width], plate),
            picture,
        ])
    }
}

/// LU decomposition of a real matrix, square cyclic.
#[derive(Clone, Copy, Debug)]
struct LuKernel;

impl Workload for LuKernel {
    type Parameters = lu_kernel::Parameters;
    type Program = lu_kernel::Lu;
    const NAME: &'static str = "lu-kernel";
    const ABOUT: &'static str = "LU decomposition of a real matrix, square cyclic";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn draws(parameters: &lu_kernel::Parameters) -> bool {
        parameters.matrix.is_none()
    }

    fn builder(
        parameters: &lu_kernel::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<lu_kernel::Lu, BuildError>, BuildError> {
        let matrix = matrix(parameters, common.seed, files)?;
        let build = lu_kernel::builder(parameters, matrix, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    fn verify(
        parameters: &lu_kernel::Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Result<lu_kernel::Block, lu_kernel::Singular>],
    ) -> Result<Option<String>, Rejection> {
        let factors = factors(parameters, outputs)?;
        let matrix = matrix(parameters, common.seed, files)?;
        if factors.order() != matrix.rows() {
            let (found, order) = (factors.order(), matrix.rows());
            let problem = format!("factors of order {found} have come out, not of order {order}");
            return Err(Rejection::Outputs(problem));
        }
        let residual = factors.residual(&matrix);
        let sentence = format!(
            "LU of order {}: ‖PA − LU‖ / ‖A‖ = {:.1e}",
            factors.order(),
            residual.relative()
        );
        if residual.is_rounding() {
            Ok(Some(sentence))
        } else {
            let why = if residual.relative().is_finite() {
                let bound = residual.bound / residual.matrix;
                format!("more than rounding can cause, {bound:.1e}")
            } else if parameters.pivoting {
                "an overflow; use smaller numbers".to_owned()
            } else {
                "an overflow; use smaller numbers, or `pivoting = true`".to_owned()
            };
            Err(Rejection::Outputs(format!("{sentence}, which is {why}")))
        }
    }

    /// `lower.npy`, `upper.npy` and `permutation.npy`, which row of the matrix each row of their product is.
    fn files(
        parameters: &lu_kernel::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Result<lu_kernel::Block, lu_kernel::Singular>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let factors = factors(parameters, outputs)?;
        let order = factors.order();
        let elements = |element: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            let rows = 0..order;
            rows.flat_map(|row| (0..order).map(move |column| element(row, column)))
                .collect()
        };
        let lower = elements(&|row, column| match row.cmp(&column) {
            Ordering::Greater => factors.element(row, column),
            Ordering::Equal => 1.0,
            Ordering::Less => 0.0,
        });
        let upper = elements(&|row, column| match row.cmp(&column) {
            Ordering::Greater => 0.0,
            Ordering::Equal | Ordering::Less => factors.element(row, column),
        });
        let permutation: Vec<i64> = factors
            .permutation()
            .iter()
            .map(|row| i64::from(*row))
            .collect();
        Ok(vec![
            OutputFile::array("lower.npy", &[order, order], lower),
            OutputFile::array("upper.npy", &[order, order], upper),
            OutputFile::array("permutation.npy", &[order], permutation),
        ])
    }
}

/// The factors that processes have output.
fn factors(
    parameters: &lu_kernel::Parameters,
    outputs: &[Result<lu_kernel::Block, lu_kernel::Singular>],
) -> Result<lu_kernel::Factors, Rejection> {
    lu_kernel::Factors::assemble(outputs).map_err(|unfactored| match unfactored {
        lu_kernel::Unfactored::Misfit { process, problem } => {
            Rejection::output(process.index(), problem)
        }
        lu_kernel::Unfactored::Singular(_) | lu_kernel::Unfactored::Memory { .. } => {
            let matrix = parameters.matrix.as_deref().unwrap_or("the drawn matrix");
            Rejection::Input(format!("{}: {matrix}: {unfactored}", LuKernel::NAME))
        }
    })
}

/// The matrix in the file that is named, or a drawn one.
fn matrix(
    parameters: &lu_kernel::Parameters,
    seed: u64,
    files: Files<'_>,
) -> Result<Matrix, BuildError> {
    let Some(file) = &parameters.matrix else {
        return Ok(parameters.drawn(seed)?);
    };
    read_matrix(("matrix", file), files, Matrix::square)
}

/// The best local alignment of two sequences, by columns.
#[derive(Clone, Copy, Debug)]
struct SmithWatermanKernel;

impl Workload for SmithWatermanKernel {
    type Parameters = alignment::Parameters;
    type Program = alignment::SmithWaterman;
    const NAME: &'static str = "smith-waterman-kernel";
    const ABOUT: &'static str = "the best local alignment of two sequences, by columns";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn draws(parameters: &alignment::Parameters) -> bool {
        parameters.query.is_none()
    }

    fn builder(
        parameters: &alignment::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<alignment::SmithWaterman, BuildError>, BuildError> {
        let pair = sequences(parameters, common.seed, files)?;
        let build = alignment::builder(parameters, pair, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    fn verify(
        parameters: &alignment::Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[alignment::Part],
    ) -> Result<Option<String>, Rejection> {
        let pair = sequences(parameters, common.seed, files)?;
        let Some(alignment) = assembled(outputs, &pair)? else {
            return Ok(Some(NOTHING.to_owned()));
        };
        let scoring = parameters
            .scoring()
            .map_err(|error| Rejection::Input(error.to_string()))?;
        let (score, worth) = (alignment.score, alignment.rescore(&pair, &scoring));
        if score == worth {
            Ok(Some(alignment.to_string()))
        } else {
            let problem = format!("the alignment is worth {worth}, and its score is {score}");
            Err(Rejection::Outputs(problem))
        }
    }

    /// `alignment.txt`: the sentence about it, and its letters beside each other.
    fn files(
        parameters: &alignment::Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[alignment::Part],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let pair = sequences(parameters, common.seed, files)?;
        let text = match assembled(outputs, &pair)? {
            None => NOTHING.to_owned() + "\n",
            Some(alignment) => {
                let letters = alignment.letters(&pair, parameters.scoring);
                format!("{alignment}\n\n{letters}")
            }
        };
        Ok(vec![OutputFile::new("alignment.txt", text)])
    }
}

/// The statement about sequences without an alignment.
const NOTHING: &str = "no alignment: no two letters score more than 0";

/// The alignment of `pair` that processes have output.
fn assembled(
    outputs: &[alignment::Part],
    pair: &alignment::Pair,
) -> Result<Option<alignment::Alignment>, Rejection> {
    alignment::Alignment::assemble(outputs, pair)
        .map_err(|misfit| Rejection::output(misfit.process.index(), misfit.problem))
}

/// The sequences in the files that are named, or drawn ones.
fn sequences(
    parameters: &alignment::Parameters,
    seed: u64,
    files: Files<'_>,
) -> Result<alignment::Pair, BuildError> {
    let alignment::Parameters {
        query,
        subject,
        query_record,
        subject_record,
        ..
    } = parameters;
    let read = |key, file: &str, record: &Option<String>| {
        let text = files.read(key, file)?;
        let sequence =
            alignment::Sequence::from_fasta(&text, key, record.as_deref(), parameters.scoring);
        sequence.map_err(|error| {
            match error {
                // The parameter selects the record.
                alignment::SequenceError::Several { .. }
                | alignment::SequenceError::NoSuchRecord { .. } => {
                    let problem = format!("{} {error}", files.path(key, file).display());
                    BuildError::from(ParameterError::new(key, problem))
                }
                _ => files.invalid(key, file, error).into(),
            }
        })
    };
    match (query, subject) {
        (Some(query), Some(subject)) => Ok(alignment::Pair {
            query: read("query", query, query_record)?,
            subject: read("subject", subject, subject_record)?,
        }),
        (Some(_), None) => Err(lacks("query", "subject").into()),
        (None, Some(_)) => Err(lacks("subject", "query").into()),
        (None, None) if query_record.is_some() => Err(lacks("query_record", "query").into()),
        (None, None) if subject_record.is_some() => Err(lacks("subject_record", "subject").into()),
        (None, None) => Ok(parameters.drawn(seed)?),
    }
}

fn lacks(set: &str, missing: &str) -> ParameterError {
    ParameterError::new(set, format!("is set, but `{missing}` is not"))
        .or_else("name two files, or none to have both drawn")
}

/// The product of two matrices by a task farm.
#[derive(Clone, Copy, Debug)]
struct MatrixProduct;

impl Workload for MatrixProduct {
    type Parameters = matrix_product::Parameters;
    type Program = matrix_product::Product;
    const NAME: &'static str = "matrix-product";
    const ABOUT: &'static str = "the product of two matrices, rows dealt to workers (a task farm)";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_operation" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(parameters: &matrix_product::Parameters) -> bool {
        parameters.a.is_none() || parameters.b.is_none()
    }

    fn builder(
        parameters: &matrix_product::Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<matrix_product::Product, BuildError>, BuildError> {
        let operands = operands(parameters, common.seed, files)?;
        let build = matrix_product::builder(parameters, operands, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    fn verify(
        parameters: &matrix_product::Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Vec<Array<f64>>],
    ) -> Result<Option<String>, Rejection> {
        let (a, b) = operands(parameters, common.seed, files)?;
        let agreement = matrix_product::check((&a, &b), &product(outputs), common.seed)
            .map_err(|disagreement| Rejection::Outputs(disagreement.to_string()))?;
        Ok(Some(format!(
            "C = A·B of {} rows and {} columns: {} drawn vectors agree",
            a.rows(),
            b.columns(),
            agreement.vectors
        )))
    }

    /// `product.npy`.
    fn files(
        parameters: &matrix_product::Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Vec<Array<f64>>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let (a, b) = operands(parameters, common.seed, files)?;
        let shape = [a.rows(), b.columns()];
        Ok(vec![OutputFile::array(
            "product.npy",
            &shape,
            product(outputs),
        )])
    }
}

/// The elements of the product, row after row: what the master outputs.
fn product(outputs: &[Vec<Array<f64>>]) -> Vec<f64> {
    outputs
        .first()
        .map_or_else(Vec::new, |rows| matrix_product::elements(rows))
}

/// The factors in the files that are named, or drawn ones.
fn operands(
    parameters: &matrix_product::Parameters,
    seed: u64,
    files: Files<'_>,
) -> Result<(Matrix, Matrix), BuildError> {
    let factor = |key: &str, file: Option<&String>, side: matrix_product::Side| match file {
        Some(file) => read_matrix((key, file), files, Ok),
        None => Ok(parameters.drawn(side, seed)?),
    };
    Ok((
        factor("a", parameters.a.as_ref(), matrix_product::Side::Left)?,
        factor("b", parameters.b.as_ref(), matrix_product::Side::Right)?,
    ))
}

/// Four programs whose states differ in kind.
#[derive(Clone, Copy, Debug)]
struct KindsOfState;

impl Workload for KindsOfState {
    type Parameters = state_kinds::Parameters;
    type Program = state_kinds::StateKinds;
    const NAME: &'static str = "state-kinds";
    const ABOUT: &'static str = "linpack, bitonic, gzip or xlintims: states of different kinds";

    fn unit(key: &str) -> Unit {
        match key {
            "state" => Unit::Bytes,
            _ => Unit::of_key(key),
        }
    }

    fn builder(
        parameters: &state_kinds::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<state_kinds::StateKinds, BuildError>, BuildError> {
        let build = state_kinds::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    /// Every process has checked its results; the sum of what they solved is left to say.
    fn verify(
        _parameters: &state_kinds::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[state_kinds::Solved],
    ) -> Result<Option<String>, Rejection> {
        let problems = outputs.iter().map(|solved| u128::from(solved.problems));
        let problems: u128 = problems.sum();
        Ok(Some(if problems == 0 {
            "no problem was solved: there were too few supersteps".to_owned()
        } else {
            format!("{problems} problems were solved and checked by their processes")
        }))
    }
}

/// Supersteps in which all processes exchange the same number of words.
#[derive(Clone, Copy, Debug)]
struct HRelations;

impl Workload for HRelations {
    type Parameters = h_relation::Parameters;
    type Program = h_relation::HRelation;
    const NAME: &'static str = "h-relation";
    const ABOUT: &'static str = "every process sends and receives h words, to measure r, g and l";

    fn draws(_: &h_relation::Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &h_relation::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<h_relation::HRelation, BuildError>, BuildError> {
        let build = h_relation::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    /// Receivers have checked every message; the sum of all is left to check.
    fn verify(
        _parameters: &h_relation::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[h_relation::Exchanged],
    ) -> Result<Option<String>, Rejection> {
        let sent: u128 = outputs.iter().map(|process| u128::from(process.sent)).sum();
        let received = outputs.iter().map(|process| u128::from(process.received));
        let received: u128 = received.sum();
        if sent != received {
            let problem = format!("{received} of {sent} words have arrived");
            return Err(Rejection::Outputs(problem));
        }
        Ok(Some(format!("all {sent} words have arrived as they were")))
    }
}

/// Tasks that have sizes and costs, dealt to workers.
#[derive(Clone, Copy, Debug)]
struct ModelFarm;

impl Workload for ModelFarm {
    type Parameters = task_farm::Parameters;
    type Program = task_farm::TaskFarm;
    const NAME: &'static str = "task-farm";
    const ABOUT: &'static str =
        "a model of a task farm: tasks with sizes and costs, dealt to workers";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;
    const IS_MODEL: bool = true;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions" => Unit::Instructions,
            "shared" | "task" | "outcome" => Unit::Bytes,
            _ => Unit::None,
        }
    }

    fn draws(parameters: &task_farm::Parameters) -> bool {
        0.0 < parameters.variation
    }

    fn builder(
        parameters: &task_farm::Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<task_farm::TaskFarm, BuildError>, BuildError> {
        let build = task_farm::builder(parameters, common)?;
        Ok(move |rank| Ok(build(rank)?))
    }

    /// Each outcome has the number of its task.
    fn verify(
        parameters: &task_farm::Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Vec<task_farm::ModelOutcome>],
    ) -> Result<Option<String>, Rejection> {
        let outcomes = outputs.first().map_or(&[][..], Vec::as_slice);
        let numbers = outcomes.iter().map(|outcome| outcome.number);
        if !numbers.eq(0..parameters.tasks) {
            let problem = "outcomes are not in the order of the tasks";
            return Err(Rejection::Outputs(problem.to_owned()));
        }
        Ok(Some(format!(
            "all {} tasks were executed once",
            parameters.tasks
        )))
    }
}

#[cfg(test)]
mod tests;
