//! How long a process took to pack, as its image says.

use std::time::Duration;

/// The times of a process that has been packed, which are the end of its image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackingTimes {
    /// From the time when the process left its thread until packing began.
    pub(crate) queued: Duration,
    /// Packing, without waiting for the network.
    pub(crate) packed: Duration,
    /// From the beginning of packing until these times were written.
    pub(crate) lasted: Duration,
    /// The part of it before the first byte was written, to learn the length of the image.
    pub(crate) measured: Duration,
}

impl PackingTimes {
    /// Bytes of its encoding.
    pub(crate) const LEN: usize = 4 * size_of::<u64>();

    /// In whole nanoseconds, little-endian, in the order of the fields.
    pub(crate) fn encode(self) -> Vec<u8> {
        let times = [self.queued, self.packed, self.lasted, self.measured];
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let encoded = times.map(|time| nanoseconds(time).to_le_bytes());
        encoded.concat()
    }

    /// From what [`Self::encode`] wrote, which is [`Self::LEN`] bytes.
    pub(crate) fn decode(encoded: &[u8]) -> Self {
        let (numbers, _) = encoded.as_chunks();
        let time = |index: usize| {
            let nanoseconds = numbers.get(index).copied().unwrap_or_default();
            Duration::from_nanos(u64::from_le_bytes(nanoseconds))
        };
        Self {
            queued: time(0),
            packed: time(1),
            lasted: time(2),
            measured: time(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_decoded_as_encoded() {
        let times = PackingTimes {
            queued: Duration::from_micros(7),
            packed: Duration::from_millis(12),
            lasted: Duration::from_secs(40),
            measured: Duration::from_nanos(5),
        };
        assert_eq!(times.encode().len(), PackingTimes::LEN);
        assert_eq!(PackingTimes::decode(&times.encode()), times);
    }
}
