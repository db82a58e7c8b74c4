//! `migbsp report`: what runs look like, as a page of their own or as pictures, from records.

mod page;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use bsp::numbers::position;
use experiments::record::{Manifest, fault, manifest};
use experiments::{Failure, Provenance, Registry};
use record::{Event, Run};

use crate::explain::{Detail, Findings, History, Reading, verdict};
use crate::pictures::{JobViews, Picture};
use crate::report::page::PageKind;
use crate::text::{counted, duration};
use crate::view::{View, ViewReading};
use crate::{pictures, sentences};

/// A picture of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// Processes over supersteps, coloured by Set, with the times of supersteps below.
    Timeline,
    /// Hosts over supersteps, with the number of their processes.
    Hosts,
    /// Times of supersteps, with those of scenario i and the calls.
    Supersteps,
    /// What processes noted over supersteps.
    Notes,
    /// Where the time of supersteps went.
    Breakdown,
    /// Hosts over supersteps: how busy they were, and which had the slowest process.
    Load,
    /// Sets, and what moved between them.
    Sets,
    /// Supersteps over the time of a job that went on in later views.
    Views,
}

/// The picture of a run.
///
/// # Errors
///
/// If the record does not have what it shows, or that of another view of the job is not readable.
pub fn picture(run: &ReportedRun, kind: PictureKind) -> Result<String, Failure> {
    let (view, history) = (&run.view, &run.history);
    let picture: Picture = match kind {
        PictureKind::Timeline => pictures::timeline_with_supersteps(view, history),
        PictureKind::Hosts => pictures::hosts(view),
        PictureKind::Supersteps => pictures::supersteps(history, run.verdict()),
        PictureKind::Notes => pictures::notes(view).ok_or_else(|| {
            Failure::Usage(format!(
                "--svg: {}: the record has no notes: its program has not called `note`",
                run.name
            ))
        })?,
        PictureKind::Breakdown => pictures::breakdown(view),
        PictureKind::Load => pictures::load(view),
        PictureKind::Sets => pictures::sets(view).ok_or_else(|| {
            Failure::Usage(format!(
                "--svg: {}: the record has fewer than two Sets, or does not say which hosts they have",
                run.name
            ))
        })?,
        PictureKind::Views => {
            let views = run.job_views()?;
            if let Some(missing) = views.missing() {
                return Err(Failure::input(format!(
                    "--svg: {}: the record of view {missing} of its job is not beside it",
                    run.name
                )));
            }
            views.picture().ok_or_else(|| {
                Failure::Usage(format!(
                    "--svg: {}: the job had one view",
                    run.name
                ))
            })?
        }
    };
    Ok(picture.svg)
}

/// A page about `runs`, which needs nothing but itself.
///
/// # Errors
///
/// If a record is no longer readable.
pub fn page(runs: &[ReportedRun], registry: &Registry) -> Result<String, Failure> {
    page::page(runs, registry, PageKind::File)
}

/// What the runs were, in a sentence for each.
pub fn text(runs: &[ReportedRun]) -> String {
    let sentences = runs
        .iter()
        .map(|run| format!("{}: {}\n", run.name, run.headline()));
    sentences.collect()
}

/// A run whose record has been read.
#[derive(Debug)]
pub struct ReportedRun {
    /// What it is called on the page.
    name: String,
    manifest: Manifest,
    view: View,
    history: History,
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
        let mut viewing = ViewReading::new(record::head(folder).map_err(fault)?);
        let needed = |header| Reading::needs(header) || ViewReading::needs(header);
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
        })
    }

    /// What the run was, in a sentence.
    fn headline(&self) -> String {
        let supersteps = position(self.history.end.supersteps);
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
    fn verdict(&self) -> String {
        if let Some(shortfall) = self.history.end.shortfall() {
            return shortfall;
        }
        let alone = self.history.baseline.as_ref();
        match alone.and_then(|alone| alone.end) {
            Some(alone) if !self.is_measured() => {
                let could = alone.attainable.map_or(0.0, bsp::units::Seconds::get);
                sentences::saved(alone.seconds.get(), self.seconds(), could)
            }
            _ => verdict(&self.history).unwrap_or_default(),
        }
    }

    /// The views of its job, from the records beside its own.
    fn job_views(&self) -> Result<JobViews, Failure> {
        JobViews::read(&self.history.folder, &self.view.run)
    }

    /// Whether its times were measured on real hosts.
    const fn is_measured(&self) -> bool {
        self.history.rules.is_measured
    }

    /// The makespan; of a run that did not end, the end of its last superstep.
    fn seconds(&self) -> f64 {
        self.history.end.seconds.get()
    }

    /// The makespan of scenario i, if it is known.
    fn alone_seconds(&self) -> Option<f64> {
        let alone = self.history.baseline.as_ref()?;
        alone.end.map(|end| end.seconds.get())
    }

    /// The seconds that the best mapping of every superstep would have saved, if they are known.
    fn attainable_seconds(&self) -> Option<f64> {
        let alone = self.history.baseline.as_ref();
        let of_alone = alone.and_then(|alone| alone.end).map(|end| end.attainable);
        let attainable = of_alone.unwrap_or(self.history.end.attainable);
        attainable.map(bsp::units::Seconds::get)
    }

    /// Whether the record has all of the run, and its result.
    fn is_complete(&self) -> bool {
        self.history.end.extent.is_complete
    }

    /// Number of moves of processes, those to hosts that joined included.
    fn moves(&self) -> usize {
        self.view.placement.moves().len()
    }

    /// Whether the call at position `index` can be explained.
    fn has_findings(&self, index: usize) -> bool {
        let superstep = self.history.calls[index].summary.superstep;
        let kept = self.history.kept.as_ref();
        let is_it = |detail: &Arc<Detail>| detail.call.superstep == superstep;
        kept.is_none_or(|kept| kept.iter().any(is_it))
    }

    /// What made the record, and the build that answers.
    fn provenance(&self, registry: &Registry) -> Result<Provenance, Failure> {
        Provenance::of_record(&self.manifest, registry)
    }
}

/// A run that goes on. A copy is a state of it; what copies share is not copied.
///
/// It takes some fifty bytes for each superstep, and for each move and call. The findings of the last calls are kept, so that
/// they can be explained.
#[derive(Clone, Debug)]
pub struct LiveRun {
    constants: Arc<Constants>,
    viewing: ViewReading,
    reading: Reading,
    /// The findings of the call that has not ended.
    findings: Findings,
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
    pub const SCRIPT: &str = page::SCRIPT;

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
        Ok(Self {
            constants: Arc::new(Constants {
                name: name.to_owned(),
                manifest,
                registry: registry.clone(),
                kept,
            }),
            viewing: ViewReading::new(run),
            reading,
            findings: Findings::default(),
            details: VecDeque::new(),
        })
    }

    /// The next event of the run.
    pub fn observe(&mut self, event: &Event) {
        self.viewing.take(event);
        self.reading.take(event);
        if !matches!(
            event,
            Event::Evaluated(_) | Event::Observed(_) | Event::Call(_)
        ) {
            return;
        }
        if let Some(detail) = self.findings.take(event.clone()) {
            if self.details.len() == self.constants.kept {
                self.details.pop_front();
            }
            self.details.push_back(Arc::new(detail));
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
            history: History {
                kept: Some(self.details),
                ..self.reading.so_far()
            },
        };
        page::page(&[run], registry, PageKind::Live(scripts))
    }
}

/// The most calls whose findings are kept.
const CALLS: usize = 30;
/// The most findings of processes that are kept: some hundred bytes each.
const FINDINGS: usize = 30_000;
