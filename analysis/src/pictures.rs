//! Pictures of a run, each with the data that it shows.

mod hosts;
mod notes;
mod sets;
mod supersteps;
mod timeline;
mod views;

use bsp::{HostId, SetId};

use crate::chart::Mark;
use crate::document::Table;
use crate::run::RunModel;

pub(crate) use hosts::{hosts, load};
pub(crate) use notes::notes;
pub(crate) use sets::sets;
pub(crate) use supersteps::{breakdown, compared, supersteps};
pub(crate) use timeline::{timeline, timeline_with_supersteps};
pub(crate) use views::JobViews;

/// A picture and its data.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// As SVG.
    pub(crate) svg: String,
    /// The data. Where columns are `from` and `to`, a row is about the supersteps from the one to before the other.
    pub(crate) table: Table,
}

/// Whether supersteps are drawn over a logarithmic axis: all moves are in the first tenth of a long run.
fn is_early(model: &RunModel) -> bool {
    let last = model.placement.moves().last();
    is_at_start(
        model.end_superstep() - model.first(),
        last.map(|last| last.superstep - model.first()),
    )
}

/// Whether the last move, after this number of supersteps, is in the first tenth of a run of `length`, which is long.
fn is_at_start(length: u64, last_move: Option<u64>) -> bool {
    last_move.is_some_and(|last| 100 <= length && last <= length / 10)
}

/// Name and version of the form of all tables.
pub(crate) const SCHEMA: &str = "migbsp.report/1";

/// The colour of every Set: the same in all runs of a platform with few Sets. If more Sets have processes than there are colours,
/// the others share the last one.
#[derive(Clone, Debug)]
struct SetColours {
    /// Sets with a colour of their own.
    own: Vec<SetId>,
    /// The Sets that have processes.
    used: Vec<SetId>,
    /// Whether there are others.
    has_others: bool,
}

impl SetColours {
    /// The colours of the Sets that have processes.
    fn new(model: &RunModel) -> Self {
        let start = model.sets.counts(model.placement.start());
        let now = model.sets.counts(model.placement.now());
        let mut numbers: Vec<u64> = start
            .iter()
            .zip(now)
            .map(|(start, now)| start + now)
            .collect();
        for moved in model.placement.moves() {
            if let Some(set) = model.sets.of(moved.to) {
                numbers[set.index()] += 1;
            }
        }
        let mut used: Vec<SetId> = model
            .sets
            .ids()
            .filter(|set| 0 < numbers[set.index()])
            .collect();
        if model.sets.len() <= COLOURS {
            return Self {
                own: model.sets.ids().collect(),
                used,
                has_others: false,
            };
        }
        let has_others = COLOURS < used.len();
        if has_others {
            used.sort_by_key(|set| std::cmp::Reverse(numbers[set.index()]));
            used.truncate(COLOURS - 1);
            used.sort_unstable();
        }
        Self {
            own: used.clone(),
            used,
            has_others,
        }
    }

    /// Number of the colour of a Set.
    fn of(&self, set: Option<SetId>) -> usize {
        let own = set.and_then(|set| self.own.binary_search(&set).ok());
        own.unwrap_or(COLOURS - 1)
    }

    /// Number of the colour of the Set of a host.
    fn of_host(&self, model: &RunModel, host: HostId) -> usize {
        self.of(model.sets.of(host))
    }

    /// The legend.
    fn legend(&self, model: &RunModel) -> Vec<(String, Mark, usize)> {
        let named = self.used.iter().map(|set| {
            let name = model.sets.name(*set).to_owned();
            (name, Mark::Area, self.of(Some(*set)))
        });
        let others = self
            .has_others
            .then(|| ("other Sets".to_owned(), Mark::Area, COLOURS - 1));
        named.chain(others).collect()
    }
}

/// Number of colours.
const COLOURS: usize = 7;
