//! The layers of a configuration: built-in defaults < file < environment < `--set`.

mod assignment;
mod environment;
mod file;
mod merge;

pub(crate) use assignment::ASSIGNED;
pub use assignment::assignments;
pub(crate) use environment::VARIABLE;
pub use environment::environment;
pub use file::{FileError, parse, read};
pub use merge::merge;
