//! The network: messages share links max-min fairly.
//!
//! A message is a *flow*: it waits for its latency phase, then transfers at a rate that depends on
//! every other flow it meets. The rates are those of weighted max-min fairness, found by progressive
//! filling: a *level* rises from zero for all flows together, and a flow at some level runs at that
//! level divided by its weight. A link that is saturated stops all flows that cross it; a flow whose
//! own bound is reached stops alone. What stopped a flow is its *bottleneck*.
//!
//! # Example
//!
//! Three flows of weight 1 and without bounds cross two links:
//!
//! ```text
//!        link X: 90 B/s     link Y: 60 B/s
//!   a  ═══════════════════
//!   b  ══════════════════════════════════════
//!   c                     ═══════════════════
//! ```
//!
//! `a` crosses X, `c` crosses Y and `b` crosses both. The level rises to 30, where Y is saturated:
//! `b` and `c` run at 30 B/s, and Y is their bottleneck. `a` alone rises to 60, where X is saturated.
//!
//! **Clock.** Each bottleneck has a clock that runs at its level. Say that `b` has 300 B left and `c`
//! 600 B. When the clock of Y shows 0 their *marks* are set at 300 and 600 (bytes times weight):
//!
//! ```text
//!   seconds     0        5        10       15
//!   level of Y  30 ─────────────▶ 60 ─────▶
//!   clock of Y  0       150      300      600
//!                                b ends   c ends
//! ```
//!
//! After 10 s the clock shows 300 and `b` ends. Y is left to `c`, whose level rises to 60. Only the
//! speed of the clock changes; the mark of `c` stays, and is reached after another 5 s. So a bottleneck
//! of a thousand flows has one date in the calendar, and a new level costs one update, not a thousand.
//!
//! **Region.** Say that, instead, a flow `d` over Y begins. Y is a bottleneck that gained a flow, so `d`
//! and all flows of Y form the *region*: `b`, `c` and `d`, whose level becomes 20. That changes `b`,
//! which crosses X, the bottleneck of a flow outside: `a` joins the region, and its level becomes 70.
//! Flows on other links are never visited.
//!
//! **Track.** For a bottleneck with many flows, even the flows of one link are many. A *tracked* link
//! keeps sums. X, if it were tracked, would keep its share, the usage over weight of the flows that it
//! limits (1, from `a`), and the foreign flows that are limited elsewhere (`b`). Its level is then
//! (90 − 30) / 1 without a look at its flows, as long as no flow changes its bottleneck.
//!
//! **Bundle.** If one does, its region is solved. Say that X limits a thousand flows beside `a`, and that Y no longer
//! limits `b`, which becomes another flow of X. The thousand enter the region as one flow, a *bundle*, with the share of
//! all. Only `b` and flows that may meet another limit than X are looked at one by one.
//!
//! **Ceiling.** Whether a link can be a bottleneck is decided without a solution. Each flow has a ceiling, the level
//! that it does not exceed. A link with room for all its flows at their ceilings is left out: of the half dozen links
//! that a flow crosses, one or two remain. The ceilings of flows that begin are estimates. If a solution exceeds one,
//! the ceiling is raised, and the region is solved again.

mod allocation;
mod clock;
mod link;
mod region;
mod route;
mod solver;
mod track;

use std::ops::Range;
use std::sync::Arc;

use bsp::HostId;
use bsp::units::{Bytes, Seconds};

use crate::calendar::{Activity, Calendar, Event};
use crate::network_options::{NetworkModel, NetworkOptions};
use crate::platform::{self, LinkId, NoRoute, Overhead, Platform, Sharing};
use allocation::Allocation;
use link::{Link, NominalLink};
use route::{Route, Routes};
use solver::Solver;

/// The routes of a platform and the flows on them.
#[derive(Debug)]
pub(crate) struct Network {
    platform: Arc<Platform>,
    factors: Factors,
    nominal: Vec<NominalLink>,
    routes: Routes,
    allocation: Allocation,
    solver: Solver,
    /// Whether links change during the run.
    varies: bool,
}

/// A new flow and what precedes its transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedFlow {
    pub(crate) flow: u32,
    pub(crate) latency: f64,
    pub(crate) overhead: Overhead,
}

impl Network {
    pub(crate) fn new(platform: Arc<Platform>, options: NetworkOptions) -> Self {
        let factors = Factors::from(options);
        let nominal: Vec<_> = platform.links().iter().map(NominalLink::new).collect();
        let links = nominal
            .iter()
            .map(|nominal| Link::new(nominal.capacity(&factors)))
            .collect();
        let varies = platform.links().iter().any(platform::Link::varies);
        // A link that changes is like no other.
        let uniform = if varies {
            Vec::new()
        } else {
            platform.uniform_hosts()
        };
        Self {
            routes: Routes::new(platform.hosts().len(), uniform),
            platform,
            factors,
            nominal,
            allocation: Allocation::new(links),
            solver: Solver::default(),
            varies,
        }
    }

