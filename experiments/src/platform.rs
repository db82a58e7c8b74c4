//! Platforms, as experiments and commands name them.

mod configured;
mod host;
mod load;

pub(crate) use configured::layer;
pub use configured::platform_section;
pub use host::find_host;
pub(crate) use host::find_hosts;
pub use load::{is_simgrid, load, parse};
