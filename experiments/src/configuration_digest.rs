//! The digest of a configuration.

use settings::{Node, canonical};
use sha2::{Digest, Sha256};

/// SHA-256 of `configuration` as JSON without spaces, the entries of every section by key, in hexadecimal digits.
///
/// Unlike the digest of a run, it has no part in the build of the program and the files that the configuration names.
pub(crate) fn configuration_digest(configuration: &Node) -> String {
    hex::encode(Sha256::digest(canonical(configuration).as_bytes()))
}
