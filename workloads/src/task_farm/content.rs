//! Content that nothing reads.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Zeros that messages carry. In a text, it is their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content(Bytes);

impl Content {
    /// This number of zeros.
    pub(super) fn new(length: usize) -> Self {
        Self(Bytes::from(vec![0; length]))
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.len().serialize(serializer)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            usize::deserialize(deserializer).map(Self::new)
        } else {
            Bytes::deserialize(deserializer).map(Self)
        }
    }
}
