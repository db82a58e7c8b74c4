//! A run whose record has been read.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use experiments::record::{Manifest, fault, manifest};
use experiments::{Failure, Provenance, Registry};

use crate::explain::{CallAnswers, Detail, History, Reading, answers, answers_of, verdict};
use crate::text::{counted, duration};
use crate::verdict;
use crate::view::{View, Viewing};

/// A run whose record has been read.
#[derive(Debug)]
pub struct ReportedRun {
    /// What it is called on the page.
    pub(super) name: String,
    pub(super) manifest: Manifest,
    pub(super) view: View,
    pub(super) history: History,
    /// The findings of the last calls, of a run that goes on.
    pub(super) details: Option<VecDeque<Arc<Detail>>>,
}

impl ReportedRun {
    /// Reads the record in `folder`, and that of scenario i in `against` or beside it. The run is called `name`.
    ///
    /// # Errors
    ///
    /// If the record is unreadable or of another version, or `against` is not scenario i of the same experiment.
    pub fn read(name: &str, folder: &Path, against: Option<&Path>) -> Result<Self, Failure> {
        let manifest = manifest(folder)?;
        let mut reading = Reading::new(folder, None)?;
        let mut viewing = Viewing::new(record::head(folder).map_err(fault)?);
        let needed = |header| Reading::needs(header) || Viewing::needs(header);
        let extent = record::scan(folder, needed, |event| {
            viewing.take(&event);
            reading.take(&event);
        })
        .map_err(fault)?;
        Ok(Self {
            name: name.to_owned(),
            manifest,
            view: viewing.end(),
            history: reading.end(extent, against)?,
            details: None,
        })
    }

    /// What the run was, in a sentence.
    pub(super) fn headline(&self) -> String {
        let supersteps = usize::try_from(self.history.end.supersteps).unwrap_or(usize::MAX);
        format!(
            "scenario {}, {}, {} in {}. {}",
            self.history.run.scenario,
            counted(self.history.run.placement.len(), "process"),
            counted(supersteps, "superstep"),
            duration(self.seconds()),
            self.verdict()
        )
        .trim_end()
        .to_owned()
    }

    /// What rescheduling saved of what it could have saved, as far as the record says; or why that is not known. Empty for
    /// a run in which no process moved.
    pub(super) fn verdict(&self) -> String {
        if let Some(shortfall) = self.history.end.shortfall() {
            return shortfall;
        }
        let alone = self.history.baseline.as_ref();
        match alone.and_then(|alone| alone.end) {
            Some(alone) if !self.is_measured() => {
                let could = alone.attainable.map_or(0.0, bsp::units::Seconds::get);
                verdict::sentence(alone.seconds.get(), self.seconds(), could)
            }
            _ => verdict(&self.history).unwrap_or_default(),
        }
    }

    /// Whether its times were measured on real hosts.
    pub(super) const fn is_measured(&self) -> bool {
        self.history.rules.is_measured
    }

    /// The makespan; of a run that did not end, the end of its last superstep.
    pub(super) fn seconds(&self) -> f64 {
        self.history.end.seconds.get()
    }

    /// The makespan of scenario i, if it is known.
    pub(super) fn alone_seconds(&self) -> Option<f64> {
        let alone = self.history.baseline.as_ref()?;
        alone.end.map(|end| end.seconds.get())
    }

    /// The seconds that the best mapping of every superstep would have saved, if they are known.
    pub(super) fn attainable_seconds(&self) -> Option<f64> {
        let alone = self.history.baseline.as_ref();
        let of_alone = alone.and_then(|alone| alone.end).map(|end| end.attainable);
        let attainable = of_alone.unwrap_or(self.history.end.attainable);
        attainable.map(bsp::units::Seconds::get)
    }

    /// Whether the record has all of the run, and its result.
    pub(super) fn is_complete(&self) -> bool {
        self.history.end.extent.is_complete
    }

    /// Number of moves of processes, those to hosts that joined included.
    pub(super) fn moves(&self) -> usize {
        self.view.placement.moves().len()
    }

    /// Whether the call at position `index` can be explained.
    pub(super) fn has_findings(&self, index: usize) -> bool {
        let superstep = self.history.calls[index].summary.superstep;
        let of_call = |detail: &Arc<Detail>| detail.call.superstep == superstep;
        let details = self.details.as_ref();
        details.is_none_or(|details| details.iter().any(of_call))
    }

    /// Answers about several calls: `wanted` has the position of each of them, with the number of processes to explain.
    ///
    /// # Errors
    ///
    /// If the record is no longer readable.
    pub(super) fn answers(
        &self,
        wanted: &BTreeMap<usize, usize>,
        visit: impl FnMut(CallAnswers),
    ) -> Result<(), Failure> {
        let Some(details) = &self.details else {
            return answers(&self.history, wanted, visit);
        };
        let details = details.iter().map(Arc::as_ref);
        answers_of(&self.history, wanted, details, visit);
        Ok(())
    }

    /// What made the record, and the build that answers.
    pub(super) fn provenance(&self, registry: &Registry) -> Result<Provenance, Failure> {
        Provenance::of_record(&self.manifest, registry)
    }
}
