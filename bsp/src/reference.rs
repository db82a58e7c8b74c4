//! The single-threaded reference runner: its result is what every other runner has to produce.

mod computation;
mod error;
mod execution;

use crate::program::Program;

pub(crate) use self::computation::Computation;
pub use self::computation::{Limit, Run};
pub use self::error::Error;
pub use self::execution::panic_message;
pub use self::execution::{check_length, check_receiver, execute};

/// Runs `processes` to the end, process `r` being element `r`. Each executes 10⁹ of the instructions that it charges in a
/// second ([`Superstep::elapsed`](crate::Superstep::elapsed)).
///
/// # Errors
///
/// Any [`Error`]; the run ends with the first.
///
/// # Panics
///
/// If there are 2³² processes or more.
pub fn run<P: Program>(processes: Vec<P>, limit: Limit) -> Result<Run<P::Output>, Error> {
    let mut computation = Computation::new(processes, limit);
    while computation.is_running() {
        computation.superstep()?;
    }
    Ok(computation.finish())
}
