//! Published values.

use rebalancing_algorithms::Group;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A row of Table 2.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Level {
    group: String,
    pub(super) dc_initial: f64,
}

/// A row of Table 3, in seconds.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Times {
    group: String,
    pub(super) total: f64,
    pub(super) imlp: f64,
    pub(super) islp: f64,
    pub(super) mlp: f64,
    pub(super) tabu: f64,
}

/// A third of a row of Table 4: one algorithm and one target.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Uniform {
    group: String,
    pub(super) target: f64,
    pub(super) algorithm: String,
    /// Percent.
    pub(super) success: f64,
    /// None where the paper has no legible value.
    pub(super) migrations: Option<f64>,
    pub(super) milliseconds: Option<f64>,
}

/// Table 2.
pub(super) fn levels() -> Vec<(Group, Level)> {
    rows(TABLE2, |row: &Level| &row.group)
}

/// Table 3.
pub(super) fn times() -> Vec<(Group, Times)> {
    rows(TABLE3, |row: &Times| &row.group)
}

/// Table 4, the three algorithms of a target one after the other.
pub(super) fn uniform() -> Vec<(Group, Uniform)> {
    rows(TABLE4, |row: &Uniform| &row.group)
}

fn rows<Row: DeserializeOwned>(text: &str, group: fn(&Row) -> &String) -> Vec<(Group, Row)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize().map(|row: Result<Row, _>| {
        let row = row.expect("the table in the binary is right");
        let group = group(&row).parse().expect("the table names groups");
        (group, row)
    });
    rows.collect()
}

const TABLE2: &str = include_str!("../../data/chen2008/table2.csv");
const TABLE3: &str = include_str!("../../data/chen2008/table3.csv");
const TABLE4: &str = include_str!("../../data/chen2008/table4.csv");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_tables_parse() {
        let groups: Vec<Group> = levels().iter().map(|(group, _)| *group).collect();
        assert_eq!(groups, Group::all().collect::<Vec<_>>());
        let groups: Vec<Group> = times().iter().map(|(group, _)| *group).collect();
        assert_eq!(groups, Group::all().skip(10).collect::<Vec<_>>());
        let uniform = uniform();
        assert_eq!(uniform.len(), 10 * 2 * 3);
        for three in uniform.chunks(3) {
            let names: Vec<&str> = three
                .iter()
                .map(|(_, row)| row.algorithm.as_str())
                .collect();
            assert_eq!(names, ["islp", "mparv", "tabu"]);
            assert!(three.iter().all(|(group, row)| {
                *group == three[0].0 && (row.target - three[0].1.target).abs() < 1e-9
            }));
        }
        let migrations = uniform.iter().filter(|(_, row)| row.migrations.is_none());
        assert_eq!(migrations.count(), 4 + 1, "four never met, one illegible");
    }
}
