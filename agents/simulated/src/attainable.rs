//! The most time that rescheduling could save.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use bsp::units::{Instructions, Seconds};
use simulator::Platform;

/// Compares, superstep by superstep, the slowest computation with two others: the one that the best
/// mapping found would have had (the largest loads first, each to the processor that ends it soonest),
/// and the one of perfect balance (all work together on as many of the fastest processors as there are
/// processes with work), which no mapping undercuts.
///
/// Communication, barriers, the cost of moves and external load are left out: the result is a bound, not a plan.
#[derive(Debug)]
pub(crate) struct Attainable {
    /// The number of processors of each speed (instructions per second), fastest first.
    processors: Vec<(f64, usize)>,
    work: Vec<Instructions>,
    /// The best for `work`.
    best: Best,
    /// The best for supersteps that have begun and not ended: a superstep may begin in one Set before the first Manager
    /// knows that the one before is complete.
    under_way: VecDeque<Best>,
    /// The time that the best mappings would have saved.
    total: Seconds,
    /// The time that perfect balance would have saved.
    imbalance: Seconds,
}

/// The shortest computation of a superstep.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// Under the best mapping found.
    mapping: Seconds,
    /// If work could be divided at will.
    balance: Seconds,
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
            best: Best {
                mapping: Seconds::ZERO,
                balance: Seconds::ZERO,
            },
            under_way: VecDeque::new(),
            total: Seconds::ZERO,
            imbalance: Seconds::ZERO,
        }
    }

    /// A superstep begins in which processes do `work`, by rank.
    pub(crate) fn began(&mut self, work: &[Instructions]) {
        if self.work != work {
            self.work.clear();
            self.work.extend_from_slice(work);
            self.best = Best {
                mapping: self.best_mapping(),
                balance: self.perfect_balance(),
            };
        }
        self.under_way.push_back(self.best);
    }

    /// Ends the earliest superstep in progress, whose slowest computation took `slowest`.
    pub(crate) fn ended(&mut self, slowest: Seconds) {
        let best = self.under_way.pop_front();
        let best = best.expect("a superstep ends after it has begun");
        self.total += (slowest - best.mapping).max(Seconds::ZERO);
        self.imbalance += (slowest - best.balance).max(Seconds::ZERO);
    }

    /// Time that the best mappings could have saved so far.
    pub(crate) fn total(&self) -> Seconds {
        self.total
    }

    /// Time that perfect balance could have saved so far: no less than [`total`](Self::total).
    pub(crate) fn imbalance(&self) -> Seconds {
        self.imbalance
    }

    /// All work on the fastest processors, one for each process.
    fn perfect_balance(&self) -> Seconds {
        let mut idle = self.work.iter().filter(|work| 0 < work.0).count();
        let mut speed = 0.0;
        for (each, count) in &self.processors {
            let used = u32::try_from(idle.min(*count)).expect("ranks are 32 bits");
            idle -= idle.min(*count);
            speed += f64::from(used) * each;
        }
        let work: f64 = self.work.iter().map(|work| work.as_f64()).sum();
        let balance = if 0.0 < speed { work / speed } else { 0.0 };
        Seconds::new(balance).expect("work over speeds is finite")
    }

    /// The longest computation under the best mapping found (longest processing time first).
    fn best_mapping(&self) -> Seconds {
        let mut work = self.work.clone();
        work.sort_unstable_by_key(|work| Reverse(*work));
        // Per speed: instructions on the processors in use, least loaded first, and the number of idle ones.
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
            let (end, soonest) = classes
                .iter_mut()
                .map(|class| (end(class), class))
                .min_by(|(a, _), (b, _)| a.total_cmp(b))
                .expect("a platform has processors");
            longest = longest.max(end);
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

    /// Hosts with these numbers of cores and instructions per second.
    fn attainable(hosts: &[(u32, u32)]) -> Attainable {
        let mut text = String::new();
        for (index, (cores, speed)) in hosts.iter().enumerate() {
            text += &format!(
                "[[set]]\nname = \"s{index}\"\nhosts = 1\ncores = {cores}\nspeed = \"{speed} f\"\n\
                 link = {{ bandwidth = \"12.5 MBps\", latency = \"50 us\" }}\n"
            );
            for other in 0..index {
                text += &format!(
                    "[[link]]\nname = \"l{other}-{index}\"\nbetween = [\"s{other}\", \"s{index}\"]\n\
                     bandwidth = \"125 MBps\"\nlatency = \"100 us\"\n"
                );
            }
        }
        Attainable::new(&Platform::from_toml(&text).unwrap())
    }

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn works(works: &[u64]) -> Vec<Instructions> {
        works.iter().copied().map(Instructions).collect()
    }

    /// The time that a superstep of `slowest` seconds could have saved.
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
    fn perfect_balance_divides_work_but_among_no_more_processors_than_processes() {
        let lost = |hosts: &[(u32, u32)], work: &[u64], slowest: f64| {
            let mut attainable = attainable(hosts);
            attainable.began(&works(work));
            attainable.ended(seconds(slowest));
            attainable.imbalance()
        };
        // 50 instructions at 10 and at 15 instructions per second.
        assert_eq!(lost(&[(1, 10), (1, 15)], &[30, 20], 6.0), seconds(4.0));
        assert_eq!(lost(&[(2, 10)], &[30, 20, 0], 6.0), seconds(3.5));
        // One process has work, and one processor, the fastest, is all that it can use.
        assert_eq!(lost(&[(1, 5), (3, 10)], &[0, 40, 0], 6.0), seconds(2.0));
        assert_eq!(lost(&[(1, 10)], &[0, 0], 0.0), seconds(0.0));
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
            let Best { mapping, balance } = attainable.under_way[0];
            let found = mapping.get();
            prop_assert!(balance.get() <= optimum * (1.0 + 1e-12), "{balance:?} for {optimum}");
            prop_assert!(optimum <= found * (1.0 + 1e-12), "{found} beats {optimum}");
            // Gonzalez, Ibarra and Sahni (1977): longest processing time first on uniform processors
            // takes less than twice the optimum.
            prop_assert!(found <= 2.0 * optimum, "{found} for {optimum}");
        }
    }
}
