//! Values through their encoding, which is that of states and messages in a run.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{Error, Subject};
use crate::ids::Rank;

/// `value` as it is sent.
///
/// # Errors
///
/// [`Error::Encoding`].
pub(super) fn encode(
    value: &impl Serialize,
    rank: Rank,
    subject: Subject,
    superstep: u64,
) -> Result<Vec<u8>, Error> {
    rmp_serde::to_vec(value).map_err(|error| Error::Encoding {
        rank,
        subject,
        superstep,
        message: error.to_string(),
    })
}

/// `value` as it arrives.
///
/// # Errors
///
/// [`Error::Encoding`] and [`Error::Decoding`]; [`Error::RoundTrip`] if what arrives is encoded
/// otherwise.
pub(super) fn recode<T: Serialize + DeserializeOwned>(
    value: &T,
    rank: Rank,
    subject: Subject,
    superstep: u64,
) -> Result<T, Error> {
    let sent = encode(value, rank, subject, superstep)?;
    let arrived = rmp_serde::from_slice(&sent).map_err(|error| Error::Decoding {
        rank,
        subject,
        superstep,
        message: error.to_string(),
    })?;
    if encode(&arrived, rank, subject, superstep)? == sent {
        Ok(arrived)
    } else {
        Err(Error::RoundTrip {
            rank,
            subject,
            superstep,
        })
    }
}
