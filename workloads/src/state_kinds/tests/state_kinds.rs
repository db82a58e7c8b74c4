//! Tests of all kinds: moved or not, results are equal, and sizes are as wanted.

use super::super::*;

const KINDS: [Kind; 4] = [Kind::Linpack, Kind::Bitonic, Kind::Gzip, Kind::Xlintims];

fn parameters(kind: Kind) -> Parameters {
    Parameters {
        kind,
        state: [2e3, 3e4],
        instructions: 2e5,
    }
}

fn common(supersteps: u64) -> Common {
    Common {
        processes: 2,
        supersteps: Some(supersteps),
        seed: 3,
    }
}

#[test]
fn every_kind_solves_the_same_problems_moved_or_not() {
    for kind in KINDS {
        let build = || processes(&parameters(kind), common(30)).unwrap();
        let checked = bsp::testing::check(build);
        let [one, other] = checked.run.outputs[..] else {
            panic!("two processes")
        };
        assert!(0 < one.problems && 0 < other.problems, "{kind:?}: {one:?}");
        assert_ne!(one.digest, other.digest, "each has problems of its own");
    }
}

#[test]
fn states_are_as_large_as_wanted() {
    for (kind, least, most) in [
        (Kind::Linpack, 1e5, 1e6),
        (Kind::Bitonic, 9e4, 1e6),
        (Kind::Xlintims, 4e3, 1e6),
    ] {
        let parameters = Parameters {
            kind,
            state: [1e5, 1e6],
            ..Parameters::default()
        };
        for process in processes(&parameters, common(1)).unwrap() {
            let bytes = process.memory().unwrap().total().as_f64();
            assert!(
                (least..most * 1.1 + 1e3).contains(&bytes),
                "{kind:?}: {bytes}"
            );
        }
    }
}

#[test]
fn supersteps_have_about_the_work_that_is_wanted() {
    for kind in KINDS {
        let processes = processes(&parameters(kind), common(50)).unwrap();
        let run = bsp::reference::run(processes, bsp::reference::Limit::default()).unwrap();
        let each = run.work.as_f64() / (2.0 * 50.0);
        assert!((2e5..4e5).contains(&each), "{kind:?}: {each}");
    }
}

#[test]
fn errors_name_the_parameter() {
    let check = |text: &str, expected: &str| {
        let parameters: Parameters = toml::from_str(text).unwrap();
        let error = processes(&parameters, common(1)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        "state = [0, 1e6]",
        "invalid value `0.0` for `state[0]`: must be a number from 1 kB to 64 GB",
    );
    check(
        "state = [1e6, 1e5]",
        "invalid value `100000.0` for `state[1]`: must be a number from the first one to 64 GB",
    );
    check(
        "state = [1e6, 1e15]",
        "invalid value `1000000000000000.0` for `state[1]`: must be a number from the first one to 64 GB",
    );
    check(
        "state = [nan, 1e6]",
        "invalid value `NaN` for `state[0]`: must be a number from 1 kB to 64 GB",
    );
    let unknown = toml::from_str::<Parameters>("kind = \"linpak\"").unwrap_err();
    assert!(unknown.to_string().contains("unknown variant `linpak`"));
}

#[test]
fn a_problem_that_is_not_solved_counts_in_the_digest() {
    let digest = |supersteps| {
        let large = Parameters {
            state: [1e6, 1e6],
            ..parameters(Kind::Linpack)
        };
        let processes = processes(&large, common(supersteps)).unwrap();
        let run = bsp::reference::run(processes, bsp::reference::Limit::default()).unwrap();
        assert_eq!(run.outputs[0].problems, 0);
        run.outputs[0].digest
    };
    assert_ne!(digest(1), digest(2));
}
