//! How messages between Sets fare, against what rates foretell.

use serde::{Deserialize, Serialize};

use bsp::SetId;

use crate::Load;
use crate::bounded::{count, non_negative};

/// What messages from other Sets take, as measured: a latency, how far they share what connects their Set
/// with others, and how much slower than foretold they come in.
///
/// Equation `CONTENTION` of `docs/model.md`. What was never met is taken to be as foretold.
#[derive(Clone, Debug, PartialEq)]
pub struct Contention {
    latency: f64,
    sharing: Sharing,
    /// By Set.
    slowness: Vec<f64>,
}

/// What was seen of messages that came into a Set together: how much longer they took than each alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    met: f64,
    expected: f64,
}

impl Sharing {
    /// From 0, each message has its cable to itself, to 1, all share one.
    #[must_use]
    pub fn degree(self) -> f64 {
        (self.met / self.expected).clamp(0.0, 1.0)
    }

    /// As much as all that was seen before weighs what is seen now.
    fn learn(&mut self, met: f64, expected: f64) {
        self.met = self.met / 2.0 + met;
        self.expected = self.expected / 2.0 + expected;
    }
}

impl Default for Sharing {
    /// Nothing was seen; that half is shared is believed as firmly as two messages would prove it.
    fn default() -> Self {
        Self {
            met: 0.5,
            expected: 1.0,
        }
    }
}

/// What one process receives from another Set in a superstep.
#[derive(Clone, Copy)]
struct Crossing {
    /// Seconds that were foretold, and those that it took.
    alone: f64,
    took: f64,
}

impl Contention {
    /// What `loads`, each with the Set it runs in, have met, after what was seen of `sharing` before; `rate` are
    /// the seconds that a byte takes from Set to Set.
    pub(crate) fn of<'a>(
        loads: impl Iterator<Item = (SetId, &'a Load)>,
        sets: usize,
        rate: impl Fn(SetId, SetId) -> f64,
        mut sharing: Sharing,
    ) -> Self {
        let mut crossings = vec![Vec::new(); sets];
        for (to, load) in loads {
            for received in &load.received {
                let alone = received.bytes * rate(received.set, to);
                if received.set != to && 0.0 < alone {
                    let took = received.time;
                    crossings[to.index()].push(Crossing { alone, took });
                }
            }
        }
        let excess = |crossing: &Crossing| non_negative(crossing.took - crossing.alone);
        let latency = crossings.iter().flatten().map(excess).reduce(f64::min);
        let latency = latency.unwrap_or_default();
        let (mut met, mut expected) = (0.0, 0.0);
        for together in crossings.iter().filter(|together| 1 < together.len()) {
            let others = count(together.len()) - 1.0;
            met += (ratio(together, latency) - 1.0).clamp(0.0, others);
            expected += others;
        }
        if 0.0 < expected {
            sharing.learn(met, expected);
        }
        let slowness = |together: &Vec<Crossing>| {
            if together.is_empty() {
                return 1.0;
            }
            let others = count(together.len()) - 1.0;
            let shared = 1.0 + sharing.degree() * others;
            (ratio(together, latency) / shared).clamp(1.0, SLOWNESS_MAX)
        };
        Self {
            latency,
            slowness: crossings.iter().map(slowness).collect(),
            sharing,
        }
    }

    /// What a process that receives from other Sets takes besides, in seconds.
    #[must_use]
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// What has been seen of sharing so far.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// How many times as long as foretold messages from other Sets take to come into `set`, sharing apart.
    #[must_use]
    pub fn slowness(&self, set: SetId) -> f64 {
        self.slowness.get(set.index()).copied().unwrap_or(1.0)
    }
}

/// How many times as long as foretold messages took.
fn ratio(crossings: &[Crossing], latency: f64) -> f64 {
    let alone: f64 = crossings.iter().map(|crossing| crossing.alone).sum();
    let took = crossings.iter().map(|crossing| crossing.took - latency);
    non_negative(took.sum::<f64>() / alone)
}

/// Messages are never thought to be slower than foretold by more than this factor.
const SLOWNESS_MAX: f64 = 32.0;

#[cfg(test)]
mod tests {
    use bsp::units::Bytes;
    use bsp::{HostId, Image, Rank};

    use crate::Received;

    use super::*;

    /// One process in the first Set for each message of a megabyte from the second, which takes so long; it
    /// would take a second alone.
    fn met(times: &[f64]) -> Contention {
        let load = |time: &f64| Load {
            rank: Rank(0),
            host: HostId(0),
            instructions: 1.0,
            finished: None,
            image: Image {
                data: Bytes::ZERO,
                fixed: Bytes::ZERO,
            },
            received: vec![Received {
                set: SetId(1),
                bytes: 1e6,
                time: *time,
            }],
        };
        let loads: Vec<Load> = times.iter().map(load).collect();
        let loads = loads.iter().map(|load| (SetId(0), load));
        Contention::of(loads, 2, |_, _| 1e-6, Sharing::default())
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-9,
            "{value} against {expected}"
        );
    }

    #[test]
    fn what_each_message_takes_beyond_its_bytes_is_latency() {
        let contention = met(&[1.25]);
        close(contention.latency(), 0.25);
        close(contention.slowness(SetId(0)), 1.0);
    }

    #[test]
    fn four_that_take_as_long_as_one_do_not_share() {
        let contention = met(&[1.0; 4]);
        // A quarter against three and a half: what was believed before, halved, against three.
        close(contention.sharing().degree(), 0.25 / 3.5);
        close(contention.slowness(SetId(0)), 1.0);
    }

    #[test]
    fn one_that_comes_through_lets_the_others_show_that_they_share() {
        let contention = met(&[1.0, 4.0, 4.0, 4.0]);
        // Three and a quarter times as long as alone: 2.25 of three others.
        close(contention.sharing().degree(), 2.5 / 3.5);
    }

    #[test]
    fn what_was_learnt_is_not_forgotten_while_nothing_comes_in_together() {
        let mut sharing = met(&[1.0, 4.0, 4.0, 4.0]).sharing();
        let before = sharing;
        for _ in 0..3000 {
            sharing = Contention::of(std::iter::empty(), 2, |_, _| 1e-6, sharing).sharing();
        }
        assert_eq!(sharing, before);
    }

    #[test]
    fn where_nothing_crosses_nothing_is_known() {
        let contention = met(&[]);
        close(contention.latency(), 0.0);
        close(contention.sharing().degree(), 0.5);
        close(contention.slowness(SetId(1)), 1.0);
    }
}
