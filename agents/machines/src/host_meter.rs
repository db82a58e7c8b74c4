//! What a node measures of its machine.
//!
//! The measures of a job come from here and from messages:
//!
//! | measure | where it comes from |
//! |---|---|
//! | instructions of a superstep | counted by the processors where all machines of the cluster allow it, in units of a calibration loop; otherwise processor time multiplied by the speed of that loop |
//! | times of processes | what they would take if the processes of a host shared its processors equally (`shared`), because the order in which a system runs them carries no information |
//! | external load, busy processes of other programs | sampled every second, without the node's own part |
//! | load, for plans that name processors | the part of the time of their computation that processes did not get (`effective_load`); where busy processes leave no whole processor, the forecast of owners' jobs replaces it |
//! | delays of messages | the clocks of two hosts, which may differ (`OneWayDelay`) |
//! | rates between Sets, for predictions of supersteps | probes at the start, then batches and states (`Rates`) |
//! | bandwidth between two hosts, for predictions of moves | probes and messages (`Links`) |
//! | what a move took | `Installed` takes it to all Managers, which learn what moves cost and what bytes take between these hosts; as long as probes confirm that, moves are priced by it |

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use bsp::Rank;
use bsp::units::{InstructionsPerSecond, Seconds};

/// What a node measures of its machine, or of the host of a platform that it plays.
pub trait HostMeter {
    /// The instructions per second that each processor offers programs, if it is worth `factor` of what was measured.
    fn offered(&self, factor: f64) -> InstructionsPerSecond;

    /// Bytes of memory that processes can still be given, if the operating system says it.
    fn free_memory(&self) -> Option<u64>;

    /// Whether the machine counts instructions.
    fn counts(&self) -> bool;

    /// Whether the machine is one host: it plays no host of a platform, and does not have all nodes of a trial, which
    /// delay each other and see the same processes of other programs.
    fn is_a_host(&self) -> bool;

    /// The fraction of the host that other programs used, averaged over the last `window`.
    fn load(&self, window: Seconds) -> f64;

    /// The part of a core that a process alone would not have had during the last `window`, because of other programs.
    fn unavailable(&self, window: Seconds) -> f64;

    /// How often in the last `window` other programs began to keep the host busy.
    fn busy_periods(&self, window: Seconds) -> u64;

    /// The processor time that each busy process of other programs has had, the longest first.
    fn ages(&self) -> Vec<Seconds>;

    /// The processor time of the thread that carries messages.
    fn overhead(&self) -> Seconds;

    /// The superstep that threads have executed for longest, in a job that runs or in one that has ended.
    fn oldest_execution(&self) -> Option<Execution>;

    /// Counts an event of the record that happens on this host.
    fn count(&self, event: &record::Event);
}

/// A superstep that a thread executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The process.
    pub rank: Rank,
    /// The superstep, from 0.
    pub superstep: u64,
    /// How long it has been executed.
    pub age: Duration,
}

impl Execution {
    /// What it means for `own`, the node whose job has ended.
    pub fn problem(&self, own: &str) -> String {
        let (rank, superstep) = (self.rank, self.superstep);
        let age = self.age.as_secs();
        format!(
            "{own} has executed superstep {superstep} of {rank} for {age} s, and its job has ended"
        )
    }
}

/// The external load of a host, as its processes feel it: the part of the time of their computation in which they did
/// not compute.
///
/// The activity of a machine does not say how much of a processor other programs leave. An operating system shares its
/// processors: a process that needs a twentieth of one has it even where other programs keep all of them busy.
#[derive(Debug, Default)]
pub(crate) struct EffectiveLoad {
    /// One per superstep, the latest last.
    supersteps: VecDeque<Computed>,
}

/// What the processes of the host computed in one superstep.
#[derive(Clone, Copy, Debug)]
struct Computed {
    at: Instant,
    /// How long it takes without other programs.
    alone: f64,
    /// How long it took.
    took: f64,
}

impl EffectiveLoad {
    /// Adds a superstep that was complete at `at`, and the computation that took `took` and takes `alone` without other
    /// programs.
    pub(crate) fn add(&mut self, at: Instant, alone: Seconds, took: Seconds) {
        if took == Seconds::ZERO {
            return;
        }
        if self.supersteps.len() == SUPERSTEPS_MAX {
            self.supersteps.pop_front();
        }
        self.supersteps.push_back(Computed {
            at,
            alone: alone.get(),
            took: took.get(),
        });
    }

