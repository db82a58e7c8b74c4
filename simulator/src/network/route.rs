//! What a flow needs to know of its route.

use bsp::HostId;
use bsp::units::Seconds;

use super::flow::Leg;
use super::{Factors, Nominal};
use crate::platform::{LinkId, NoRoute, Overhead, Platform};

/// The terms of a route that flows between its two hosts share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    from: HostId,
    to: HostId,
    /// Length of the latency phase in seconds.
    pub(super) latency: f64,
    /// Penalty of a flow.
    pub(super) weight: f64,
    /// Level of a flow that nobody disturbs.
    pub(super) bound: f64,
    pub(super) overhead: Overhead,
    leg_count: u32,
    /// When it was surveyed; see [`Routes::forget`].
    epoch: u32,
    legs: [Leg; LEGS_MAX],
}

/// Finds routes and remembers the recent ones.
#[derive(Debug)]
pub(super) struct Routes {
    /// Each pair of hosts has two places; a power of two of them.
    cache: Vec<Route>,
    cache_max: usize,
    /// Routes forgotten because others had the same places, since the cache grew last.
    collisions: usize,
    /// Routes asked for in this trial of the cache, and how many of them were remembered.
    asked: u32,
    remembered: u32,
    /// So many routes are surveyed without a look at the cache, before it is tried again.
    uncached: u32,
    /// Routes surveyed before this one began are out of date.
    epoch: u32,
    forward: Vec<LinkId>,
    reverse: Vec<LinkId>,
    crossings: Vec<Crossing>,
    /// The latest route that was surveyed, and its legs.
    surveyed: Route,
    legs: Vec<Leg>,
}

/// How often a route and its reverse cross a link.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    link: usize,
    forward: u32,
    reverse: u32,
}

impl Route {
    /// No route.
    const NONE: Self = Self {
        from: HostId(0),
        to: HostId(0),
        latency: 0.0,
        weight: 1.0,
        bound: 0.0,
        overhead: Overhead {
            send: Seconds::ZERO,
            receive: Seconds::ZERO,
        },
        leg_count: 0,
        epoch: 0,
        legs: [Leg::NONE; LEGS_MAX],
    };
}

impl Routes {
    pub(super) fn new(hosts: usize) -> Self {
        let size = |routes: usize| routes.next_power_of_two().clamp(256, CACHE_MAX);
        Self {
            cache: vec![Route::NONE; size(4 * hosts)],
            cache_max: size(8 * hosts),
            collisions: 0,
            asked: 0,
            remembered: 0,
            uncached: 0,
            epoch: 0,
            forward: Vec::new(),
            reverse: Vec::new(),
            crossings: Vec::new(),
            surveyed: Route::NONE,
            legs: Vec::new(),
        }
    }

    /// The route between two hosts, and what a flow on it uses.
    pub(super) fn find(
        &mut self,
        platform: &Platform,
        (factors, links): (&Factors, &[Nominal]),
        from: HostId,
        to: HostId,
    ) -> Result<(&Route, &[Leg]), NoRoute> {
        if 0 < self.uncached {
            self.uncached -= 1;
            self.survey(platform, (factors, links), (from, to))?;
            return Ok((&self.surveyed, &self.legs));
        }
        let known = self.known(from, to);
        self.judge(known.is_some());
        let place = match known {
            Some(place) => place,
            None => {
                self.survey(platform, (factors, links), (from, to))?;
                if LEGS_MAX < self.legs.len() || self.legs.is_empty() {
                    return Ok((&self.surveyed, &self.legs));
                }
                self.remember()
            }
        };
        let route = &self.cache[place];
        Ok((route, &route.legs[..route.leg_count as usize]))
    }

    /// Gives the cache up for a while if it remembers too few of the routes asked for: there are too
    /// many, and looking for them costs more than surveying them.
    fn judge(&mut self, is_known: bool) {
        self.asked += 1;
        self.remembered += u32::from(is_known);
        if self.asked == TRIAL {
            if self.remembered < TRIAL / 2 && self.cache.len() == self.cache_max {
                self.uncached = UNCACHED;
            }
            (self.asked, self.remembered) = (0, 0);
        }
    }

    /// Forgets all routes: links have changed.
    pub(super) fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Where the route is remembered, if it is.
    #[inline]
    fn known(&self, from: HostId, to: HostId) -> Option<usize> {
        let place = self.place(from, to);
        [place, place ^ 1].into_iter().find(|place| {
            let route = &self.cache[*place];
            route.from == from && route.to == to && self.is_valid(route)
        })
    }

    #[inline]
    fn is_valid(&self, route: &Route) -> bool {
        route.leg_count != 0 && route.epoch == self.epoch
    }

