//! The simulated clock, and what is under way.

use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Instant, Instructions, Seconds};

use crate::calendar::Calendar;
use crate::network::{Closed, Network, NetworkOptions};
use crate::platform::{Host, NoRoute, Platform};
use crate::processor::{CLOCK_RESOLUTION, Processor};
use crate::profile::Profile;

mod desk;

use desk::Desks;

/// A token for a computation, a message or a timer: the caller chooses it when it starts one, and
/// gets it back when that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(pub u64);

/// Computations, messages and timers on a platform, under one simulated clock.
///
/// The clock moves only in [`Engine::advance`]. What is started between two calls starts at
/// [`Engine::now`].
///
/// # Laws
///
/// The same calls in the same order give the same instants and the same order of ends, bit for
/// bit, on every machine.
#[derive(Debug)]
pub struct Engine {
    platform: Arc<Platform>,
    now: f64,
    /// Number of activities started so far.
    started: u64,
    calendar: Calendar<Event>,
    /// What is due now.
    due: Vec<Event>,
    /// What ended now, with the order in which it was started.
    ended: Vec<(u64, Activity)>,
    processors: Vec<Processor>,
    /// Hosts whose computations changed now.
    unpaced: Vec<u32>,
    network: Network,
    /// Messages that have left the network now.
    closed: Vec<Closed>,
    desks: Desks,
    /// Changes of links still to come. They are no activities: they never keep the clock going.
    changes: Calendar<u32>,
}

/// Something that is due at a date.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// An activity ends.
    Ends { sequence: u64, activity: Activity },
    /// The first computation on a host ends.
    HostEnds { host: u32, announcement: u32 },
    /// The speed of a host changes.
    HostChanges { host: u32, announcement: u32 },
    /// The sending host is done with a message: its latency phase begins.
    FlowLeaves { flow: u32 },
    /// The latency phase of a message is over.
    FlowBegins { flow: u32 },
    /// A message that nobody holds back is served.
    FlowEnds { flow: u32, announcement: u32 },
}

impl Engine {
    /// An idle platform at the beginning of the run.
    #[must_use]
    pub fn new(platform: Arc<Platform>, options: NetworkOptions) -> Self {
        let mut engine = Self {
            now: 0.0,
            started: 0,
            calendar: Calendar::new(),
            due: Vec::new(),
            ended: Vec::new(),
            processors: Vec::new(),
            unpaced: Vec::new(),
            network: Network::new(Arc::clone(&platform), options),
            closed: Vec::new(),
            desks: Desks::default(),
            changes: Calendar::new(),
            platform,
        };
        engine
            .processors
            .resize_with(engine.platform.hosts().len(), Processor::default);
        for (index, link) in (0_u32..).zip(engine.platform.links()) {
            if link.bandwidth_profile.is_some() || link.latency_profile.is_some() {
                engine.changes.push(0.0, index);
            }
        }
        engine.change_links();
        engine
    }

    /// Starts a computation of `work` on a host; without work it ends at this instant.
    ///
    /// # Panics
    ///
    /// If `host` is not of the platform.
    pub fn compute(&mut self, host: HostId, work: Instructions, token: Activity) {
        let sequence = self.start();
        let processor = &mut self.processors[host.index()];
        if work == Instructions::ZERO {
            self.calendar.push(
                self.now,
                Event::Ends {
                    sequence,
                    activity: token,
                },
            );
            return;
        }
        processor.start(self.now, work.as_f64(), sequence, token);
        if !processor.is_stale {
            processor.is_stale = true;
            self.unpaced.push(host.0);
        }
    }

