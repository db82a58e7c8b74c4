//! The combinations of a sweep: experiments × values of every parameter × seeds.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use experiments::Failure;
use serde::{Deserialize, Serialize};
use settings::Node;

use crate::compare::{Variant, stem};
use crate::sweep::parameter::{Parameter, shown};

/// What a sweep goes through, or a shard of it.
///
/// Invariant: at least one experiment and one seed, no duplicates, no parameter inside another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The experiments, as they were named.
    pub experiments: Vec<String>,
    /// The parameters, the one that varies slowest first.
    pub parameters: Vec<Parameter>,
    /// The seeds of experiments that draw; others have the first one.
    pub seeds: Vec<u64>,
    /// The part of it; `None`: all.
    pub shard: Option<Shard>,
}

/// A combination: an experiment with a value of every parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Place of the experiment in the grid.
    pub experiment: usize,
    /// Place of the value of each parameter.
    pub choice: Vec<usize>,
    /// Its name in results: the experiment, and the values of parameters that vary.
    pub name: String,
    /// Its name in charts.
    pub label: String,
    /// The seeds that it has in this shard.
    pub seeds: Vec<u64>,
}

impl Grid {
    /// Checks that no parameter has two lists of values.
    ///
    /// # Errors
    ///
    /// If a key is given twice, or is inside another one.
    pub fn check(&self) -> Result<(), String> {
        let keys: Vec<&str> = self.parameters.iter().map(Parameter::key).collect();
        for (place, key) in keys.iter().enumerate() {
            for first in &keys[..place] {
                if first == key {
                    return Err(format!(
                        "--set {key} is given twice; one list has all values, as --set {key}=2,4,8"
                    ));
                }
                let is_inside = |inner: &str, outer: &str| inner.starts_with(&format!("{outer}."));
                if is_inside(key, first) || is_inside(first, key) {
                    return Err(format!("--set {key} and --set {first} set the same values"));
                }
            }
        }
        Ok(())
    }

    /// The number of combinations of all shards.
    pub fn combinations(&self) -> u128 {
        let values = self
            .parameters
            .iter()
            .map(|parameter| parameter.values().len());
        product(values.chain([self.experiments.len()]))
    }

    /// The number of pairs of a combination and a seed that this shard has: the runs of a policy, if all experiments
    /// draw.
    pub fn pairs(&self) -> u128 {
        let all = self.all_pairs();
        self.shard.map_or(all, |shard| shard.count(all))
    }

    fn all_pairs(&self) -> u128 {
        self.combinations().saturating_mul(self.seeds.len() as u128)
    }

    /// The combinations of this shard with their seeds, in the order of experiments and values: that of the last
    /// parameter changes from one to the next.
    pub fn points(&self) -> Vec<Point> {
        let all = self.all_pairs();
        let whole = Shard::WHOLE;
        let seeds = self.seeds.len() as u128;
        let mut points: Vec<(u128, Point)> = Vec::new();
        for pair in self.shard.unwrap_or(whole).items(all) {
            let (number, seed) = (pair / seeds, pair % seeds);
            let seed = self.seeds[usize::try_from(seed).unwrap_or(0)];
            match points.last_mut() {
                Some((last, point)) if *last == number => point.seeds.push(seed),
                _ => points.push((number, self.point(number, seed))),
            }
        }
        points.into_iter().map(|(_, point)| point).collect()
    }

    /// The first combination with the experiment at this place, of all shards.
    pub(super) fn first(&self, experiment: usize) -> Point {
        let values = self.combinations() / self.experiments.len() as u128;
        self.point(experiment as u128 * values, self.seeds[0])
    }

    /// The combination of this number, with a seed.
    fn point(&self, number: u128, seed: u64) -> Point {
        let (mut rest, mut choice) = (number, Vec::new());
        for parameter in self.parameters.iter().rev() {
            let count = parameter.values().len() as u128;
            choice.push(usize::try_from(rest % count).unwrap_or(0));
            rest /= count;
        }
        choice.reverse();
        let experiment = usize::try_from(rest).unwrap_or(0);
        let values = |key: fn(&Self, &Parameter) -> String| -> Vec<String> {
            let varying = self.parameters.iter().zip(&choice);
            let varying = varying.filter(|(parameter, _)| parameter.varies());
            varying
                .map(|(parameter, place)| {
                    let value = shown(&parameter.values()[*place]);
                    format!("{}={value}", key(self, parameter))
                })
                .collect()
        };
        let (long, short) = (values(|_, of| of.key().to_owned()), values(Self::short_key));
        let file = &self.experiments[experiment];
        let stem = (1 < self.experiments.len() || long.is_empty()).then(|| stem(Path::new(file)));
        let joined = |first: Option<String>, values: Vec<String>| {
            first
                .into_iter()
                .chain(values)
                .collect::<Vec<String>>()
                .join(" ")
        };
        Point {
            experiment,
            name: joined(Some(file.clone()), long),
            label: joined(stem, short),
            choice,
            seeds: vec![seed],
        }
    }

