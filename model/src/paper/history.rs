//! The history of one process.

use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::{
    Config, Forecast, Incoming, Load, Neighbours, Noise, Potential, ProcessTimes, Received, Times,
};

/// One superstep of one process, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// Instructions executed, `I_t(i)`.
    pub instructions: Instructions,
    /// How long that took, `CT_t(i)`.
    pub computation_time: Seconds,
    /// What was received, by the senders' Sets; a Set that sent nothing is left out.
    pub receptions: &'a [Reception],
    /// What was received, by sender, of the heaviest ones; empty if no plan needs it.
    pub incoming: &'a [Incoming],
    /// How long the longest single reception took.
    pub reception_longest: Seconds,
}

/// What a process received in one superstep from the processes of one Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reception {
    /// Where the senders run.
    pub set: SetId,
    /// Sum over its messages, `B_t(i, j)`.
    pub bytes: Bytes,
    /// Sum of the times they took, `BT_t(i, j)`.
    pub time: Seconds,
}

/// What each process records in addition to patterns and predictions; [`Policy::memory`](crate::Policy::memory) says what a
/// policy needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The times of every superstep since the last call.
    pub times: bool,
    /// Predictions of its load, and how often they were wrong.
    pub forecast: bool,
}

/// The history of one process: predictions since the last call, patterns since the run began.
///
/// Implements equations `AGE`, `P-COMP` and `P-COMM` of `docs/model.md`. Moves with its process.
///
/// | symbol | here | unit |
/// |---|---|---|
/// | `P_comp(i)` | pattern of computation | 1 |
/// | `PI_t(i)`, `CTP_t(i)` | predictions of instructions and of computation time | instr, s |
/// | `P_comm(i, j)` | pattern of communication, one per Set that ever sent something | 1 |
/// | `PB_t(i, j)`, `BTP_t(i, j)` | predictions of received bytes and of reception time | B, s |
///
/// A Set that never sent anything has predictions of zero and a pattern of 1, so it takes no memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessHistory {
    /// 1/α of the current interval.
    step: f64,
    pattern: f64,
    instructions_predicted: f64,
    time_predicted: f64,
    instructions_last: Instructions,
    instructions_resident: Instructions,
    /// By Set.
    senders: Vec<Sender>,
    /// Whether no superstep has been observed since the last call.
    is_fresh: bool,
    /// One per superstep since the last call, if the policy needs them.
    times: Option<Times>,
    /// Predictions of its load and messages, if the policy needs them.
    outlook: Option<Box<Outlook>>,
}

/// What a process predicts for plans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Outlook {
    forecast: Forecast,
    neighbours: Neighbours,
    noise: Noise,
}

impl ProcessHistory {
    /// A process before its first superstep that records what `memory` says; the first call is expected
    /// after `interval` supersteps.
    #[must_use]
    pub fn new(memory: Memory, interval: u32) -> Self {
        Self {
            step: step(interval),
            pattern: 1.0,
            instructions_predicted: 0.0,
            time_predicted: 0.0,
            instructions_last: Instructions::ZERO,
            instructions_resident: Instructions::ZERO,
            senders: Vec::new(),
            is_fresh: true,
            times: memory.times.then(Times::default),
            outlook: memory.forecast.then(Box::default),
        }
    }

    /// The process that had these `potentials`, by Set: with the patterns and predictions that they were computed from,
    /// and no other history.
    #[must_use]
    pub fn of_potentials(potentials: &[Potential]) -> Self {
        let first = potentials.first();
        let sender = |potential: &Potential| Sender {
            time_predicted: potential.prediction_communication.get(),
            pattern: potential.pattern_communication,
            ..Sender::silent(potential.set)
        };
        Self {
            step: step(1),
            pattern: first.map_or(1.0, |potential| potential.pattern_computation),
            instructions_predicted: 0.0,
            time_predicted: first.map_or(0.0, |potential| potential.prediction_computation.get()),
            instructions_last: Instructions::ZERO,
            instructions_resident: Instructions::ZERO,
            senders: potentials.iter().map(sender).collect(),
            is_fresh: true,
            times: None,
            outlook: None,
        }
    }