    /// Starts a message of `bytes` from one host to another, or to itself.
    ///
    /// It ends when its last byte has arrived and, where the route has an overhead, the receiving
    /// host has taken it.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts. Nothing is started then.
    ///
    /// # Panics
    ///
    /// If a host is not of the platform.
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
            let done = self.desks.occupy(from, self.now, opened.overhead.send);
            self.calendar
                .push(done, Event::FlowLeaves { flow: opened.flow });
        } else {
            let begin = self.now + opened.latency;
            self.calendar
                .push(begin, Event::FlowBegins { flow: opened.flow });
        }
        Ok(())
    }

    /// What an empty message takes from one host to another while nothing else is under way, with what it
    /// costs the two hosts.
    ///
    /// # Errors
    ///
    /// If the platform has no route between the hosts.
    ///
    /// # Panics
    ///
    /// If a host is not of the platform.
    pub fn latency(&self, from: HostId, to: HostId) -> Result<Seconds, NoRoute> {
        self.network.idle_latency(from, to)
    }

    /// Starts a timer that ends `after` from now; one that lies in the past ends now.
    pub fn wake(&mut self, after: Seconds, token: Activity) {
        let sequence = self.start();
        let date = self.now + after.get().max(0.0);
        self.calendar.push(
            date,
            Event::Ends {
                sequence,
                activity: token,
            },
        );
    }

    /// Moves the clock to the next instant at which something ends, and puts all that ends then
    /// behind what is in `ended`, in the order in which it was started.
    ///
    /// `None` if nothing is under way, or if what is stands still for ever.
    pub fn advance(&mut self, ended: &mut Vec<Activity>) -> Option<Instant> {
        while self.ended.is_empty() {
            self.step()?;
        }
        if !self.ended.is_sorted_by_key(|(sequence, _)| *sequence) {
            self.ended.sort_unstable_by_key(|(sequence, _)| *sequence);
        }
        ended.extend(self.ended.drain(..).map(|(_, activity)| activity));
        Some(self.now())
    }

    /// What the clock shows.
    ///
    /// # Panics
    ///
    /// If the simulated time exceeds what a float can count.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::new(self.now).expect("the clock goes from zero on and stays finite")
    }

    /// Mean fraction of a host that others took during the last `window`, or since the run began
    /// if that is shorter; what they take now if the window is empty.
    ///
    /// # Panics
    ///
    /// If `host` is not of the platform.
    #[must_use]
    pub fn load(&self, host: HostId, window: Seconds) -> f64 {
        let from = (self.now - window.get().max(0.0)).max(0.0);
        let from = Instant::new(from).expect("between zero and now");
        match &self.platform.host(host).load {
            Some(profile) => profile.mean(from, self.now(), 0.0),
            None => 0.0,
        }
    }

    /// Time that a host has spent so far on sending and receiving messages, where routes have an
    /// overhead.
    ///
    /// # Panics
    ///
    /// If the sum exceeds what a float can count.
    #[must_use]
    pub fn overhead_busy(&self, host: HostId) -> Seconds {
        let busy = self.desks.busy(host, self.now);
        Seconds::new(busy).expect("a sum of finite times up to now")
    }

    fn start(&mut self) -> u64 {
        self.started += 1;
        self.started - 1
    }

    /// Moves the clock to the next date at which anything is due, and does it.
    fn step(&mut self) -> Option<()> {
        if !self.unpaced.is_empty() {
            self.pace_hosts();
        }
        // As long as something is due at this very instant, more flows may come or go in it.
        if self.calendar.next() != Some(self.now) {
            self.network.solve(self.now, &mut self.calendar);
        }
        let due = self.calendar.next();
        let held = self.network.next_end();
        let next = match (due, held) {
            (None, None) => return None,
            (Some(due), None) => due,
            (None, Some(end)) => end,
            (Some(due), Some(end)) => due.min(end),
        };
        if self.changes.next().is_some_and(|change| change <= next) {
            self.change_links();
            return Some(());
        }
        self.now = self.now.max(next);
        if due.is_some_and(|due| due <= next) {
            let mut due = std::mem::take(&mut self.due);
            self.calendar.pop(&mut due);
            for event in due.drain(..) {
                self.handle(event);
            }
            self.due = due;
        }
        if held.is_some_and(|end| end <= next * (1.0 + CLOCK_RESOLUTION)) {
            let mut closed = std::mem::take(&mut self.closed);
            self.network.end_held(self.now, &mut closed);
            for closed in closed.drain(..) {
                self.close(closed);
            }
            self.closed = closed;
        }
        Some(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Ends { sequence, activity } => self.ended.push((sequence, activity)),
            Event::HostEnds { host, announcement } => {
                let processor = &mut self.processors[host as usize];
                if processor.is_announced(announcement) {
                    processor.finish(self.now, |computation| {
                        self.ended.push((computation.sequence, computation.token));
                    });
                    self.mark_unpaced(host);
                }
            }
            Event::HostChanges { host, announcement } => {
                if self.processors[host as usize].is_announced(announcement) {
                    self.mark_unpaced(host);
                }
            }
            Event::FlowLeaves { flow } => {
                let begin = self.now + self.network.latency(flow);
                self.calendar.push(begin, Event::FlowBegins { flow });
            }
            Event::FlowBegins { flow } => {
                if let Some(closed) = self.network.begin(flow) {
                    self.close(closed);
                }
            }
            Event::FlowEnds { flow, announcement } => {
                if let Some(closed) = self.network.end_bounded(flow, announcement) {
                    self.close(closed);
                }
            }
        }
    }

    /// A message has left the network: it ends, or occupies the receiving host first.
    fn close(&mut self, closed: Closed) {
        let receive = if closed.has_overhead {
            self.network.overhead(closed.from, closed.to).receive
        } else {
            Seconds::ZERO
        };
        if Seconds::ZERO < receive {
            let done = self.desks.occupy(closed.to, self.now, receive);
            let Closed {
                sequence, activity, ..
            } = closed;
            self.calendar.push(done, Event::Ends { sequence, activity });
        } else {
            self.ended.push((closed.sequence, closed.activity));
        }
    }

    fn mark_unpaced(&mut self, host: u32) {
        let processor = &mut self.processors[host as usize];
        if !processor.is_stale {
            processor.is_stale = true;
            self.unpaced.push(host);
        }
    }

    /// Works out the speed of the hosts whose computations or speed changed, and when the next
    /// computation ends on each.
    fn pace_hosts(&mut self) {
        let now = self.now();
        let mut unpaced = std::mem::take(&mut self.unpaced);
        for host in unpaced.drain(..) {
            let description = self.platform.host(HostId(host));
            let processor = &mut self.processors[host as usize];
            processor.is_stale = false;
            let announcement = processor.announce();
            if processor.is_idle() {
                continue;
            }
            processor.pace(self.now, speed(description, now), description.cores);
            if let Some(end) = processor.next_end() {
                self.calendar
                    .push(end, Event::HostEnds { host, announcement });
            }
            if let Some(change) = next_change(description, now) {
                self.calendar
                    .push(change, Event::HostChanges { host, announcement });
            }
        }
        self.unpaced = unpaced;
    }

    /// Gives the links whose profiles have a point now their new values.
    fn change_links(&mut self) {
        let Some(date) = self.changes.next() else {
            return;
        };
        self.now = self.now.max(date);
        let mut changing = Vec::new();
        self.changes.pop(&mut changing);
        let now = self.now();
        for index in &changing {
            let link = &self.platform.links()[*index as usize];
            let bandwidth = link
                .bandwidth_profile
                .as_ref()
                .and_then(|profile| profile.value(now));
            let latency = link
                .latency_profile
                .as_ref()
                .and_then(|profile| profile.value(now));
            self.network.change(*index as usize, bandwidth, latency);
            let later = [&link.bandwidth_profile, &link.latency_profile]
                .into_iter()
                .flatten()
                .filter_map(|profile| profile.next_change(now))
                .map(|(date, _)| date)
                .min();
            if let Some(later) = later {
                self.changes.push(later.get(), *index);
            }
        }
        for index in changing {
            self.network.reweigh(index as usize, self.now);
        }
    }
}

/// Instructions per second of one core at `now`, after what others take.
fn speed(host: &Host, now: Instant) -> f64 {
    let value = |profile: &Option<Profile>, initial: f64| match profile {
        Some(profile) => profile.value(now).unwrap_or(initial).max(0.0),
        None => initial,
    };
    host.speed.get() * value(&host.availability, 1.0) * (1.0 - value(&host.load, 0.0)).max(0.0)
}

/// When the speed of a host changes next; where it stands still, when it moves again.
fn next_change(host: &Host, now: Instant) -> Option<f64> {
    let mut at = now;
    // A host may stand still for ever, by profiles that change for ever.
    for _ in 0..STANDSTILL_CHANGES_MAX {
        at = [&host.availability, &host.load]
            .into_iter()
            .flatten()
            .filter_map(|profile| profile.next_change(at))
            .map(|(date, _)| date)
            .min()?;
        if 0.0 < speed(host, now) || 0.0 < speed(host, at) {
            return Some(at.get());
        }
    }
    None
}

/// After so many changes without any speed, a host is taken to stand still for ever.
const STANDSTILL_CHANGES_MAX: usize = 10_000;
