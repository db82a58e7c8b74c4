//! How the computations on one host share its cores.

use bsp::units::Instant;
use smallvec::SmallVec;

use crate::calendar::{Activity, CLOCK_RESOLUTION};

/// The computations of one host.
///
/// All of them progress at one rate, so a single virtual clock serves them all: it counts the
/// instructions that a computation running since the clock was zero would have done. A computation
/// ends when the clock has advanced by its work. Other computations that start or end change the
/// rate of the clock, never that mark.
#[derive(Debug, Default)]
pub(crate) struct Processor {
    /// Instructions that each computation has done since the host was last idle.
    done: f64,
    /// Instructions per second that each computation does now.
    rate: f64,
    /// When `done` was last brought up to date, in seconds.
    since: f64,
    generation: u32,
    /// The date of the last change of the host's speed, if it is known: the clock may show a little less.
    pub(crate) changed: Instant,
    /// The date of the next one, if it is scheduled.
    pub(crate) changes: Instant,
    /// Whether the next end has to be scheduled anew.
    pub(crate) is_stale: bool,
    /// A heap, first to end first.
    running: SmallVec<[Computation; 1]>,
}

/// A computation under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computation {
    /// What `done` will be when it ends.
    end: f64,
    pub(crate) sequence: u64,
    pub(crate) token: Activity,
}

impl Processor {
    /// Starts a computation of `work` instructions; `at` is now.
    pub(crate) fn start(&mut self, at: f64, work: f64, sequence: u64, token: Activity) {
        self.progress(at);
        self.running.push(Computation {
            end: self.done + work,
            sequence,
            token,
        });
        let mut child = self.running.len() - 1;
        while 0 < child {
            let parent = (child - 1) / 2;
            if self.running[parent].end <= self.running[child].end {
                break;
            }
            self.running.swap(parent, child);
            child = parent;
        }
    }

    /// Sets the speed of each of the `cores`, in instructions per second, from `at` on.
    pub(crate) fn set_speed(&mut self, at: f64, speed: f64, cores: u32) {
        let running = self.running.len() as f64;
        let cores = f64::from(cores);
        let rate = if running <= cores {
            speed
        } else {
            speed * cores / running
        };
        self.set_rate(at, rate);
    }

    /// Sets the speed of each computation, in instructions per second, from `at` on.
    pub(crate) fn set_rate(&mut self, at: f64, rate: f64) {
        self.progress(at);
        self.rate = rate;
    }

    /// When the next computation ends if nothing changes; `None` if none is running or their rate is
    /// zero.
    pub(crate) fn next_end(&self) -> Option<f64> {
        let first = self.running.first()?;
        (0.0 < self.rate)
            .then(|| self.since + ((first.end - self.done) / self.rate).max(0.0))
            .filter(|end| end.is_finite())
    }

    /// Ends the computation that is due; `at` is what [`Self::next_end`] returned.
    pub(crate) fn finish(&mut self, at: f64, mut ended: impl FnMut(Computation)) {
        self.progress(at);
        let Some(first) = self.running.first() else {
            return;
        };
        self.done = self.done.max(first.end);
        // Ends that differ from now only in the last digits of the clock are ends now.
        let due = self.done + self.rate * at * CLOCK_RESOLUTION;
        while let Some(first) = self.running.first()
            && first.end <= due
        {
            ended(*first);
            self.remove_first();
        }
        if self.running.is_empty() {
            // Other hosts may compute meanwhile, and need the memory.
            self.running = SmallVec::new();
            self.done = 0.0;
        }
    }

    /// Invalidates the events scheduled so far, and returns the generation of the new ones.
    pub(crate) fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    pub(crate) fn is_current(&self, generation: u32) -> bool {
        self.generation == generation
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// How many computations are under way.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    fn progress(&mut self, at: f64) {
        if !self.running.is_empty() {
            self.done += self.rate * (at - self.since);
        }
        self.since = at;
    }

    fn remove_first(&mut self) {
        self.running.swap_remove(0);
        let mut parent = 0;
        loop {
            let left = 2 * parent + 1;
            let Some(mut least) = self.running.get(left).map(|child| child.end) else {
                break;
            };
            let mut child = left;
            if let Some(right) = self.running.get(left + 1)
                && right.end < least
            {
                least = right.end;
                child = left + 1;
            }
            if self.running[parent].end <= least {
                break;
            }
            self.running.swap(parent, child);
            parent = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(processor: &mut Processor) -> Vec<(f64, u64)> {
        let mut all = Vec::new();
        while let Some(at) = processor.next_end() {
            processor.finish(at, |computation| all.push((at, computation.token.0)));
            processor.set_speed(at, 10.0, 2);
        }
        all
    }

    #[test]
    fn computations_beyond_the_cores_share_them_equally() {
        let mut processor = Processor::default();
        for (token, work) in [(0, 60.0), (1, 20.0), (2, 60.0), (3, 20.0)] {
            processor.start(0.0, work, token, Activity(token));
        }
        processor.set_speed(0.0, 10.0, 2);
        // Four computations on two cores run at 5, the last two have a core each.
        let mut ends = ends(&mut processor);
        ends.sort_by_key(|(_, token)| *token);
        assert_eq!(ends, [(8.0, 0), (4.0, 1), (8.0, 2), (4.0, 3)]);
    }

    #[test]
    fn a_second_computation_slows_the_first() {
        let mut processor = Processor::default();
        processor.start(0.0, 100.0, 0, Activity(0));
        processor.set_speed(0.0, 10.0, 1);
        processor.start(5.0, 25.0, 1, Activity(1));
        processor.set_speed(5.0, 10.0, 1);
        assert_eq!(processor.next_end(), Some(10.0));
    }

    #[test]
    fn a_stopped_processor_ends_no_computation() {
        let mut processor = Processor::default();
        processor.start(0.0, 100.0, 0, Activity(0));
        processor.set_speed(0.0, 0.0, 1);
        assert_eq!(processor.next_end(), None);
    }
}
