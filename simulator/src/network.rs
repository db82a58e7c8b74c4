//! The network: flows share links max-min fairly.
//!
//! A flow waits for its latency phase, then transfers at a rate that depends on every other flow
//! it meets. The rates are those of weighted max-min fairness: think of a level that rises from
//! zero for all flows together, where a flow at some level runs at that level divided by its
//! weight. A link that is used up stops all flows that cross it; a flow whose own bound is reached
//! stops alone. What stopped a flow is its holder.

use std::cmp::Reverse;
use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Seconds};
use smallvec::SmallVec;

use crate::calendar::Calendar;
use crate::engine::{Activity, Event};
use crate::platform::{NoRoute, Overhead, Platform, Sharing};
use crate::processor::CLOCK_RESOLUTION;

mod clock;
mod flow;
mod region;
mod route;
mod track;

use clock::Clocks;
use flow::{BOUNDED, Flow, Legs, WAITING};
use region::Region;
use route::{Route, Routes};
use track::Trial;

/// How the network is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Which factors apply to latencies and bandwidths.
    pub model: NetworkModel,
    /// Whether the acknowledgements of a message take a twentieth of its rate on the way back.
    pub cross_traffic: bool,
    /// Most data under way in one message; with the route's latency it caps the message's rate.
    pub tcp_window: Bytes,
}

/// Factors that turn a platform's nominal values into those of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkModel {
    /// SimGrid's default, fitted to TCP (Velho and Legrand, 2009): latencies times 13.01,
    /// bandwidths times 0.97, and 20537 B over the bandwidth added to the weight of a link.
    Lv08,
    /// Nominal values (SimGrid's CM02).
    Ideal,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            model: NetworkModel::Lv08,
            cross_traffic: true,
            tcp_window: Bytes(4_194_304),
        }
    }
}

/// The numbers behind [`NetworkOptions`].
#[derive(Clone, Copy, Debug)]
struct Factors {
    latency: f64,
    bandwidth: f64,
    /// Bytes that, over a link's bandwidth, are added to the weight of a flow.
    weight_size: f64,
    window: f64,
    cross_traffic: bool,
}

/// A link and the flows that cross it.
///
/// What every flow that comes or goes needs is in the first 64 bytes: one line of the processor's
/// cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Link {
    flows: SmallVec<[u32; 4]>,
    /// Most bytes per second of all flows together; infinite where each alone has the bandwidth.
    capacity: f64,
    /// Bytes per second if all flows ran at their bounds.
    bound_sum: f64,
    /// The level at which it holds flows back; infinite if it holds none.
    level: f64,
    /// Its clock while it holds flows back.
    clock: u32,
    /// Whether a change of its flows or its capacity has been noted.
    is_dirty: bool,
    /// Scratch of the solver: which pass touched it last.
    pass: u32,
    /// Scratch of the solver: which solution took all its flows in last.
    round: u32,
    /// Scratch of the solver: its flows inside the region, and those of them not yet held back.
    inside: u32,
    open: u32,
    /// Scratch of the solver: what is left of the capacity.
    spare: f64,
    /// Scratch of the solver: usage over weight, summed over the flows not yet held back.
    share: f64,
    /// Scratch of the solver: the level to be.
    next_level: f64,
    /// Bytes per second by which the flows stay below their bounds for certain.
    relief: f64,
    /// Scratch of the solver: bytes per second of its flows inside the region at their ceilings.
    ceiling_inside: f64,
    /// Scratch of the solver: bytes per second of its flows outside the region.
    outside: f64,
}

/// What a link's description says at the moment.
#[derive(Clone, Copy, Debug)]
struct Nominal {
    /// Bytes per second.
    bandwidth: f64,
    /// Seconds.
    latency: f64,
    /// Whether each flow alone has the bandwidth.
    is_pipe: bool,
}

/// The links, the flows, and who holds whom back.
#[derive(Debug)]
pub(crate) struct Network {
    platform: Arc<Platform>,
    factors: Factors,
    links: Vec<Link>,
    nominal: Vec<Nominal>,
    routes: Routes,
    flows: Vec<Flow>,
    free: Vec<u32>,
    legs: Legs,
    clocks: Clocks,
    /// Flows whose transfer begins now.
    arrived: Vec<u32>,
    /// Flows whose transfer ends now.
    due: Vec<u32>,
    /// Links that held flows back when one of their flows came or went, or that changed.
    dirty: Vec<u32>,
    region: Region,
    trial: Trial,
    /// Whether any link has ever been tracked.
    has_tracks: bool,
    /// Links change during the run.
    varies: bool,
}