    fn survey(
        &mut self,
        platform: &Platform,
        (factors, links): (&Factors, &[Nominal]),
        (from, to): (HostId, HostId),
    ) -> Result<(), NoRoute> {
        let overhead = platform.route(from, to, &mut self.forward)?;
        self.reverse.clear();
        // Where no way leads back, nothing comes back.
        if factors.cross_traffic && platform.route(to, from, &mut self.reverse).is_err() {
            self.reverse.clear();
        }
        self.count();
        self.surveyed = self.measure(factors, links);
        (self.surveyed.from, self.surveyed.to) = (from, to);
        self.surveyed.overhead = overhead;
        Ok(())
    }

    fn count(&mut self) {
        self.crossings.clear();
        for (link, forward) in self
            .forward
            .iter()
            .map(|link| (link.index(), 1))
            .chain(self.reverse.iter().map(|link| (link.index(), 0)))
        {
            let reverse = 1 - forward;
            match self
                .crossings
                .iter_mut()
                .find(|crossing| crossing.link == link)
            {
                Some(crossing) => {
                    crossing.forward += forward;
                    crossing.reverse += reverse;
                }
                None => self.crossings.push(Crossing {
                    link,
                    forward,
                    reverse,
                }),
            }
        }
    }

    /// Sums up the links, and turns the crossings into legs.
    fn measure(&mut self, factors: &Factors, links: &[Nominal]) -> Route {
        let mut latency = 0.0;
        let mut weight = 0.0;
        let mut rate_max = f64::INFINITY;
        self.legs.clear();
        for crossing in &self.crossings {
            let link = &links[crossing.link];
            let forward = f64::from(crossing.forward);
            let mut usage = forward + 0.05 * f64::from(crossing.reverse);
            if 0 < crossing.forward {
                latency += forward * link.latency;
                weight += forward * (link.latency + factors.weight_size / link.bandwidth);
                if link.is_pipe {
                    usage = 1.0;
                }
            }
            rate_max = rate_max.min(factors.bandwidth * link.bandwidth / usage);
            let (mut forward, mut reverse) = (crossing.forward, crossing.reverse);
            while 0 < forward || 0 < reverse {
                let (ahead, back) = (forward.min(7), reverse.min(7));
                self.legs.push(Leg::new(crossing.link, ahead, back));
                forward -= ahead;
                reverse -= back;
            }
        }
        if 0.0 < latency {
            rate_max = rate_max.min(factors.bandwidth * factors.window / (2.0 * latency));
        }
        // Without latency and size there is nothing to weigh flows by: they are equal.
        let weight = if 0.0 < weight { weight } else { 1.0 };
        Route {
            latency: factors.latency * latency,
            weight,
            bound: rate_max * weight,
            ..Route::NONE
        }
    }

    /// Puts the route just surveyed into the cache, and returns where.
    fn remember(&mut self) -> usize {
        if self.cache.len() < self.cache_max && self.cache.len() < 8 * self.collisions {
            self.collisions = 0;
            let size = 2 * self.cache.len();
            let old = std::mem::replace(&mut self.cache, vec![Route::NONE; size]);
            for known in old {
                if self.is_valid(&known) {
                    let place = self.vacancy(known.from, known.to);
                    self.cache[place] = known;
                }
            }
        }
        let place = self.vacancy(self.surveyed.from, self.surveyed.to);
        self.collisions += usize::from(self.is_valid(&self.cache[place]));
        let route = &mut self.cache[place];
        *route = self.surveyed;
        route.epoch = self.epoch;
        route.leg_count = u32::try_from(self.legs.len()).expect("at most LEGS_MAX");
        route.legs[..self.legs.len()].copy_from_slice(&self.legs);
        place
    }

    /// Where to put a route: one of its two places, the first if both are taken.
    fn vacancy(&self, from: HostId, to: HostId) -> usize {
        let place = self.place(from, to);
        let taken = self.is_valid(&self.cache[place]);
        let other_taken = self.is_valid(&self.cache[place ^ 1]);
        if taken && !other_taken {
            place ^ 1
        } else {
            place
        }
    }

    /// The first of the two places, side by side, of a pair of hosts.
    fn place(&self, from: HostId, to: HostId) -> usize {
        let pair = u64::from(from.0) << 32 | u64::from(to.0);
        let mixed = (pair ^ pair >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & (self.cache.len() - 1)
    }
}

/// Routes asked for in one trial of the cache.
const TRIAL: u32 = 1 << 13;
/// Routes surveyed before a cache that remembered too few is tried again.
const UNCACHED: u32 = 1 << 18;
/// Longest route that is remembered.
const LEGS_MAX: usize = 12;
/// Most routes that are remembered: as many as the processor keeps close. To fetch one from farther
/// away costs more than to survey it.
const CACHE_MAX: usize = 1 << 12;
