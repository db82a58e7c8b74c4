//! The number of runs that a sweep may have.

use experiments::Failure;

use crate::sweep::grid::Grid;

/// Checks that a sweep of `policies` policies, or the shard of it, has at most `most` runs, of experiments that all draw.
///
/// # Errors
///
/// If it has more.
pub fn check_runs(grid: &Grid, policies: usize, most: u64) -> Result<(), Failure> {
    let runs = grid.pairs().saturating_mul(policies as u128);
    if runs <= u128::from(most) {
        return Ok(());
    }
    let what = match grid.shard {
        Some(shard) => format!("shard {shard}"),
        None => "the sweep".to_owned(),
    };
    let shards = {
        let all = grid.shard.map_or(1, |shard| u128::from(shard.of()));
        runs.saturating_mul(all).div_ceil(u128::from(most.max(1)))
    };
    Err(Failure::Usage(format!(
        "{what} has {runs} runs ({}), more than {most}\n  \
         help: fewer values, `--max-runs {runs}` to allow them, or `--shard 1/{shards}` and so on to split them",
        factors(grid, policies)
    )))
}

/// `3 × 4 combinations, 2 policies, 5 seeds`.
pub(super) fn factors(grid: &Grid, policies: usize) -> String {
    let varying = grid
        .varying()
        .map(|(_, parameter)| parameter.values().len());
    let files = Some(grid.experiments.len()).filter(|files| 1 < *files);
    let counts: Vec<String> = files
        .into_iter()
        .chain(varying)
        .map(|count| count.to_string())
        .collect();
    let counts = if counts.is_empty() {
        "1".to_owned()
    } else {
        counts.join(" × ")
    };
    let plural = |count: usize, one: &str, many: &str| {
        let name = if count == 1 { one } else { many };
        format!("{count} {name}")
    };
    let combinations = if counts == "1" {
        "combination"
    } else {
        "combinations"
    };
    format!(
        "{counts} {combinations}, {}, {}",
        plural(policies, "policy", "policies"),
        plural(grid.seeds.len(), "seed", "seeds")
    )
}

/// Maximum number of runs that are allowed without a word of the user.
pub const RUNS_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::grid::tests::grid;

    #[test]
    fn too_many_runs_are_refused_with_their_number_and_ways_out() {
        let set = ["a.x=1..1000", "a.y=1..1000", "a.z=1..500"];
        let mut grid = grid(&["a.toml"], &set, 1);
        let problem = check_runs(&grid, 2, RUNS_MAX).unwrap_err().to_string();
        for words in [
            "the sweep has 1000000000 runs (1000 × 1000 × 500 combinations, 2 policies, 1 seed)",
            "more than 100000",
            "`--max-runs 1000000000`",
            "`--shard 1/10000`",
        ] {
            assert!(problem.contains(words), "{words}: {problem}");
        }
        assert!(check_runs(&grid, 2, 1_000_000_000).is_ok());
        grid.shard = Some("3/10000".parse().unwrap());
        assert!(check_runs(&grid, 2, RUNS_MAX).is_ok());
        grid.shard = Some("3/5000".parse().unwrap());
        let problem = check_runs(&grid, 2, RUNS_MAX).unwrap_err().to_string();
        assert!(
            problem.contains("shard 3/5000 has 200000 runs"),
            "{problem}"
        );
        assert!(problem.contains("`--shard 1/10000`"), "{problem}");
    }

    #[test]
    fn factors_are_files_values_policies_and_seeds() {
        let one = grid(&["a.toml"], &["a.x=1"], 1);
        assert_eq!(factors(&one, 1), "1 combination, 1 policy, 1 seed");
        let more = grid(&["a.toml", "b.toml"], &["a.x=1,2,3", "a.y=1"], 5);
        assert_eq!(factors(&more, 2), "2 × 3 combinations, 2 policies, 5 seeds");
    }
}
