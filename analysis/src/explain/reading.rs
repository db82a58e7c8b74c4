//! Reading a record event by event.

use std::path::{Path, PathBuf};

use bsp::units::{Instant, Seconds};
use bsp::{Interaction, Rank};
use record::{Event, EventHeader, EventKind, Extent, Join, Moved, Run};

use crate::explain::baseline::Baseline;
use crate::explain::checkpoints;
use crate::explain::durations::SuperstepDuration;
use crate::explain::history::{Ending, ExplainedCall, History};
use crate::explain::rules::Rules;
use experiments::Failure;
use experiments::record::{Manifest, RecordedFailure, fault, manifest};

/// The start of the run in `folder`.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version.
pub(super) fn head(folder: &Path) -> Result<Run, Failure> {
    let _rules = Rules::of_record(folder)?;
    record::head(folder).map_err(fault)
}

/// Reads the record in `folder`, and that of scenario i in `against` or beside it; `asked` is the process in
/// question.
///
/// # Errors
///
/// If the record is incomplete, unreadable or of another version, or `against` is not scenario i of the same
/// experiment.
pub(super) fn read(
    folder: &Path,
    against: Option<&Path>,
    asked: Option<Rank>,
) -> Result<History, Failure> {
    let mut reading = Reading::new(folder, asked)?;
    let extent =
        record::scan(folder, Reading::needs, |event| reading.take(&event)).map_err(fault)?;
    reading.end(extent, against)
}

/// A record that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    folder: PathBuf,
    run: Run,
    rules: Rules,
    asked: Option<Rank>,
    supersteps: Vec<SuperstepDuration>,
    calls: Vec<ExplainedCall>,
    /// Of the call or join that is not read yet.
    arrivals: Vec<Moved>,
    joins: Vec<Join>,
    saving: Option<checkpoints::Reading>,
    interactions: Vec<Interaction>,
    seconds: Instant,
    attainable: Option<Seconds>,
    failure: Option<RecordedFailure>,
}

impl Reading {
    /// Nothing but the head of the record in `folder` has been read; `asked` is the process in question.
    ///
    /// # Errors
    ///
    /// If the head is unreadable or of another version.
    pub(crate) fn new(folder: &Path, asked: Option<Rank>) -> Result<Self, Failure> {
        let manifest = manifest(folder)?;
        let run = record::head(folder).map_err(fault)?;
        Self::of((folder, run), &manifest, asked)
    }

    /// Nothing has been read but the head `run` of the record in `folder`, which `manifest` describes; `asked` is the
    /// process in question.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub(crate) fn of(
        (folder, run): (&Path, Run),
        manifest: &Manifest,
        asked: Option<Rank>,
    ) -> Result<Self, Failure> {
        let rules = Rules::of(manifest, folder)?;
        let saving = checkpoints::Reading::new(folder, &run, manifest)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            rules,
            asked,
            supersteps: Vec::new(),
            calls: Vec::new(),
            arrivals: Vec::new(),
            joins: Vec::new(),
            saving,
            interactions: Vec::new(),
            seconds: Instant::START,
            attainable: None,
            failure: manifest.failure.clone(),
        })
    }

    /// Whether [`Self::take`] takes anything from an event.
    pub(crate) fn needs(header: EventHeader) -> bool {
        matches!(
            header.kind,
            EventKind::Superstep
                | EventKind::Moved
                | EventKind::Join
                | EventKind::Checkpoint
                | EventKind::Interaction
                | EventKind::Call
                | EventKind::End
        )
    }

    /// The next event has been read.
    pub(crate) fn take(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                self.saving
                    .iter_mut()
                    .for_each(|saving| saving.elapse(superstep));
                self.supersteps.push(SuperstepDuration::new(superstep));
                self.seconds = superstep.ended;
            }
            Event::Moved(moved) => self.arrivals.push(*moved),
            Event::Join(join) => {
                // The arrivals before it are those on the host that joins.
                self.arrivals.clear();
                self.joins.push(join.clone());
            }
            Event::Checkpoint(checkpoint) => {
                if let Some(saving) = &mut self.saving {
                    saving.save(checkpoint.clone());
                }
            }
            Event::Interaction(interaction) => self.interactions.push(interaction.clone()),
            Event::Call(call) => {
                let arrivals = std::mem::take(&mut self.arrivals);
                let call = ExplainedCall::new(call, arrivals, &self.rules, self.asked);
                self.calls.push(call);
            }
            Event::End(end) => {
                self.seconds = end.seconds;
                self.attainable = end.attainable;
            }
            Event::Run(_) | Event::Traced(_) | Event::Observed(_) | Event::Evaluated(_) => {}
        }
    }

    /// All events have been read. The run is compared with scenario i in `against`, or in the folder beside it.
    ///
    /// # Errors
    ///
    /// If `against` is not scenario i of the same experiment.
    pub(crate) fn end(self, extent: Extent, against: Option<&Path>) -> Result<History, Failure> {
        let (baseline, unusable) = match against {
            Some(against) => (Some(Baseline::read(against, &self.folder)?), None),
            None => match Baseline::beside(&self.folder) {
                Ok(baseline) => (baseline, None),
                Err(fault) => (None, Some(fault)),
            },
        };
        Ok(History {
            baseline,
            unusable,
            ..self.end_alone(extent)
        })
    }

    /// All events have been read. The run is compared with no other.
    pub(crate) fn end_alone(self, extent: Extent) -> History {
        let first = self.run.first_superstep();
        History {
            folder: self.folder,
            run: self.run,
            supersteps: self.supersteps,
            baseline: None,
            unusable: None,
            calls: self.calls,
            joins: self.joins,
            checkpoints: self.saving.and_then(|saving| saving.end(self.seconds)),
            interactions: self.interactions,
            end: Ending {
                extent,
                supersteps: extent.supersteps.saturating_sub(first),
                seconds: self.seconds,
                attainable: self.attainable,
                failure: self.failure,
            },
            rules: self.rules,
        }
    }
}
