//! Configuration as values that remember where they were written.
//!
//! [`merge`] puts [`Layer`]s over each other: a file, environment variables, `--set`. The result is a [`Node`], a value
//! with its place. [`decode`] reads typed values with units ([`Unit`]) out of it, and a [`Fault`] names the place, the
//! key and the value that is refused.

mod decode;
mod files;
mod layers;
mod quantity;
mod tree;

pub use decode::{Fault, decode, decode_part, join, keys_of, list, nearest, refuse_unknown};
pub use files::{
    DataFolder, Files, InputFileError, Place, folder_of, is_stdin, name_of, nearest_file,
    read_bytes, text,
};
pub use layers::{
    FileError, Layer, Override, assignments, canonical, environment, merge, overrides, parse,
    print, read, tree_of,
};
pub use quantity::{Named, Unit};
pub use tree::{Node, Value};
