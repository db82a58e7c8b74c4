//! Potentials of a process for each Set.

use bsp::SetId;
use migbsp::Potential;
use serde::Serialize;

use crate::chart::{Bars, Lines, Scale, Series, Style, text_bars};
use crate::explain::history::{Detail, History, SuperstepDuration};
use crate::explain::payback::Balance;
use crate::explain::terms::Terms;
use crate::text::Layout;

/// The potentials of one process for every Set, term by term.
#[derive(Debug, Serialize)]
pub(super) struct Forces {
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
    pub(super) fn svg(&self) -> String {
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

/// A chart of superstep times; if there are many, of the longest of each part of the run. Calls with
/// migrations are marked.
pub(super) fn supersteps(history: &History) -> String {
    let size = history.supersteps.len().div_ceil(POINTS).max(1);
    let point = |(index, part): (usize, &[SuperstepDuration])| {
        let longest = part
            .iter()
            .map(|superstep| superstep.seconds)
            .fold(0.0, f64::max);
        (number(index * size), longest)
    };
    let times = history.supersteps.chunks(size).enumerate().map(point);
    let moved = history
        .calls
        .iter()
        .filter(|call| !call.migrations.is_empty());
    let moves = moved.filter_map(|call| {
        let index = usize::try_from(call.summary.superstep).ok()?;
        let after = history.supersteps.get(index)?;
        Some((number(index), after.seconds))
    });
    let before = Balance::of(history).into_iter().flat_map(|balance| {
        let ends = [0, history.supersteps.len().saturating_sub(1)];
        ends.map(|end| (number(end), balance.before_seconds))
    });
    let series = |name: &str, points: Vec<(f64, f64)>, style| Series {
        name: name.to_owned(),
        points,
        style,
        ..Series::default()
    };
    Lines {
        title: format!(
            "Supersteps of {} processes, scenario {}",
            history.run.placement.len(),
            history.run.scenario
        ),
        x_label: "superstep".to_owned(),
        y_label: "seconds".to_owned(),
        x_is_log: false,
        y_scale: Scale::default(),
        series: vec![
            series("superstep", times.collect(), Style::Line),
            series(
                "mean before the first move",
                before.collect(),
                Style::Dashed,
            ),
            series(
                "first superstep after a move",
                moves.collect(),
                Style::Marks,
            ),
        ],
    }
    .svg()
}

fn number(index: usize) -> f64 {
    u32::try_from(index).map_or(f64::INFINITY, f64::from)
}

/// Characters of all bars in a terminal.
const BAR_WIDTH: usize = 48;
/// Maximum number of points of a line.
const POINTS: usize = 2_000;
