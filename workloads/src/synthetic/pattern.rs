//! The partners of each process.

use std::collections::BTreeSet;

use bsp::Rank;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::draws::generator;
use crate::parameters::{Error, MisplacedKey, at_least_one};

/// Which processes send to each other in every superstep. Partners send to each other; a process is not its own partner.
///
/// Written as a table with the key `kind` (`shifts`, `grid`, `groups`, `tree` or `random`) beside those of the kind. A
/// key that does not belong to the kind is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenPattern", into = "WrittenPattern")]
pub enum Pattern {
    /// As `shifts` and `ring` say.
    #[default]
    Shifts,
    /// Processes stand on a grid, the last coordinate counting fastest, and exchange messages with the next process
    /// in both directions of every dimension.
    Grid {
        /// The number of processes along each dimension; their product is the number of processes.
        dimensions: Vec<u32>,
        /// Whether the first and the last process of a line are neighbours; by default they are not.
        torus: bool,
    },
    /// Consecutive ranks form groups, and all processes of a group send to each other.
    Groups {
        /// Processes of a group; the last one has the remainder.
        size: u32,
    },
    /// Processes form a tree with rank 0 as its root, level by level, and exchange messages with parent and children.
    Tree {
        /// Children of a process; by default 2.
        arity: u32,
    },
    /// Every process draws partners.
    Random {
        /// How many it draws, all different; others draw it as well. By default 2.
        links: u32,
        /// The seed of the draw; by default 1. The graph belongs to the program and does not depend on the run's seed.
        seed: u64,
    },
}

impl Pattern {
    /// Whether `shifts` and `ring` say it.
    #[must_use]
    pub fn is_shifts(&self) -> bool {
        *self == Self::Shifts
    }

    /// For each of `processes` processes its partners, by rank; `None`: as shifts say.
    ///
    /// # Errors
    ///
    /// If a number is zero or greater than the number of processes allows, or the dimensions of a grid do not fit it.
    pub(super) fn partners(&self, processes: u32) -> Result<Option<Vec<Box<[Rank]>>>, Error> {
        let of: Box<dyn Fn(u32) -> Vec<u32>> = match self {
            Self::Shifts => return Ok(None),
            Self::Grid { dimensions, torus } => {
                check_dimensions(dimensions, processes)?;
                Box::new(move |rank| grid_neighbours(dimensions, *torus, rank))
            }
            &Self::Groups { size } => {
                at_least_one("pattern.size", u64::from(size))?;
                Box::new(move |rank| {
                    let first = rank / size * size;
                    let end = first.saturating_add(size).min(processes);
                    (first..end).filter(|other| *other != rank).collect()
                })
            }
            &Self::Tree { arity } => {
                at_least_one("pattern.arity", u64::from(arity))?;
                Box::new(move |rank| relatives(arity, rank, processes))
            }
            Self::Random { links, seed } => {
                let graph = random(*links, *seed, processes)?;
                Box::new(move |rank| graph[Rank(rank).index()].iter().copied().collect())
            }
        };
        let partners = (0..processes).map(|rank| of(rank).into_iter().map(Rank).collect());
        Ok(Some(partners.collect()))
    }
}

/// That a grid of `dimensions` has a place for each process, and no other.
fn check_dimensions(dimensions: &[u32], processes: u32) -> Result<(), Error> {
    let places = dimensions
        .iter()
        .try_fold(1_u64, |product, size| product.checked_mul(u64::from(*size)));
    if dimensions.is_empty() || places != Some(u64::from(processes)) {
        let dimensions = dimensions.to_vec();
        return Err(Error::Grid {
            dimensions,
            processes,
        });
    }
    Ok(())
}

/// The neighbours of `rank` on a grid, each once, in ascending order.
fn grid_neighbours(dimensions: &[u32], torus: bool, rank: u32) -> Vec<u32> {
    let mut neighbours = BTreeSet::new();
    let mut stride = 1;
    for &size in dimensions.iter().rev() {
        let coordinate = rank / stride % size;
        let base = rank - coordinate * stride;
        let before = match coordinate {
            0 => torus.then(|| size - 1),
            _ => Some(coordinate - 1),
        };
        let after = match coordinate + 1 {
            after if after == size => torus.then_some(0),
            after => Some(after),
        };
        let others = before.into_iter().chain(after);
        neighbours.extend(others.map(|coordinate| base + coordinate * stride));
        stride *= size;
    }
    neighbours.remove(&rank);
    neighbours.into_iter().collect()
}

