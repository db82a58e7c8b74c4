use proptest::prelude::*;

use super::*;

fn partners(pattern: &Pattern, processes: u32) -> Vec<Vec<u32>> {
    let partners = pattern.partners(processes).unwrap().unwrap();
    let numbers = |ranks: &[Rank]| ranks.iter().map(|rank| rank.0).collect();
    partners.iter().map(|ranks| numbers(ranks)).collect()
}

fn grid(dimensions: &[u32], torus: bool) -> Pattern {
    Pattern::Grid {
        dimensions: dimensions.to_vec(),
        torus,
    }
}

#[test]
fn a_grid_has_neighbours_in_every_dimension() {
    let plane = partners(&grid(&[2, 3], false), 6);
    assert_eq!(plane[0], [1, 3]);
    assert_eq!(plane[4], [1, 3, 5]);
    let torus = partners(&grid(&[3, 4], true), 12);
    assert_eq!(torus[0], [1, 3, 4, 8]);
    assert_eq!(torus[5], [1, 4, 6, 9]);
    let space = partners(&grid(&[2, 3, 4], false), 24);
    assert_eq!(space[0], [1, 4, 12]);
    assert_eq!(space[17], [5, 13, 16, 18, 21]);
    // Around a line of two, both directions lead to the same neighbour; around one of one, to itself.
    assert_eq!(partners(&grid(&[2, 1], true), 2), [[1], [0]]);
}

#[test]
fn groups_are_of_consecutive_ranks_and_the_last_may_be_smaller() {
    let groups = partners(&Pattern::Groups { size: 3 }, 5);
    assert_eq!(
        groups,
        [vec![1, 2], vec![0, 2], vec![0, 1], vec![4], vec![3]]
    );
    assert_eq!(partners(&Pattern::Groups { size: u32::MAX }, 3)[1], [0, 2]);
}

#[test]
fn a_tree_has_a_parent_and_children() {
    let tree = partners(&Pattern::Tree { arity: 2 }, 6);
    assert_eq!(
        tree,
        [
            vec![1, 2],
            vec![0, 3, 4],
            vec![0, 5],
            vec![1],
            vec![1],
            vec![2]
        ]
    );
    assert_eq!(partners(&Pattern::Tree { arity: u32::MAX }, 3)[0], [1, 2]);
}

#[test]
fn a_random_graph_is_the_same_in_every_version() {
    let graph = partners(&Pattern::Random { links: 2, seed: 7 }, 6);
    let expected: [&[u32]; 6] = [
        &[1, 3, 4, 5],
        &[0, 2, 3, 4],
        &[1, 5],
        &[0, 1, 4, 5],
        &[0, 1, 3, 5],
        &[0, 2, 3, 4],
    ];
    assert_eq!(graph, expected);
    assert_ne!(graph, partners(&Pattern::Random { links: 2, seed: 8 }, 6));
}

#[test]
fn numbers_that_do_not_fit_the_processes_are_refused() {
    let check = |pattern: Pattern, expected: &str| {
        assert_eq!(pattern.partners(6).unwrap_err().to_string(), expected);
    };
    check(
        grid(&[2, 2], false),
        "invalid value `[2, 2]` for `pattern.dimensions`: their product must be `processes`, which is 6",
    );
    check(
        grid(&[], false),
        "invalid value `[]` for `pattern.dimensions`: their product must be `processes`, which is 6",
    );
    let most = u32::MAX;
    assert!(grid(&[most, most, most], true).partners(6).is_err());
    assert!(grid(&[6, 0], true).partners(6).is_err());
    check(
        Pattern::Groups { size: 0 },
        "invalid value `0` for `pattern.size`: must be at least 1",
    );
    check(
        Pattern::Tree { arity: 0 },
        "invalid value `0` for `pattern.arity`: must be at least 1",
    );
    check(
        Pattern::Random { links: 0, seed: 1 },
        "invalid value `0` for `pattern.links`: must be at least 1",
    );
    check(
        Pattern::Random { links: 6, seed: 1 },
        "invalid value `6` for `pattern.links`: must be at most `processes - 1`, which is 5",
    );
}

proptest! {
    #[test]
    fn partners_are_mutual_distinct_and_others(
        processes in 2..60_u32,
        kind in 0..4_u32,
        number in 1..7_u32,
        torus: bool,
        seed: u64,
    ) {
        let pattern = match kind {
            0 => grid(&[processes], torus),
            1 => Pattern::Groups { size: number },
            2 => Pattern::Tree { arity: number },
            _ => Pattern::Random { links: number.min(processes - 1), seed },
        };
        let partners = partners(&pattern, processes);
        for (rank, others) in (0..).zip(&partners) {
            let distinct: BTreeSet<&u32> = others.iter().collect();
            prop_assert_eq!(distinct.len(), others.len());
            for other in others {
                prop_assert_ne!(*other, rank);
                prop_assert!(partners[Rank(*other).index()].contains(&rank));
            }
            if let Pattern::Random { links, .. } = pattern {
                prop_assert!(usize::try_from(links).unwrap() <= others.len());
            }
        }
    }
}
