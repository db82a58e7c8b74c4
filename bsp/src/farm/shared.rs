//! What all workers share, on its way to them.
//!
//! A long value reaches many workers in two phases: the master sends each of them a part, and they exchange the parts. No
//! process sends more than the value twice then, however many workers there are.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The encoding of a value.
pub(super) fn encode(value: &impl Serialize) -> Result<Bytes, rmp_serde::encode::Error> {
    rmp_serde::to_vec(value).map(Bytes::from)
}

/// The value whose encoding has these parts.
pub(super) fn decode<T: DeserializeOwned>(parts: &[Bytes]) -> Result<T, rmp_serde::decode::Error> {
    match parts {
        [whole] => rmp_serde::from_slice(whole),
        parts => rmp_serde::from_slice(&parts.concat()),
    }
}

/// The encoding in parts of equal lengths for `workers` workers; `None`: it is so short that each gets the whole.
pub(super) fn parts(encoding: &Bytes, workers: usize) -> Option<Vec<Bytes>> {
    if workers < 2 || encoding.len() <= SHORT {
        return None;
    }
    let end = |part: usize| encoding.len() * part / workers;
    let part = |number: usize| encoding.slice(end(number)..end(number + 1));
    Some((0..workers).map(part).collect())
}

/// The longest encoding that is sent whole, in bytes: a second phase would take longer than it saves.
const SHORT: usize = 12 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_nearly_equal_lengths_and_are_the_value_together() {
        let value: Vec<u32> = (0..20_000).collect();
        let encoding = encode(&value).unwrap();
        for workers in [2, 3, 7, 1000] {
            let parts = parts(&encoding, workers).unwrap();
            assert_eq!(parts.len(), workers);
            let lengths = parts.iter().map(Bytes::len);
            let (least, most) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
            assert!(most - least <= 1, "{least} to {most}");
            assert_eq!(decode::<Vec<u32>>(&parts).unwrap(), value);
        }
    }

    #[test]
    fn a_short_value_and_that_of_a_single_worker_is_not_divided() {
        let encoding = encode(&vec![1_u8; 12_000]).unwrap();
        assert_eq!(parts(&encoding, 8), None);
        let encoding = encode(&vec![1_u8; 20_000]).unwrap();
        assert_eq!(parts(&encoding, 1), None);
        assert_eq!(decode::<Vec<u8>>(&[encoding]).unwrap(), [1; 20_000]);
    }
}
