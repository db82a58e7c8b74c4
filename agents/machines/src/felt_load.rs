//! The external load of a host, as its processes feel it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bsp::units::Seconds;

/// The external load of a host, as its processes feel it: the part of the time of their computation in which they did
/// not compute.
///
/// The activity of a machine does not say how much of a processor other programs leave. An operating system shares its
/// processors: a process that needs a twentieth of one has it even where other programs keep all of them busy.
#[derive(Debug, Default)]
pub(crate) struct FeltLoad {
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

impl FeltLoad {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn the_load_is_the_part_of_the_time_in_which_processes_did_not_compute() {
        let mut felt = FeltLoad::default();
        let now = Instant::now();
        assert_eq!(felt.load(now, seconds(1.0)), None);
        felt.add(now, Seconds::ZERO, Seconds::ZERO);
        assert_eq!(felt.load(now, seconds(1.0)), None);
        felt.add(now, seconds(1.0), seconds(1.0));
        felt.add(now, seconds(0.5), seconds(2.0));
        let load = |window| felt.load(now, seconds(window)).unwrap();
        assert!((load(0.0) - 0.75).abs() < 1e-12);
        assert!((load(2.0) - 0.75).abs() < 1e-12);
        assert!((load(3.0) - 0.5).abs() < 1e-12);
        assert!((load(1e9) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_host_without_processes_forgets() {
        let mut felt = FeltLoad::default();
        let now = Instant::now();
        felt.add(now, seconds(1.0), seconds(2.0));
        assert_eq!(felt.load(now + LATELY, seconds(1.0)), None);
    }

    #[test]
    fn a_computation_that_was_faster_than_it_can_be_has_no_load() {
        let mut felt = FeltLoad::default();
        let now = Instant::now();
        felt.add(now, seconds(2.0), seconds(1.0));
        assert_eq!(felt.load(now, seconds(1.0)), Some(0.0));
    }
}