    /// Adds a flow of `bytes`; it waits for [`Self::begin`].
    pub(crate) fn open(
        &mut self,
        (from, to): (HostId, HostId),
        bytes: Bytes,
        (sequence, activity): (u64, Activity),
    ) -> Result<OpenedFlow, NoRoute> {
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
            bottleneck: WAITING,
            place: 0,
            slot: 0,
            generation: 0,
            legs: 0,
            leg_count: 0,
            has_overhead: route.overhead != Overhead::default(),
        };
        Ok(OpenedFlow {
            flow: self.allocation.insert(flow, legs),
            latency: route.latency,
            overhead: route.overhead,
        })
    }

    /// Ends the latency phase of a flow: its transfer begins, or it ends if it is empty.
    pub(crate) fn begin(&mut self, id: u32) -> Option<ClosedFlow> {
        if self.allocation.flows[id as usize].amount <= 0.0 {
            return Some(self.allocation.close(id));
        }
        if self.varies {
            self.update_terms(id);
        }
        self.allocation.begin(id);
        None
    }

    /// Whether the event of the end of a flow that carries `generation` is valid.
    pub(crate) fn is_current(&self, id: u32, generation: u32) -> bool {
        self.allocation.is_current(id, generation)
    }

    /// Ends the flow if the event of its end that carries `generation` is valid.
    pub(crate) fn end_bounded(&mut self, id: u32, generation: u32) -> Option<ClosedFlow> {
        self.allocation.end_bounded(id, generation)
    }

    /// Ends the flows that links limit and that end at `now`: adds them to `ended`, which is empty.
    pub(crate) fn end_limited(&mut self, now: f64, ended: &mut Vec<u32>) {
        self.allocation.end_limited(now, ended);
    }

    /// The message of a flow that has just ended.
    pub(crate) fn closed(&self, id: u32) -> ClosedFlow {
        self.allocation.flows[id as usize].closed()
    }

    /// Forgets all flows: none is under way. What comes next is solved as on a new network.
    pub(crate) fn rest(&mut self) {
        self.allocation.rest();
    }

    /// The end of the first of the flows that links limit.
    pub(crate) fn next_end(&self) -> Option<f64> {
        self.allocation.clocks.next().map(|(_, end)| end)
    }

    /// Gives every flow its rate from `now` on.
    pub(crate) fn solve(&mut self, now: f64, calendar: &mut Calendar<Event>) {
        self.solver.solve(&mut self.allocation, now, calendar);
    }

    /// Changes bandwidth and latency of the link at `index`.
    pub(crate) fn change(&mut self, index: usize, bandwidth: Option<f64>, latency: Option<f64>) {
        let link = &mut self.nominal[index];
        link.bandwidth = bandwidth.unwrap_or(link.bandwidth).max(BANDWIDTH_MIN);
        link.latency = latency.unwrap_or(link.latency).max(0.0);
        self.allocation.links[index].capacity = link.capacity(&self.factors);
        self.routes.forget();
    }

    /// Updates weight and bound of the flows that cross the link at `index`.
    pub(crate) fn reweigh(&mut self, index: usize, now: f64) {
        let crossing = self.allocation.links[index].flows.clone();
        for id in crossing {
            let was_running = self.allocation.suspend(id, now);
            self.update_terms(id);
            self.allocation.attach(id);
            if was_running {
                self.allocation.arrived.push(id);
            }
        }
    }

    /// Length of the latency phase of a flow in seconds.
    pub(crate) fn latency(&mut self, id: u32) -> f64 {
        let Flow { from, to, .. } = self.allocation.flows[id as usize];
        self.route(HostId(from), HostId(to)).latency
    }

    /// Duration of an empty message while nothing else is under way, overheads included.
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

    /// Seconds that a byte of a long message takes while nothing else is under way: the slowest link's, or more if the
    /// window and the latency of the route limit the message.
    pub(crate) fn idle_rate(&self, from: HostId, to: HostId) -> Result<f64, NoRoute> {
        let mut links = Vec::new();
        self.platform.route(from, to, &mut links)?;
        let (mut latency, mut rate) = (0.0, 0.0_f64);
        for link in links {
            let nominal = &self.nominal[link.index()];
            latency += nominal.latency;
            let bandwidth = self.factors.bandwidth * nominal.bandwidth;
            rate = rate.max(1.0 / bandwidth.max(BANDWIDTH_MIN));
        }
        let window = 2.0 * latency / (self.factors.bandwidth * self.factors.window);
        Ok(rate.max(window))
    }

    /// Seconds that a byte of a long message takes on the links that both ways cross and on which messages share the bandwidth.
    pub(crate) fn idle_shared_rate(
        &self,
        one: (HostId, HostId),
        other: (HostId, HostId),
    ) -> Result<f64, NoRoute> {
        let (mut common, mut links) = (Vec::new(), Vec::new());
        self.platform.route(one.0, one.1, &mut common)?;
        self.platform.route(other.0, other.1, &mut links)?;
        let is_shared = |link: &&LinkId| {
            links.contains(link) && self.platform.links()[link.index()].sharing == Sharing::Shared
        };
        let per_byte = |link: &LinkId| {
            let bandwidth = self.factors.bandwidth * self.nominal[link.index()].bandwidth;
            1.0 / bandwidth.max(BANDWIDTH_MIN)
        };
        Ok(common
            .iter()
            .filter(is_shared)
            .map(per_byte)
            .fold(0.0, f64::max))
    }

    /// The overhead of a message at its two hosts.
    pub(crate) fn overhead(&mut self, from: HostId, to: HostId) -> Overhead {
        self.route(from, to).overhead
    }

    fn route(&mut self, from: HostId, to: HostId) -> Route {
        let terms = (&self.factors, &self.nominal[..]);
        let found = self.routes.find(&self.platform, terms, from, to);
        *found.expect("a route found once is always found").0
    }

    /// Sets weight and bound of a flow from the links as they are now.
    fn update_terms(&mut self, id: u32) {
        let Flow { from, to, .. } = self.allocation.flows[id as usize];
        let route = self.route(HostId(from), HostId(to));
        let flow = &mut self.allocation.flows[id as usize];
        (flow.weight, flow.inverse) = (route.weight, 1.0 / route.weight);
        (flow.bound, flow.ceiling) = (route.bound, route.bound);
    }
}

