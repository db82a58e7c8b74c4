//! What rescheduling could win at best.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use bsp::units::{Instructions, Seconds};
use simulator::Platform;

/// Compares, superstep by superstep, the slowest computation with the one that the best mapping found
/// would have had: the largest loads first, each to the processor that ends it soonest.
///
/// Communication, barriers and the cost of moving are left out, and so is what others take of the
/// hosts: it says what could be won, not how.
#[derive(Debug)]
pub(crate) struct Attainable {
    /// How many processors there are of each speed (instructions per second), fastest first.
    processors: Vec<(f64, usize)>,
    work: Vec<Instructions>,
    /// The best for `work`.
    best: Seconds,
    /// The best for supersteps that have begun and not ended: the next may begin in one Set before the
    /// first Manager knows that the last is over.
    under_way: VecDeque<Seconds>,
    total: Seconds,
}

impl Attainable {
    pub(crate) fn new(platform: &Platform) -> Self {
        let mut processors: BTreeMap<_, usize> = BTreeMap::new();
        for host in platform.hosts() {
            let cores = usize::try_from(host.cores).expect("u32 fits usize");
            *processors.entry(Reverse(host.speed)).or_default() += cores;
        }
        let processors = processors
            .into_iter()
            .map(|(Reverse(speed), count)| (speed.get(), count))
            .collect();
        Self {
            processors,
            work: Vec::new(),
            best: Seconds::ZERO,
            under_way: VecDeque::new(),
            total: Seconds::ZERO,
        }
    }

    /// A superstep begins in which processes do `work`, by rank.
    pub(crate) fn began(&mut self, work: &[Instructions]) {
        if self.work != work {
            self.work.clear();
            self.work.extend_from_slice(work);
            self.best = self.best_mapping();
        }
        self.under_way.push_back(self.best);
    }

    /// The earliest superstep that had not ended has, and its slowest computation took `slowest`.
    pub(crate) fn ended(&mut self, slowest: Seconds) {
        let best = self.under_way.pop_front();
        let best = best.expect("a superstep ends after it has begun");
        self.total += (slowest - best).max(Seconds::ZERO);
    }

    /// Time that could have been saved so far.
    pub(crate) fn total(&self) -> Seconds {
        self.total
    }

    /// The longest computation under the best mapping found (longest processing time first).
    fn best_mapping(&self) -> Seconds {
        let mut work = self.work.clone();
        work.sort_unstable_by_key(|work| Reverse(*work));
        // Per speed: instructions on the processors in use, least loaded first, and how many are idle.
        let mut classes: Vec<(f64, BinaryHeap<Reverse<u64>>, usize)> = self
            .processors
            .iter()
            .map(|(speed, count)| (*speed, BinaryHeap::new(), *count))
            .collect();
        let mut longest = 0.0_f64;
        for Instructions(amount) in work {
            let end = |(speed, used, idle): &(f64, BinaryHeap<Reverse<u64>>, usize)| {
                let load = if 0 < *idle {
                    0
                } else {
                    used.peek().map_or(0, |least| least.0)
                };
                Instructions(load.saturating_add(amount)).as_f64() / speed
            };
            let soonest = classes
                .iter_mut()
                .min_by(|a, b| end(a).total_cmp(&end(b)))
                .expect("a platform has processors");
            longest = longest.max(end(soonest));
            let load = if 0 < soonest.2 {
                soonest.2 -= 1;
                0
            } else {
                soonest.1.pop().map_or(0, |least| least.0)
            };
            soonest.1.push(Reverse(load.saturating_add(amount)));
        }
        Seconds::new(longest).expect("loads over speeds are finite")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stage::platform;

    /// Hosts of so many cores and instructions per second.
    fn attainable(hosts: &[(u32, u32)]) -> Attainable {
        let sets: Vec<_> = hosts
            .iter()
            .map(|(cores, speed)| (1, *cores, *speed))
            .collect();
        Attainable::new(&platform(&sets))
    }

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn works(works: &[u64]) -> Vec<Instructions> {
        works.iter().copied().map(Instructions).collect()
    }

    /// What a superstep of `slowest` seconds could have saved.
    fn saved(hosts: &[(u32, u32)], work: &[u64], slowest: f64) -> Seconds {
        let mut attainable = attainable(hosts);
        attainable.began(&works(work));
        attainable.ended(seconds(slowest));
        attainable.total()
    }

    #[test]
    fn the_largest_go_first_and_each_to_where_it_ends_soonest() {
        assert_eq!(saved(&[(1, 10)], &[30, 20], 6.0), seconds(1.0));
        assert_eq!(saved(&[(2, 10)], &[30, 20], 6.0), seconds(3.0));
        // The faster host takes both: alone on the slower one, the smaller would take 20 seconds.
        assert_eq!(saved(&[(1, 1), (1, 10)], &[30, 20], 6.0), seconds(1.0));
        assert_eq!(saved(&[(1, 10), (1, 5)], &[40, 20, 20], 9.0), seconds(3.0));
        assert_eq!(
            saved(&[(1, 10)], &[30, 20], 2.0),
            seconds(0.0),
            "nothing is lost"
        );
        assert_eq!(saved(&[(1, 10)], &[0, 0], 0.0), seconds(0.0));
    }

    #[test]
    fn a_superstep_is_judged_by_its_own_work_even_if_the_next_has_begun() {
        let mut attainable = attainable(&[(1, 10)]);
        attainable.began(&works(&[10]));
        attainable.began(&works(&[50]));
        attainable.ended(seconds(2.0));
        attainable.ended(seconds(6.0));
        assert_eq!(attainable.total(), seconds(1.0 + 1.0));
    }

    /// The longest computation under the best of all mappings.
    fn best(processors: &[f64], loads: &mut Vec<f64>, work: &[u64]) -> f64 {
        let Some((first, rest)) = work.split_first() else {
            let ends = loads
                .iter()
                .zip(processors)
                .map(|(load, speed)| load / speed);
            return ends.fold(0.0, f64::max);
        };
        let mut least = f64::INFINITY;
        for index in 0..processors.len() {
            loads[index] += *first as f64;
            least = least.min(best(processors, loads, rest));
            loads[index] -= *first as f64;
        }
        least
    }

    proptest! {
        #[test]
        fn no_mapping_is_better_by_much_and_none_is_beaten(
            hosts in prop::collection::vec((1_u32..3, 1_u32..5), 1..3),
            work in prop::collection::vec(0_u64..40, 0..6),
        ) {
            let processors: Vec<f64> = hosts
                .iter()
                .flat_map(|(cores, speed)| (0..*cores).map(move |_| f64::from(*speed)))
                .collect();
            let optimum = best(&processors, &mut vec![0.0; processors.len()], &work);
            let mut attainable = attainable(&hosts);
            attainable.began(&works(&work));
            let found = attainable.under_way[0].get();
            prop_assert!(optimum <= found * (1.0 + 1e-12), "{found} beats {optimum}");
            // Gonzalez, Ibarra and Sahni (1977): longest processing time first on uniform processors
            // takes less than twice the optimum.
            prop_assert!(found <= 2.0 * optimum, "{found} for {optimum}");
        }
    }
}
