use std::fs;
use std::path::Path;

use migbsp::bsp::reference::{self, Limit};
use migbsp::bsp::testing;
use proptest::prelude::*;

use super::*;

fn common(processes: u32) -> Common {
    Common {
        processes,
        supersteps: None,
        seed: 0,
    }
}

fn karate() -> Parameters {
    Parameters {
        graph: "karate.txt".to_owned(),
        vertices: 34,
        tolerance: 1e-13,
        ..Parameters::default()
    }
}

/// A graph of `vertices` vertices in the file `path`.
fn graph(path: &Path, text: &str, vertices: u32) -> Parameters {
    fs::write(path, text).unwrap();
    Parameters {
        graph: path.to_str().unwrap().to_owned(),
        vertices,
        tolerance: 1e-12,
        ..Parameters::default()
    }
}

/// The ranks that `processes` find wherever they move, once they have been verified.
#[track_caller]
fn ranks(parameters: &Parameters, processes: u32) -> Vec<f64> {
    let common = common(processes);
    let build = || PageRank::processes(parameters, common, Files::here()).unwrap();
    let outputs = testing::check(build).run.outputs;
    let verified = PageRank::verify(parameters, common, Files::here(), &outputs);
    assert!(verified.is_ok(), "{verified:?}");
    of_all(&outputs)
}

/// The sum of the distances of ranks.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    let pairs = one.iter().zip(other);
    pairs.map(|(one, other)| (one - other).abs()).sum()
}

/// The ranks, by a loop over lists of neighbours which goes on until nothing changes any more, but for rounding.
fn plain(vertices: usize, edges: &[(usize, usize)], damping: f64) -> Vec<f64> {
    let mut neighbours = vec![Vec::new(); vertices];
    for (from, to) in edges {
        neighbours[*from].push(*to);
    }
    let mut ranks = vec![1.0 / vertices as f64; vertices];
    for _ in 0..400 {
        let mut next = vec![(1.0 - damping) / vertices as f64; vertices];
        for (rank, neighbours) in ranks.iter().zip(&neighbours) {
            if neighbours.is_empty() {
                let share = damping * rank / vertices as f64;
                next.iter_mut().for_each(|next| *next += share);
            }
            for to in neighbours {
                next[*to] += damping * rank / neighbours.len() as f64;
            }
        }
        ranks = next;
    }
    ranks
}

