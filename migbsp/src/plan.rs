//! Which processes move where, for policies that name processors.

mod bonorden_central;
mod bonorden_distributed;
mod greedy_refine;
mod list;
mod portfolio;
mod rebalanced;
mod search;
mod trim;

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::{Mapping, Scene};

pub use bonorden_central::BonordenCentral;
pub use bonorden_distributed::BonordenDistributed;
pub use greedy_refine::GreedyRefine;
pub use list::List;
pub use portfolio::Portfolio;
pub use rebalanced::Rebalanced;

/// Says where every process had better run.
///
/// The first Set Manager holds one and orders what it says; MigBSP's own way, in which Managers negotiate a
/// list of candidates ([`select`](crate::select), [`Processors`](crate::Processors)), is no such plan.
///
/// # Laws
///
/// A draft keeps every process exactly once. The same scenes in the same order give the same drafts.
pub trait Plan: fmt::Debug + Send {
    /// Where every process of `scene` had better run.
    fn draft(&mut self, scene: &Scene) -> Draft;
}

/// A plan that nobody has agreed to yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Where each process runs, by process of the scene; a number of a host.
    pub places: Vec<usize>,
    /// What was compared; the one chosen is among them if there is more than one.
    pub alternatives: Vec<Alternative>,
}

/// A plan that was thought of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// What made it.
    pub name: String,
    /// How long a superstep would take.
    pub superstep: Seconds,
    /// What its moves would cost.
    pub cost: Seconds,
    /// How many processes would move.
    pub moves: u32,
}

impl Draft {
    /// The only plan that was thought of, under the name of what made it.
    #[must_use]
    pub fn only(name: &str, scene: &Scene, places: Vec<usize>) -> Self {
        let alternatives = vec![Alternative::new(name, scene, &places)];
        Self {
            places,
            alternatives,
        }
    }
}

impl Alternative {
    /// What `places` would take and cost.
    ///
    /// # Panics
    ///
    /// If there are 2³² processes or more.
    #[must_use]
    pub fn new(name: &str, scene: &Scene, places: &[usize]) -> Self {
        let both = scene.places().iter().zip(places);
        let moves = both.filter(|(from, to)| from != to).count();
        Self {
            name: name.to_owned(),
            superstep: Mapping::new(scene, places).superstep(),
            cost: scene.cost(places),
            moves: u32::try_from(moves).expect("ranks fit 32 bits"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