    /// The last part of the key of `parameter`, or all of it if another parameter that varies has this part, too.
    fn short_key(&self, parameter: &Parameter) -> String {
        let last = |parameter: &Parameter| {
            let key = parameter.key();
            key.rsplit('.').next().unwrap_or(key).to_owned()
        };
        let short = last(parameter);
        let same = self
            .varying()
            .filter(|(_, other)| last(other) == short)
            .count();
        if same == 1 {
            short
        } else {
            parameter.key().to_owned()
        }
    }

    /// The values of `point`, one for each parameter.
    pub fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = &'a Node> {
        let chosen = self.parameters.iter().zip(&point.choice);
        chosen.map(|(parameter, place)| &parameter.values()[*place])
    }

    /// `point` as an experiment of a comparison.
    pub fn variant(&self, point: &Point) -> Variant {
        let chosen = self.parameters.iter().zip(&point.choice);
        Variant {
            file: PathBuf::from(&self.experiments[point.experiment]),
            name: point.name.clone(),
            label: point.label.clone(),
            set: chosen
                .map(|(parameter, place)| parameter.assignment(*place))
                .collect(),
        }
    }

    /// The parameters with several values, with their places.
    pub fn varying(&self) -> impl Iterator<Item = (usize, &Parameter)> {
        let numbered = self.parameters.iter().enumerate();
        numbered.filter(|(_, parameter)| parameter.varies())
    }
}

/// The product, or the greatest number if it is above that.
fn product(numbers: impl IntoIterator<Item = usize>) -> u128 {
    let numbers = numbers.into_iter();
    numbers.fold(1, |product: u128, number| {
        product.saturating_mul(number as u128)
    })
}

