//! The encoding of users' values.

use std::io;

use bsp::Rank;
use bsp::units::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::RunError;

/// Appends `value`, which is `what` (as "the state of") `rank`, to `bytes`.
///
/// # Errors
///
/// If its type cannot be encoded, or `bytes` accepts no more.
pub(crate) fn encode_into(
    bytes: &mut impl io::Write,
    what: &'static str,
    rank: Rank,
    value: &impl Serialize,
) -> Result<(), RunError> {
    rmp_serde::encode::write(bytes, value)
        .map_err(|error| RunError::encoding(what, rank, "encoded", &error))
}

/// The value that is `what` (as "the state of") `rank`.
///
/// # Errors
///
/// If `bytes` are not its encoding.
pub fn decode<T: DeserializeOwned>(
    what: &'static str,
    rank: Rank,
    bytes: &[u8],
) -> Result<T, RunError> {
    rmp_serde::from_slice(bytes).map_err(|error| RunError::encoding(what, rank, "decoded", &error))
}

/// The value that is `what` (as "the state of") `rank`, and is next in `bytes`.
///
/// # Errors
///
/// If the next bytes are not its encoding.
pub(crate) fn decode_from<T: DeserializeOwned>(
    what: &'static str,
    rank: Rank,
    bytes: impl io::Read,
) -> Result<T, RunError> {
    rmp_serde::from_read(bytes).map_err(|error| RunError::encoding(what, rank, "decoded", &error))
}

/// The length of a value's encoding.
pub(crate) fn encoded_len(value: &impl Serialize) -> Bytes {
    // The encoding itself reports a value that cannot be encoded.
    bsp::encoded_len(value).unwrap_or_default()
}