/// A flow and what happens before its transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) flow: u32,
    pub(crate) latency: f64,
    pub(crate) overhead: Overhead,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    pub(crate) sequence: u64,
    pub(crate) activity: Activity,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// Whether the message costs its hosts anything.
    pub(crate) has_overhead: bool,
}

impl Network {
    pub(crate) fn new(platform: Arc<Platform>, options: NetworkOptions) -> Self {
        let factors = Factors::of(options);
        let nominal: Vec<_> = platform.links().iter().map(Nominal::of).collect();
        let links = nominal
            .iter()
            .map(|nominal| Link::new(nominal.capacity(&factors)))
            .collect();
        let varies = platform
            .links()
            .iter()
            .any(|link| link.bandwidth_profile.is_some() || link.latency_profile.is_some());
        Self {
            routes: Routes::new(platform.hosts().len()),
            platform,
            factors,
            links,
            nominal,
            flows: Vec::new(),
            free: Vec::new(),
            legs: Legs::default(),
            clocks: Clocks::default(),
            arrived: Vec::new(),
            due: Vec::new(),
            dirty: Vec::new(),
            region: Region::default(),
            trial: Trial::default(),
            has_tracks: false,
            varies,
        }
    }

    /// Prepares a flow of `bytes`; it waits until [`Self::begin`].
    pub(crate) fn open(
        &mut self,
        (from, to): (HostId, HostId),
        bytes: Bytes,
        (sequence, activity): (u64, Activity),
    ) -> Result<Opened, NoRoute> {
        let terms = (&self.factors, &self.nominal[..]);
        let (route, legs) = self.routes.find(&self.platform, terms, from, to)?;
        let flow = Flow {
            sequence,
            activity,
            weight: route.weight,
            inverse: 1.0 / route.weight,
            bound: route.bound,
            ceiling: route.bound,
            amount: bytes.as_f64(),
            from: from.0,
            to: to.0,
            holder: WAITING,
            place: 0,
            slot: 0,
            announcement: 0,
            legs: self.legs.insert(legs),
            leg_count: u16::try_from(legs.len()).expect("a route has fewer than 2^16 links"),
            has_overhead: route.overhead != Overhead::default(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                let announcement = self.flows[id as usize].announcement;
                self.flows[id as usize] = Flow {
                    announcement,
                    ..flow
                };
                id
            }
            None => {
                self.flows.push(flow);
                let id = u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows");
                assert!(id < BOUNDED, "too many messages are under way");
                id
            }
        };
        Ok(Opened {
            flow: id,
            latency: route.latency,
            overhead: route.overhead,
        })
    }

    /// The latency phase of the flow is over: its transfer begins, or it ends if it is empty.
    pub(crate) fn begin(&mut self, id: u32) -> Option<Closed> {
        if self.flows[id as usize].amount <= 0.0 {
            return Some(self.close(id));
        }
        if self.varies {
            self.measure_again(id);
        }
        self.attach(id);
        self.arrived.push(id);
        None
    }

    /// Ends the flow if `announcement` of its end is valid.
    pub(crate) fn end_bounded(&mut self, id: u32, announcement: u32) -> Option<Closed> {
        let flow = &self.flows[id as usize];
        if flow.announcement != announcement || flow.holder != BOUNDED {
            return None;
        }
        self.detach(id);
        Some(self.close(id))
    }

    /// Ends the flows that links hold back and that end at `now`.
    pub(crate) fn end_held(&mut self, now: f64, ended: &mut Vec<Closed>) {
        while let Some((clock, end)) = self.clocks.next()
            && end <= now + now * CLOCK_RESOLUTION
        {
            self.clocks.strike(clock, now);
            self.clocks.take_due(clock, &mut self.flows, &mut self.due);
            self.clocks.renew(clock);
        }
        // The last to come leave first: links then find them at the end of their lists, and memory is
        // visited in order.
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable_by_key(|id| Reverse(self.flows[*id as usize].sequence));
        for id in due.drain(..) {
            self.detach(id);
            let closed = self.close(id);
            ended.push(closed);
        }
        ended.reverse();
        self.due = due;
    }

    /// When the first of the flows that links hold back ends.
    pub(crate) fn next_end(&self) -> Option<f64> {
        self.clocks.next().map(|(_, end)| end)
    }

