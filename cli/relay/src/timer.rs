//! A timer of the system with its own precision.

use std::io;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
pub(crate) use precise::Timer;

#[cfg(not(target_os = "linux"))]
pub(crate) use coarse::Timer;

/// The longest wait; then the deadline is looked at again.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// The time until `deadline`; `None`: it has passed.
fn remaining(deadline: Instant) -> Option<Duration> {
    let now = Instant::now();
    let remaining = deadline.checked_duration_since(now)?.min(WAIT_MAX);
    (!remaining.is_zero()).then_some(remaining)
}

/// A timer of the system with its own precision; tokio's counts whole milliseconds.
#[cfg(target_os = "linux")]
mod precise {
    use std::os::fd::OwnedFd;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::{Instant, io, remaining};

    #[derive(Debug)]
    pub(crate) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        /// Inside of a tokio runtime.
        #[expect(
            deprecated,
            reason = "its replacement is unsafe; an owned descriptor stays open and the same"
        )]
        pub(crate) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
        }

        /// Completes at `deadline`.
        pub(crate) async fn wait_until(&mut self, deadline: Instant) -> io::Result<()> {
            while let Some(remaining) = remaining(deadline) {
                let zero = Timespec::default();
                let value = Timespec::try_from(remaining).map_err(io::Error::other)?;
                let once = Itimerspec {
                    it_interval: zero,
                    it_value: value,
                };
                // Setting it takes back an earlier expiry.
                timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
                let mut ready = self.0.readable().await?;
                let mut count = [0; 8];
                match rustix::io::read(self.0.get_ref(), &mut count) {
                    Ok(_) | Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }
    }
}

/// Tokio's timer.
#[cfg(not(target_os = "linux"))]
mod coarse {
    use super::{Instant, io, remaining};

    #[derive(Debug)]
    pub(crate) struct Timer;

    impl Timer {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Completes at `deadline`.
        pub(crate) async fn wait_until(&mut self, deadline: Instant) -> io::Result<()> {
            while let Some(remaining) = remaining(deadline) {
                tokio::time::sleep(remaining).await;
            }
            Ok(())
        }
    }
}
