//! The end of supersteps, and those that repeat earlier ones.
//!
//! Where one Manager ends supersteps, the world knows when it [starts](crate::world::Membership::released) the next one.
//! If that repeats an earlier one, the messages that start processes are not carried. Instead, once the Manager has
//! started all, agents receive the events of the course: each process that observes its supersteps what happened to it, in
//! the order of arrival, and the Manager one arrival for all. What they do then is known, and is not done.

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank};
use protocol::{Address, AgentMessage, Arrived, Start};

use super::SimulatedWorld;
use crate::simulated::repetition::Course;
use crate::world::{Delivery, Event, Mail};

/// A superstep that passes as an earlier one did.
pub(super) struct Replay {
    start: Start,
    course: Course,
    /// The next event of a process, and the place of its course among those of all.
    next: (Moment, usize),
    /// The time of the event that a process handles.
    now: Option<Instant>,
}

/// What happens to a process in a superstep.
#[derive(Clone, Copy)]
enum Moment {
    Start,
    Computed,
    Exchanged,
}

impl Replay {
    /// The time for the agent that handles an event of it.
    pub(super) const fn now(&self) -> Option<Instant> {
        self.now
    }

    /// The next event of a process, if there is one left, and its time after the release.
    fn next(&mut self, parent: impl FnOnce(Rank) -> Address) -> Option<(Seconds, Delivery)> {
        let (moment, index) = self.next;
        let process = self.course.processes.get(index)?;
        let (at, event, next) = match moment {
            Moment::Start => {
                let from = parent(process.rank);
                let message = AgentMessage::Start(self.start);
                let next = (Moment::Computed, index);
                (process.started, Event::Message { from, message }, next)
            }
            Moment::Computed => {
                let event = Event::Computed {
                    work: process.work,
                    time: process.computation,
                    halted: false,
                };
                (process.computed, event, (Moment::Exchanged, index))
            }
            Moment::Exchanged => {
                let event = Event::Exchanged(process.exchange.clone());
                (process.arrived, event, (Moment::Start, index + 1))
            }
        };
        self.next = next;
        let to = Address::Process(process.rank);
        Some((at, Delivery { to, event }))
    }
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
        self.replay = Some(Replay {
            start,
            course,
            next: (Moment::Start, 0),
            now: None,
        });
    }

    /// Whether what an agent sends is part of a superstep that is not simulated.
    pub(super) fn is_replayed(&self, message: &AgentMessage) -> bool {
        let is_of_barrier = matches!(message, AgentMessage::Start(_) | AgentMessage::Arrived(_));
        self.replay.is_some() && is_of_barrier
    }

    /// The next event of the superstep that passes as an earlier one did, if there is one.
    pub(super) fn next_replayed(&mut self) -> Option<Delivery> {
        let replay = self.replay.as_mut()?;
        let (rules, hosts): (_, &[HostId]) = (&self.rules, &self.hosts);
        let parent = |rank: Rank| {
            let host = hosts[rank.index()];
            rules.barrier.parent(host, rules.sets[host.index()])
        };
        if let Some((at, delivery)) = replay.next(parent) {
            replay.now = Some(self.engine.date(at));
            return Some(delivery);
        }
        let Replay { start, course, .. } = self.replay.take()?;
        self.engine.repeat(&course.span);
        self.engine.rest();
        let manager = Address::SetManager(self.rules.first);
        let all = course.all.expect("a course that is kept is complete");
        let arrived = Arrived {
            superstep: start.superstep,
            ..all
        };
        self.repetition.keep(course);
        let message = AgentMessage::Arrived(arrived);
        Some(Delivery {
            to: manager,
            event: Event::Message {
                from: manager,
                message,
            },
        })
    }
}
