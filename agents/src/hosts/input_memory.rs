//! Memory for input from other nodes that waits to be handled.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The memory for the waiting input of one node. While it is used up, nothing more is read from the node's connection.
#[derive(Clone, Debug)]
pub(super) struct InputBudget(Arc<Semaphore>);

/// A part of the memory for waiting input, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct InputMemory(
    #[expect(dead_code, reason = "returned on drop")] Option<OwnedSemaphorePermit>,
);

impl InputBudget {
    /// The whole budget of a node.
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(UNITS_PER_NODE)))
    }

    /// Waits until there is memory for an input with `bytes` of payload. One that is larger than the budget takes all of
    /// it.
    pub(super) async fn reserve(&self, bytes: usize) -> InputMemory {
        let units = (bytes / UNIT + 1).min(UNITS_PER_NODE);
        let units = u32::try_from(units).expect("a budget is small");
        let permit = Arc::clone(&self.0).acquire_many_owned(units).await;
        InputMemory(permit.ok())
    }
}

/// Bytes that are reserved together.
const UNIT: usize = 4 << 10;
/// The budget of a node: 16 MiB, or 4096 messages.
const UNITS_PER_NODE: usize = (16 << 20) / UNIT;
