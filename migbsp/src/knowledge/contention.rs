//! What messages between Sets take, compared with the prediction from rates.

use serde::{Deserialize, Serialize};

use bsp::SetId;

use crate::Load;
use crate::bounded::{count, non_negative};

/// What messages from other Sets take, as measured: a latency, how far they share the connection of their Set
/// to others, and how much slower than predicted they arrive.
///
/// Equation `CONTENTION` of `docs/model.md`. Without measurements the prediction holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Contention {
    latency: f64,
    sharing: Sharing,
    /// By Set.
    slowness: Vec<f64>,
}

/// How far messages that arrive in a Set together have been seen to slow each other down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    met: f64,
    expected: f64,
}

impl Sharing {
    /// From 0, each message has a link to itself, to 1, all share one.
    #[must_use]
    pub fn degree(self) -> f64 {
        (self.met / self.expected).clamp(0.0, 1.0)
    }

    /// Learns from one call, which weighs as much as all calls before.
    fn learn(&mut self, met: f64, expected: f64) {
        self.met = self.met / 2.0 + met;
        self.expected = self.expected / 2.0 + expected;
    }
}

impl Default for Sharing {
    /// Without measurements: a degree of one half, with the weight of two messages.
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
    /// Predicted and measured seconds.
    alone: f64,
    took: f64,
}

impl Contention {
    /// From the messages of `loads`, each with the Set it runs in, and the `sharing` seen before; `rate` gives
    /// the seconds that a byte takes from Set to Set.
    pub(crate) fn measured<'a>(
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

    /// Seconds that receiving from other Sets takes in addition to the time of the bytes.
    #[must_use]
    pub fn latency(&self) -> f64 {
        self.latency
    }

    /// How far messages have been seen to share links.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// The measured time of messages from other Sets into `set` as a multiple of the predicted one, sharing excluded.
    #[must_use]
    pub fn slowness(&self, set: SetId) -> f64 {
        self.slowness.get(set.index()).copied().unwrap_or(1.0)
    }
}

/// The measured time of messages as a multiple of the predicted one.
fn ratio(crossings: &[Crossing], latency: f64) -> f64 {
    let alone: f64 = crossings.iter().map(|crossing| crossing.alone).sum();
    let took = crossings.iter().map(|crossing| crossing.took - latency);
    non_negative(took.sum::<f64>() / alone)
}

/// Bound of the slowness.
const SLOWNESS_MAX: f64 = 32.0;

#[cfg(test)]
mod tests {
    use bsp::units::Bytes;
    use bsp::{HostId, Image, Rank};

    use crate::Received;

    use super::*;

    /// One process in the first Set for each of `times`, the seconds that a message of a megabyte from the second Set
    /// takes; it would take one second alone.
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
        Contention::measured(loads, 2, |_, _| 1e-6, Sharing::default())
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-9,
            "{value} against {expected}"
        );
    }

    #[test]
    fn latency_is_the_time_of_a_message_beyond_its_bytes() {
        let contention = met(&[1.25]);
        close(contention.latency(), 0.25);
        close(contention.slowness(SetId(0)), 1.0);
    }

    #[test]
    fn messages_that_take_as_long_as_one_alone_share_no_link() {
        let contention = met(&[1.0; 4]);
        // A quarter of three and a half: half of the initial weight, and three messages.
        close(contention.sharing().degree(), 0.25 / 3.5);
        close(contention.slowness(SetId(0)), 1.0);
    }

    #[test]
    fn messages_slower_than_the_fastest_share_a_link() {
        let contention = met(&[1.0, 4.0, 4.0, 4.0]);
        // Three and a quarter times as long as alone: 2.25 of three others.
        close(contention.sharing().degree(), 2.5 / 3.5);
    }

    #[test]
    fn sharing_is_kept_while_no_messages_arrive_together() {
        let mut sharing = met(&[1.0, 4.0, 4.0, 4.0]).sharing();
        let before = sharing;
        for _ in 0..3000 {
            sharing = Contention::measured(std::iter::empty(), 2, |_, _| 1e-6, sharing).sharing();
        }
        assert_eq!(sharing, before);
    }

    #[test]
    fn without_messages_between_sets_the_prediction_holds() {
        let contention = met(&[]);
        close(contention.latency(), 0.0);
        close(contention.sharing().degree(), 0.5);
        close(contention.slowness(SetId(1)), 1.0);
    }
}