    /// Observes one superstep.
    pub fn observe(&mut self, config: &Config, observation: Observation<'_>) {
        let first = std::mem::take(&mut self.is_fresh);
        let aging = Aging {
            old: if first { 0.0 } else { 0.5 },
            step: self.step,
        };
        let Observation {
            instructions,
            computation_time,
            receptions,
            incoming,
            reception_longest,
        } = observation;

        let work = instructions.as_f64();
        self.instructions_predicted = aging.aged(self.instructions_predicted, work);
        self.time_predicted = aging.aged(self.time_predicted, computation_time.get());
        let regular = is_close(self.instructions_predicted, work, config.parameters().delta);
        self.pattern = aging.pattern(self.pattern, regular);
        self.instructions_last = instructions;
        let computed = Instructions::ZERO < instructions;
        if computed {
            self.instructions_resident = instructions;
        }

        self.receive(aging, config, receptions);

        if let Some(times) = &mut self.times {
            let computation = computed.then_some(computation_time);
            times.push(ProcessTimes::new(computation, reception_longest, None));
        }
        if let Some(outlook) = &mut self.outlook {
            outlook.forecast.observe(instructions);
            outlook.neighbours.observe(aging.old, incoming);
            outlook.noise.observe(computation_time);
        }
    }

    /// Records how long the process waited at the barrier of the superstep last observed, from arrival to
    /// release. Ignored after [`ProcessHistory::restart`], when that superstep has been assessed.
    pub fn waited(&mut self, wait: Seconds) {
        if let Some(times) = &mut self.times {
            times.waited(wait);
        }
    }

    /// Begins the interval after a call: predictions start again with the next superstep.
    pub fn restart(&mut self, interval: u32) {
        self.step = step(interval);
        self.is_fresh = true;
        if let Some(times) = &mut self.times {
            *times = Times::default();
        }
        if let Some(outlook) = &mut self.outlook {
            outlook.noise.interrupt();
        }
        // A Set that sends nothing any more and is regular again is like one that never sent anything.
        self.senders
            .retain(|sender| Bytes::ZERO < sender.bytes_last || sender.pattern < 1.0);
    }

    /// Times since the last call, oldest first; none if it does not record them.
    #[must_use]
    pub fn times(&self) -> Times {
        self.times.clone().unwrap_or_default()
    }

    /// The process `rank`, which runs on `host` with this `image`, as a planner has to know it; `None` if it records no
    /// forecast.
    #[must_use]
    pub fn load(&self, rank: Rank, host: HostId, image: MemorySize) -> Option<Load> {
        let received = self.senders.iter();
        let Outlook {
            forecast,
            neighbours,
            noise,
        } = self.outlook.as_deref()?;
        Some(Load {
            rank,
            host,
            instructions: forecast.instructions(),
            finished: forecast.finished(),
            image,
            received: received
                .map(|sender| Received {
                    set: sender.set,
                    bytes: sender.bytes_predicted,
                    time: sender.time_predicted,
                })
                .collect(),
            edges: neighbours.heaviest(),
            noise: noise.deviation(),
        })
    }

    /// Instructions of the last superstep.
    #[must_use]
    pub const fn instructions_last(&self) -> Instructions {
        self.instructions_last
    }

    /// What the process adds to its processor's time: the instructions of the last superstep in
    /// which it computed.
    #[must_use]
    pub const fn instructions_resident(&self) -> Instructions {
        self.instructions_resident
    }

    /// Bytes received from processes of `set` in the last superstep, `B(i, j)`.
    #[must_use]
    pub fn bytes_last_from(&self, set: SetId) -> Bytes {
        self.sender(set).bytes_last
    }

    /// Predicted time of receiving from all Sets, `Σ_j BTP(i, j)`.
    #[must_use]
    pub fn receive_time(&self) -> Seconds {
        let times = self.senders.iter().map(|sender| sender.time_predicted);
        Seconds::bounded(times.sum())
    }

    /// `P_comp(i)`, in `[0, 1]`.
    #[must_use]
    pub const fn pattern_computation(&self) -> f64 {
        self.pattern
    }

    /// `CTP(i)`.
    #[must_use]
    pub fn prediction_computation(&self) -> Seconds {
        Seconds::bounded(self.time_predicted)
    }