/// Bytes per second that a link always has.
const BANDWIDTH_MIN: f64 = 1e-6;

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

impl From<NetworkOptions> for Factors {
    fn from(options: NetworkOptions) -> Self {
        let (bandwidth, weight_size) = match options.model {
            NetworkModel::Lv08 => (0.97, 20_537.0),
            NetworkModel::Ideal => (1.0, 0.0),
        };
        Self {
            latency: options
                .latency_factor
                .unwrap_or_else(|| options.model.latency_factor()),
            bandwidth: options.bandwidth_factor.unwrap_or(bandwidth),
            weight_size: options.weight_size.unwrap_or(weight_size),
            window: options.tcp_window.as_f64(),
            cross_traffic: options.cross_traffic,
        }
    }
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// When it was started, among all activities.
    sequence: u64,
    activity: Activity,
    /// Penalty of the flow: its rate is its level divided by this.
    weight: f64,
    /// `1 / weight`.
    inverse: f64,
    /// The level that the flow has while it is alone.
    bound: f64,
    /// The level that it does not exceed unless it is looked at again, at most its bound. It is an estimate at first,
    /// and is raised if a solution exceeds it.
    ceiling: f64,
    /// Bytes to be transferred before the transfer begins; from then on, while the flow runs at its
    /// bound, when it ends.
    amount: f64,
    from: u32,
    to: u32,
    /// What limits it: a link, or [`WAITING`], or [`BOUNDED`].
    bottleneck: u32,
    /// Position in the heap of the bottleneck's clock.
    place: u32,
    /// Position in the region being solved.
    slot: u32,
    /// An event of its end is valid if it carries this.
    generation: u32,
    /// Where its legs begin.
    legs: u32,
    leg_count: u16,
    has_overhead: bool,
}

/// The bottleneck of a flow whose latency phase is not over.
const WAITING: u32 = u32::MAX;
/// The bottleneck of a flow that runs at its own bound.
const BOUNDED: u32 = u32::MAX - 1;

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosedFlow {
    pub(crate) sequence: u64,
    pub(crate) activity: Activity,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    /// Whether the message has an overhead at either host.
    pub(crate) has_overhead: bool,
}

impl Flow {
    /// Its message, when it has ended.
    fn closed(&self) -> ClosedFlow {
        ClosedFlow {
            sequence: self.sequence,
            activity: self.activity,
            from: HostId(self.from),
            to: HostId(self.to),
            has_overhead: self.has_overhead,
        }
    }

    /// The positions of its legs.
    #[inline]
    fn leg_range(&self) -> Range<u32> {
        self.legs..self.legs + u32::from(self.leg_count)
    }
}
