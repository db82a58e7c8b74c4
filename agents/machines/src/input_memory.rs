//! The memory for waiting input.

use std::any::Any;
use std::fmt;

/// A part of the memory for waiting input, which is returned when this is dropped. While that memory is used up, nothing
/// more is read from the connection.
#[derive(Default)]
pub struct InputMemory(
    #[expect(dead_code, reason = "returned on drop")] Option<Box<dyn Any + Send + Sync>>,
);

impl InputMemory {
    /// Memory that is returned when `held` is dropped.
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(held)))
    }
}

impl fmt::Debug for InputMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("InputMemory")
            .finish_non_exhaustive()
    }
}
