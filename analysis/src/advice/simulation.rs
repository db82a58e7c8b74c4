//! Results of a simulation with advice.

use experiments::{Published, Report};
use serde::Serialize;

use crate::advice::sentence::Advice;

/// Results of a simulation with advice about its last scenario, as `--format json` shows them.
#[derive(Debug, Serialize)]
pub struct AdvisedReport<'a> {
    /// The results.
    #[serde(flatten)]
    report: &'a Report,
    /// What to try next, the most valuable first.
    advice: &'a [Advice],
}

impl<'a> AdvisedReport<'a> {
    /// `report` with `advice`.
    pub fn new(report: &'a Report, advice: &'a [Advice]) -> Self {
        Self { report, advice }
    }
}

impl Published for AdvisedReport<'_> {
    const SCHEMA: &'static str = Report::SCHEMA;
}
