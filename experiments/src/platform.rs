//! Platforms, as experiments and commands name them.

mod host;
mod load;

pub use host::find_host;
pub(crate) use host::find_hosts;
pub use load::{is_simgrid, load, parse};
