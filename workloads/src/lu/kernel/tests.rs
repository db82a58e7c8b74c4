use bsp::reference;
use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

use super::*;

fn common(processes: u32) -> Common {
    Common {
        processes,
        supersteps: None,
        seed: 1,
    }
}

fn parameters(order: u32, grid: (u32, u32), pivoting: bool) -> Parameters {
    Parameters {
        order,
        rows: Some(grid.0),
        columns: Some(grid.1),
        pivoting,
        // Without pivoting, a heavy diagonal keeps the factors small.
        diagonal: if pivoting { 0.0 } else { f64::from(order) },
        ..Parameters::default()
    }
}

type Outputs = reference::Run<Result<Block, Singular>>;

fn run(parameters: &Parameters, matrix: &Matrix) -> Outputs {
    let size = parameters.rows.unwrap() * parameters.columns.unwrap();
    let parts = processes(parameters, matrix, common(size)).unwrap();
    reference::run(parts, reference::Limit::default()).unwrap()
}

fn decompose(parameters: &Parameters, matrix: &Matrix) -> Result<Factors, Unfactored> {
    Factors::assemble(&run(parameters, matrix).outputs)
}

fn csv(text: &str) -> Matrix {
    Matrix::from_csv(text.as_bytes()).unwrap()
}

/// The textbook's three loops, on one array.
fn sequential(matrix: &Matrix, pivoting: bool) -> (Vec<Vec<f64>>, Vec<u32>) {
    let order = matrix.order() as usize;
    let mut a: Vec<Vec<f64>> = (0..order).map(|i| matrix.row(i).to_vec()).collect();
    let mut permutation: Vec<u32> = (0..matrix.order()).collect();
    for k in 0..order {
        if pivoting {
            let mut chosen = k;
            for i in k + 1..order {
                if a[chosen][k].abs() < a[i][k].abs() {
                    chosen = i;
                }
            }
            a.swap(k, chosen);
            permutation.swap(k, chosen);
        }
        for i in k + 1..order {
            a[i][k] /= a[k][k];
            for j in k + 1..order {
                a[i][j] -= a[i][k] * a[k][j];
            }
        }
    }
    (a, permutation)
}

fn bits(elements: impl IntoIterator<Item = f64>) -> Vec<u64> {
    elements.into_iter().map(f64::to_bits).collect()
}

proptest! {
    #[test]
    fn the_factors_are_those_of_the_sequential_loops_bit_by_bit(
        order in 1_u32..20,
        grid in (1_u32..6, 1_u32..6),
        pivoting in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let parameters = parameters(order, grid, pivoting);
        let matrix = parameters.drawn(seed).unwrap();
        let factors = decompose(&parameters, &matrix).unwrap();
        let (expected, permutation) = sequential(&matrix, pivoting);
        prop_assert_eq!(factors.permutation(), permutation);
        for (i, row) in expected.into_iter().enumerate() {
            let found = (0..factors.order()).map(|j| factors.element(i, j));
            prop_assert_eq!(bits(found), bits(row));
        }
    }
}

#[test]
fn the_residual_is_at_rounding_level() {
    for (order, grid) in [(1, (1, 1)), (50, (3, 2)), (97, (2, 5)), (200, (5, 5))] {
        for pivoting in [true, false] {
            let parameters = parameters(order, grid, pivoting);
            let matrix = parameters.drawn(3).unwrap();
            let residual = decompose(&parameters, &matrix).unwrap().residual(&matrix);
            let level = 10.0 * f64::from(order) * f64::EPSILON;
            assert!(residual.relative() <= level, "{order}: {residual:?}");
            assert!(residual.is_rounding(), "{order}: {residual:?}");
        }
    }
}

#[test]
fn a_residual_has_no_units() {
    for scale in ["1e-200", "1e200"] {
        let matrix = csv(&format!("3{0}, 1{0}\n1{0}, 7{0}\n", &scale[1..]));
        let residual = decompose(&parameters(2, (2, 1), true), &matrix).unwrap();
        let residual = residual.residual(&matrix);
        assert!(residual.relative() < 1e-15, "{residual:?}");
        assert!(residual.is_rounding(), "{residual:?}");
    }
}