#[test]
fn ranks_of_the_karate_club_are_those_of_networkx() {
    for processes in [1, 2, 5, 34, 40] {
        let ranks = ranks(&karate(), processes);
        let distance = distance(&ranks, &NETWORKX);
        assert!(distance < 1e-12, "{processes}: {distance:e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Vertices without edges from them or to them, edges from a vertex to itself, repeated edges, and processes without
    /// vertices are among the cases.
    #[test]
    fn ranks_of_any_graph_are_those_of_a_plain_loop(
        vertices in 1_usize..14,
        numbers in prop::collection::vec((0_usize..1000, 0_usize..1000), 0..40),
        processes in 1_u32..18,
        damping in 0.0_f64..0.9,
    ) {
        let edges = numbers.iter().map(|(from, to)| (from % vertices, to % vertices));
        let mut edges: Vec<(usize, usize)> = edges.collect();
        edges.sort_by_key(|(from, _)| *from);
        let text: String = edges.iter().map(|(from, to)| format!("{from} {to}\n")).collect();
        let folder = tempfile::tempdir().unwrap();
        let count = u32::try_from(vertices).unwrap();
        let parameters = Parameters {
            damping,
            ..graph(&folder.path().join("graph.txt"), &text, count)
        };
        let found = ranks(&parameters, processes);
        let expected = plain(vertices, &edges, damping);
        // An iteration multiplies the distance from the limit by the damping factor.
        let bound = parameters.tolerance * damping / (1.0 - damping) + 1e-14;
        let distance = distance(&found, &expected);
        prop_assert!(distance <= bound, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn a_part_is_the_range_of_vertices_that_a_process_owns() {
    for vertices in 1..20 {
        for processes in 1..30 {
            let division = Division {
                vertices,
                processes,
            };
            let mut next = 0;
            for rank in (0..processes).map(Rank) {
                let part = division.part(rank);
                assert_eq!(part.start, next);
                assert!(part.clone().all(|vertex| division.owner(vertex) == rank));
                next = part.end;
            }
            assert_eq!(next, vertices);
        }
    }
    let largest = Division {
        vertices: u32::MAX,
        processes: u32::MAX,
    };
    assert_eq!(largest.part(Rank(u32::MAX - 1)), u32::MAX - 1..u32::MAX);
    assert_eq!(largest.owner(u32::MAX - 1), Rank(u32::MAX - 1));
}

#[test]
fn ranks_that_are_none_are_rejected() {
    let verify =
        |outputs: &[Array<f64>]| PageRank::verify(&karate(), common(2), Files::here(), outputs);
    let processes = PageRank::processes(&karate(), common(2), Files::here()).unwrap();
    let outputs = reference::run(processes, Limit::default()).unwrap().outputs;
    assert!(verify(&outputs).is_ok());
    for change in [1e-12, -1e-12, f64::NAN] {
        // The sum stays 1.
        let mut wrong = outputs.clone();
        wrong[0][3] += change;
        wrong[1][3] -= change;
        assert!(
            matches!(verify(&wrong), Err(Rejection::Outputs(_))),
            "{change}"
        );
    }
    let double = |ranks: &Array<f64>| ranks.iter().map(|rank| 2.0 * rank).collect();
    let doubled: Vec<Array<f64>> = outputs.iter().map(double).collect();
    assert!(matches!(verify(&doubled), Err(Rejection::Outputs(_))));
    let swapped = [outputs[0].clone(), outputs[1][1..].into()];
    assert_eq!(
        verify(&swapped),
        Err(Rejection::output(1, "has 16 ranks, expected 17"))
    );
}

#[test]
fn the_table_has_the_ten_best_vertices_and_the_array_all_ranks() {
    let outputs = [NETWORKX[..20].into(), NETWORKX[20..].into()];
    let files = PageRank::files(&karate(), common(2), Files::here(), &outputs).unwrap();
    let array = OutputFile::array("ranks.npy", &[34], NETWORKX.to_vec());
    let table = "vertex,rank\n33,0.1009191823325516\n0,0.0969972853883738\n32,0.07169322600569636\n\
                 2,0.05707850948846012\n1,0.05287692406116841\n31,0.037158087069124365\n3,0.03585985778643018\n\
                 23,0.031522514776648816\n8,0.029766056081009077\n13,0.02953645615192063\n";
    assert_eq!(files, [array, OutputFile::new("best.csv", table)]);
}

#[test]
fn an_iteration_is_a_superstep_and_the_end_one_more() {
    // All vertices lead to one: ranks are final after one iteration, and the second changes nothing.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.txt");
    let graph = graph(&path, "0 0\n1 0\n2 0\n3 0\n", 4);
    let processes = PageRank::processes(&graph, common(3), Files::here()).unwrap();
    let run = reference::run(processes, Limit::default()).unwrap();
    assert_eq!(run.supersteps, 4);
}

#[test]
fn what_is_no_graph_is_refused_by_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.txt");
    let check = |text: &str, expected: &str| {
        for processes in [1, 2, 3, 7] {
            let built =
                PageRank::processes(&graph(&path, text, 5), common(processes), Files::here());
            let error = built.err().unwrap().to_string();
            let expected = format!("`graph`: {} {expected}", path.display());
            assert_eq!(error, expected, "{processes} processes");
        }
    };
    let edge = "expected an edge: two numbers of vertices";
    check(
        "# five\n0 1\n\n1 x\n2 0\n",
        &format!("has `1 x` in line 4, {edge}"),
    );
    check(
        "0 1\n1\t2 3\r\n2 0\n",
        &format!("has `1\\t2 3` in line 2, {edge}"),
    );
    check("0 1\n-1 2\n", &format!("has `-1 2` in line 2, {edge}"));
    check(
        "0 1\n4294967296 2",
        &format!("has `4294967296 2` in line 2, {edge}"),
    );
    let range = "expected vertices from 0 to 4";
    check("0 1\n1 5\n", &format!("has vertex 5 in line 2, {range}"));
    check("0 1\n7 5\n", &format!("has vertex 7 in line 2, {range}"));
    let order = "expected edges in the order of their first vertices";
    check(
        "0 1\n# two\n3 1\n1 0\n4 4\n",
        &format!("has an edge from 1 in line 4 after one from 3, {order}"),
    );
    let long = format!("0 1\n1 {}2\n", " ".repeat(2000));
    check(
        &long,
        "has more than 1024 bytes in line 2, expected an edge or a comment",
    );
}

#[test]
fn a_missing_file_is_unread_and_its_contents_are_not() {
    let is_unread = |parameters: &Parameters| {
        let built = PageRank::processes(parameters, common(2), Files::here());
        let Err(BuildError::File(error)) = built else {
            panic!("an error of the file");
        };
        error.is_unread
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.txt");
    assert!(!is_unread(&graph(&path, "a", 2)));
    fs::remove_file(&path).unwrap();
    let absent = Parameters {
        graph: path.to_str().unwrap().to_owned(),
        ..karate()
    };
    assert!(is_unread(&absent));
    // A folder can be opened and not be read.
    let folder = Parameters {
        graph: folder.path().to_str().unwrap().to_owned(),
        ..karate()
    };
    assert!(is_unread(&folder));
}

#[test]
fn parameters_that_make_no_ranks_are_refused() {
    let refused = |parameters: Parameters| {
        let built = PageRank::processes(&parameters, common(2), Files::here());
        built.err().unwrap().to_string()
    };
    assert_eq!(
        refused(Parameters::default()),
        "invalid value `0` for `vertices`: must be at least 1, the number of vertices of the graph"
    );
    for (damping, shown) in [(1.0, "1"), (-0.1, "-0.1"), (f64::NAN, "NaN")] {
        let rule = "must be at least 0 and less than 1";
        let expected = format!("invalid value `{shown}` for `damping`: {rule}");
        let damping = Parameters {
            damping,
            ..karate()
        };
        assert_eq!(refused(damping), expected);
    }
    for (tolerance, shown) in [(0.0, "0"), (1.0, "1"), (f64::NAN, "NaN")] {
        let expected = format!("invalid value `{shown}` for `tolerance`: must be between 0 and 1");
        let tolerance = Parameters {
            tolerance,
            ..karate()
        };
        assert_eq!(refused(tolerance), expected);
    }
}

#[test]
fn a_tolerance_below_rounding_ends_the_run() {
    // Rounding keeps the ranks of a star alternating: the centre gives all it has and receives it back.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.txt");
    let star = Parameters {
        tolerance: 1e-17,
        ..graph(&path, "0 1\n0 2\n0 3\n1 0\n2 0\n3 0\n", 4)
    };
    let processes = PageRank::processes(&star, common(3), Files::here()).unwrap();
    let error = reference::run(processes, Limit::default()).unwrap_err();
    let text = format!("{error:?}");
    assert!(
        text.contains("which is rounding: choose a greater `tolerance`"),
        "{text}"
    );
}

/// `networkx.pagerank(networkx.karate_club_graph(), alpha=0.85, weight=None, tol=1e-14, max_iter=10000)`, `NetworkX` 3.6.1.
const NETWORKX: [f64; 34] = [
    0.0969972853883738,
    0.05287692406116841,
    0.05707850948846012,
    0.03585985778643018,
    0.02197795236462039,
    0.02911115467841634,
    0.02911115467841634,
    0.02449049703529437,
    0.029766056081009077,
    0.014309397129027668,
    0.02197795236462039,
    0.009564745492141206,
    0.014644892011886429,
    0.02953645615192063,
    0.01453599399791064,
    0.01453599399791064,
    0.016784005444216283,
    0.014558677209030094,
    0.01453599399791064,
    0.019604636325656354,
    0.01453599399791064,
    0.014558677209030094,
    0.01453599399791064,
    0.031522514776648816,
    0.02107603355920717,
    0.02100619739447624,
    0.01504403808271353,
    0.025639767482829985,
    0.01957345946381923,
    0.026288537695090604,
    0.024590155248570597,
    0.037158087069124365,
    0.07169322600569636,
    0.1009191823325516,
];
