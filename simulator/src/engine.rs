//! The simulated clock and the activities under way.
//!
//! Time is a non-negative finite `f64`. Only `+ - * /` and comparisons touch it, so it is the same on every machine.
//! Simultaneous events are ordered by the start of their activity.
//!
//! Time counts from the last moment at which nothing was under way (`Engine::rest`). That moment is a date that is
//! summed without loss (`Epoch`). The network forgets then what it carried, and the calendar what was due. So what is
//! started takes the same time, bit for bit, at any date and after any history, until a host or a link changes. Changes
//! of hosts and links keep their dates from the beginning of the run, in calendars of their own: the order of what
//! happens at one date does not depend on them. On platforms whose hosts have owners, time counts from the beginning of
//! the run.
//!
//! Supersteps with a central or an ideal barrier end with such a moment, and with a hierarchical one in a single Set.
//! With several Sets, Managers end a superstep one after the other, and there is no such moment.

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instant, Instructions, Seconds};

use crate::calendar::{CLOCK_RESOLUTION, Calendar};
use crate::emptied::emptied;
use crate::event::{Activity, Event};
use crate::network::{ClosedFlow, Network, NetworkOptions};
use crate::owner_queue::OwnerQueue;
use crate::platform::{NoRoute, Platform};
use crate::processor::Processor;
use changes::Changes;
use epoch::Epoch;
use message_processor::MessageProcessors;

mod changes;
mod changing;
mod epoch;
mod external;
mod message_processor;
mod rest;

/// Computations, messages and timers on a platform, under one simulated clock.
///
/// The clock moves only in [`Engine::advance`]. What is started between two calls starts at [`Engine::now`].
///
/// # Laws
///
/// The same calls in the same order give the same instants and the same order of ends, bit for bit, on every machine.
#[derive(Debug)]
pub struct Engine {
    platform: Arc<Platform>,
    /// The date from which the clock counts.
    epoch: Epoch,
    /// Seconds since then.
    now: f64,
    /// Number of activities started so far.
    started: u64,
    /// How many of them have ended.
    over: u64,
    /// How many had been started when the platform was last at rest.
    rested: u64,
    /// Whether hosts have owners whose jobs come and go. Then the clock counts from the beginning.
    has_owners: bool,
    /// Whether hosts or links change in the course of time, so that what is under way ends at other dates than it seemed.
    varies: bool,
    calendar: Calendar<Event>,
    scheduled_ends: ScheduledEnds,
    /// Events that are due now.
    due: Vec<Event>,
    /// Activities that ended now, each after the number under which it was started.
    ended: Vec<(u64, Activity)>,
    processors: Vec<Processor>,
    /// By host, the jobs of its owner, if it has one.
    owners: Vec<Option<Box<OwnerQueue>>>,
    /// Hosts whose computations or speed changed now.
    stale_hosts: Vec<u32>,
    network: Network,
    /// The flows of messages that have left the network now.
    closed: Vec<u32>,
    message_processors: MessageProcessors,
    changes: Changes,
}

impl Engine {
    /// An idle platform at the beginning of the run.
    #[must_use]
    pub fn new(platform: Arc<Platform>, options: NetworkOptions) -> Self {
        let mut engine = Self {
            epoch: Epoch::default(),
            now: 0.0,
            started: 0,
            over: 0,
            rested: 0,
            has_owners: platform.has_owners(),
            varies: platform.varies(),
            calendar: Calendar::new(),
            scheduled_ends: ScheduledEnds::default(),
            due: Vec::new(),
            ended: Vec::new(),
            processors: Vec::new(),
            owners: Vec::new(),
            stale_hosts: Vec::new(),
            network: Network::new(Arc::clone(&platform), options),
            closed: Vec::new(),
            message_processors: MessageProcessors::default(),
            changes: Changes::new(&platform),
            platform,
        };
        engine
            .processors
            .resize_with(engine.platform.hosts().len(), Processor::default);
        let hosts = engine.platform.hosts().iter();
        engine.owners = hosts
            .map(|host| {
                let jobs = host.jobs.clone()?;
                Some(Box::new(OwnerQueue::new(jobs, host.cores)))
            })
            .collect();
        engine.change_links();
        engine
    }