#[test]
fn overflows_are_not_taken_for_rounding() {
    let matrix = csv("1e308,1e308\n-1e308,1e308\n");
    let factors = decompose(&parameters(2, (1, 1), true), &matrix).unwrap();
    let residual = factors.residual(&matrix);
    assert!(!residual.is_rounding(), "{residual:?}");
}

#[test]
fn wrong_factors_are_not_taken_for_rounding() {
    let parameters = parameters(30, (2, 3), true);
    let matrix = parameters.drawn(3).unwrap();
    let mut outputs = run(&parameters, &matrix).outputs;
    let block = outputs[4].as_mut().unwrap();
    block.elements[17] *= 1.0 + 1e-9;
    let residual = Factors::assemble(&outputs).unwrap().residual(&matrix);
    assert!(!residual.is_rounding(), "{residual:?}");
}

#[test]
fn determinant_and_solution_are_those_of_a_well_kept_library() {
    let order = 60;
    let parameters = parameters(order, (3, 4), true);
    let matrix = parameters.drawn(11).unwrap();
    let factors = decompose(&parameters, &matrix).unwrap();
    let size = factors.order();
    let library = DMatrix::from_fn(size, size, |i, j| matrix.element(i, j));
    let right = DVector::from_fn(size, |i, _| (i as f64).sin());

    let diagonal: f64 = (0..size).map(|i| factors.element(i, i)).product();
    let determinant = library.determinant();
    let ratio = diagonal.abs() / determinant.abs();
    assert!((ratio - 1.0).abs() < 1e-10, "{diagonal} {determinant}");

    let mut solution: Vec<f64> = factors
        .permutation()
        .iter()
        .map(|row| right[*row as usize])
        .collect();
    for i in 0..size {
        for j in 0..i {
            solution[i] -= factors.element(i, j) * solution[j];
        }
    }
    for i in (0..size).rev() {
        for j in i + 1..size {
            solution[i] -= factors.element(i, j) * solution[j];
        }
        solution[i] /= factors.element(i, i);
    }
    let expected = library.lu().solve(&right).unwrap();
    for (found, expected) in solution.iter().zip(expected.iter()) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0));
    }
}

#[test]
fn supersteps_and_operations_are_those_of_the_algorithm() {
    let (order, grid) = (13, (2, 3));
    let columns = |power: u32| (0..13_u64).map(|k| (12 - k).pow(power)).sum::<u64>();
    let plain = parameters(order, grid, false);
    let run_of = |parameters: &Parameters| run(parameters, &parameters.drawn(1).unwrap());
    let plain = run_of(&plain);
    assert_eq!(plain.supersteps, 2 * 13 + 1);
    assert_eq!(plain.work, Instructions(2 * (columns(1) + 2 * columns(2))));
    let pivoting = run_of(&parameters(order, grid, true));
    assert_eq!(pivoting.supersteps, 4 * 13 + 1);
    assert!(plain.work < pivoting.work);
}

#[test]
fn more_processes_than_elements_are_no_error() {
    for pivoting in [true, false] {
        let parameters = parameters(2, (5, 4), pivoting);
        let matrix = parameters.drawn(1).unwrap();
        let factors = decompose(&parameters, &matrix).unwrap();
        assert!(factors.residual(&matrix).is_rounding());
    }
}

#[test]
fn ties_for_the_pivot_go_to_the_lowest_row() {
    let matrix = csv("1, 0, 0\n -1, 2, 0\n 1, -2, 4\n");
    let factors = decompose(&parameters(3, (3, 1), true), &matrix).unwrap();
    assert_eq!(factors.permutation(), [0, 1, 2]);
}

