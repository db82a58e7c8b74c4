use bsp::reference;
use proptest::prelude::*;

use super::*;

fn common(processes: u32, supersteps: Option<u64>) -> Common {
    Common {
        processes,
        supersteps,
        seed: 0,
    }
}

fn of_order(order: u32) -> Parameters {
    Parameters {
        order,
        ..Parameters::default()
    }
}

#[test]
fn the_grids_are_the_papers() {
    for (processes, grid) in [
        (25, (5, 5)),
        (50, (10, 5)),
        (100, (10, 10)),
        (200, (20, 10)),
        (1, (1, 1)),
        (7, (7, 1)),
        (12, (4, 3)),
    ] {
        let matrix = matrix(&Parameters::default(), processes).unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), grid);
    }
}

#[test]
fn one_side_of_the_grid_gives_the_other() {
    let grid = |rows, columns| {
        let parameters = Parameters {
            rows,
            columns,
            ..Parameters::default()
        };
        matrix(&parameters, 12).map(|matrix| (matrix.rows(), matrix.columns()))
    };
    assert_eq!(grid(Some(2), None), Ok((2, 6)));
    assert_eq!(grid(None, Some(2)), Ok((6, 2)));
    assert_eq!(grid(Some(3), Some(4)), Ok((3, 4)));
    assert_eq!(
        grid(Some(5), None).unwrap_err().to_string(),
        "`rows`: invalid values `5` for `rows` and `2` for `columns`: 10 places for 12 processes, must be equal"
    );
    assert_eq!(
        grid(Some(0), None).unwrap_err().to_string(),
        "invalid value `0` for `rows`: must be at least 1"
    );
}

#[test]
fn a_stage_divides_the_column_and_updates_the_rest() {
    let parts = processes(&of_order(6), common(6, None)).unwrap();
    let works = |superstep| -> Vec<u64> {
        let each = parts.iter().zip((0..6).map(Rank));
        each.map(|(part, rank)| part.work(rank, superstep).0)
            .collect()
    };
    // 3 rows and 2 columns of processes: ranks (0, 0), (0, 1), (1, 0), …
    assert_eq!(works(0), [0, 0, 0, 0, 0, 0]);
    assert_eq!(works(1), [100, 0, 200, 0, 200, 0]);
    assert_eq!(works(2), [2000, 3000, 4000, 6000, 4000, 6000]);
    assert_eq!(works(3), [0, 100, 0, 100, 0, 200]);
    assert_eq!(works(11), [0, 0, 0, 0, 0, 0]);
    assert_eq!(works(12), [0, 0, 0, 0, 0, 0]);
}

#[test]
fn pivots_columns_and_rows_are_sent_to_their_readers() {
    let run = |supersteps| {
        let parts = processes(&of_order(6), common(6, Some(supersteps))).unwrap();
        let run = reference::run(parts, reference::Limit::default()).unwrap();
        let received = |tally: &Tally| (tally.messages, tally.received.0);
        run.outputs.iter().map(received).collect::<Vec<_>>()
    };
    // The first pivot, from (0, 0) down its column.
    assert_eq!(run(2), [(0, 0), (0, 0), (1, 1), (0, 0), (1, 1), (0, 0)]);
    // Rows go right with one or two elements of column 0, columns down with two or three of row 0.
    let expected = [(0, 0), (1, 1), (2, 3), (2, 5), (2, 3), (2, 5)];
    assert_eq!(run(3), expected);
}

/// What SimGrid counts for the same decomposition (`lu_n100_10x5` in `applications.csv`).
#[test]
fn computations_and_messages_are_those_of_an_independent_implementation() {
    let parts = processes(&of_order(100), common(50, None)).unwrap();
    let computations = parts.iter().zip((0..50).map(Rank)).map(|(part, rank)| {
        let works = (0..201).map(|superstep| part.work(rank, superstep));
        works.filter(|work| Instructions::ZERO < *work).count()
    });
    assert_eq!(computations.sum::<usize>(), 5650);
    let run = reference::run(parts, reference::Limit::default()).unwrap();
    let messages: u64 = run.outputs.iter().map(|tally| tally.messages).sum();
    assert_eq!(messages, 28_578 - 2 * 49 * 201);
}

#[test]
fn supersteps_can_be_fewer_but_not_more() {
    for (wanted, expected) in [(Some(3), 3), (Some(13), 13), (Some(100), 13), (None, 13)] {
        let parts = processes(&of_order(6), common(4, wanted)).unwrap();
        let run = reference::run(parts, reference::Limit::default()).unwrap();
        assert_eq!(run.supersteps, expected, "{wanted:?}");
    }
}

#[test]
fn processes_without_elements_take_part() {
    let parts = processes(&of_order(2), common(9, None)).unwrap();
    let run = reference::run(parts, reference::Limit::default()).unwrap();
    assert_eq!(run.supersteps, 5);
    assert_eq!(run.work, Instructions(100 + 1000));
    assert_eq!(run.outputs[8].work, Instructions::ZERO);
    assert_eq!(run.outputs[8].messages, 0);
}

#[test]
fn errors_name_the_parameter() {
    let check = |parameters: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(parameters).unwrap();
        let error = processes(&parameters, common(4, None)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "order = 0",
        "invalid value `0` for `order`: must be at least 1",
    );
    check(
        "update_instructions = nan",
        "invalid value `NaN` for `update_instructions`: must be a number from 0 to 2^63",
    );
    check(
        "update_instructions = 1e14",
        "invalid value `100000000000000.0` for `update_instructions`: must be at most 2^63 for all elements of a process",
    );
    check(
        "element_bytes = -8",
        "invalid value `-8.0` for `element_bytes`: must be a number from 0 to 2^63",
    );
    check(
        "rows = 3",
        "`rows`: invalid values `3` for `rows` and `1` for `columns`: 3 places for 4 processes, must be equal",
    );
    let result = processes(&Parameters::default(), common(0, None));
    assert_eq!(result, Err(Error::Zero { key: "processes" }));
    assert!(toml::from_str::<Parameters>("ordr = 1").is_err());
}

#[test]
fn a_million_processes_fit() {
    assert!(size_of::<Lu>() <= 104, "{} bytes", size_of::<Lu>());
}

proptest! {
    /// Dealt out in whatever way, it is the same decomposition.
    #[test]
    fn the_work_does_not_depend_on_the_grid(
        order in 1_u32..30,
        (rows, columns) in (1_u32..5, 1_u32..5),
    ) {
        let parameters = Parameters {
            rows: Some(rows),
            columns: Some(columns),
            ..of_order(order)
        };
        let parts = processes(&parameters, common(rows * columns, None)).unwrap();
        let memory: u64 = parts.iter().map(|part| part.image.data.0).sum();
        let run = reference::run(parts, reference::Limit::default()).unwrap();
        let n = u64::from(order);
        let (divisions, updates) = (n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6);
        prop_assert_eq!(run.work, Instructions(divisions * 100 + updates * 1000));
        prop_assert_eq!(memory, n * n);
        prop_assert_eq!(run.supersteps, 2 * n + 1);
    }
}