    /// Gives every flow the rate that is due to it from `now` on.
    pub(crate) fn solve(&mut self, now: f64, calendar: &mut Calendar<Event>) {
        if self.arrived.is_empty() && self.dirty.is_empty() {
            return;
        }
        if !self.solve_tracked(now, calendar) {
            self.solve_region(now, calendar);
        }
    }

    /// The link at `index` has another bandwidth or latency from now on.
    pub(crate) fn change(&mut self, index: usize, bandwidth: Option<f64>, latency: Option<f64>) {
        let link = &mut self.nominal[index];
        link.bandwidth = bandwidth.unwrap_or(link.bandwidth).max(BANDWIDTH_MIN);
        link.latency = latency.unwrap_or(link.latency).max(0.0);
        self.links[index].capacity = link.capacity(&self.factors);
        self.routes.forget();
    }

    /// The flows that cross the link at `index` are weighed and bounded anew.
    pub(crate) fn reweigh(&mut self, index: usize, now: f64) {
        let crossing = self.links[index].flows.clone();
        for id in crossing {
            let left = self.bytes_left(id, now);
            self.release(id);
            self.detach(id);
            self.flows[id as usize].amount = left;
            let runs = self.flows[id as usize].holder != WAITING;
            self.flows[id as usize].holder = WAITING;
            self.measure_again(id);
            self.attach(id);
            if runs {
                self.arrived.push(id);
            }
        }
    }

    /// Length of the latency phase of a flow in seconds.
    pub(crate) fn latency(&mut self, id: u32) -> f64 {
        let Flow { from, to, .. } = self.flows[id as usize];
        self.route(HostId(from), HostId(to)).latency
    }

    /// What an empty message takes while nothing else is under way, overheads included.
    pub(crate) fn idle_latency(&self, from: HostId, to: HostId) -> Result<Seconds, NoRoute> {
        let mut links = Vec::new();
        let overhead = self.platform.route(from, to, &mut links)?;
        let raw: f64 = links
            .iter()
            .map(|link| self.nominal[link.index()].latency)
            .sum();
        let phase = Seconds::new(self.factors.latency * raw).expect("latencies are finite");
        Ok(overhead.send + phase + overhead.receive)
    }

    /// What a message costs its hosts.
    pub(crate) fn overhead(&mut self, from: HostId, to: HostId) -> Overhead {
        self.route(from, to).overhead
    }

    fn route(&mut self, from: HostId, to: HostId) -> Route {
        let terms = (&self.factors, &self.nominal[..]);
        let found = self.routes.find(&self.platform, terms, from, to);
        *found.expect("a way that led there does so for ever").0
    }

    /// Bytes of the flow not yet served at `now`.
    fn bytes_left(&self, id: u32, now: f64) -> f64 {
        let flow = &self.flows[id as usize];
        match flow.holder {
            WAITING => flow.amount,
            BOUNDED if flow.bound == f64::INFINITY => 0.0,
            BOUNDED => ((flow.amount - now) * flow.bound * flow.inverse).max(0.0),
            link => {
                let clock = self.clocks.get(self.links[link as usize].clock);
                ((clock.mark_of(flow) - clock.at(now)) * flow.inverse).max(0.0)
            }
        }
    }

    /// From `now` on the flow runs at its bound.
    fn run_at_bound(&mut self, id: u32, left: f64, now: f64, calendar: &mut Calendar<Event>) {
        let flow = &mut self.flows[id as usize];
        flow.announcement = flow.announcement.wrapping_add(1);
        flow.amount = now + left / (flow.bound * flow.inverse);
        let announcement = flow.announcement;
        calendar.push(
            flow.amount,
            Event::FlowEnds {
                flow: id,
                announcement,
            },
        );
    }

    /// Takes the flow from under the clock of the link that holds it back, if one does.
    fn release(&mut self, id: u32) {
        let holder = self.flows[id as usize].holder;
        if holder != WAITING && holder != BOUNDED {
            self.clocks
                .release(self.links[holder as usize].clock, &mut self.flows, id);
        }
    }

    /// Works out weight and bound from the links as they are now.
    fn measure_again(&mut self, id: u32) {
        let Flow { from, to, .. } = self.flows[id as usize];
        let route = self.route(HostId(from), HostId(to));
        let flow = &mut self.flows[id as usize];
        (flow.weight, flow.inverse) = (route.weight, 1.0 / route.weight);
        (flow.bound, flow.ceiling) = (route.bound, route.bound);
    }

