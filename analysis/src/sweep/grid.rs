//! The combinations of a sweep: experiments × values of every parameter × seeds.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use settings::Node;

use crate::compare::{Variant, stem};
use crate::sweep::parameter::{Parameter, shown};
use crate::sweep::shard::Shard;

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
}
