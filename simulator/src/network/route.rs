//! Routes as flows need them, and a cache of them.

use bsp::HostId;
use bsp::units::Seconds;

use super::leg::Leg;
use super::link::NominalLink;
use super::options::Factors;
use crate::platform::{LinkId, NoRoute, Overhead, Platform};

/// What all flows between two hosts have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    from: HostId,
    to: HostId,
    /// Length of the latency phase in seconds.
    pub(super) latency: f64,
    /// Penalty of a flow.
    pub(super) weight: f64,
    /// Level of a flow that is alone.
    pub(super) bound: f64,
    pub(super) overhead: Overhead,
    leg_count: u32,
    /// The epoch in which it was computed; see [`Routes::forget`].
    epoch: u32,
    legs: [Leg; LEGS_MAX],
}

/// Computes routes and caches the recent ones.
#[derive(Debug)]
pub(super) struct Routes {
    /// Each pair of hosts has two neighbouring places; their number is a power of two.
    cache: Vec<Route>,
    cache_max: usize,
    /// Valid routes overwritten since the cache grew last.
    collisions: usize,
    /// Lookups in this trial of the cache, and how many of them were hits.
    lookups: u32,
    hits: u32,
    /// Routes still to be computed without a lookup before the cache is tried again.
    bypasses: u32,
    /// Routes of earlier epochs are out of date.
    epoch: u32,
    forward: Vec<LinkId>,
    reverse: Vec<LinkId>,
    crossings: Vec<Crossing>,
    /// The latest route that was computed, and its legs.
    computed: Route,
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
            lookups: 0,
            hits: 0,
            bypasses: 0,
            epoch: 0,
            forward: Vec::new(),
            reverse: Vec::new(),
            crossings: Vec::new(),
            computed: Route::NONE,
            legs: Vec::new(),
        }
    }

    /// The route between two hosts, and what a flow on it uses.
    pub(super) fn find(
        &mut self,
        platform: &Platform,
        (factors, links): (&Factors, &[NominalLink]),
        from: HostId,
        to: HostId,
    ) -> Result<(&Route, &[Leg]), NoRoute> {
        if 0 < self.bypasses {
            self.bypasses -= 1;
            self.compute(platform, (factors, links), (from, to))?;
            return Ok((&self.computed, &self.legs));
        }
        let cached = self.lookup(from, to);
        self.count_lookup(cached.is_some());
        let place = match cached {
            Some(place) => place,
            None => {
                self.compute(platform, (factors, links), (from, to))?;
                if LEGS_MAX < self.legs.len() || self.legs.is_empty() {
                    return Ok((&self.computed, &self.legs));
                }
                self.insert()
            }
        };
        let route = &self.cache[place];
        Ok((route, &route.legs[..route.leg_count as usize]))
    }

    /// Bypasses the cache for a while if too few lookups are hits: there are too many routes, and to
    /// look them up costs more than to compute them.
    fn count_lookup(&mut self, is_hit: bool) {
        self.lookups += 1;
        self.hits += u32::from(is_hit);
        if self.lookups == LOOKUPS_PER_TRIAL {
            if self.hits < LOOKUPS_PER_TRIAL / 2 && self.cache.len() == self.cache_max {
                self.bypasses = BYPASSES;
            }
            (self.lookups, self.hits) = (0, 0);
        }
    }

    /// Invalidates all routes: links have changed.
    pub(super) fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// The place of the route in the cache, if it is there.
    #[inline]
    fn lookup(&self, from: HostId, to: HostId) -> Option<usize> {
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

    fn compute(
        &mut self,
        platform: &Platform,
        (factors, links): (&Factors, &[NominalLink]),
        (from, to): (HostId, HostId),
    ) -> Result<(), NoRoute> {
        let overhead = platform.route(from, to, &mut self.forward)?;
        self.reverse.clear();
        // Without a route back, there are no acknowledgements.
        if factors.cross_traffic && platform.route(to, from, &mut self.reverse).is_err() {
            self.reverse.clear();
        }
        self.count_crossings();
        self.computed = self.measure(factors, links);
        (self.computed.from, self.computed.to) = (from, to);
        self.computed.overhead = overhead;
        Ok(())
    }

    /// Counts how often the two routes cross each link.
    fn count_crossings(&mut self) {
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
    fn measure(&mut self, factors: &Factors, links: &[NominalLink]) -> Route {
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
                if link.is_fat_pipe {
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
        // Without latency and size there is no weight: all flows are equal.
        let weight = if 0.0 < weight { weight } else { 1.0 };
        Route {
            latency: factors.latency * latency,
            weight,
            bound: rate_max * weight,
            ..Route::NONE
        }
    }

    /// Caches the route just computed, and returns its place.
    fn insert(&mut self) -> usize {
        if self.cache.len() < self.cache_max && self.cache.len() < 8 * self.collisions {
            self.collisions = 0;
            let size = 2 * self.cache.len();
            let old = std::mem::replace(&mut self.cache, vec![Route::NONE; size]);
            for cached in old {
                if self.is_valid(&cached) {
                    let place = self.vacancy(cached.from, cached.to);
                    self.cache[place] = cached;
                }
            }
        }
        let place = self.vacancy(self.computed.from, self.computed.to);
        self.collisions += usize::from(self.is_valid(&self.cache[place]));
        let route = &mut self.cache[place];
        *route = self.computed;
        route.epoch = self.epoch;
        route.leg_count = u32::try_from(self.legs.len()).expect("at most LEGS_MAX");
        route.legs[..self.legs.len()].copy_from_slice(&self.legs);
        place
    }

    /// The place for a new route: the free one of its two, the first if both are taken.
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

    /// One of the two places of a pair of hosts; the other one is next to it.
    fn place(&self, from: HostId, to: HostId) -> usize {
        let pair = u64::from(from.0) << 32 | u64::from(to.0);
        let mixed = (pair ^ pair >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & (self.cache.len() - 1)
    }
}

/// Lookups in one trial of the cache.
const LOOKUPS_PER_TRIAL: u32 = 1 << 13;
/// Routes computed without the cache after a trial with too few hits.
const BYPASSES: u32 = 1 << 18;
/// Longest route that is cached.
const LEGS_MAX: usize = 12;
/// Most routes that are cached: as many as fit into the processor's caches. To fetch one from main
/// memory costs more than to compute it.
const CACHE_MAX: usize = 1 << 12;

#[cfg(test)]
mod tests;
