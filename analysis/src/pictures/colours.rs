//! The colours of Sets.

use bsp::{HostId, SetId};

use crate::chart::Mark;
use crate::view::View;

/// The colour of every Set: the same in all runs of a platform with few Sets. If more Sets have processes than there are colours,
/// the others share the last one.
#[derive(Clone, Debug)]
pub(super) struct SetColours {
    /// Sets with a colour of their own.
    own: Vec<SetId>,
    /// The Sets that have processes.
    used: Vec<SetId>,
    /// Whether there are others.
    has_others: bool,
}

impl SetColours {
    /// The colours of the Sets that have processes.
    pub(super) fn new(view: &View) -> Self {
        let start = view.sets.counts(view.placement.start());
        let now = view.sets.counts(view.placement.now());
        let mut numbers: Vec<u64> = start
            .iter()
            .zip(now)
            .map(|(start, now)| start + now)
            .collect();
        for moved in view.placement.moves() {
            if let Some(set) = view.sets.of(moved.to) {
                numbers[set.index()] += 1;
            }
        }
        let mut used: Vec<SetId> = view
            .sets
            .ids()
            .filter(|set| 0 < numbers[set.index()])
            .collect();
        if view.sets.len() <= COLOURS {
            return Self {
                own: view.sets.ids().collect(),
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
    pub(super) fn of(&self, set: Option<SetId>) -> usize {
        let own = set.and_then(|set| self.own.binary_search(&set).ok());
        own.unwrap_or(COLOURS - 1)
    }

    /// Number of the colour of the Set of a host.
    pub(super) fn of_host(&self, view: &View, host: HostId) -> usize {
        self.of(view.sets.of(host))
    }

    /// The legend.
    pub(super) fn legend(&self, view: &View) -> Vec<(String, Mark, usize)> {
        let named = self.used.iter().map(|set| {
            let name = view.sets.name(*set).to_owned();
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
