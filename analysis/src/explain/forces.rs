//! Potentials of a process for each Set.

use bsp::SetId;
use migbsp::Potential;
use serde::Serialize;

use crate::chart::{Bars, text_bars};
use crate::explain::history::{Detail, History};
use crate::explain::terms::Terms;
use crate::text::Layout;

/// The potentials of one process for every Set, term by term.
#[derive(Debug, Serialize)]
pub(crate) struct Forces {
    /// As `p21`.
    pub(super) process: String,
    /// Number of supersteps completed before the call.
    pub(super) superstep: u64,
    /// By Set.
    pub(super) sets: Vec<Force>,
}

/// The potential of a process for one Set.
#[derive(Debug, Serialize)]
pub(super) struct Force {
    /// Name of the Set.
    pub(super) set: String,
    /// Whether the process runs there.
    pub(super) is_own: bool,
    /// Whether its potential is highest there.
    pub(super) is_target: bool,
    /// The terms of the potential.
    #[serde(flatten)]
    pub(super) terms: Terms,
}

impl Forces {
    /// The potentials of the process of `entry` in a call; `None` if it reported nothing.
    pub(super) fn of(history: &History, detail: &Detail, entry: &migbsp::Entry) -> Option<Self> {
        let evaluation = detail.evaluation(entry.rank)?;
        let potentials = evaluation.potentials.iter();
        Some(Self {
            process: entry.rank.to_string(),
            superstep: detail.call.superstep,
            sets: potentials
                .map(|potential| {
                    Force::new(
                        history.set(potential.set),
                        potential,
                        (entry.own, entry.target),
                    )
                })
                .collect(),
        })
    }

    /// The highest potential for a Set other than its own.
    pub(super) fn best_elsewhere(&self) -> Option<&Force> {
        let others = self.sets.iter().filter(|force| !force.is_own);
        others.max_by(|one, other| one.terms.potential.total_cmp(&other.terms.potential))
    }

    /// The chart for a terminal.
    pub(super) fn bars(&self, layout: Layout) -> String {
        let rows = self.sets.iter().flat_map(|force| {
            let name = |term: &str| format!("{}  {term}", force.set);
            [
                (name("Comp"), force.terms.computation),
                (name("Comm"), force.terms.communication),
                (name("Mem"), 0.0 - force.terms.migration),
            ]
        });
        text_bars(&rows.collect::<Vec<_>>(), BAR_WIDTH, layout)
    }

    /// The chart for a page.
    pub(crate) fn svg(&self) -> String {
        let term = |name: &str, value: &dyn Fn(&Force) -> f64| {
            (name.to_owned(), self.sets.iter().map(value).collect())
        };
        Bars {
            title: format!(
                "Potentials of {} for each Set after superstep {}",
                self.process, self.superstep
            ),
            unit: "seconds".to_owned(),
            categories: self.sets.iter().map(|force| force.set.clone()).collect(),
            series: vec![
                term("Comp", &|force| force.terms.computation),
                term("Comm", &|force| force.terms.communication),
                term("−Mem", &|force| 0.0 - force.terms.migration),
                term("PM", &|force| force.terms.potential),
            ],
        }
        .svg()
    }
}

impl Force {
    fn new(set: String, potential: &Potential, (own, target): (SetId, SetId)) -> Self {
        Self {
            set,
            is_own: potential.set == own,
            is_target: potential.set == target,
            terms: Terms::new(potential),
        }
    }
}

/// Characters of all bars in a terminal.
const BAR_WIDTH: usize = 48;
