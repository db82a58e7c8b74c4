//! How fast a frame or a state that has begun must grow.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::transport::Refusal;

/// How fast an incomplete frame or state grows: by [`PACE`] bytes in [`Bounds::unfinished`], if it does not end.
///
/// [`Bounds::unfinished`]: crate::transport::Bounds::unfinished
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes that have arrived while it was waited for.
    gained: usize,
    waited: Duration,
}

impl Pace {
    /// Waits for the next bytes of `what`.
    ///
    /// # Errors
    ///
    /// If it has not grown as it should within `after`.
    pub(super) async fn wait<T>(
        &mut self,
        what: &'static str,
        after: Duration,
        reading: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        let began = Instant::now();
        let read = timeout(after.saturating_sub(self.waited), reading).await;
        let read = read.map_err(|_| Refusal::Unfinished { what, after })?;
        self.waited += began.elapsed();
        Ok(read)
    }

    /// Counts bytes that have arrived.
    pub(super) fn gain(&mut self, bytes: usize) {
        self.gained += bytes;
        if PACE <= self.gained {
            *self = Self::default();
        }
    }
}

/// Bytes by which an incomplete frame or state grows.
const PACE: usize = 1 << 20;
