//! Instructions counted by the processor, on machines that permit it.
//!
//! Most virtual machines do not, and `/proc/sys/kernel/perf_event_paranoid` may forbid it. Work is then measured by the
//! time that it takes. A count is more accurate than a time, because other programs on the machine do not change it.

use std::io;

#[cfg(target_os = "linux")]
use perf_event::events::{Event, Hardware};

use super::meter::calibrations;

/// Counts the instructions of the thread that created it, without those of the kernel.
#[derive(Debug)]
pub(super) struct Counter {
    #[cfg(target_os = "linux")]
    counter: perf_event::Counter,
}

impl Counter {
    /// # Errors
    ///
    /// If this machine does not count, or does not permit it.
    #[cfg(target_os = "linux")]
    pub(super) fn of_this_thread() -> io::Result<Self> {
        Self::of(Hardware::INSTRUCTIONS)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn of_this_thread() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(target_os = "linux")]
    fn of(event: impl Event) -> io::Result<Self> {
        let mut builder = perf_event::Builder::new(event);
        // Pinned: a count of a part of the time would have to be extrapolated.
        let mut counter = builder.pinned(true).build()?;
        counter.enable()?;
        Ok(Self { counter })
    }

    /// The count; `None` if the kernel has given the counter to another program.
    pub(super) fn read(&mut self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return self.counter.read().ok();
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// Instructions that this machine counts in a second of the calibration loop; `None` if it does not count.
pub(super) fn counted_speed() -> Option<f64> {
    let mut counter = Counter::of_this_thread().ok()?;
    let mut latest = counter.read();
    let rates = calibrations().filter_map(|took| {
        let count = counter.read();
        let before = std::mem::replace(&mut latest, count)?;
        Some(quotient(count?.checked_sub(before)?, took.as_secs_f64()))
    });
    // The run that was disturbed least.
    rates
        .reduce(f64::max)
        .filter(|rate| rate.is_finite() && 0.0 < *rate)
}

#[expect(clippy::cast_precision_loss, reason = "a quotient may be rounded")]
pub(super) fn quotient(count: u64, by: f64) -> f64 {
    count as f64 / by
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use perf_event::events::Software;

    use super::*;

    #[test]
    fn what_a_thread_does_is_counted_and_what_others_do_is_not() {
        // The kernel counts processor time on any machine, where it permits counters.
        let mut clock = match Counter::of(Software::TASK_CLOCK) {
            Ok(clock) => clock,
            Err(error) => {
                return eprintln!("not tested: this system counts nothing for us: {error}");
            }
        };
        let mut count = || clock.read().unwrap();
        let before = count();
        assert!(calibrations().all(|took| !took.is_zero()));
        let own = count() - before;
        let others = std::thread::spawn(|| calibrations().count());
        others.join().unwrap();
        let both = count() - before;
        assert!(own > 1_000_000, "{own} ns");
        assert!(both - own < own / 2, "{own} ns, then {both} ns");
    }

    #[test]
    fn a_machine_that_counts_does_so_while_it_is_calibrated() {
        match Counter::of_this_thread() {
            // At least some hundred million, on any processor that counts.
            Ok(_) => assert!(counted_speed().unwrap() > 1e8),
            Err(error) => {
                eprintln!("not tested: this machine counts no instructions: {error}");
                assert_eq!(counted_speed(), None);
            }
        }
    }
}
