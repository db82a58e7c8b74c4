//! The end of supersteps, and those that repeat earlier ones.

use std::sync::Arc;

use protocol::{Address, Arrived, Start};

use super::SimulatedWorld;
use crate::simulated::repetition::Course;
use crate::world::{Delivery, Event, Repeated, World};

impl SimulatedWorld {
    /// All processes have arrived at the end of a superstep: time counts from here if nothing is under way.
    pub(super) fn end_course(&mut self, all: &Arrived) {
        let span = self.engine.rest();
        if let (Some(span), Some(recording)) = (span, self.repetition.recorded())
            && self.deliveries.is_empty()
        {
            let course = recording.course(self.supersteps.plan());
            self.repetition.keep(Course {
                span,
                all: Some(*all),
                elapsed: self.supersteps.elapsed().to_vec(),
                ..course
            });
        }
    }

    /// Executes the programs for the next superstep. If they do what they did in a recent one, lets it pass and returns
    /// true.
    pub(super) fn repeat(&mut self, start: Start) -> bool {
        let is_at_rest = self.engine.rest().is_some() && self.deliveries.is_empty();
        let is_plain = start.interval.is_none() && !start.checkpoint;
        if !(self.repetition.is_on() && is_at_rest && is_plain) {
            return false;
        }
        if let Err(error) = self.execute(start.superstep) {
            self.fail(error);
            return false;
        }
        let plan = self.supersteps.plan();
        let Some(course) = self.repetition.take(plan, &self.engine) else {
            self.traffic.begin(plan);
            self.repetition.record(plan);
            return false;
        };
        self.traffic.repeat(plan);
        self.supersteps.set_elapsed(&course.elapsed);
        self.deliver_course(start.superstep, &course);
        self.engine.repeat(&course.span);
        self.repetition.keep(course);
        true
    }

    /// Lets the agents know that `superstep` passes as `course` says.
    fn deliver_course(&mut self, superstep: u64, course: &Course) {
        for (index, process) in course.processes.iter().enumerate() {
            let repeated = Repeated {
                superstep,
                started: self.engine.date(process.started),
                computed: self.engine.date(process.computed),
                arrived: self.engine.date(process.arrived),
                courses: Arc::clone(&course.processes),
                index,
            };
            self.deliver(Delivery {
                to: Address::Process(process.rank),
                event: Event::Repeated(repeated),
            });
        }
        let all = course.all.expect("a course that is kept is complete");
        self.deliver(Delivery {
            to: Address::SetManager(self.rules.first),
            event: Event::AllRepeated(Arrived { superstep, ..all }),
        });
    }
}