/// One of several parts of a sweep.
///
/// Invariant: `1 <= number <= of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// All of a sweep, as one part.
    pub(super) const WHOLE: Self = Self { number: 1, of: 1 };

    /// Which part it is, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many parts there are.
    pub fn of(self) -> u64 {
        self.of
    }

    /// The number of items that it has of `all`.
    pub(super) fn count(self, all: u128) -> u128 {
        let rounds = all / u128::from(self.of);
        rounds + u128::from(self.item(rounds) < all)
    }

    /// The items that it has of `all`, in ascending order.
    ///
    /// Every round deals an item to each shard, and begins with another shard than the round before: where the number
    /// of values is a multiple of the number of shards, no shard has all items with the longest runs.
    pub(super) fn items(self, all: u128) -> impl Iterator<Item = u128> {
        (0..self.count(all)).map(move |round| self.item(round))
    }

    /// The item that it has of `round`.
    fn item(self, round: u128) -> u128 {
        let (number, of) = (u128::from(self.number), u128::from(self.of));
        round * of + (number - 1 + of - round % of) % of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("must be NUMBER/COUNT, as 2/4, not `{text}`");
        let (number, of) = text.split_once('/').ok_or_else(malformed)?;
        let read = |text: &str| text.trim().parse::<u64>().map_err(|_| malformed());
        let (number, of) = (read(number)?, read(of)?);
        if of == 0 {
            return Err(format!("`{text}`: there is at least one shard, 1/1"));
        }
        if !(1..=of).contains(&number) {
            return Err(format!(
                "`{text}`: shards have the numbers 1/{of} to {of}/{of}"
            ));
        }
        Ok(Self { number, of })
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

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
pub(super) mod tests {
    use super::*;

    pub(crate) fn grid(experiments: &[&str], set: &[&str], seeds: u64) -> Grid {
        Grid {
            experiments: experiments.iter().map(|name| (*name).to_owned()).collect(),
            parameters: set.iter().map(|text| text.parse().unwrap()).collect(),
            seeds: (1..=seeds).collect(),
            shard: None,
        }
    }

    #[test]
    fn combinations_go_through_the_last_parameter_first() {
        let grid = grid(
            &["x/a.toml", "b.toml"],
            &["a.x=1,2", "a.y=7", "a.z=5 s,t"],
            2,
        );
        assert_eq!((grid.combinations(), grid.pairs()), (8, 16));
        let points = grid.points();
        let names: Vec<&str> = points.iter().map(|point| &*point.name).collect();
        let first = [
            "a.x=1 a.z=\"5 s\"",
            "a.x=1 a.z=t",
            "a.x=2 a.z=\"5 s\"",
            "a.x=2 a.z=t",
        ];
        for (place, values) in first.iter().enumerate() {
            assert_eq!(names[place], format!("x/a.toml {values}"));
            assert_eq!(names[4 + place], format!("b.toml {values}"));
        }
        assert!(points.iter().all(|point| point.seeds == [1, 2]));
        assert_eq!(points[5].label, "b x=1 z=t");
        assert_eq!(
            (&*grid.first(0).name, &*grid.first(1).name),
            (names[0], names[4])
        );
        let variant = grid.variant(&points[1]);
        assert_eq!(variant.set, ["a.x=1", "a.y=7", "a.z=\"t\""]);
        assert_eq!(variant.file, Path::new("x/a.toml"));
    }

    #[test]
    fn labels_have_the_last_part_of_a_key_if_that_is_enough() {
        let points = grid(&["a.toml"], &["a.x=1,2", "b.x=1,2", "c.y=1,2"], 1).points();
        assert_eq!(points[0].label, "a.x=1 b.x=1 y=1");
    }

    #[test]
    fn a_grid_without_values_has_its_experiments() {
        let points = grid(&["x/a.toml"], &[], 1).points();
        assert_eq!(points.len(), 1);
        assert_eq!((&*points[0].name, &*points[0].label), ("x/a.toml", "a"));
    }

    #[test]
    fn shards_have_all_pairs_of_a_combination_and_a_seed_together() {
        let whole = grid(&["a.toml"], &["a.x=1,2,3", "a.y=1..4"], 5);
        let all = whole.points();
        assert_eq!(all.len(), 12);
        let mut found = std::collections::BTreeSet::new();
        for number in 1..=4 {
            let shard = Some(format!("{number}/4").parse().unwrap());
            let part = Grid {
                shard,
                ..whole.clone()
            };
            assert_eq!(part.pairs(), 15);
            for point in part.points() {
                assert!(all.iter().any(|whole| whole.choice == point.choice));
                for seed in point.seeds {
                    assert!(found.insert((point.name.clone(), seed)));
                }
            }
        }
        assert_eq!(found.len(), 60);
    }

    #[test]
    fn a_part_of_a_huge_grid_is_found_quickly() {
        let set = ["a.x=1..100000", "a.y=1..100000"];
        let mut grid = grid(&["a.toml"], &set, 1);
        assert_eq!(grid.combinations(), 10_000_000_000);
        grid.shard = Some("7/5000000000".parse().unwrap());
        let names: Vec<String> = grid.points().into_iter().map(|point| point.name).collect();
        assert_eq!(names, ["a.toml a.x=1 a.y=7", "a.toml a.x=50001 a.y=6"]);
        let endless = vec!["a.x=1..100000"; 9];
        assert_eq!(self::grid(&["a.toml"], &endless, 1).pairs(), u128::MAX);
    }

    #[test]
    fn a_key_has_one_list() {
        let fault = |set: &[&str]| grid(&["a.toml"], set, 1).check().unwrap_err();
        assert!(fault(&["a.x=1", "a.y=2", "a.x=3"]).starts_with("--set a.x is given twice"));
        let nested = "--set a.x.y and --set a.x set the same values";
        assert_eq!(fault(&["a.x={y=1}", "a.x.y=3"]), nested);
        assert_eq!(grid(&["a.toml"], &["a.x=1", "a.xy=3"], 1).check(), Ok(()));
    }

    fn shards(of: u64) -> Vec<Shard> {
        (1..=of).map(|number| Shard { number, of }).collect()
    }

    #[test]
    fn every_item_is_in_one_shard() {
        for of in 1..9 {
            for all in 0..40_u128 {
                let mut found: Vec<u128> = Vec::new();
                for shard in shards(of) {
                    let items: Vec<u128> = shard.items(all).collect();
                    assert!(items.is_sorted());
                    assert_eq!(items.len() as u128, shard.count(all), "{shard} of {all}");
                    assert!(items.len() as u128 <= all.div_ceil(u128::from(of)));
                    found.extend(items);
                }
                found.sort_unstable();
                assert_eq!(found, (0..all).collect::<Vec<u128>>());
            }
        }
    }

    #[test]
    fn no_shard_has_all_items_of_a_value() {
        // Four values of the parameter that varies fastest, and four shards.
        for shard in shards(4) {
            let mut values: Vec<u128> = shard.items(16).map(|item| item % 4).collect();
            values.sort_unstable();
            assert_eq!(values, [0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_shard_is_found_without_a_look_at_all_items() {
        let shard: Shard = "3/1000000000".parse().unwrap();
        assert_eq!(
            shard.items(2_000_000_000).collect::<Vec<_>>(),
            [2, 1_000_000_001]
        );
        assert_eq!(
            (shard.count(2_000_000_000), shard.count(2_000_000_001)),
            (2, 3)
        );
    }

    #[test]
    fn malformed_shards_are_refused() {
        let fault = |text: &str| text.parse::<Shard>().unwrap_err();
        for text in ["", "1", "x/4", "1/x", "1/4/4", "-1/4", "1.5/4"] {
            assert!(
                fault(text).starts_with("must be NUMBER/COUNT, as 2/4"),
                "{text}"
            );
        }
        for text in ["0/4", "5/4"] {
            let rule = format!("`{text}`: shards have the numbers 1/4 to 4/4");
            assert_eq!(fault(text), rule);
        }
        assert!(fault("0/0").contains("at least one shard"));
        assert_eq!(serde_json::to_string(&shards(2)[1]).unwrap(), "\"2/2\"");
    }

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
