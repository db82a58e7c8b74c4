//! The memory for waiting input of one connection.

use std::sync::Arc;

use machines::InputMemory;
use tokio::sync::Semaphore;

/// The memory for the waiting input of one connection. While it is used up, nothing more is read from the connection.
#[derive(Clone, Debug)]
pub(super) struct InputBudget {
    free: Arc<Semaphore>,
    units: usize,
}

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
        permit.map_or_else(|_| InputMemory::default(), InputMemory::new)
    }
}

/// Bytes that are reserved together.
const UNIT: usize = 4 << 10;
