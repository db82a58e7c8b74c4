//! Where threads meet.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// A barrier of a number of threads, as `std::sync::Barrier`, which has each thread that waits sleep at once.
///
/// To sleep and be woken takes longer than a short superstep. So a thread that waits looks some times whether all have arrived,
/// then lets others have its processor some times, and sleeps after that. It looks for about 2 µs: with other programs on the
/// machine, or with more threads than processors, a thread that waits may occupy the processor that the last one needs.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    /// How often all threads have met.
    meetings: AtomicUsize,
    /// How many threads sleep.
    sleeping: Mutex<usize>,
    all_arrived: Condvar,
    looks: u32,
}

impl Barrier {
    pub(super) fn new(threads: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, Into::into);
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            meetings: AtomicUsize::new(0),
            sleeping: Mutex::new(0),
            all_arrived: Condvar::new(),
            looks: if threads <= processors { LOOKS } else { 0 },
        }
    }

    /// Returns once all threads have called it.
    pub(super) fn wait(&self) {
        let meetings = self.meetings.load(Ordering::Relaxed);
        let is_last = self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads;
        if is_last {
            self.arrived.store(0, Ordering::Relaxed);
            let sleeping = self.sleeping.lock().unwrap_or_else(PoisonError::into_inner);
            self.meetings
                .store(meetings.wrapping_add(1), Ordering::Release);
            if 0 < *sleeping {
                self.all_arrived.notify_all();
            }
            return;
        }
        let is_over = || self.meetings.load(Ordering::Acquire) != meetings;
        for _ in 0..self.looks {
            if is_over() {
                return;
            }
            hint::spin_loop();
        }
        for _ in 0..YIELDS {
            if is_over() {
                return;
            }
            thread::yield_now();
        }
        let mut sleeping = self.sleeping.lock().unwrap_or_else(PoisonError::into_inner);
        *sleeping += 1;
        while !is_over() {
            let woken = self.all_arrived.wait(sleeping);
            sleeping = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *sleeping -= 1;
    }
}

/// How often a thread looks before it lets others have its processor, if there are as many processors as threads.
const LOOKS: u32 = 100;

/// How often it lets others have its processor before it sleeps.
const YIELDS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_goes_on_before_all_have_arrived() {
        for threads in [1, 2, 3, 8] {
            let barrier = Barrier::new(threads);
            let arrivals = AtomicUsize::new(0);
            thread::scope(|scope| {
                for thread in 0..threads {
                    let (barrier, arrivals) = (&barrier, &arrivals);
                    scope.spawn(move || {
                        for meeting in 1..300 {
                            // One is so late that the others sleep.
                            if thread == meeting % threads && meeting % 7 == 0 {
                                (0..200).for_each(|_| thread::yield_now());
                            }
                            arrivals.fetch_add(1, Ordering::Relaxed);
                            barrier.wait();
                            assert_eq!(arrivals.load(Ordering::Relaxed), meeting * threads);
                            barrier.wait();
                        }
                    });
                }
            });
        }
    }
}
