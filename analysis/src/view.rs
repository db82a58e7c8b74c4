//! What a run looks like: its supersteps, its placement, the load of its hosts and its Sets, from one pass over its record.
//!
//! What is kept does not grow with the number of supersteps, except by the moves: supersteps are joined in [`Bins`], and
//! hosts in [`HostRows`].

mod bins;
mod host_rows;
mod load;
mod placement;
#[cfg(test)]
pub(crate) mod sample;
mod sets;
mod work;

use record::{Event, EventHeader, EventKind, Run};

pub(crate) use bins::{Bin, Bins};
pub(crate) use load::{Load, LoadBin};
pub(crate) use placement::{Placement, Segment};
pub(crate) use sets::{Flow, Sets};

use load::LoadReading;
use sets::SetsReading;

/// What a run looks like.
#[derive(Debug)]
pub(crate) struct View {
    /// The start of the run.
    pub(crate) run: Run,
    /// The superstep after the last one.
    pub(crate) end: u64,
    /// Its supersteps.
    pub(crate) bins: Bins,
    /// Where its processes were.
    pub(crate) placement: Placement,
    /// The load of its hosts.
    pub(crate) load: Load,
    /// Its Sets.
    pub(crate) sets: Sets,
}

/// A record that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Viewing {
    run: Run,
    end: u64,
    bins: Bins,
    placement: Placement,
    load: LoadReading,
    sets: SetsReading,
}

impl Viewing {
    /// Nothing but the head of a record has been read.
    pub(crate) fn new(run: Run) -> Self {
        let first = run.first_superstep();
        let placement = Placement::new(&run);
        Self {
            end: first,
            bins: Bins::new(first),
            load: LoadReading::new(&run, &placement),
            sets: SetsReading::new(&run),
            placement,
            run,
        }
    }

    /// Whether [`Self::take`] takes anything from an event.
    pub(crate) fn needs(header: EventHeader) -> bool {
        matches!(
            header.kind,
            EventKind::Superstep | EventKind::Evaluated | EventKind::Join | EventKind::Call
        )
    }

    /// The next event has been read.
    pub(crate) fn take(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                self.end = superstep.index + 1;
                self.bins.push(superstep);
                self.load.elapse(superstep, &self.placement);
            }
            Event::Evaluated(evaluated) => {
                self.sets.evaluate(evaluated);
                self.load.evaluate(evaluated);
            }
            Event::Call(call) => {
                self.bins.charge(call.cost.get());
                self.load.settle(&self.placement);
                let moved = call.migrations.iter().map(|moved| (moved.rank, moved.to));
                self.placement.change(call.superstep, moved);
                self.load.change(&self.placement);
            }
            Event::Join(join) if join.joined => {
                self.bins.charge((join.ended - join.at).get());
                self.load.settle(&self.placement);
                let moved = join.processes.iter().map(|rank| (*rank, join.host));
                self.placement.change(join.superstep, moved);
                self.load.change(&self.placement);
            }
            _ => {}
        }
    }

    /// All events have been read.
    pub(crate) fn end(mut self) -> View {
        self.bins.end();
        self.load.settle(&self.placement);
        let sets = self.sets.end();
        let load = self.load.end(&self.run, &sets);
        View {
            run: self.run,
            end: self.end,
            bins: self.bins,
            placement: self.placement,
            load,
            sets,
        }
    }
}

impl View {
    /// The superstep with which the run begins.
    pub(crate) fn first(&self) -> u64 {
        self.run.first_superstep()
    }

    /// The name of a host.
    pub(crate) fn host(&self, host: bsp::HostId) -> &str {
        &self.run.hosts[host.index()]
    }
}
