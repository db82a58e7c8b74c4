//! A run that goes on, as the page about it knows it.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use experiments::record::Manifest;
use experiments::{Failure, Registry};
use record::{Evaluated, Event, Extent, Observed, Run};

use super::page::{PageKind, page};
use super::reported_run::ReportedRun;
use crate::explain::{Detail, Reading};
use crate::view::Viewing;

/// A run that goes on. A copy is a state of it; what copies share is not copied.
///
/// It takes some fifty bytes for each superstep, and for each move and call. The findings of the last calls are kept, so that
/// they can be explained.
#[derive(Clone, Debug)]
pub struct LiveRun {
    constants: Arc<Constants>,
    viewing: Viewing,
    reading: Reading,
    extent: Extent,
    /// The findings of the call that has not ended.
    evaluated: Vec<Evaluated>,
    observed: Vec<Observed>,
    /// The findings of the last calls.
    details: VecDeque<Arc<Detail>>,
}

/// What does not change while the run goes on.
#[derive(Debug)]
struct Constants {
    name: String,
    manifest: Manifest,
    registry: Registry,
    /// Number of calls whose findings are kept.
    kept: usize,
}

impl LiveRun {
    /// The page's own script.
    pub const SCRIPT: &str = super::page::SCRIPT;

    /// Before the first event of a run that is called `name`, whose record would begin like this. `folder` is that of the
    /// record, if there is one.
    ///
    /// # Errors
    ///
    /// If the configuration is none of an experiment.
    pub fn new(
        name: &str,
        (manifest, run): (Manifest, Run),
        folder: Option<&Path>,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let folder = folder.unwrap_or_else(|| Path::new("RUN"));
        let reading = Reading::of((folder, run.clone()), &manifest, None)?;
        let kept = (FINDINGS / run.placement.len().max(1)).clamp(1, CALLS);
        let extent = Extent {
            is_complete: false,
            has_end: false,
            supersteps: run.first_superstep(),
            is_torn: false,
        };
        Ok(Self {
            constants: Arc::new(Constants {
                name: name.to_owned(),
                manifest,
                registry: registry.clone(),
                kept,
            }),
            viewing: Viewing::new(run),
            reading,
            extent,
            evaluated: Vec::new(),
            observed: Vec::new(),
            details: VecDeque::new(),
        })
    }

    /// The next event of the run.
    pub fn observe(&mut self, event: &Event) {
        self.viewing.take(event);
        self.reading.take(event);
        match event {
            Event::Superstep(superstep) => self.extent.supersteps = superstep.index + 1,
            Event::Evaluated(evaluated) => self.evaluated.push(evaluated.clone()),
            Event::Observed(observed) => self.observed.push(observed.clone()),
            Event::Call(call) => {
                if self.details.len() == self.constants.kept {
                    self.details.pop_front();
                }
                self.details.push_back(Arc::new(Detail {
                    call: (**call).clone(),
                    evaluated: std::mem::take(&mut self.evaluated),
                    observed: std::mem::take(&mut self.observed),
                }));
            }
            Event::End(_) => {
                self.extent.has_end = true;
                self.extent.is_complete = true;
            }
            _ => {}
        }
    }

    /// The page after the events so far, which loads scripts from these paths of its server. [`Self::SCRIPT`] is one of them;
    /// one before it sees the page as it is here. When a script replaces a section of the page, it sends the new section the
    /// event `replaced`, which bubbles, and after the last one the document the event `renewed`.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn page(self, scripts: &[&str]) -> Result<String, Failure> {
        let Constants {
            name,
            manifest,
            registry,
            ..
        } = &*self.constants;
        let run = ReportedRun {
            name: name.clone(),
            manifest: manifest.clone(),
            view: self.viewing.end(),
            history: self.reading.end_alone(self.extent),
            details: Some(self.details),
        };
        page(&[run], registry, PageKind::Live(scripts))
    }
}

/// The most calls whose findings are kept.
const CALLS: usize = 30;
/// The most findings of processes that are kept: some hundred bytes each.
const FINDINGS: usize = 30_000;