#[test]
fn a_singular_matrix_is_reported_by_every_process() {
    let check = |text: &str, pivoting: bool, stage: u64, expected: &str| {
        for grid in [(1, 1), (2, 2), (3, 2), (1, 4)] {
            let parameters = parameters(3, grid, pivoting);
            let outputs = run(&parameters, &csv(text)).outputs;
            let singular = Singular { stage, pivoting };
            assert!(outputs.iter().all(|output| *output == Err(singular)));
            assert_eq!(singular.to_string(), expected);
        }
    };
    check(
        "1, 2, 3\n2, 4, 6\n1, 1, 1\n",
        true,
        2,
        "the matrix is singular: in stage 3, all elements of column 3 from row 3 on are 0",
    );
    check(
        "0, 1\n0, 2\n",
        true,
        0,
        "the matrix is singular: in stage 1, all elements of column 1 from row 1 on are 0",
    );
    let exchange = "with `pivoting`, another row takes its place unless the matrix is singular";
    let first = format!("the pivot of stage 1 is 0; {exchange}");
    check("0, 1\n1, 0\n", false, 0, &first);
    let last = format!("the pivot of stage 2 is 0; {exchange}");
    check("1, 1\n1, 1\n", false, 1, &last);
    let factors = decompose(&parameters(2, (2, 1), true), &csv("0, 1\n1, 0\n")).unwrap();
    assert_eq!(factors.permutation(), [1, 0]);
}

#[test]
fn invalid_matrices_are_refused_with_the_reason() {
    let check = |text: &str, expected: &str| {
        let error = Matrix::from_csv(text.as_bytes())
            .and_then(Matrix::square)
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let empty = "holds no row, expected numbers between commas, one row of the matrix a line";
    check("", empty);
    check("# nothing\n\n", empty);
    check("\u{feff}# nothing\n \t\n", empty);
    let marked = Matrix::from_csv("\u{feff}1, 2\n  \n3, 4\n".as_bytes());
    assert_eq!(marked, Matrix::from_csv(b"1, 2\n3, 4\n"));
    check(
        "1, 2\n3, four\n",
        "has \"four\" as element 2 of line 2, expected a finite number",
    );
    check(
        "1, inf\n3, 4\n",
        "has \"inf\" as element 2 of line 1, expected a finite number",
    );
    check(
        "1, 2\n3,\n",
        "has \"\" as element 2 of line 2, expected a finite number",
    );
    check(
        "# two\n1, 2\n3\n",
        "has a row of 1 in line 3, expected 2 elements, as in the first row",
    );
    check(
        "1, 2, 3\n4, 5, 6\n",
        "has 2 rows of 3 elements, expected as many of the ones as of the others",
    );
}

#[test]
fn errors_name_the_parameter() {
    let check = |text: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(text).unwrap();
        let error = parameters
            .drawn(1)
            .and_then(|matrix| processes(&parameters, &matrix, common(6)))
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "order = 0",
        "invalid value `0.0` for `order`: must be a number from 1 to 16384",
    );
    check(
        "order = 20000",
        "invalid value `20000.0` for `order`: must be a number from 1 to 16384",
    );
    check(
        "diagonal = nan",
        "invalid value `NaN` for `diagonal`: must be a number from -1e300 to 1e300",
    );
    check(
        "instructions_per_operation = -1",
        "invalid value `-1.0` for `instructions_per_operation`: must be a number from 0 to 10^9",
    );
    check(
        "rows = 4\ncolumns = 2",
        "`rows`: invalid values `4` for `rows` and `2` for `columns`: 8 places for 6 processes, must be equal",
    );
    assert!(toml::from_str::<Parameters>("orders = 1").is_err());
    let parameters = Parameters::default();
    let cut = Common {
        supersteps: Some(8),
        ..common(6)
    };
    assert_eq!(
        processes(&parameters, &parameters.drawn(1).unwrap(), cut)
            .unwrap_err()
            .to_string(),
        "invalid value `8` for `supersteps`: the program ends by itself; remove it"
    );
}
