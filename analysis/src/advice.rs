//! Advice about a run: what holds it up, and which policy or setting to try next.
//!
//! Each rule is a file. A rule judges the [`Evidence`] of a run and the [`Settings`] in effect, and gives advice only
//! if the evidence supports it. A run that is balanced, or whose policy already is the one to try, gets none.

mod budget;
mod calls;
mod evidence;
mod mapping;
mod sentence;
mod settings;
mod simulation;

pub use evidence::Evidence;
pub use sentence::Advice;
pub use settings::Settings;
pub use simulation::AdvisedReport;

/// What to try next, the most valuable first; of a run that has not ended, none.
pub fn advice(evidence: &Evidence, settings: &Settings) -> Vec<Advice> {
    if !settings.can_be_advised {
        return Vec::new();
    }
    let mut all: Vec<Advice> = [
        mapping::advice(evidence, settings),
        calls::advice(evidence, settings),
        budget::advice(evidence, settings),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all
}

#[cfg(test)]
mod tests;
