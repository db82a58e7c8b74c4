//! The migrations that the papers state.

use serde::Deserialize;

use crate::reproduce::application::Application;

/// Migrations that the papers state in one breath: of one process, or of some of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    /// Of which application.
    pub(crate) application: Application,
    /// With how many processes.
    pub(crate) processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub(crate) row: u64,
    /// α.
    pub(crate) interval: u32,
    /// After how many supersteps the call was held; none: the papers do not say.
    pub(crate) call: Option<u64>,
    /// How many processes moved.
    pub(crate) count: usize,
    /// Which ones, from 1; if there are more than `count`, it is not said which of them.
    pub(crate) candidates: Vec<u32>,
    /// Where to.
    pub(crate) destination: Destination,
}

/// Where a process moved to. All migrations that the papers state went to one Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Some host of Aquario.
    Aquario,
    /// The one of this number, from 1.
    Host(u32),
}

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Line {
    app: Application,
    processes: u32,
    matrix: Option<u64>,
    alpha: u32,
    call_superstep: Option<u64>,
    process: String,
    destination: String,
}

/// All migrations that the papers state, in the order they give them.
pub(crate) fn stated() -> Vec<Stated> {
    let mut reader = csv::Reader::from_reader(CSV.as_bytes());
    let lines = reader.deserialize();
    lines
        .map(|line| Stated::new(&line.expect("the list in the binary is right")))
        .collect()
}

impl Stated {
    fn new(line: &Line) -> Self {
        let (count, candidates) = who(&line.process).expect("the list in the binary is right");
        let number = line.destination.strip_prefix('a');
        let number = number.and_then(|digits| digits.parse().ok());
        Self {
            application: line.app,
            processes: line.processes,
            // Of Lattice Boltzmann the longest runs are told.
            row: line.matrix.unwrap_or(2000),
            interval: line.alpha,
            call: line.call_superstep,
            count,
            candidates,
            destination: number.map_or(Destination::Aquario, Destination::Host),
        }
    }

    /// Who moves, for people: `p21`, or `14 of p21 to p36`.
    pub(crate) fn who(&self) -> String {
        match &self.candidates[..] {
            [process] => format!("p{process}"),
            [first, .., last] => format!("{} of p{first} to p{last}", self.count),
            [] => String::new(),
        }
    }
}

impl Destination {
    /// The host, or the Set.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Aquario => AQUARIO.to_owned(),
            Self::Host(number) => format!("{AQUARIO}-{number}"),
        }
    }
}

/// `21`, or `14of(21..36)`: how many, and of whom.
fn who(text: &str) -> Option<(usize, Vec<u32>)> {
    let Some((count, range)) = text.split_once("of(") else {
        return Some((1, vec![text.parse().ok()?]));
    };
    let (first, last) = range.strip_suffix(')')?.split_once("..")?;
    let candidates = first.parse().ok()?..=last.parse().ok()?;
    Some((count.parse().ok()?, candidates.collect()))
}

/// The Set that everybody moves to.
pub(crate) const AQUARIO: &str = "aquario";

const CSV: &str = include_str!("../../data/tables/migrations.csv");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stated_migration_is_understood() {
        let stated = stated();
        assert!(stated.iter().all(|stated| {
            let number = |process: &u32| (1..=stated.processes).contains(process);
            stated.count <= stated.candidates.len() && stated.candidates.iter().all(number)
        }));
        let total: usize = stated.iter().map(|stated| stated.count).sum();
        assert_eq!(total, 265);
        let several = stated.iter().find(|stated| 1 < stated.count).unwrap();
        assert_eq!(several.who(), "5 of p30 to p36");
        assert_eq!(several.destination.name(), "aquario");
        assert_eq!(stated[0].who(), "p21");
        assert_eq!(stated[0].destination.name(), "aquario-1");
    }
}
