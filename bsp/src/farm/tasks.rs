//! What a user of a farm implements.

use crate::program::Payload;
use crate::units::Instructions;

/// Independent tasks of one kind.
///
/// # Laws
///
/// The outcome depends on the shared value and the task alone: whichever worker executes a task, and in whatever order, it
/// is the same.
pub trait Tasks: Send + 'static {
    /// What every worker has, such as the matrix by which each row is multiplied.
    type Shared: Payload + Clone;
    /// What one task needs, such as a row.
    type Task: Payload + Clone;
    /// The result of one task.
    type Outcome: Payload + Clone;

    /// Executes one task, and charges for it.
    fn execute(shared: &Self::Shared, task: &Self::Task, work: &mut Work) -> Self::Outcome;
}

/// The computation that tasks charge for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work(Instructions);

impl Work {
    /// Adds to the computation. A simulated host takes time for it; a real host takes the time it takes.
    pub fn charge(&mut self, work: Instructions) {
        self.0 += work;
    }

    /// All that has been charged.
    #[must_use]
    pub const fn charged(self) -> Instructions {
        self.0
    }
}