    /// The load in the last `window` of computation, or in the last superstep if that is longer; `None` if no process
    /// has computed here lately.
    pub(crate) fn load(&self, now: Instant, window: Seconds) -> Option<f64> {
        let recent = self.supersteps.iter().rev();
        let recent = recent.take_while(|superstep| now.duration_since(superstep.at) < LATELY);
        let (mut alone, mut took) = (0.0, 0.0);
        for superstep in recent {
            alone += superstep.alone;
            took += superstep.took;
            if window.get() <= took {
                break;
            }
        }
        (0.0 < took).then(|| (1.0 - alone / took).clamp(0.0, 1.0))
    }
}

/// How long a superstep says something of the load.
const LATELY: Duration = Duration::from_secs(60);

const SUPERSTEPS_MAX: usize = 1000;

/// The end of each of several computations that begin together on `processors` processors and share them equally;
/// alone, each would take the time in `alone`.
///
/// A host executes its processes one after the other, as many at a time as it has processors. Their order is arbitrary,
/// so the time until a process ends carries no information. The model needs the time that a process takes beside the
/// others: that is the time if all advanced together. The last one ends at the same time in any order.
pub(crate) fn shared(alone: &[Seconds], processors: u32) -> Vec<Seconds> {
    let mut order: Vec<usize> = (0..alone.len()).collect();
    order.sort_by_key(|index| alone[*index]);
    let mut ends = vec![Seconds::ZERO; alone.len()];
    let (mut now, mut served) = (0.0, 0.0);
    for (place, index) in order.iter().enumerate() {
        let left = u32::try_from(alone.len() - place).expect("a host has fewer processes");
        // The duration of a second of computation while `left` processes share the processors.
        let stretch = (f64::from(left) / f64::from(processors)).max(1.0);
        let own = alone[*index].get();
        now += (own - served) * stretch;
        served = own;
        ends[*index] = Seconds::new(now).expect("sums of times");
    }
    ends
}

/// What a host gives its processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    pub(crate) count: NonZeroU32,
    /// The speed of each, as far as programs are given it.
    pub(crate) speed: InstructionsPerSecond,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn the_load_is_the_part_of_the_time_in_which_processes_did_not_compute() {
        let mut effective = EffectiveLoad::default();
        let now = Instant::now();
        assert_eq!(effective.load(now, seconds(1.0)), None);
        effective.add(now, Seconds::ZERO, Seconds::ZERO);
        assert_eq!(effective.load(now, seconds(1.0)), None);
        effective.add(now, seconds(1.0), seconds(1.0));
        effective.add(now, seconds(0.5), seconds(2.0));
        let load = |window| effective.load(now, seconds(window)).unwrap();
        assert!((load(0.0) - 0.75).abs() < 1e-12);
        assert!((load(2.0) - 0.75).abs() < 1e-12);
        assert!((load(3.0) - 0.5).abs() < 1e-12);
        assert!((load(1e9) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_host_without_processes_forgets() {
        let mut effective = EffectiveLoad::default();
        let now = Instant::now();
        effective.add(now, seconds(1.0), seconds(2.0));
        assert_eq!(effective.load(now + LATELY, seconds(1.0)), None);
    }

    #[test]
    fn a_computation_that_was_faster_than_it_can_be_has_no_load() {
        let mut effective = EffectiveLoad::default();
        let now = Instant::now();
        effective.add(now, seconds(2.0), seconds(1.0));
        assert_eq!(effective.load(now, seconds(1.0)), Some(0.0));
    }

    use proptest::prelude::*;

    fn all_seconds(values: &[f64]) -> Vec<Seconds> {
        values.iter().map(|value| seconds(*value)).collect()
    }

    #[test]
    fn computations_advance_together() {
        let ends = shared(&all_seconds(&[1.0, 3.0, 1.0]), 1);
        assert_eq!(ends, all_seconds(&[3.0, 5.0, 3.0]));
        // Two processors are enough for two, and one computation uses only one.
        assert_eq!(
            shared(&all_seconds(&[1.0, 3.0]), 2),
            all_seconds(&[1.0, 3.0])
        );
        assert_eq!(shared(&all_seconds(&[2.0; 4]), 2), all_seconds(&[4.0; 4]));
        assert_eq!(shared(&[], 2), []);
    }

    proptest! {
        #[test]
        fn nobody_gains_and_no_processor_idles(
            alone in prop::collection::vec(0.0_f64..10.0, 1..20),
            processors in 1_u32..5,
        ) {
            let ends = shared(&all_seconds(&alone), processors);
            let last = ends.iter().max().unwrap().get();
            let (longest, sum) = (alone.iter().copied().fold(0.0, f64::max), alone.iter().sum::<f64>());
            for (end, own) in ends.iter().zip(&alone) {
                prop_assert!(*own <= end.get() + 1e-9);
            }
            prop_assert!(longest - 1e-9 <= last && sum / f64::from(processors) - 1e-9 <= last);
            prop_assert!(last <= longest + sum / f64::from(processors) + 1e-9);
        }
    }
}
