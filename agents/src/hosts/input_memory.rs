//! Memory for input from other machines that waits to be handled.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The memory for the waiting input of one connection. While it is used up, nothing more is read from the connection.
#[derive(Clone, Debug)]
pub(super) struct InputBudget {
    free: Arc<Semaphore>,
    units: usize,
}

/// A part of the memory for waiting input, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct InputMemory(
    #[expect(dead_code, reason = "returned on drop")] Option<OwnedSemaphorePermit>,
);

impl InputBudget {
    /// A budget of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let units = bytes / UNIT;
        Self {
            free: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    /// Waits until there is memory for an input of `bytes` bytes. One that is larger than the budget takes all of it.
    pub(super) async fn reserve(&self, bytes: usize) -> InputMemory {
        let units = (bytes / UNIT + 1).min(self.units);
        let units = u32::try_from(units).expect("a budget is small");
        let permit = Arc::clone(&self.free).acquire_many_owned(units).await;
        InputMemory(permit.ok())
    }
}

/// Bytes that are reserved together.
const UNIT: usize = 4 << 10;
