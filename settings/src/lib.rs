//! Configuration as values that remember where they were written.
//!
//! A [`Node`] is a value with its place (`file:line`, an environment variable, `--set`). [`merge`]
//! puts layers over each other, [`decode`] reads typed values with units ([`Unit`]) out of a tree,
//! and a [`Fault`] names the place, the key and the value that is refused.

mod decode;
mod effective;
mod fault;
mod files;
mod input;
mod layers;
mod named;
mod overrides;
mod quantity;
mod tree;

pub use decode::decode;
pub use effective::{canonical, print, tree_of};
pub use fault::{Fault, list, nearest};
pub use files::Files;
pub use input::{folder_of, is_stdin, name_of, nearest_file, read_bytes, text};
pub use layers::{FileError, assignments, environment, merge, parse, read};
pub use named::Named;
pub use overrides::{Override, overrides};
pub use quantity::Unit;
pub use tree::{Node, Value};
