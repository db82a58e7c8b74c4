//! A record, read in the order in which things happened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bsp::units::Instant;
use bsp::{HostId, Rank};
use experiments::Failure;
use experiments::record::fault;
use record::{Call, Event, EventKind, Moved, Run, Superstep, TraceReader, TracedSuperstep};

/// Something that happened in a run.
pub(super) enum Happening<'a> {
    /// A superstep, with what each process did in it, if the run is traced.
    Superstep(&'a Superstep, Option<&'a TracedSuperstep>),
    /// A process moved from this host.
    Moved(&'a Moved, HostId),
    /// A call ended. The moves that it ordered come before it.
    Call(&'a Call),
    /// The run ended at this time, or the record does. It comes last.
    End(Instant),
}

/// A record to be read once.
pub(super) struct Reading {
    pub(super) folder: PathBuf,
    /// How the run began.
    pub(super) run: Run,
    trace: Option<TraceReader>,
}

impl Reading {
    /// The record in `folder`.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be read.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let run = record::head(folder).map_err(fault)?;
        let trace = TraceReader::open(folder, run.placement.len()).map_err(Failure::input)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            run,
            trace,
        })
    }

    /// Whether it has what each process did.
    pub(super) const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Where each process starts, by rank.
    pub(super) fn placement(&self) -> Vec<HostId> {
        let hosts = self.run.hosts.iter().enumerate();
        let hosts: BTreeMap<&str, HostId> = hosts
            .map(|(index, name)| (name.as_str(), HostId::from_index(index)))
            .collect();
        let placement = self.run.placement.iter();
        placement.map(|name| hosts[name.as_str()]).collect()
    }

    /// Passes everything that happened to `visit`, until that fails.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or `visit` fails.
    pub(super) fn each(
        self,
        visit: &mut dyn FnMut(Happening<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut placement = self.placement();
        let (mut trace, mut failed, mut ended) = (self.trace, None, Instant::START);
        let mut handle = |event: Event| -> Result<(), Failure> {
            match event {
                Event::Superstep(superstep) => {
                    ended = superstep.ended;
                    let traced = trace.as_mut().map(|trace| next(trace, superstep.index));
                    visit(Happening::Superstep(&superstep, traced.transpose()?))
                }
                Event::Moved(moved) => {
                    let host = &mut placement[moved.rank.index()];
                    let from = std::mem::replace(host, moved.host);
                    visit(Happening::Moved(&moved, from))
                }
                Event::Call(call) => visit(Happening::Call(&call)),
                Event::End(end) => {
                    ended = end.seconds;
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        let wanted = |kind| {
            use EventKind::{Call, End, Moved, Superstep};
            matches!(kind, Superstep | Moved | Call | End)
        };
        let scanned = record::scan(
            &self.folder,
            |header| wanted(header.kind),
            |event| {
                if failed.is_none() {
                    failed = handle(event).err();
                }
            },
        );
        if let Some(failure) = failed {
            return Err(failure);
        }
        scanned.map_err(fault)?;
        visit(Happening::End(ended))
    }
}

/// The trace of superstep `index`, which comes next.
fn next(trace: &mut TraceReader, index: u64) -> Result<&TracedSuperstep, Failure> {
    let traced = trace.next_superstep().map_err(Failure::input)?;
    match traced {
        Some(traced) if traced.index == index => Ok(traced),
        _ => Err(Failure::input(format!(
            "trace.bin has no superstep {index}, which events.jsonl has; the record is cut off or mixed with another one"
        ))),
    }
}

/// The name of a process: p1 is that of rank 0.
pub(super) fn process_name(rank: Rank) -> String {
    rank.to_string()
}
