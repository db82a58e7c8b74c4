//! Checks of messages against the state of the agent that receives them.

/// Returns `problem` as an error unless `holds`.
///
/// # Errors
///
/// `problem`, if it does not hold.
pub fn check(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}
