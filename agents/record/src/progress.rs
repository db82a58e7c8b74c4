//! The order of the events of a record, and the processes and hosts that they name.

use std::collections::BTreeSet;

use bsp::{HostId, Rank, SetId};

use super::header::{EventHeader, EventKind};
use super::{Event, Run};

/// The state that decides whether the next event of a record is in order.
///
/// Events of other kinds than those that it names may be anywhere.
///
/// Between two supersteps there is at most one call. The observations of processes and Sets, and the arrivals, precede
/// it, because no Manager ends a call earlier.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of processes of the run.
    processes: usize,
    hosts: usize,
    /// The number of supersteps that are over.
    supersteps: u64,
    /// The superstep before which the last checkpoint began.
    saved: u64,
    /// Whether events of a call have been read, but not the call.
    is_in_call: bool,
    /// Whether the call after these supersteps has been read.
    is_called: bool,
    /// The Sets whose observations of the call have been read.
    evaluated: BTreeSet<SetId>,
}

impl Progress {
    /// The state after the beginning of `run`.
    pub(super) fn of(run: &Run) -> Self {
        Self {
            processes: run.placement.len(),
            hosts: run.hosts.len(),
            supersteps: run.first_superstep(),
            saved: run.first_superstep(),
            ..Self::default()
        }
    }

    /// The number of supersteps that are over.
    pub(super) const fn supersteps(&self) -> u64 {
        self.supersteps
    }

    /// Continues by an event, if it is in order and the process and the host of its header exist.
    pub(super) fn follow(&mut self, header: EventHeader) -> Result<(), String> {
        header.rank.map_or(Ok(()), |rank| self.process(rank))?;
        header.host.map_or(Ok(()), |host| self.host(host))?;
        let supersteps = self.supersteps;
        if header.kind == EventKind::Checkpoint {
            return self.save(header.superstep);
        }
        let (met, what) = match header.kind {
            EventKind::Superstep => (header.index, "superstep"),
            EventKind::Observed => (header.superstep, "what a process found after superstep"),
            EventKind::Evaluated => (header.superstep, "what a Set found after superstep"),
            EventKind::Call => (header.superstep, "the call after superstep"),
            EventKind::Join => (header.superstep, "a host that joins after superstep"),
            // It does not name its superstep.
            EventKind::Moved => (Some(supersteps), "a move after superstep"),
            EventKind::End => (header.supersteps, "the end of the run after superstep"),
            _ => return Ok(()),
        };
        if met != Some(supersteps) {
            let met = met.map_or_else(|| "none".to_owned(), |met| met.to_string());
            return Err(format!(
                "{what} {met} comes after {supersteps} supersteps; {FAULTY}"
            ));
        }
        match header.kind {
            EventKind::Superstep | EventKind::End if self.is_in_call => {
                return Err(format!(
                    "{what} {supersteps} comes before the call that was begun; {FAULTY}"
                ));
            }
            EventKind::Superstep => {
                self.supersteps += 1;
                self.is_called = false;
                self.evaluated.clear();
            }
            EventKind::Observed
            | EventKind::Evaluated
            | EventKind::Moved
            | EventKind::Join
            | EventKind::Call
                if self.is_called =>
            {
                return Err(format!(
                    "{what} {supersteps} follows the end of that call; {FAULTY}"
                ));
            }
            EventKind::Call => {
                self.is_called = true;
                self.is_in_call = false;
            }
            // The moves before it are those to the host that joins.
            EventKind::Join => self.is_in_call = false,
            EventKind::Observed | EventKind::Moved => self.is_in_call = true,
            EventKind::Evaluated => {
                self.is_in_call = true;
                if header.set.is_some_and(|set| !self.evaluated.insert(set)) {
                    return Err(format!("{what} {supersteps} is there twice; {FAULTY}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A checkpoint is complete. It began before `superstep`, and may have taken several.
    fn save(&mut self, superstep: Option<u64>) -> Result<(), String> {
        let (supersteps, last) = (self.supersteps, self.saved);
        let superstep = superstep.unwrap_or_default();
        if superstep <= last || supersteps < superstep {
            return Err(format!(
                "the checkpoint of superstep {superstep} comes after {supersteps} supersteps and that of {last}; {FAULTY}"
            ));
        }
        self.saved = superstep;
        Ok(())
    }

    /// Checks the processes and hosts in the lists of an event; [`Self::follow`] checks those of its header.
    pub(super) fn knows(&self, event: &Event) -> Result<(), String> {
        match event {
            Event::Superstep(superstep) => self.process(superstep.slowest),
            Event::Evaluated(evaluated) => evaluated.processes.iter().try_for_each(|found| {
                self.process(found.rank)?;
                self.host(found.host)
            }),
            Event::Join(join) => {
                let mut processes = join.processes.iter();
                processes.try_for_each(|rank| self.process(*rank))
            }
            Event::Call(call) => {
                let listed = call.list.iter();
                listed
                    .map(|entry| entry.rank)
                    .try_for_each(|rank| self.process(rank))?;
                call.considered.iter().try_for_each(|considered| {
                    self.process(considered.entry.rank)?;
                    self.host(considered.host)
                })?;
                call.migrations.iter().try_for_each(|moved| {
                    self.process(moved.rank)?;
                    self.host(moved.from)?;
                    self.host(moved.to)
                })
            }
            _ => Ok(()),
        }
    }

    fn process(&self, rank: Rank) -> Result<(), String> {
        within("the process of rank", rank.index(), self.processes)
    }

    fn host(&self, host: HostId) -> Result<(), String> {
        within("host", host.index(), self.hosts)
    }
}

fn within(what: &str, index: usize, number: usize) -> Result<(), String> {
    if index < number {
        return Ok(());
    }
    Err(format!(
        "it names {what} {index}; this run has {number}, counted from 0"
    ))
}

/// The fault of a record whose events are out of order.
const FAULTY: &str = "events are missing or there twice";
