//! The interactions of a record, with the durations of their supersteps.

use bsp::Interaction;
use bsp::units::Seconds;
use record::Superstep;

use crate::advise::reading::duration;

/// An interaction, with the durations of its three supersteps in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedInteraction {
    /// The superstep in which it was dealt.
    pub(super) superstep: u64,
    /// The time when dealing began, since the start of the run.
    pub(super) began: f64,
    /// Tasks dealt, by worker.
    pub(super) dealt: Vec<u64>,
    /// How long workers executed them.
    pub(super) took: Vec<f64>,
    /// The superstep in which tasks were dealt.
    pub(super) deal: f64,
    /// The superstep in which they were executed.
    pub(super) execute: f64,
    /// The superstep in which workers sent their times.
    pub(super) tell: f64,
}

impl TimedInteraction {
    /// `interaction` with its supersteps; `None` if one of them is missing.
    pub(super) fn new(interaction: &Interaction, supersteps: &[Superstep]) -> Option<Self> {
        // A run that resumes a job begins with a later superstep.
        let first = supersteps.first()?.index;
        let at = |later: u64| {
            let superstep = interaction.superstep.checked_add(later)?;
            let index = usize::try_from(superstep.checked_sub(first)?).ok()?;
            supersteps.get(index)
        };
        let deal = at(0)?;
        Some(Self {
            superstep: interaction.superstep,
            began: deal.started.get(),
            dealt: interaction.dealt.clone(),
            took: interaction.took.iter().copied().map(Seconds::get).collect(),
            deal: duration(deal),
            execute: duration(at(1)?),
            tell: duration(at(2)?),
        })
    }

    /// All tasks.
    pub(super) fn tasks(&self) -> u64 {
        self.dealt.iter().sum()
    }

    /// The longest time of a worker.
    pub(super) fn longest(&self) -> f64 {
        self.took.iter().copied().fold(0.0, f64::max)
    }
}
