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

mod changing;

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instant, Instructions, Seconds};

use crate::calendar::{Activity, CLOCK_RESOLUTION, Calendar, Event};
use crate::emptied::emptied;
use crate::jobs::OwnerQueue;
use crate::network::{ClosedFlow, Network};
use crate::network_options::NetworkOptions;
use crate::platform::{NoRoute, Platform};
use crate::processor::Processor;
use changing::Changes;

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

    /// Seconds that a byte of a long message takes on the links that messages from `one.0` to `one.1` and messages from
    /// `other.0` to `other.1` share, while nothing else is under way; zero if they share none.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts.
    ///
    /// # Panics
    ///
    /// If the platform has no such host.
    pub fn shared_time_per_byte(
        &self,
        one: (HostId, HostId),
        other: (HostId, HostId),
    ) -> Result<f64, NoRoute> {
        self.network.idle_shared_rate(one, other)
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

    /// Lets time count from here, if nothing is under way and hosts have no owners. Returns what has passed since this was
    /// done last, or since the beginning.
    ///
    /// What happens afterwards depends on what is started, but not on anything before, and not on the date until a host or a
    /// link changes: the same activities take the same times, bit for bit.
    pub fn rest(&mut self) -> Option<Span> {
        if self.has_owners || self.started != self.over {
            return None;
        }
        if self.started != self.rested {
            self.rested = self.started;
            // What is left are events of activities that ended otherwise.
            self.calendar.clear();
            self.changes.speeds.clear();
            for host in self.stale_hosts.drain(..) {
                self.processors[host as usize].is_stale = false;
            }
            self.network.rest();
        }
        let changes = self.rest_changes();
        let length = self.since_rest();
        self.epoch.advance(length.get());
        self.now = 0.0;
        Some(Span {
            length,
            changes,
            busy: self.message_processors.rest(),
        })
    }

    /// Lets the same pass again that passed once, after a [`rest`](Self::rest).
    ///
    /// # Panics
    ///
    /// If something has been started since, or it [cannot be repeated](Self::can_repeat).
    pub fn repeat(&mut self, span: &Span) {
        assert!(
            self.started == self.over && self.now <= 0.0,
            "something is under way"
        );
        assert!(self.can_repeat(span), "the platform changes");
        self.epoch.advance(span.length.get());
        self.message_processors.repeat(&span.busy);
    }

    /// Time since the last [`rest`](Self::rest), or since the beginning.
    ///
    /// # Panics
    ///
    /// If the time exceeds what a float can count.
    #[must_use]
    pub fn since_rest(&self) -> Seconds {
        Seconds::new(self.now).expect("the clock goes from zero on and stays finite")
    }

    /// The date that is `after` the last [`rest`](Self::rest).
    ///
    /// # Panics
    ///
    /// If the date exceeds what a float can count.
    #[must_use]
    pub fn date(&self, after: Seconds) -> Instant {
        let date = self.epoch.after(after.get());
        Instant::new(date).expect("the clock goes from zero on and stays finite")
    }

    /// The current simulated time.
    ///
    /// # Panics
    ///
    /// If the simulated time exceeds what a float can count.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.date(self.since_rest())
    }

    /// Mean external load of a host during the last `window`, or since the run began if that is
    /// shorter; the load at this instant if the window is empty.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn load(&mut self, host: HostId, window: Seconds) -> f64 {
        let now = self.now();
        let from = (now.get() - window.get().max(0.0)).max(0.0);
        if let Some(queue) = &mut self.owners[host.index()] {
            queue.advance(self.now);
            return queue.load(from, self.now);
        }
        let from = Instant::new(from).expect("between zero and now");
        match &self.platform.host(host).load {
            Some(profile) => profile.mean(from, now, 0.0),
            None => 0.0,
        }
    }

    /// How long each job of the owner that is present on a host has had a core so far, the longest first.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn job_ages(&mut self, host: HostId) -> Vec<Seconds> {
        let Some(queue) = &mut self.owners[host.index()] else {
            return Vec::new();
        };
        queue.advance(self.now);
        let ages = queue.ages(self.now).map(Seconds::new);
        let mut ages: Vec<Seconds> = ages.filter_map(Result::ok).collect();
        ages.sort_unstable_by(|one, other| other.cmp(one));
        ages
    }

    /// The part of a core that a computation alone would not have had on a host during the last `window`, because of its
    /// owner; the part at this instant if the window is empty.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn unavailable(&mut self, host: HostId, window: Seconds) -> f64 {
        let (now, from) = (self.now, (self.now - window.get().max(0.0)).max(0.0));
        match &mut self.owners[host.index()] {
            None => self.load(host, window),
            Some(queue) => {
                queue.advance(now);
                queue.mean_unavailable(from, now)
            }
        }
    }

    /// How often during the last `window` a job of the owner has arrived on a host while none was present.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn busy_periods(&mut self, host: HostId, window: Seconds) -> u64 {
        let from = (self.now - window.get().max(0.0)).max(0.0);
        self.owners[host.index()].as_mut().map_or(0, |queue| {
            queue.advance(self.now);
            queue.periods(from)
        })
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