    /// Enters the flow on its links.
    fn attach(&mut self, id: u32) {
        let flow = &self.flows[id as usize];
        let rate_max = flow.bound * flow.inverse;
        for leg in self.legs.of_mut(flow) {
            let index = leg.link();
            let link = &mut self.links[index];
            leg.position = u32::try_from(link.flows.len()).expect("fewer than 2^32 flows");
            link.flows.push(id);
            link.bound_sum += leg.usage() * rate_max;
            if link.level < f64::INFINITY && !link.is_dirty {
                link.is_dirty = true;
                self.dirty.push(leg.id());
            }
        }
    }

    /// Strikes the flow off its links.
    fn detach(&mut self, id: u32) {
        self.lower_ceiling(id, self.flows[id as usize].bound);
        let flow = self.flows[id as usize];
        let rate_max = flow.bound * flow.inverse;
        for at in flow.range() {
            let leg = self.legs.at(at);
            let index = leg.link();
            let link = &mut self.links[index];
            link.flows.swap_remove(leg.position as usize);
            if link.flows.is_empty() {
                (link.bound_sum, link.relief) = (0.0, 0.0);
            } else {
                link.bound_sum -= leg.usage() * rate_max;
            }
            if let Some(moved) = link.flows.get(leg.position as usize) {
                let old = u32::try_from(link.flows.len()).expect("fewer than 2^32 flows");
                self.legs
                    .relocate(&self.flows[*moved as usize], index, (old, leg.position));
            }
            if link.level < f64::INFINITY {
                if !link.is_dirty {
                    link.is_dirty = true;
                    self.dirty.push(leg.id());
                }
                self.untrack_flow(id, index, leg.usage() * flow.inverse);
            }
        }
    }

    /// Forgets the flow and returns whose it was.
    fn close(&mut self, id: u32) -> Closed {
        let flow = &mut self.flows[id as usize];
        flow.announcement = flow.announcement.wrapping_add(1);
        flow.holder = WAITING;
        self.legs.remove(flow.legs, flow.leg_count);
        self.free.push(id);
        Closed {
            sequence: flow.sequence,
            activity: flow.activity,
            from: HostId(flow.from),
            to: HostId(flow.to),
            has_overhead: flow.has_overhead,
        }
    }
}

impl Nominal {
    fn of(link: &crate::platform::Link) -> Self {
        Self {
            bandwidth: link.bandwidth.get(),
            latency: link.latency.get(),
            is_pipe: link.sharing == Sharing::FatPipe,
        }
    }

    /// Bytes per second that flows share.
    fn capacity(&self, factors: &Factors) -> f64 {
        if self.is_pipe {
            f64::INFINITY
        } else {
            factors.bandwidth * self.bandwidth
        }
    }
}

impl Link {
    fn new(capacity: f64) -> Self {
        Self {
            flows: SmallVec::new(),
            capacity,
            bound_sum: 0.0,
            level: f64::INFINITY,
            clock: 0,
            is_dirty: false,
            pass: 0,
            round: 0,
            inside: 0,
            open: 0,
            spare: 0.0,
            share: 0.0,
            next_level: f64::INFINITY,
            relief: 0.0,
            ceiling_inside: 0.0,
            outside: 0.0,
        }
    }

    /// Whether the link can hold flows back: a flow that is alone has the link in its own bound,
    /// and flows whose bounds together stay below the capacity meet no limit here.
    #[inline]
    fn matters(&self) -> bool {
        1 < self.flows.len() && self.capacity * ALMOST_ONE < self.bound_sum
    }
}

impl Factors {
    fn of(options: NetworkOptions) -> Self {
        let (latency, bandwidth, weight_size) = match options.model {
            NetworkModel::Lv08 => (13.01, 0.97, 20_537.0),
            NetworkModel::Ideal => (1.0, 1.0, 0.0),
        };
        Self {
            latency,
            bandwidth,
            weight_size,
            window: options.tcp_window.as_f64(),
            cross_traffic: options.cross_traffic,
        }
    }
}

/// A link never stands still altogether; bytes per second.
const BANDWIDTH_MIN: f64 = 1e-6;
/// Leaves room for the rounding of running sums.
const ALMOST_ONE: f64 = 1.0 - 1e-6;