/// Parent and children of `rank`.
fn relatives(arity: u32, rank: u32, processes: u32) -> Vec<u32> {
    let parent = rank.checked_sub(1).map(|before| before / arity);
    let first = u64::from(rank) * u64::from(arity) + 1;
    let children = first..first + u64::from(arity);
    let children = children.map_while(|child| u32::try_from(child).ok());
    let children = children.take_while(|child| *child < processes);
    parent.into_iter().chain(children).collect()
}

/// A graph in which every process has drawn `links` others.
fn random(links: u32, seed: u64, processes: u32) -> Result<Vec<BTreeSet<u32>>, Error> {
    at_least_one("pattern.links", u64::from(links))?;
    let others = processes.saturating_sub(1);
    if others < links {
        return Err(Error::MoreThan {
            key: "pattern.links",
            value: u64::from(links),
            of: "processes - 1",
            most: u64::from(others),
        });
    }
    let mut graph: Vec<BTreeSet<u32>> = (0..processes).map(|_| BTreeSet::new()).collect();
    for rank in 0..processes {
        let mut stream = generator(seed, PURPOSE, rank);
        let mut drawn = BTreeSet::new();
        for last in others - links..others {
            // Floyd's sampling: every subset of this size is equally probable, and every draw adds one number.
            let bound = u64::from(last) + 1;
            let number = u32::try_from(stream.next_u64() % bound).unwrap_or(last);
            if !drawn.insert(number) {
                drawn.insert(last);
            }
        }
        for number in drawn {
            // The numbers leave out the process itself.
            let other = if number < rank { number } else { number + 1 };
            graph[Rank(rank).index()].insert(other);
            graph[Rank(other).index()].insert(rank);
        }
    }
    Ok(graph)
}

const PURPOSE: &[u8; 24] = b"workloads::synth::random";

/// The table as it is written: flat, and with gaps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenPattern {
    kind: PatternKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PatternKind {
    #[default]
    Shifts,
    Grid,
    Groups,
    Tree,
    Random,
}

impl PatternKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Shifts => "shifts",
            Self::Grid => "grid",
            Self::Groups => "groups",
            Self::Tree => "tree",
            Self::Random => "random",
        }
    }

    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Shifts => &[],
            Self::Grid => &["dimensions", "torus"],
            Self::Groups => &["size"],
            Self::Tree => &["arity"],
            Self::Random => &["links", "seed"],
        }
    }
}

impl TryFrom<WrittenPattern> for Pattern {
    type Error = MisplacedKey;

    /// Fills gaps with the defaults of the kind, if that takes all keys that are written.
    fn try_from(written: WrittenPattern) -> Result<Self, MisplacedKey> {
        let keys = [
            ("dimensions", written.dimensions.is_some()),
            ("torus", written.torus.is_some()),
            ("size", written.size.is_some()),
            ("arity", written.arity.is_some()),
            ("links", written.links.is_some()),
            ("seed", written.seed.is_some()),
        ];
        MisplacedKey::check(written.kind.name(), written.kind.keys(), &keys)?;
        Ok(match written.kind {
            PatternKind::Shifts => Self::Shifts,
            PatternKind::Grid => Self::Grid {
                dimensions: written.dimensions.unwrap_or_default(),
                torus: written.torus.unwrap_or(false),
            },
            PatternKind::Groups => Self::Groups {
                size: written.size.unwrap_or(4),
            },
            PatternKind::Tree => Self::Tree {
                arity: written.arity.unwrap_or(2),
            },
            PatternKind::Random => Self::Random {
                links: written.links.unwrap_or(2),
                seed: written.seed.unwrap_or(1),
            },
        })
    }
}

impl From<Pattern> for WrittenPattern {
    fn from(pattern: Pattern) -> Self {
        let of = |kind| Self {
            kind,
            ..Self::default()
        };
        match pattern {
            Pattern::Shifts => of(PatternKind::Shifts),
            Pattern::Grid { dimensions, torus } => Self {
                dimensions: Some(dimensions),
                torus: Some(torus),
                ..of(PatternKind::Grid)
            },
            Pattern::Groups { size } => Self {
                size: Some(size),
                ..of(PatternKind::Groups)
            },
            Pattern::Tree { arity } => Self {
                arity: Some(arity),
                ..of(PatternKind::Tree)
            },
            Pattern::Random { links, seed } => Self {
                links: Some(links),
                seed: Some(seed),
                ..of(PatternKind::Random)
            },
        }
    }
}

#[cfg(test)]
mod tests;