    /// `P_comm(i, j)`, in `[0, 1]`.
    #[must_use]
    pub fn pattern_communication(&self, set: SetId) -> f64 {
        self.sender(set).pattern
    }

    /// `BTP(i, j)`.
    #[must_use]
    pub fn prediction_communication(&self, set: SetId) -> Seconds {
        Seconds::bounded(self.sender(set).time_predicted)
    }

    fn receive(&mut self, aging: Aging, config: &Config, receptions: &[Reception]) {
        let known = self.senders.iter().map(|sender| sender.set);
        // Most processes receive from the same Sets, in their order, in every superstep.
        if known.eq(receptions.iter().map(|reception| reception.set)) {
            for (sender, reception) in self.senders.iter_mut().zip(receptions) {
                sender.observe(aging, config, reception.bytes, reception.time.get());
            }
            return;
        }
        for sender in &mut self.senders {
            let (bytes, time) = sum_from(sender.set, receptions);
            sender.observe(aging, config, bytes, time);
        }
        for reception in receptions {
            if let Err(position) = self
                .senders
                .binary_search_by_key(&reception.set, |sender| sender.set)
            {
                let mut sender = Sender::silent(reception.set);
                let (bytes, time) = sum_from(reception.set, receptions);
                sender.observe(aging, config, bytes, time);
                // Most processes receive from one Set or two.
                self.senders.reserve_exact(1);
                self.senders.insert(position, sender);
            }
        }
    }

    fn sender(&self, set: SetId) -> Sender {
        self.senders
            .binary_search_by_key(&set, |sender| sender.set)
            .map_or_else(|_| Sender::silent(set), |position| self.senders[position])
    }
}

/// What is known of the processes of one Set as senders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Sender {
    set: SetId,
    bytes_last: Bytes,
    bytes_predicted: f64,
    time_predicted: f64,
    pattern: f64,
}

impl Sender {
    /// A Set that never sent anything.
    const fn silent(set: SetId) -> Self {
        Self {
            set,
            bytes_last: Bytes::ZERO,
            bytes_predicted: 0.0,
            time_predicted: 0.0,
            pattern: 1.0,
        }
    }

    fn observe(&mut self, aging: Aging, config: &Config, bytes: Bytes, time: f64) {
        self.bytes_last = bytes;
        self.bytes_predicted = aging.aged(self.bytes_predicted, bytes.as_f64());
        self.time_predicted = aging.aged(self.time_predicted, time);
        let beta = config.parameters().beta;
        let regular = is_close(self.bytes_predicted, bytes.as_f64(), beta);
        self.pattern = aging.pattern(self.pattern, regular);
    }
}

fn sum_from(set: SetId, receptions: &[Reception]) -> (Bytes, f64) {
    receptions
        .iter()
        .filter(|reception| reception.set == set)
        .fold((Bytes::ZERO, 0.0), |(bytes, time), reception| {
            (bytes + reception.bytes, time + reception.time.get())
        })
}

/// How the superstep being observed enters predictions and patterns.
#[derive(Clone, Copy)]
struct Aging {
    /// Weight of what was predicted before; the new measurement has the rest.
    old: f64,
    /// What a pattern gains or loses.
    step: f64,
}

impl Aging {
    /// Equation `AGE`: half the old prediction and half the measurement, or the measurement alone in
    /// the first superstep after a call.
    fn aged(self, predicted: f64, measured: f64) -> f64 {
        self.old * predicted + (1.0 - self.old) * measured
    }

    /// Equations `P-COMP` and `P-COMM`.
    fn pattern(self, pattern: f64, regular: bool) -> f64 {
        if regular {
            (pattern + self.step).min(1.0)
        } else {
            (pattern - self.step).max(0.0)
        }
    }
}

/// Whether `predicted` is within `variation` of `actual`, bounds included.
fn is_close(predicted: f64, actual: f64, variation: f64) -> bool {
    let margin = actual * (variation + SLACK);
    actual - margin <= predicted && predicted <= actual + margin
}

/// What a pattern gains or loses in a superstep.
fn step(interval: u32) -> f64 {
    1.0 / f64::from(interval.max(1))
}

/// Relative rounding that the bounds of a regular superstep forgive.
const SLACK: f64 = 1e-12;

#[cfg(test)]
mod tests;
