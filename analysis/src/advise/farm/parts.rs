//! The parts of the makespan of a farm.

use record::Superstep;

use super::costs::Costs;
use super::interactions::TimedInteraction;
use crate::advise::reading::duration;
use crate::advise::report::Loss;

/// The parts of the makespan of a farm, in seconds. Their sum is the makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// All tasks at the rates of all workers together.
    pub(super) ideal: f64,
    /// Before the first interaction: the workers receive what they share.
    pub(super) sharing: f64,
    /// Workers that waited for the slowest one in the first interaction.
    pub(super) first: f64,
    /// The same in all others but the last one.
    pub(super) middle: f64,
    /// The same in the last one.
    pub(super) last: f64,
    /// Tasks that were sent.
    pub(super) dealing: f64,
    /// Outcomes that were sent after the slowest worker had executed its tasks.
    pub(super) collecting: f64,
    /// Times that were sent.
    pub(super) telling: f64,
    /// Supersteps that belong to no interaction, and the time between supersteps, as for calls.
    pub(super) rest: f64,
}

impl Parts {
    /// The parts of a recorded run that took `seconds`, at the sum of rates `rate`.
    pub(super) fn recorded(
        interactions: &[TimedInteraction],
        supersteps: &[Superstep],
        seconds: f64,
        (costs, rate): (&Costs, f64),
    ) -> Self {
        let mut parts = Self::default();
        let first = interactions.first().map_or(0, |one| one.superstep);
        for (number, one) in interactions.iter().enumerate() {
            parts.add(Place::of(number, interactions.len()), one, rate);
        }
        if let Some(one) = interactions.first() {
            // The rest of what workers share arrives with the first tasks.
            let excess = (one.deal - costs.deal.at(one.tasks())).max(0.0);
            parts.sharing += excess;
            parts.dealing -= excess;
        }
        let of_interactions: Vec<u64> = interactions
            .iter()
            .flat_map(|one| one.superstep..one.superstep.saturating_add(3))
            .collect();
        for superstep in supersteps {
            if superstep.index < first {
                parts.sharing += duration(superstep);
            } else if of_interactions.binary_search(&superstep.index).is_err() {
                parts.rest += duration(superstep);
            }
        }
        let all: f64 = supersteps.iter().map(duration).sum();
        parts.rest += seconds - all;
        parts
    }

    /// Adds an interaction.
    pub(super) fn add(&mut self, place: Place, one: &TimedInteraction, rate: f64) {
        let longest = one.longest();
        let ideal = one.tasks() as f64 / rate;
        self.ideal += ideal;
        match place {
            Place::First => self.first += longest - ideal,
            Place::Middle => self.middle += longest - ideal,
            Place::Last => self.last += longest - ideal,
        }
        self.dealing += one.deal;
        self.collecting += one.execute - longest;
        self.telling += one.tell;
    }

    /// All parts as losses, in the order of a run; without the ideal.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let seconds = self.seconds();
        self.named()
            .into_iter()
            .map(|(part, value)| Loss::new(part, value, seconds))
            .collect()
    }

    /// All parts but the ideal, with their names.
    pub(super) fn named(&self) -> [(&'static str, f64); 8] {
        [
            (SHARING, self.sharing),
            (FIRST, self.first),
            (MIDDLE, self.middle),
            (LAST, self.last),
            ("sending of tasks", self.dealing),
            ("sending of outcomes", self.collecting),
            ("sending of times", self.telling),
            ("the rest", self.rest),
        ]
    }

    /// The makespan.
    pub(super) fn seconds(&self) -> f64 {
        let losses = self.named().into_iter().map(|(_, value)| value);
        self.ideal + losses.sum::<f64>()
    }

    /// The sum of both, part by part.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            ideal: self.ideal + other.ideal,
            sharing: self.sharing + other.sharing,
            first: self.first + other.first,
            middle: self.middle + other.middle,
            last: self.last + other.last,
            dealing: self.dealing + other.dealing,
            collecting: self.collecting + other.collecting,
            telling: self.telling + other.telling,
            rest: self.rest + other.rest,
        }
    }

    /// Each part times `factor`.
    pub(super) fn times(&self, factor: f64) -> Self {
        Self {
            ideal: self.ideal * factor,
            sharing: self.sharing * factor,
            first: self.first * factor,
            middle: self.middle * factor,
            last: self.last * factor,
            dealing: self.dealing * factor,
            collecting: self.collecting * factor,
            telling: self.telling * factor,
            rest: self.rest * factor,
        }
    }
}

/// The place of an interaction in a run. The only one is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Middle,
    Last,
}

impl Place {
    /// The place of interaction `number` of `all`.
    pub(super) fn of(number: usize, all: usize) -> Self {
        if number + 1 == all {
            Self::Last
        } else if number == 0 {
            Self::First
        } else {
            Self::Middle
        }
    }
}

const SHARING: &str = "sharing, before the first interaction";
const FIRST: &str = "imbalance of the first interaction";
const MIDDLE: &str = "imbalance of the interactions between";
const LAST: &str = "imbalance of the last interaction";
