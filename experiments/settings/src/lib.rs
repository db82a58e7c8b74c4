//! Configuration as values that remember where they were written.
//!
//! [`merge`] puts [`Layer`]s over each other: a file, environment variables, `--set`. The result is a [`Node`], a value
//! with its place. [`decode`] reads typed values with units ([`Unit`]) out of it, and a [`Fault`] names the place, the
//! key and the value that is refused.

mod decode;
mod effective;
mod fault;
mod files;
mod layers;
mod named;
mod quantity;
mod tree;

pub use decode::{decode, decode_part, keys_of, refuse_unknown};
pub use effective::{canonical, print, tree_of};
pub use fault::{Fault, list, nearest};
pub use files::{Files, folder_of, is_stdin, name_of, nearest_file, read_bytes, text};
pub use layers::{
    FileError, Layer, Override, assignments, environment, merge, overrides, parse, read,
};
pub use named::Named;
pub use quantity::Unit;
pub use tree::{Node, Value};
