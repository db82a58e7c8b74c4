//! The end of supersteps, and those that repeat earlier ones.
//!
//! Where one Manager ends supersteps, the world knows when it [starts](agents::Membership::released) the next one.
//! If that repeats an earlier one, the Manager sends nothing. Agents handle the events of the course instead: each process
//! that observes its supersteps what happened to it, in the order of arrival, and the Manager one arrival for all. What
//! processes ask for meanwhile has been done, and is known.

use agents::{Delivery, Event, Mail};
use bsp::Rank;
use protocol::{Address, AgentMessage, Arrived, Start};

use super::SimulatedWorld;
use crate::repetition::Course;

/// A superstep that passes as an earlier one did.
pub(super) struct Replay {
    start: Start,
    course: Course,
}

impl SimulatedWorld {
    /// The first Manager is about to handle the arrival of processes. If these are the last ones, time counts from here if
    /// nothing is under way.
    pub(super) fn arrive(&mut self, from: Address, arrived: &Arrived) {
        if let Address::Process(rank) = from {
            let has_halted = arrived.halted == 1;
            for number in self.rendezvous.arrive(rank, arrived.superstep, has_halted) {
                self.start_or_hold(number);
            }
        }
        let all = self.arrived.map_or(*arrived, |others| others.and(*arrived));
        if all.processes < self.living {
            self.arrived = Some(all);
            return;
        }
        self.arrived = None;
        self.living -= all.halted;
        let span = self.engine.rest();
        if let (Some(span), Some(recording)) = (span, self.repetition.recorded())
            && self.deliveries.is_empty()
        {
            let course = recording.course(self.supersteps.plan());
            self.repetition.keep(Course {
                span,
                all: Some(all),
                elapsed: self.supersteps.elapsed().to_vec(),
                ..course
            });
        }
    }

    /// The next superstep is about to be started by one Manager. Lets it pass as an earlier one did, if that is known.
    pub(super) fn begin_superstep(&mut self, start: Start) {
        let is_at_rest = self.engine.rest().is_some() && self.deliveries.is_empty();
        let is_plain = start.interval.is_none() && !start.checkpoint;
        if self.repetition.is_on() && is_at_rest && is_plain {
            self.repeat(start);
        }
        if self.replay.is_none() {
            let has_master = self.hosts[0] == self.rules.first_host();
            self.rendezvous.start(start.superstep, has_master);
        }
    }

    /// Executes the programs for the next superstep. If they do what they did in a recent one, lets it pass.
    fn repeat(&mut self, start: Start) {
        if let Err(error) = self.execute(start.superstep) {
            return self.fail(error);
        }
        let plan = self.supersteps.plan();
        let Some(course) = self.repetition.take(plan, &self.engine) else {
            self.traffic.begin(plan);
            self.repetition.record(plan);
            return;
        };
        self.traffic.repeat(plan);
        self.supersteps.set_elapsed(&course.elapsed);
        self.replay = Some(Replay { start, course });
    }

    /// Has processes handle the events of a superstep that passes as an earlier one did. Returns its end, for the Manager.
    pub(super) fn pass(
        &mut self,
        replay: Replay,
        handle: &mut dyn FnMut(Rank, Event, &mut Self),
    ) -> Delivery {
        let Replay { start, course } = replay;
        for process in &course.processes {
            let rank = process.rank;
            let host = self.hosts[rank.index()];
            let set = self.rules.sets[host.index()];
            let started = Event::Message {
                from: self.rules.barrier.parent(host, set),
                message: AgentMessage::Start(start),
            };
            self.replayed = Some(self.engine.date(process.started));
            handle(rank, started, self);
            let computed = Event::Computed {
                work: process.work,
                time: process.computation,
                halted: false,
            };
            self.replayed = Some(self.engine.date(process.computed));
            handle(rank, computed, self);
            let exchanged = Event::Exchanged(process.exchange.clone());
            self.replayed = Some(self.engine.date(process.arrived));
            handle(rank, exchanged, self);
        }
        self.replayed = None;
        self.engine.repeat(&course.span);
        self.engine.rest();
        let manager = Address::SetManager(self.rules.first);
        let all = course.all.expect("a course that is kept is complete");
        let arrived = Arrived {
            superstep: start.superstep,
            ..all
        };
        self.repetition.keep(course);
        let event = Event::Message {
            from: manager,
            message: AgentMessage::Arrived(arrived),
        };
        Delivery { to: manager, event }
    }
}
