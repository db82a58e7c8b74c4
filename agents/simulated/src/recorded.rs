//! What a simulated run records.

use agents::Setup;
use bsp::units::{Bytes, Instant, Instructions};

use crate::attainable::Attainable;

/// The events of a run that its observer has not seen yet, and the sums over all of them.
pub(super) struct Recorded {
    events: Vec<record::Event>,
    calls: Vec<record::Call>,
    joins: Vec<record::Join>,
    checkpoints: Vec<record::Checkpoint>,
    /// The number of supersteps recorded; the last one may be recorded after all processes have finished.
    supersteps: u64,
    /// What other mappings would have saved; not known if hosts join.
    attainable: Option<Attainable>,
    /// Bytes of the states that left a host.
    moved: Bytes,
}

impl Recorded {
    /// No events yet of a run on `setup`.
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            events: Vec::new(),
            calls: Vec::new(),
            joins: Vec::new(),
            checkpoints: Vec::new(),
            supersteps: 0,
            attainable: setup
                .elasticity
                .is_none()
                .then(|| Attainable::new(&setup.platform)),
            moved: Bytes(0),
        }
    }

    /// A superstep begins in which each process executes this many instructions.
    pub(super) fn begin(&mut self, work: &[Instructions]) {
        if let Some(attainable) = &mut self.attainable {
            attainable.began(work);
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, event: record::Event) {
        if let record::Event::Superstep(superstep) = &event {
            if let Some(attainable) = &mut self.attainable {
                attainable.ended(superstep.computation);
            }
            self.supersteps += 1;
        }
        self.events.push(event);
    }

    /// Adds the state of a process that leaves its host.
    pub(super) fn add_moved(&mut self, bytes: Bytes) {
        self.moved += bytes;
    }

    /// The number of supersteps recorded.
    pub(super) const fn supersteps(&self) -> u64 {
        self.supersteps
    }

    /// Passes the new events to `observer`.
    pub(super) fn observe(&mut self, observer: &mut dyn FnMut(&record::Event)) {
        if self.events.is_empty() {
            return;
        }
        for event in self.events.drain(..) {
            observer(&event);
            match event {
                record::Event::Call(call) => self.calls.push(*call),
                record::Event::Join(join) => self.joins.push(join),
                record::Event::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
                _ => {}
            }
        }
    }

    /// The end of a run that finished at `seconds`, with the number and the bytes of its messages.
    pub(super) fn end(&self, seconds: Instant, (messages, bytes): (u64, Bytes)) -> record::End {
        record::End {
            seconds,
            supersteps: self.supersteps,
            messages,
            bytes,
            attainable: self.attainable.as_ref().map(Attainable::total),
            imbalance: self.attainable.as_ref().map(Attainable::imbalance),
            moved: self.moved,
        }
    }

    /// Removes all joins that were observed.
    pub(super) fn joins(&mut self) -> Vec<record::Join> {
        std::mem::take(&mut self.joins)
    }

    /// Removes all checkpoints that were observed.
    pub(super) fn checkpoints(&mut self) -> Vec<record::Checkpoint> {
        std::mem::take(&mut self.checkpoints)
    }

    /// Removes all calls that were observed.
    pub(super) fn calls(&mut self) -> Vec<record::Call> {
        std::mem::take(&mut self.calls)
    }
}
