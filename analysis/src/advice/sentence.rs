//! One piece of advice.

use serde::Serialize;

/// What holds a run up, and what to try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The evidence, in words and figures.
    pub reason: String,
    /// Options for the command that ran the experiment.
    #[serde(rename = "try")]
    pub options: String,
    /// The time that the cause takes from the run, in seconds: an upper bound of what the options can save.
    pub seconds: f64,
}

impl Advice {
    /// The advice as a sentence.
    pub fn sentence(&self) -> String {
        format!("{}; try `{}`.", self.reason, self.options)
    }
}
