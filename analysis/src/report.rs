//! `migbsp report`: what runs look like, as a page of their own or as pictures, from records.

mod calls;
mod comparison;
mod configuration;
mod figures;
mod live_run;
mod page;
mod reported_run;
mod summary;

use experiments::{Failure, Registry};

use crate::pictures;
use crate::pictures::Picture;
use page::PageKind;

pub use live_run::LiveRun;
pub use reported_run::ReportedRun;

/// A picture of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    /// Processes over supersteps, coloured by Set, with the times of supersteps below.
    Timeline,
    /// Hosts over supersteps, with the number of their processes.
    Hosts,
    /// Times of supersteps, with those of scenario i and the calls.
    Supersteps,
    /// Where the time of supersteps went.
    Breakdown,
    /// Hosts over supersteps: how busy they were, and which had the slowest process.
    Load,
    /// Sets, and what moved between them.
    Sets,
}

/// The picture of a run.
///
/// # Errors
///
/// If the record does not have what it shows.
pub fn picture(run: &ReportedRun, kind: PictureKind) -> Result<String, Failure> {
    let (view, history) = (&run.view, &run.history);
    let picture: Picture = match kind {
        PictureKind::Timeline => pictures::timeline_with_supersteps(view, history),
        PictureKind::Hosts => pictures::hosts(view),
        PictureKind::Supersteps => pictures::supersteps(history, run.verdict()),
        PictureKind::Breakdown => pictures::breakdown(view),
        PictureKind::Load => pictures::load(view),
        PictureKind::Sets => pictures::sets(view).ok_or_else(|| {
            Failure::Usage(format!(
                "--svg: {}: the record has fewer than two Sets, or does not say which hosts they have",
                run.name
            ))
        })?,
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
