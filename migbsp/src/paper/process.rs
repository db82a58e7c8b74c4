//! What one process remembers of its supersteps.

use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::{
    Config, Forecast, IdleResident, Load, Patterns, Policy, Potential, ProcessTimes, Received,
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
    /// Whether no superstep has been observed since the last call.
    is_fresh: bool,
    /// One per superstep since the last call, where the policy wants them.
    times: Option<Vec<ProcessTimes>>,
    /// What it will execute, where the policy wants to know.
    forecast: Option<Box<Forecast>>,
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
    /// A process that has done nothing yet and remembers what `policy` needs; the first call is expected
    /// after `interval` supersteps.
    #[must_use]
    pub fn new(policy: &Policy, interval: u32) -> Self {
        Self {
            step: step(interval),
            pattern: 1.0,
            instructions_predicted: 0.0,
            time_predicted: 0.0,
            instructions_last: Instructions::ZERO,
            instructions_resident: Instructions::ZERO,
            senders: Vec::new(),
            is_fresh: true,
            times: policy.judges_times().then(Vec::new),
            forecast: policy.names_processors().then(Box::default),
        }
    }

    /// The process that found these `potentials`, by Set, as far as they tell: with the patterns and predictions
    /// that they were made of, and no other memory.
    #[must_use]
    pub fn recalled(potentials: &[Potential]) -> Self {
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
            forecast: None,
        }
    }

    /// Takes in one superstep.
    pub fn observe(&mut self, config: &Config, observation: Observation<'_>) {
        let parameters = config.parameters();
        let first = std::mem::take(&mut self.is_fresh);
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

        self.receive(update, parameters.beta, receptions);

        if let Some(times) = &mut self.times {
            let computation = computed.then_some(computation_time);
            times.push(ProcessTimes::new(computation, reception_longest, None));
        }
        if let Some(forecast) = &mut self.forecast {
            forecast.observe(instructions);
        }
    }

    /// How long the process waited at the barrier of the superstep last observed, from arriving to
    /// going on. Ignored after [`Process::restart`]: nobody judges that superstep any more.
    pub fn waited(&mut self, wait: Seconds) {
        if let Some(times) = self.times.as_mut().and_then(|times| times.last_mut()) {
            times.waited(wait);
        }
    }

    /// Begins the interval after a call: predictions start again with the next superstep.
    pub fn restart(&mut self, interval: u32) {
        self.step = step(interval);
        self.is_fresh = true;
        if let Some(times) = &mut self.times {
            times.clear();
        }
        // A Set that has fallen silent and is regular again is like one that never sent anything.
        self.senders
            .retain(|sender| Bytes::ZERO < sender.bytes_last || sender.pattern < 1.0);
    }

    /// Times since the last call, oldest first; none if the policy does not judge them.
    #[must_use]
    pub fn times(&self) -> &[ProcessTimes] {
        self.times.as_deref().unwrap_or_default()
    }

    /// What others have to know of the process `rank`, which runs on `host` with this `image`, to place it;
    /// `None` if the policy names no processors.
    #[must_use]
    pub fn load(&self, rank: Rank, host: HostId, image: Image) -> Option<Load> {
        let received = self.senders.iter();
        let forecast = self.forecast.as_ref()?;
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
        })
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

    fn receive(&mut self, update: Update, beta: f64, receptions: &[Reception]) {
        let known = self.senders.iter().map(|sender| sender.set);
        // Most processes hear from the same Sets, in their order, in every superstep.
        if known.eq(receptions.iter().map(|reception| reception.set)) {
            for (sender, reception) in self.senders.iter_mut().zip(receptions) {
                sender.observe(update, beta, reception.bytes, reception.time.get());
            }
            return;
        }
        for sender in &mut self.senders {
            let (bytes, time) = sum_from(sender.set, receptions);
            sender.observe(update, beta, bytes, time);
        }
        for reception in receptions {
            if let Err(position) = self
                .senders
                .binary_search_by_key(&reception.set, |sender| sender.set)
            {
                let mut sender = Sender::silent(reception.set);
                let (bytes, time) = sum_from(reception.set, receptions);
                sender.observe(update, beta, bytes, time);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn config(change: impl FnOnce(&mut Parameters)) -> Config {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Config::new(parameters).unwrap()
    }

    fn compute(process: &mut Process, config: &Config, instructions: u64) {
        receive(process, config, instructions, &[]);
    }

    fn receive(process: &mut Process, config: &Config, instructions: u64, from: &[(u32, u64)]) {
        let receptions: Vec<Reception> = from
            .iter()
            .map(|(set, bytes)| Reception {
                set: SetId(*set),
                bytes: Bytes(*bytes),
                time: seconds(Bytes(*bytes).as_f64() * 1e-6),
            })
            .collect();
        let computation_time = seconds(Instructions(instructions).as_f64() * 1e-9);
        process.observe(
            config,
            Observation {
                instructions: Instructions(instructions),
                computation_time,
                receptions: &receptions,
                reception_longest: Seconds::ZERO,
            },
        );
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value}");
    }

    #[test]
    fn the_second_prediction_of_smith_waterman_is_that_of_the_paper() {
        // A matrix of 10 × 10: 19 supersteps from 10^6 to 10^9 instructions.
        let second = 1_000_000 + 999_000_000 / 18;
        for (delta, pattern) in [(0.01, 0.75), (0.5, 1.0)] {
            let config = config(|parameters| parameters.delta = delta);
            let mut process = Process::new(&Policy::MIGBSP, 4);
            compute(&mut process, &config, 1_000_000);
            compute(&mut process, &config, second);
            close(process.instructions_last().as_f64(), 565e5);
            close(process.instructions_predicted, 287.5e5);
            close(process.pattern_computation(), pattern);
        }
    }

    #[test]
    fn a_tenth_of_fifty_instructions_is_from_45_to_55() {
        for (predicted, regular) in [(44.9, false), (45.0, true), (55.0, true), (55.1, false)] {
            assert_eq!(is_close(predicted, 50.0, 0.1), regular, "{predicted}");
        }
    }

    #[test]
    fn recent_supersteps_weigh_most() {
        let config = Config::default();
        let mut process = Process::new(&Policy::MIGBSP, 4);
        for instructions in [8, 16, 32] {
            compute(&mut process, &config, instructions * 1_000_000_000);
        }
        assert_eq!(
            process.prediction_computation(),
            Seconds::new(2.0 + 4.0 + 16.0).unwrap()
        );
    }

    #[test]
    fn a_call_restarts_predictions_and_keeps_patterns() {
        let config = config(|_| {});
        let mut process = Process::new(&Policy::MIGBSP, 4);
        for instructions in [1, 1000, 1, 1000] {
            receive(&mut process, &config, instructions, &[(2, instructions)]);
        }
        close(process.pattern_computation(), 0.25);
        process.restart(8);
        assert!(process.times().is_empty());
        receive(&mut process, &config, 7, &[(2, 7)]);
        close(process.instructions_predicted, 7.0);
        close(process.pattern_computation(), 0.375);
        close(process.pattern_communication(SetId(2)), 0.375);
    }

    #[test]
    fn patterns_begin_again_if_told_to() {
        let config = config(|parameters| parameters.patterns = Patterns::Restart);
        let mut process = Process::new(&Policy::MIGBSP, 4);
        for instructions in [1, 1000, 1, 1000] {
            compute(&mut process, &config, instructions);
        }
        process.restart(4);
        compute(&mut process, &config, 7);
        close(process.pattern_computation(), 1.0);
    }

    #[test]
    fn an_idle_process_counts_with_its_last_work_or_with_nothing() {
        for (idle_resident, expected) in [(IdleResident::LastNonzero, 9), (IdleResident::Zero, 0)] {
            let config = config(|parameters| parameters.idle_resident = idle_resident);
            let mut process = Process::new(&Policy::MIGBSP, 4);
            compute(&mut process, &config, 9);
            compute(&mut process, &config, 0);
            assert_eq!(process.instructions_last(), Instructions::ZERO);
            assert_eq!(process.instructions_resident(), Instructions(expected));
        }
    }

    #[test]
    fn a_wait_belongs_to_the_superstep_before_it() {
        let config = Config::default();
        let mut process = Process::new(&Policy::MIGBSP, 4);
        compute(&mut process, &config, 1);
        process.waited(Seconds::new(2.0).unwrap());
        compute(&mut process, &config, 1);
        let waits: Vec<_> = process.times().iter().map(ProcessTimes::wait).collect();
        assert_eq!(waits, [Some(Seconds::new(2.0).unwrap()), None]);
        process.restart(4);
        process.waited(Seconds::ZERO);
        assert!(process.times().is_empty());
    }

    #[test]
    fn a_process_is_small() {
        assert!(size_of::<Process>() <= 112);
        assert!(size_of::<Sender>() <= 40);
    }

    /// Every superstep: instructions, and bytes from each of three Sets.
    fn supersteps() -> impl Strategy<Value = Vec<(u64, [u64; 3])>> {
        let amount = prop_oneof![Just(0), Just(100), 0..1000_u64];
        let bytes = [amount.clone(), amount.clone(), amount.clone()];
        prop::collection::vec((amount, bytes), 1..40)
    }

    fn positive(bytes: [u64; 3]) -> Vec<(u32, u64)> {
        let sets = (0..).zip(bytes);
        sets.filter(|(_, bytes)| 0 < *bytes).collect()
    }

    proptest! {
        #[test]
        fn patterns_stay_in_their_range(supersteps in supersteps(), interval in 1..9_u32) {
            let config = Config::default();
            let mut process = Process::new(&Policy::MIGBSP, interval);
            for (index, (instructions, bytes)) in supersteps.into_iter().enumerate() {
                receive(&mut process, &config, instructions, &positive(bytes));
                prop_assert!((0.0..=1.0).contains(&process.pattern_computation()));
                for set in 0..3 {
                    let pattern = process.pattern_communication(SetId(set));
                    prop_assert!((0.0..=1.0).contains(&pattern));
                }
                if index % 5 == 4 {
                    process.restart(interval + 1);
                }
            }
        }

        #[test]
        fn a_prediction_lies_between_the_least_and_the_most(supersteps in supersteps()) {
            let config = Config::default();
            let mut process = Process::new(&Policy::MIGBSP, 4);
            let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
            for (instructions, bytes) in supersteps {
                receive(&mut process, &config, instructions, &positive(bytes));
                let work = Instructions(instructions).as_f64();
                (least, most) = (least.min(work), most.max(work));
                prop_assert!(least <= process.instructions_predicted);
                prop_assert!(process.instructions_predicted <= most);
            }
        }

        #[test]
        fn a_silent_set_is_like_one_never_heard_of(supersteps in supersteps()) {
            let config = Config::default();
            let (mut sparse, mut dense) = (Process::new(&Policy::MIGBSP, 4), Process::new(&Policy::MIGBSP, 4));
            for (index, (instructions, bytes)) in supersteps.into_iter().enumerate() {
                receive(&mut sparse, &config, instructions, &positive(bytes));
                let all: Vec<_> = (0..).zip(bytes).collect();
                receive(&mut dense, &config, instructions, &all);
                for set in (0..3).map(SetId) {
                    prop_assert_eq!(sparse.sender(set), dense.sender(set));
                }
                if index % 4 == 3 {
                    sparse.restart(4);
                    dense.restart(4);
                }
            }
        }
    }
}
