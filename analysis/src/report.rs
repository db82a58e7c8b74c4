//! `migbsp report`: what runs look like, as a page of their own or as pictures, from records.

mod page;

use std::path::Path;
use std::sync::Arc;

use bsp::numbers::position;
use experiments::record::Manifest;
use experiments::{Failure, Provenance, Registry};
use record::{Event, Run};

use crate::explain::verdict;
use crate::pictures::{JobViews, Picture};
use crate::report::page::PageKind;
use crate::run::{KeptFindings, RunModel, RunReading, Scope};
use crate::text::{counted, duration};
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
    let model = &run.model;
    let picture: Picture = match kind {
        PictureKind::Timeline => pictures::timeline_with_supersteps(model),
        PictureKind::Hosts => pictures::hosts(model),
        PictureKind::Supersteps => pictures::supersteps(model, run.verdict()),
        PictureKind::Notes => pictures::notes(model).ok_or_else(|| {
            Failure::Usage(format!(
                "--svg: {}: the record has no notes: its program has not called `note`",
                run.name
            ))
        })?,
        PictureKind::Breakdown => pictures::breakdown(model),
        PictureKind::Load => pictures::load(model),
        PictureKind::Sets => pictures::sets(model).ok_or_else(|| {
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
    model: RunModel,
}

impl ReportedRun {
    /// Reads the record in `folder`, and that of scenario i in `against` or beside it. The run is called `name`.
    ///
    /// # Errors
    ///
    /// If the record is unreadable or of another version, or `against` is not scenario i of the same experiment.
    pub fn read(name: &str, folder: &Path, against: Option<&Path>) -> Result<Self, Failure> {
        let scope = Scope {
            has_pictures: true,
            ..Scope::default()
        };
        Ok(Self {
            name: name.to_owned(),
            model: RunModel::read(folder, against, scope)?,
        })
    }

    /// What the run was, in a sentence.
    fn headline(&self) -> String {
        let supersteps = position(self.model.end.supersteps);
        format!(
            "scenario {}, {}, {} in {}. {}",
            self.model.run.scenario,
            counted(self.model.run.placement.len(), "process"),
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
        if let Some(shortfall) = self.model.shortfall() {
            return shortfall;
        }
        let alone = self.model.baseline.as_ref();
        match alone.and_then(|alone| alone.end) {
            Some(alone) if !self.is_measured() => {
                let could = alone.attainable.map_or(0.0, bsp::units::Seconds::get);
                sentences::saved(alone.seconds.get(), self.seconds(), could)
            }
            _ => verdict(&self.model).unwrap_or_default(),
        }
    }

    /// The views of its job, from the records beside its own.
    fn job_views(&self) -> Result<JobViews, Failure> {
        JobViews::read(&self.model.folder, &self.model.run)
    }

    /// Whether its times were measured on real hosts.
    const fn is_measured(&self) -> bool {
        self.model.rules.is_measured
    }

    /// The makespan; of a run that did not end, the end of its last superstep.
    fn seconds(&self) -> f64 {
        self.model.end.seconds.get()
    }

    /// The makespan of scenario i, if it is known.
    fn alone_seconds(&self) -> Option<f64> {
        let alone = self.model.baseline.as_ref()?;
        alone.end.map(|end| end.seconds.get())
    }

    /// The seconds that the best mapping of every superstep would have saved, if they are known.
    fn attainable_seconds(&self) -> Option<f64> {
        let alone = self.model.baseline.as_ref();
        let of_alone = alone.and_then(|alone| alone.end).map(|end| end.attainable);
        let attainable = of_alone.unwrap_or(self.model.end.attainable);
        attainable.map(bsp::units::Seconds::get)
    }

    /// Whether the record has all of the run, and its result.
    fn is_complete(&self) -> bool {
        self.model.end.extent.is_complete
    }

    /// Number of moves of processes, those to hosts that joined included.
    fn moves(&self) -> usize {
        self.model.placement.moves().len()
    }

    /// What made the record, and the build that answers.
    fn provenance(&self, registry: &Registry) -> Result<Provenance, Failure> {
        Provenance::of_record(&self.model.manifest, registry)
    }
}

/// A run that goes on. A copy is a state of it; what copies share is not copied.
///
/// It takes some twenty bytes for each superstep, and for each move and call. The findings of the last calls are kept, so that
/// they can be explained.
#[derive(Clone, Debug)]
pub struct LiveRun {
    constants: Arc<Constants>,
    reading: RunReading,
}

/// What does not change while the run goes on.
#[derive(Debug)]
struct Constants {
    name: String,
    registry: Registry,
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
        let kept = (FINDINGS / run.placement.len().max(1)).clamp(1, CALLS);
        let scope = Scope {
            findings: KeptFindings::Last(kept),
            has_pictures: true,
            ..Scope::default()
        };
        Ok(Self {
            reading: RunReading::of((folder, run), manifest, scope)?,
            constants: Arc::new(Constants {
                name: name.to_owned(),
                registry: registry.clone(),
            }),
        })
    }

    /// The next event of the run.
    pub fn observe(&mut self, event: &Event) {
        self.reading.take(event);
    }

    /// The page after the events so far, which loads scripts from these paths of its server. [`Self::SCRIPT`] is one of them;
    /// one before it sees the page as it is here. When a script replaces a section of the page, it sends the new section the
    /// event `replaced`, which bubbles, and after the last one the document the event `renewed`.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn page(self, scripts: &[&str]) -> Result<String, Failure> {
        let Constants { name, registry } = &*self.constants;
        let run = ReportedRun {
            name: name.clone(),
            model: self.reading.so_far(),
        };
        page::page(&[run], registry, PageKind::Live(scripts))
    }
}

/// The most calls whose findings are kept.
const CALLS: usize = 30;
/// The most findings of processes that are kept: some hundred bytes each.
const FINDINGS: usize = 30_000;
