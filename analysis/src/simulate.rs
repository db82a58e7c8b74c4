//! Simulated runs of an experiment, as text.

mod script;
mod text;

pub use script::unfollowed;
pub use text::{is_wanting, shortened, text};
