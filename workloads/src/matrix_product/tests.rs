use bsp::reference::{self, Limit};
use bsp::testing;
use nalgebra::DMatrix;
use proptest::prelude::*;

use super::*;

fn common(processes: u32) -> Common {
    Common {
        processes,
        supersteps: None,
        seed: 3,
    }
}

fn parameters(order: u32, rows_per_task: u32, dealing: &str) -> Parameters {
    Parameters {
        order,
        rows_per_task,
        dealing: toml::from_str(dealing).unwrap(),
        ..Parameters::default()
    }
}

fn factors(parameters: &Parameters) -> (Matrix, Matrix) {
    let drawn = |side| parameters.drawn(side, 3).unwrap();
    (drawn(Side::Left), drawn(Side::Right))
}

fn product(parameters: &Parameters, size: u32) -> Vec<f64> {
    let (a, b) = factors(parameters);
    let farm = processes(parameters, (&a, &b), common(size)).unwrap();
    let run = reference::run(farm, Limit::default()).unwrap();
    let operations = 2 * u64::from(parameters.order).pow(3);
    assert_eq!(run.work, Instructions(operations));
    elements(&run.outputs[0])
}

#[test]
fn the_product_is_that_of_another_library_and_passes_the_check() {
    let parameters = parameters(67, 3, "");
    let (a, b) = factors(&parameters);
    let product = product(&parameters, 4);
    let library = |matrix: &Matrix| DMatrix::from_row_slice(67, 67, matrix.elements());
    let expected = library(&a) * library(&b);
    for (index, element) in product.iter().enumerate() {
        let difference = (element - expected[(index / 67, index % 67)]).abs();
        assert!(difference < 1e-13, "{difference} at {index}");
    }
    let agreement = check((&a, &b), &product, 3).unwrap();
    assert_eq!(agreement.vectors, 40);
    assert!(agreement.greatest < 0.5, "{agreement:?}");
}

#[test]
fn a_wrong_element_does_not_pass() {
    let parameters = parameters(40, 1, "");
    let (a, b) = factors(&parameters);
    let right = product(&parameters, 3);
    for at in [0, 777, 1599] {
        let mut wrong = right.clone();
        wrong[at] += 1e-9;
        let error = check((&a, &b), &wrong, 3).unwrap_err();
        assert!(
            matches!(error, Disagreement::Row { row, .. } if row == at / 40 + 1),
            "{error}"
        );
        wrong[at] = f64::NAN;
        assert!(check((&a, &b), &wrong, 3).is_err());
    }
    let error = check((&a, &b), &right[1..], 3).unwrap_err();
    assert_eq!(error.to_string(), "1599 elements have come out, not 1600");
}

#[test]
fn factors_need_not_be_square_and_have_to_fit() {
    let matrix = |text: &str| Matrix::from_csv(text.as_bytes()).unwrap();
    let (a, b) = (matrix("1, 2, 3\n4, 5, 6\n"), matrix("1\n10\n100\n"));
    let farm = processes(&Parameters::default(), (&a, &b), common(2)).unwrap();
    let run = reference::run(farm, Limit::default()).unwrap();
    assert_eq!(elements(&run.outputs[0]), [321.0, 654.0]);
    let error = processes(&Parameters::default(), (&b, &b), common(2)).unwrap_err();
    let expected = "`a`: has 1 columns, and `b` has 3 rows; they have to be equal";
    assert_eq!(error.to_string(), expected);
    let error = processes(&Parameters::default(), (&a, &b), common(1)).unwrap_err();
    let expected = "invalid value `1` for `processes`: must be at least 2, a master and a worker";
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_product_is_the_same_bit_by_bit_for_any_distribution_of_tasks(
        order in 1_u32..70,
        rows_per_task in 1_u32..9,
        size in 2_u32..9,
        kind in prop::sample::select(vec!["weighted", "block-cyclic", "static", "self", "guided", "factoring"]),
    ) {
        let alone = product(&parameters(order, order, ""), 2);
        let parameters = parameters(order, rows_per_task, &format!("kind = \"{kind}\""));
        let (a, b) = factors(&parameters);
        let checked = testing::check(|| processes(&parameters, (&a, &b), common(size)).unwrap());
        let bits = |product: &[f64]| product.iter().map(|element| element.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&elements(&checked.run.outputs[0])), bits(&alone));
    }
}
