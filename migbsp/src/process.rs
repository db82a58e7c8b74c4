//! What one process remembers of its supersteps.

use bsp::SetId;
use bsp::units::{Bytes, Instructions, Seconds};
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::{Config, IdleResident, Patterns, ProcessTimes};

/// One superstep of one process, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation<'a> {
    /// Instructions executed, `I_t(i)`.
    pub instructions: Instructions,
    /// How long that took, `CT_t(i)`.
    pub computation_time: Seconds,
    /// What was received, by the senders' Sets; a Set that sent nothing is left out.
    pub receptions: &'a [Reception],
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
pub struct Process {
    /// 1/α of the current interval.
    step: f64,
    pattern: f64,
    instructions_predicted: f64,
    time_predicted: f64,
    instructions_last: Instructions,
    instructions_resident: Instructions,
    /// By Set.
    senders: Vec<Sender>,
    /// One per superstep since the last call.
    times: Vec<ProcessTimes>,
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

/// How the superstep being observed enters predictions and patterns.
#[derive(Clone, Copy)]
struct Update {
    /// Weight of what was predicted before; the new measurement has the rest.
    old: f64,
    /// What a pattern gains or loses.
    step: f64,
    /// Whether patterns begin again at 1.
    afresh: bool,
}

impl Process {
    /// A process that has done nothing yet; the first call comes after `interval` supersteps.
    #[must_use]
    pub fn new(interval: u32) -> Self {
        Self {
            step: step(interval),
            pattern: 1.0,
            instructions_predicted: 0.0,
            time_predicted: 0.0,
            instructions_last: Instructions::ZERO,
            instructions_resident: Instructions::ZERO,
            senders: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Takes in one superstep.
    pub fn observe(&mut self, config: &Config, observation: Observation<'_>) {
        let parameters = config.parameters();
        let first = self.times.is_empty();
        let update = Update {
            old: if first { 0.0 } else { 0.5 },
            step: self.step,
            afresh: first && parameters.patterns == Patterns::Restart,
        };
        let Observation {
            instructions,
            computation_time,
            receptions,
            reception_longest,
        } = observation;

        let work = instructions.as_f64();
        self.instructions_predicted = update.aged(self.instructions_predicted, work);
        self.time_predicted = update.aged(self.time_predicted, computation_time.get());
        let regular = is_close(self.instructions_predicted, work, parameters.delta);
        self.pattern = update.pattern(self.pattern, regular);
        self.instructions_last = instructions;
        let computed = Instructions::ZERO < instructions;
        if computed || parameters.idle_resident == IdleResident::Zero {
            self.instructions_resident = instructions;
        }

        for sender in &mut self.senders {
            let (bytes, time) = sum_from(sender.set, receptions);
            sender.observe(update, parameters.beta, bytes, time);
        }
        for reception in receptions {
            if let Err(position) = self
                .senders
                .binary_search_by_key(&reception.set, |sender| sender.set)
            {
                let mut sender = Sender::silent(reception.set);
                let (bytes, time) = sum_from(reception.set, receptions);
                sender.observe(update, parameters.beta, bytes, time);
                self.senders.insert(position, sender);
            }
        }

        let computation = computed.then_some(computation_time);
        self.times
            .push(ProcessTimes::new(computation, reception_longest, None));
    }

    /// How long the process waited at the barrier of the superstep last observed, from arriving to
    /// going on. Ignored after [`Process::restart`]: nobody judges that superstep any more.
    pub fn waited(&mut self, wait: Seconds) {
        if let Some(times) = self.times.last_mut() {
            times.waited(wait);
        }
    }

    /// Begins the interval after a call: predictions start again with the next superstep.
    pub fn restart(&mut self, interval: u32) {
        self.step = step(interval);
        self.times.clear();
        // A Set that has fallen silent and is regular again is like one that never sent anything.
        self.senders
            .retain(|sender| Bytes::ZERO < sender.bytes_last || sender.pattern < 1.0);
    }

    /// Times since the last call, oldest first.
    #[must_use]
    pub fn times(&self) -> &[ProcessTimes] {
        &self.times
    }

    /// Instructions of the last superstep.
    #[must_use]
    pub const fn instructions_last(&self) -> Instructions {
        self.instructions_last
    }

    /// What the process adds to its processor's time: the instructions of the last superstep in
    /// which it computed, or as [`IdleResident`] says.
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
        seconds(times.sum())
    }

    /// `P_comp(i)`, in `[0, 1]`.
    #[must_use]
    pub const fn pattern_computation(&self) -> f64 {
        self.pattern
    }

    /// `CTP(i)`.
    #[must_use]
    pub fn prediction_computation(&self) -> Seconds {
        seconds(self.time_predicted)
    }

    /// `P_comm(i, j)`, in `[0, 1]`.
    #[must_use]
    pub fn pattern_communication(&self, set: SetId) -> f64 {
        self.sender(set).pattern
    }

    /// `BTP(i, j)`.
    #[must_use]
    pub fn prediction_communication(&self, set: SetId) -> Seconds {
        seconds(self.sender(set).time_predicted)
    }

    fn sender(&self, set: SetId) -> Sender {
        self.senders
            .binary_search_by_key(&set, |sender| sender.set)
            .map_or_else(|_| Sender::silent(set), |position| self.senders[position])
    }
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

    fn observe(&mut self, update: Update, beta: f64, bytes: Bytes, time: f64) {
        self.bytes_last = bytes;
        self.bytes_predicted = update.aged(self.bytes_predicted, bytes.as_f64());
        self.time_predicted = update.aged(self.time_predicted, time);
        let regular = is_close(self.bytes_predicted, bytes.as_f64(), beta);
        self.pattern = update.pattern(self.pattern, regular);
    }
}

impl Update {
    /// Equation `AGE`: half the old prediction and half the measurement, or the measurement alone in
    /// the first superstep after a call.
    fn aged(self, predicted: f64, measured: f64) -> f64 {
        self.old * predicted + (1.0 - self.old) * measured
    }

    fn pattern(self, pattern: f64, regular: bool) -> f64 {
        let before = if self.afresh { 1.0 } else { pattern };
        if regular {
            (before + self.step).min(1.0)
        } else {
            (before - self.step).max(0.0)
        }
    }
}

/// Whether `predicted` is within `variation` of `actual`, bounds included.
fn is_close(predicted: f64, actual: f64, variation: f64) -> bool {
    let margin = actual * (variation + SLACK);
    actual - margin <= predicted && predicted <= actual + margin
}

fn sum_from(set: SetId, receptions: &[Reception]) -> (Bytes, f64) {
    receptions
        .iter()
        .filter(|reception| reception.set == set)
        .fold((Bytes::ZERO, 0.0), |(bytes, time), reception| {
            (bytes + reception.bytes, time + reception.time.get())
        })
}

fn step(interval: u32) -> f64 {
    1.0 / f64::from(interval.max(1))
}

/// Relative rounding that the bounds of a regular superstep forgive.
const SLACK: f64 = 1e-12;
