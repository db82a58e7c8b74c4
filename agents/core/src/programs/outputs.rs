//! The outputs of a job's programs, without their type.

use std::any::Any;
use std::fmt;

use bsp::Program;

/// The outputs of a job's programs, by rank.
pub struct Outputs(Box<dyn Any + Send>);

impl Outputs {
    /// The outputs of programs of type `P`, by rank.
    pub(super) fn new<P: Program>(outputs: Vec<P::Output>) -> Self {
        Self(Box::new(outputs))
    }

    /// The outputs of programs of type `P`, by rank.
    ///
    /// # Panics
    ///
    /// If the programs of the job were of another type with other outputs.
    #[must_use]
    pub fn typed<P: Program>(&self) -> &[P::Output] {
        let outputs = self.0.downcast_ref::<Vec<P::Output>>();
        outputs.expect("the outputs are those of the programs that ran")
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Outputs").finish_non_exhaustive()
    }
}
