//! Routes as flows need them, and a cache of them.
//!
//! Routes of uniform hosts differ in the hosts' own links only. So one route is cached for all pairs of hosts of two
//! ranges, and the links of the two hosts are filled in.

use bsp::HostId;
use bsp::units::Seconds;

use super::Factors;
use super::link::{Leg, NominalLink};
use crate::platform::{LinkId, NoRoute, Overhead, Platform, UniformHosts};

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
    uniform: Vec<UniformHosts>,
    /// By host, its range of uniform hosts; [`UNRANGED`] if it is in none.
    ranges: Vec<u32>,
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

/// How links of a host differ from those of the uniform host that stands in for it.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// The first link of the host that stands in, and the number of its links.
    first: u32,
    count: u32,
    by: u32,
}

impl Shift {
    /// No host stands in.
    const NONE: Self = Self {
        first: 0,
        count: 0,
        by: 0,
    };

    /// The host at position `at` of the range stands in for `host`.
    fn new(range: &UniformHosts, host: u32, at: u32) -> Self {
        let link = |position: u32| range.first_link + position * range.links_per_host;
        Self {
            first: link(at),
            count: range.links_per_host,
            by: link(host - range.first).wrapping_sub(link(at)),
        }
    }

    #[inline]
    fn applies_to(&self, leg: Leg) -> bool {
        leg.id().wrapping_sub(self.first) < self.count
    }
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
    pub(super) fn new(hosts: usize, uniform: Vec<UniformHosts>) -> Self {
        let mut ranges = vec![UNRANGED; hosts];
        for (at, range) in (0..).zip(&uniform) {
            let first = range.first as usize;
            ranges[first..first + range.count as usize].fill(at);
        }
        let others = ranges.iter().filter(|range| **range == UNRANGED).count();
        let expected = 4 * others + uniform.len() * uniform.len();
        let size = |routes: usize| routes.next_power_of_two().clamp(256, CACHE_MAX);
        Self {
            uniform,
            ranges,
            cache: vec![Route::NONE; size(expected)],
            cache_max: size(2 * expected),
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
        terms: (&Factors, &[NominalLink]),
        from: HostId,
        to: HostId,
    ) -> Result<(&Route, &[Leg]), NoRoute> {
        let (stand_ins, shifts) = self.stand_ins(from, to);
        let place = self
            .locate(platform, terms, stand_ins)
            .map_err(|_| NoRoute {
                from: platform.host(from).name.clone(),
                to: platform.host(to).name.clone(),
            })?;
        let shifted = |leg: &Leg| {
            let shift = shifts.iter().find(|shift| shift.applies_to(*leg));
            shift.map_or(*leg, |shift| leg.moved(shift.by))
        };
        match place {
            Some(place) => {
                let route = &self.cache[place];
                let legs = &route.legs[..route.leg_count as usize];
                if stand_ins == (from, to) {
                    return Ok((route, legs));
                }
                self.legs.clear();
                self.legs.extend(legs.iter().map(shifted));
                Ok((route, &self.legs))
            }
            None => {
                self.legs.iter_mut().for_each(|leg| *leg = shifted(leg));
                Ok((&self.computed, &self.legs))
            }
        }
    }

    /// Two hosts whose route differs from that between `from` and `to` in their own links only, and by how much.
    fn stand_ins(&self, from: HostId, to: HostId) -> ((HostId, HostId), [Shift; 2]) {
        if from == to {
            return ((from, to), [Shift::NONE; 2]);
        }
        let range = |host: HostId| self.uniform.get(self.ranges[host.index()] as usize);
        let stand_in = |host: HostId, at: u32| match range(host) {
            Some(range) => (HostId(range.first + at), Shift::new(range, host.0, at)),
            None => (host, Shift::NONE),
        };
        let are_neighbours = self.ranges[from.index()] == self.ranges[to.index()];
        let (first, from_shift) = stand_in(from, 0);
        let (second, to_shift) = stand_in(to, u32::from(are_neighbours));
        ((first, second), [from_shift, to_shift])
    }

    /// Finds or computes a route; returns its place in the cache, or nothing if it is the one just computed.
    fn locate(
        &mut self,
        platform: &Platform,
        terms: (&Factors, &[NominalLink]),
        (from, to): (HostId, HostId),
    ) -> Result<Option<usize>, NoRoute> {
        if 0 < self.bypasses {
            self.bypasses -= 1;
            self.compute(platform, terms, (from, to))?;
            return Ok(None);
        }
        let cached = self.lookup(from, to);
        self.count_lookup(cached.is_some());
        if cached.is_some() {
            return Ok(cached);
        }
        self.compute(platform, terms, (from, to))?;
        let fits = !self.legs.is_empty() && self.legs.len() <= LEGS_MAX;
        Ok(fits.then(|| self.insert()))
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
        let latency = factors.latency * latency;
        // As in SimGrid, the penalty of a message that does not wait for a latency is 1, whatever it crosses.
        let weight = if 0.0 < latency { weight } else { 1.0 };
        Route {
            latency,
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
/// The range of a host that is not among uniform hosts.
const UNRANGED: u32 = u32::MAX;
/// Longest route that is cached.
const LEGS_MAX: usize = 12;
/// Most routes that are cached: as many as fit into the processor's caches. To fetch one from main
/// memory costs more than to compute it.
const CACHE_MAX: usize = 1 << 12;

#[cfg(test)]
mod tests;
