//! What the rules of advice judge.

use serde_json::Value;

use super::times::Times;
use crate::advice::Settings;
use crate::advise::reading::Reading;
use crate::advise::report::{KeyChange, Recommendation};
use crate::explain::SettledCall;

/// What the rules judge.
pub(super) struct Case<'a> {
    pub(super) reading: &'a Reading,
    pub(super) times: Times,
    pub(super) settings: Settings,
    /// What the calls with moves saved; `None` if it is not known.
    pub(super) settled: Option<Vec<SettledCall>>,
}

impl Case<'_> {
    /// A recommendation to set `key` to `better`, which saves `seconds` at most.
    pub(super) fn bound(
        &self,
        key: &str,
        better: Value,
        reason: String,
        seconds: f64,
    ) -> Recommendation {
        let pointer = format!("/{}", key.replace('.', "/"));
        let now = self.reading.manifest.configuration.pointer(&pointer);
        let makespan = self.reading.seconds();
        let seconds = seconds.min(makespan);
        let change = KeyChange {
            key: key.to_owned(),
            now: now.cloned().unwrap_or_default(),
            better,
            predicted_gain: Some(seconds / makespan),
        };
        Recommendation {
            change: change.assignment(),
            set: vec![change.assignment()],
            replaces: None,
            predicted_gain: seconds / makespan,
            predicted_seconds: makespan - seconds,
            is_bound: true,
            reason,
            keys: vec![change],
            measured: None,
        }
    }
}
