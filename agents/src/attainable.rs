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
