//! The published migrations.

use serde::Deserialize;

use crate::application::Application;

/// Migrations of one published statement: of one process, or of some of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The application.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α.
    pub interval: u32,
    /// Number of supersteps before the call; none: not published.
    pub call: Option<u64>,
    /// Number of processes that moved.
    pub count: usize,
    /// The processes, from 1; if there are more than `count`, the papers do not say which of them.
    pub candidates: Vec<u32>,
    /// The target.
    pub destination: Destination,
}

/// Target of a migration. All published migrations went to one Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Some host of Aquario.
    Aquario,
    /// The host of this number, from 1.
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

/// All published migrations, in the order of the papers.
pub(super) fn stated() -> Vec<Stated> {
    let mut reader = csv::Reader::from_reader(CSV.as_bytes());
    let lines = reader.deserialize();
    lines
        .map(|line| Stated::new(&line.expect("the list in the binary is right")))
        .collect()
}

impl Stated {
    fn new(line: &Line) -> Self {
        let (count, candidates) =
            processes(&line.process).expect("the list in the binary is right");
        let number = line.destination.strip_prefix('a');
        let number = number.and_then(|digits| digits.parse().ok());
        Self {
            application: line.app,
            processes: line.processes,
            // For Lattice Boltzmann, the longest runs are described.
            row: line.matrix.unwrap_or(2000),
            interval: line.alpha,
            call: line.call_superstep,
            count,
            candidates,
            destination: number.map_or(Destination::Aquario, Destination::Host),
        }
    }

    /// The processes, as text: `p21`, or `14 of p21 to p36`.
    pub fn processes(&self) -> String {
        match &self.candidates[..] {
            [process] => format!("p{process}"),
            [first, .., last] => format!("{} of p{first} to p{last}", self.count),
            [] => String::new(),
        }
    }
}

impl Destination {
    /// The host, or the Set.
    pub fn name(self) -> String {
        match self {
            Self::Aquario => AQUARIO.to_owned(),
            Self::Host(number) => format!("{AQUARIO}-{number}"),
        }
    }
}

/// `21`, or `14of(21..36)`: number and candidates.
fn processes(text: &str) -> Option<(usize, Vec<u32>)> {
    let Some((count, range)) = text.split_once("of(") else {
        return Some((1, vec![text.parse().ok()?]));
    };
    let (first, last) = range.strip_suffix(')')?.split_once("..")?;
    let candidates = first.parse().ok()?..=last.parse().ok()?;
    Some((count.parse().ok()?, candidates.collect()))
}

/// The Set of all targets.
pub(super) const AQUARIO: &str = "aquario";

const CSV: &str = include_str!("../data/tables/migrations.csv");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_migration_parses() {
        let stated = stated();
        assert!(stated.iter().all(|stated| {
            let number = |process: &u32| (1..=stated.processes).contains(process);
            stated.count <= stated.candidates.len() && stated.candidates.iter().all(number)
        }));
        let total: usize = stated.iter().map(|stated| stated.count).sum();
        assert_eq!(total, 265);
        let several = stated.iter().find(|stated| 1 < stated.count).unwrap();
        assert_eq!(several.processes(), "5 of p30 to p36");
        assert_eq!(several.destination.name(), "aquario");
        assert_eq!(stated[0].processes(), "p21");
        assert_eq!(stated[0].destination.name(), "aquario-1");
    }
}
