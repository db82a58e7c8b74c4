//! The record of a run, as far as advice needs it.

use std::path::{Path, PathBuf};

use bsp::Interaction;
use bsp::units::Instant;
use experiments::Failure;
use experiments::record::{Manifest, fault, manifest, shortfall};
use record::{End, Event, EventHeader, EventKind, Migration, Moved, Superstep};

use crate::advice::Evidence;

/// The record of a run, as far as advice needs it.
#[derive(Debug)]
pub(super) struct Reading {
    /// Folder of the record.
    pub(super) folder: PathBuf,
    /// The description of the run.
    pub(super) manifest: Manifest,
    /// All supersteps, in order.
    pub(super) supersteps: Vec<Superstep>,
    /// The interactions of a task farm, in order.
    pub(super) interactions: Vec<Interaction>,
    /// All calls, in order.
    pub(super) calls: Vec<HeldCall>,
    /// Whether a host joined during the run.
    pub(super) has_joins: bool,
    /// The end of the run.
    pub(super) end: End,
    /// What `simulate` judges.
    pub(super) evidence: Evidence,
}

/// A call, without its list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeldCall {
    /// The number of complete supersteps.
    pub(super) superstep: u64,
    /// Time for which it delayed the processes, in seconds.
    pub(super) seconds: f64,
    /// The processes that moved.
    pub(super) migrations: Vec<Migration>,
    /// What their moves took.
    pub(super) arrivals: Vec<Moved>,
}

impl Reading {
    /// Reads the record in `folder`.
    ///
    /// # Errors
    ///
    /// If the record is incomplete, unreadable or of another version.
    pub(super) fn of(folder: &Path) -> Result<Self, Failure> {
        let manifest = manifest(folder)?;
        let (mut supersteps, mut interactions, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let (mut arrivals, mut has_joins, mut end) = (Vec::new(), false, None);
        let mut evidence = Evidence::default();
        let needed = |header: EventHeader| {
            !matches!(header.kind, EventKind::Observed | EventKind::Evaluated)
        };
        let extent = record::scan(folder, needed, |event| {
            evidence.observe(&event);
            match event {
                Event::Superstep(superstep) => supersteps.push(superstep),
                Event::Interaction(interaction) => interactions.push(interaction),
                Event::Moved(moved) => arrivals.push(moved),
                Event::Call(call) => calls.push(HeldCall {
                    superstep: call.superstep,
                    seconds: call.cost.get(),
                    migrations: call.migrations,
                    arrivals: std::mem::take(&mut arrivals),
                }),
                Event::Join(join) => has_joins |= join.joined,
                Event::End(found) => end = Some(found),
                Event::Run(_)
                | Event::Traced(_)
                | Event::Observed(_)
                | Event::Evaluated(_)
                | Event::Checkpoint(_) => {}
            }
        })
        .map_err(fault)?;
        let end = match (shortfall(&extent, manifest.failure.as_ref()), end) {
            (None, Some(end)) => end,
            (lack, _) => return Err(incomplete(folder, lack)),
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            manifest,
            supersteps,
            interactions,
            calls,
            has_joins,
            end,
            evidence,
        })
    }

    /// The makespan, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        (self.end.seconds - Instant::START).get()
    }

    /// The name of the workload.
    pub(super) fn workload(&self) -> &str {
        let name = &self.manifest.configuration["application"]["workload"];
        name.as_str().unwrap_or_default()
    }

    /// A fault of this record.
    pub(super) fn fault(&self, problem: &str) -> Failure {
        Failure::input(format!("{}: {problem}", self.folder.display()))
    }
}

fn incomplete(folder: &Path, lack: Option<String>) -> Failure {
    let lack = lack.unwrap_or_else(|| "The record has no end.".to_owned());
    Failure::input(format!(
        "{}: {lack}\n  help: advice needs the makespan; let a run with `--out` end",
        folder.display()
    ))
}

/// The duration of a superstep, in seconds.
pub(super) fn duration(superstep: &Superstep) -> f64 {
    (superstep.ended - superstep.started).get()
}