    /// Starts a computation of `work` on a host; one of no work ends at this instant.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    pub fn compute(&mut self, host: HostId, work: Instructions, token: Activity) {
        let sequence = self.start();
        let processor = &mut self.processors[host.index()];
        if work == Instructions::ZERO {
            self.end_at(self.now, sequence, token);
            return;
        }
        processor.start(self.now, work.as_f64(), sequence, token);
        if !processor.is_stale {
            processor.is_stale = true;
            self.stale_hosts.push(host.0);
        }
    }

    /// Starts a message of `bytes` from one host to another, or to itself.
    ///
    /// It ends when its last byte has arrived and, where the route has an overhead, the receiving host has processed
    /// it.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts. Nothing is started then.
    ///
    /// # Panics
    ///
    /// If the platform has no such host.
    pub fn transfer(
        &mut self,
        from: HostId,
        to: HostId,
        bytes: Bytes,
        token: Activity,
    ) -> Result<(), NoRoute> {
        let sequence = self.started;
        let opened = self.network.open((from, to), bytes, (sequence, token))?;
        self.started += 1;
        if Seconds::ZERO < opened.overhead.send {
            let done = self
                .message_processors
                .enqueue(from, self.now, opened.overhead.send);
            self.calendar
                .push(done, Event::FlowLeaves { flow: opened.flow });
        } else {
            let begin = self.now + opened.latency;
            self.calendar
                .push(begin, Event::FlowBegins { flow: opened.flow });
        }
        Ok(())
    }

    /// Duration of an empty message from one host to another while nothing else is under way, the overheads of both
    /// hosts included.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts.
    ///
    /// # Panics
    ///
    /// If the platform has no such host.
    pub fn latency(&self, from: HostId, to: HostId) -> Result<Seconds, NoRoute> {
        self.network.idle_latency(from, to)
    }

    /// Seconds that a byte of a long message takes from one host to another while nothing else is under way.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts.
    ///
    /// # Panics
    ///
    /// If the platform has no such host.
    pub fn time_per_byte(&self, from: HostId, to: HostId) -> Result<f64, NoRoute> {
        self.network.idle_rate(from, to)
    }

    /// Starts a timer that ends `after` from now; one that lies in the past ends now.
    pub fn wake(&mut self, after: Seconds, token: Activity) {
        let sequence = self.start();
        let date = self.now + after.get().max(0.0);
        self.end_at(date, sequence, token);
    }

    /// Moves the clock to the next instant at which activities end, and appends them to `ended` in the order in which
    /// they were started.
    ///
    /// Returns `None` if nothing is under way, or if whatever is under way will never progress.
    pub fn advance(&mut self, ended: &mut Vec<Activity>) -> Option<Instant> {
        while self.ended.is_empty() {
            self.step()?;
        }
        if !self.ended.is_sorted_by_key(|(sequence, _)| *sequence) {
            self.ended.sort_unstable_by_key(|(sequence, _)| *sequence);
        }
        for (_, activity) in self.ended.drain(..) {
            self.over += 1;
            ended.push(activity);
        }
        self.ended = emptied(std::mem::take(&mut self.ended));
        Some(self.now())
    }

    /// Time that a host has spent so far on sending and receiving messages, where routes have an overhead.
    ///
    /// # Panics
    ///
    /// If the sum exceeds what a float can count.
    #[must_use]
    pub fn overhead_busy(&self, host: HostId) -> Seconds {
        let busy = self.message_processors.busy(host, self.now);
        Seconds::new(busy).expect("a sum of finite times up to now")
    }

    fn start(&mut self) -> u64 {
        self.started += 1;
        self.started - 1
    }

    /// Moves the clock to the next date at which anything is due, and handles that.
    fn step(&mut self) -> Option<()> {
        if !self.stale_hosts.is_empty() {
            self.update_hosts();
        }
        if self.varies {
            self.sweep();
        }
        // As long as something is due at this very instant, more flows may come or go in it.
        if self.calendar.next() != Some(self.now) {
            self.network.solve(self.now, &mut self.calendar);
        }
        let due = self.calendar.next();
        let held = self.network.next_end();
        let speed = self.changes.speeds.next();
        let all = [due, held, speed].into_iter().flatten();
        let next = all.min_by(f64::total_cmp)?;
        let change = self.changes.links.next();
        if change.is_some_and(|change| self.epoch.until(change) <= next) {
            self.change_links();
            return Some(());
        }
        self.now = self.now.max(next);
        if speed.is_some_and(|speed| speed <= next) {
            self.change_speeds();
        }
        if due.is_some_and(|due| due <= next) {
            let mut due = std::mem::take(&mut self.due);
            self.calendar.pop(&mut due);
            for event in due.drain(..) {
                self.handle_event(event);
            }
            self.due = emptied(due);
        }
        if held.is_some_and(|end| end <= next * (1.0 + CLOCK_RESOLUTION)) {
            let mut closed = std::mem::take(&mut self.closed);
            self.network.end_limited(self.now, &mut closed);
            for flow in closed.drain(..) {
                self.handle_closed(self.network.closed(flow));
            }
            self.closed = emptied(closed);
        }
        Some(())
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Ends { place } => self.ended.push(self.scheduled_ends.remove(place)),
            Event::HostEnds { host, generation } => {
                let processor = &mut self.processors[host as usize];
                if processor.is_current(generation) {
                    processor.finish(self.now, |computation| {
                        self.ended.push((computation.sequence, computation.token));
                    });
                    self.mark_stale(host);
                }
            }
            Event::FlowLeaves { flow } => {
                let begin = self.now + self.network.latency(flow);
                self.calendar.push(begin, Event::FlowBegins { flow });
            }
            Event::FlowBegins { flow } => {
                if let Some(closed) = self.network.begin(flow) {
                    self.handle_closed(closed);
                }
            }
            Event::FlowEnds { flow, generation } => {
                if let Some(closed) = self.network.end_bounded(flow, generation) {
                    self.handle_closed(closed);
                }
            }
        }
    }

    /// Handles a message that has left the network: it ends, or occupies the receiving host first.
    fn handle_closed(&mut self, closed: ClosedFlow) {
        let receive = if closed.has_overhead {
            self.network.overhead(closed.from, closed.to).receive
        } else {
            Seconds::ZERO
        };
        if Seconds::ZERO < receive {
            let done = self
                .message_processors
                .enqueue(closed.to, self.now, receive);
            self.end_at(done, closed.sequence, closed.activity);
        } else {
            self.ended.push((closed.sequence, closed.activity));
        }
    }

    /// An activity ends at `date`.
    fn end_at(&mut self, date: f64, sequence: u64, activity: Activity) {
        let place = self.scheduled_ends.insert(sequence, activity);
        self.calendar.push(date, Event::Ends { place });
    }

    fn mark_stale(&mut self, host: u32) {
        let processor = &mut self.processors[host as usize];
        if !processor.is_stale {
            processor.is_stale = true;
            self.stale_hosts.push(host);
        }
    }
}

/// What has passed between two moments at which nothing was under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// How long it was.
    pub length: Seconds,
    /// The number of changes of the platform before; `None` if hosts or links changed in it.
    changes: Option<u64>,
    /// By host, for how many seconds it processed messages, up to the highest that has processed any.
    busy: Vec<f64>,
}

/// The activities whose ends are in the calendar, each with the number under which it was started.
///
/// The entries of the calendar are small, because there is one for each message and each busy host. These activities
/// are few, so that the entry has their place alone.
#[derive(Debug, Default)]
struct ScheduledEnds {
    ends: Vec<(u64, Activity)>,
    free: Vec<u32>,
}

impl ScheduledEnds {
    /// Adds an activity, and returns its place.
    fn insert(&mut self, sequence: u64, activity: Activity) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.ends[place as usize] = (sequence, activity);
                place
            }
            None => {
                self.ends.push((sequence, activity));
                u32::try_from(self.ends.len() - 1).expect("fewer than 2^32 activities")
            }
        }
    }

    /// Removes the activity at a place: it ends.
    fn remove(&mut self, place: u32) -> (u64, Activity) {
        self.free.push(place);
        self.ends[place as usize]
    }
}