/// A date, kept with what rounding cuts off: a sum of many lengths stays exact to the last digit.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// Seconds from the beginning of the run, rounded.
    high: f64,
    /// What rounding has cut off.
    low: f64,
}

impl Epoch {
    /// Seconds from the beginning of the run to `length` seconds after this date.
    fn after(self, length: f64) -> f64 {
        self.high + (self.low + length)
    }

    /// Seconds from this date to `date`, which counts from the beginning of the run.
    fn until(self, date: f64) -> f64 {
        (date - self.high) - self.low
    }

    /// Moves the date by `length` seconds; [`after`](Self::after) has the same bits for the same date.
    fn advance(&mut self, length: f64) {
        let term = self.low + length;
        let high = self.high + term;
        let shift = high - self.high;
        self.low = (self.high - (high - shift)) + (term - shift);
        self.high = high;
    }
}

/// The message processors of all hosts.
///
/// Each processes one message at a time, sent and received ones alike, in the order in which they
/// come.
#[derive(Debug, Default)]
struct MessageProcessors {
    /// By host, up to the highest that has processed a message.
    processors: Vec<MessageProcessor>,
}

#[derive(Clone, Copy, Debug, Default)]
struct MessageProcessor {
    /// When its queue will be empty, in seconds.
    free: f64,
    /// Seconds needed for all messages before the platform was last at rest.
    before: f64,
    /// Seconds needed for all messages since, the queued ones included.
    total: f64,
}

impl MessageProcessors {
    /// Queues a message that takes `length` at a host, and returns when it has been processed.
    fn enqueue(&mut self, host: HostId, now: f64, length: Seconds) -> f64 {
        if self.processors.len() <= host.index() {
            self.processors
                .resize(host.index() + 1, MessageProcessor::default());
        }
        let processor = &mut self.processors[host.index()];
        let length = length.get().max(0.0);
        processor.free = processor.free.max(now) + length;
        processor.total += length;
        processor.free
    }

    /// All messages have been processed, and time counts from here. Returns for how long each host was busy since this was
    /// called last.
    fn rest(&mut self) -> Vec<f64> {
        let rest = |processor: &mut MessageProcessor| {
            let busy = std::mem::take(&mut processor.total);
            (processor.before, processor.free) = (processor.before + busy, 0.0);
            busy
        };
        self.processors.iter_mut().map(rest).collect()
    }

    /// The hosts are busy for as long as they were once, as [`rest`](Self::rest) returned it.
    fn repeat(&mut self, busy: &[f64]) {
        for (processor, busy) in self.processors.iter_mut().zip(busy) {
            processor.before += busy;
        }
    }

    /// Seconds that the host has spent on messages until `now`.
    fn busy(&self, host: HostId, now: f64) -> f64 {
        // A queue is processed without a break, so what is left ends at `free`.
        self.processors.get(host.index()).map_or(0.0, |processor| {
            processor.before + (processor.total - (processor.free - now).max(0.0)).max(0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_same_before_and_after_it_is_reached() {
        let mut epoch = Epoch::default();
        for step in 0..100_000_u32 {
            let length = 0.1 + f64::from(step % 7) * 1e-3;
            let before = epoch.after(length);
            epoch.advance(length);
            assert_eq!(epoch.after(0.0).to_bits(), before.to_bits());
        }
    }

    #[test]
    fn a_million_lengths_are_summed_to_the_last_digit() {
        let mut epoch = Epoch::default();
        let mut plain = 0.0;
        for _ in 0..1_000_000 {
            epoch.advance(0.1);
            plain += 0.1;
        }
        // A million times the number that is nearest to 0.1, rounded once.
        assert_eq!(epoch.after(0.0).to_bits(), 100_000.0_f64.to_bits());
        assert!(1e-7 < f64::abs(plain - 100_000.0), "{plain}");
    }

    #[test]
    fn messages_queue_and_only_past_time_counts_as_busy() {
        let mut processors = MessageProcessors::default();
        let host = HostId(3);
        let length = Seconds::new(2.0).unwrap();
        let first = processors.enqueue(host, 1.0, length);
        assert_eq!(first.to_bits(), 3.0_f64.to_bits());
        let second = processors.enqueue(host, 2.0, length);
        assert_eq!(second.to_bits(), 5.0_f64.to_bits());
        let seconds = |at| Seconds::new(at).unwrap();
        assert_eq!(seconds(processors.busy(host, 4.0)), seconds(3.0));
        assert_eq!(seconds(processors.busy(host, 9.0)), seconds(4.0));
        assert_eq!(processors.busy(HostId(7), 9.0).to_bits(), 0);
        let busy = processors.rest();
        assert_eq!(busy, [0.0, 0.0, 0.0, 4.0]);
        processors.repeat(&busy);
        assert_eq!(seconds(processors.busy(host, 0.0)), seconds(8.0));
        assert_eq!(
            processors.enqueue(host, 1.0, length).to_bits(),
            3.0_f64.to_bits()
        );
    }
}
