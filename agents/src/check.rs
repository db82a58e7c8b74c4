//! Checks of messages against the state of the agent that receives them.

/// Returns `problem` as an error unless `holds`.
pub(crate) fn check(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// Checks that there is a `what` with this index, of `count`.
pub(crate) fn exists(what: &str, index: usize, count: usize) -> Result<(), String> {
    check(index < count, || {
        format!("{what} {index}, but there are {count}, counted from 0")
    })
}
