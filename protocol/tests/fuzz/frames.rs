use std::sync::LazyLock;

use bytes::Bytes;
use protocol::{Address, DecodeError, Limits, Message, PREFIX_LEN, Prefix, decode, encode};

use crate::drawn::Drawn;

/// An example of every message.
pub(crate) static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let pinned = include_str!("../wire/pinned.txt").lines().skip(1);
    let bytes = |line: &str| {
        let hex = &line[10..];
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    };
    pinned.map(bytes).collect()
});

/// Decodes what `drawn` makes of a frame.
pub(crate) fn check(drawn: &[u8]) {
    let mut drawn = Drawn::new(drawn);
    let (kind, is_announced) = (drawn.byte() % 8, drawn.below(8) != 0);
    let mut frame = match kind {
        0 => drawn.rest(),
        1 => [&SEEDS[0][..PREFIX_LEN], &drawn.rest()].concat(),
        _ => drawn.mutated(&SEEDS),
    };
    if kind != 0 && is_announced {
        announce(&mut frame);
    }
    refuses_or_means_it(&frame);
    comes_in_parts(&frame);
}

/// Makes the prefix of `frame` say how long it is, so that its head is looked at.
pub(crate) fn announce(frame: &mut [u8]) {
    let Some(head) = frame.len().checked_sub(PREFIX_LEN) else {
        return;
    };
    let payload = u64::from_le_bytes(frame[8..16].try_into().unwrap());
    let payload = usize::try_from(payload).unwrap_or(usize::MAX).min(head);
    let head = u32::try_from(head - payload).unwrap();
    frame[4..8].copy_from_slice(&head.to_le_bytes());
    frame[8..16].copy_from_slice(&u64::try_from(payload).unwrap().to_le_bytes());
}

fn refuses_or_means_it(frame: &[u8]) {
    match decoded(frame, &Limits::default()) {
        Ok((from, to, message)) => {
            let again = encode(from, to, &message);
            let again = [&again.head[..], &again.payload[..]].concat();
            assert_eq!(again.len(), frame.len());
            // No byte differs, but that -0.0 has become 0.0.
            let mut bytes = frame.iter().zip(&again);
            let is_same = bytes.all(|pair| pair.0 == pair.1 || pair == (&0x80, &0));
            assert!(is_same, "{frame:02x?} became {again:02x?}");
            let decoded = decoded(&again, &Limits::default());
            assert_eq!(decoded, Ok((from, to, message)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A receiver that reads prefix, head and payload apart comes to the same.
fn comes_in_parts(frame: &[u8]) {
    let limits = Limits {
        head: 1 << 10,
        payload: 100,
    };
    let Some((prefix, rest)) = frame.split_first_chunk() else {
        return;
    };
    let apart = Prefix::decode(prefix, &limits).and_then(|prefix| {
        let (head, payload) = rest.split_at(prefix.head_len().min(rest.len()));
        prefix.open(head, Bytes::copy_from_slice(payload))
    });
    // In words: what was met may be NaN, which is nothing's equal.
    let words = |error: DecodeError| error.to_string();
    assert_eq!(apart.map_err(words), decoded(frame, &limits).map_err(words));
}

/// What `frame` decodes to, in bounded memory.
pub(crate) fn decoded(
    frame: &[u8],
    limits: &Limits,
) -> Result<(Address, Address, Message), DecodeError> {
    let bytes = Bytes::copy_from_slice(frame);
    let mut decoded = None;
    let taken = allocation_counter::measure(|| decoded = Some(decode(bytes, limits)));
    let decoded = decoded.unwrap();
    let read = match &decoded {
        Err(DecodeError::Head(error)) => error.offset,
        _ => frame.len(),
    };
    let taken = usize::try_from(taken.bytes_max).unwrap();
    assert!(
        taken <= MEMORY_FACTOR * read + MEMORY,
        "{taken} bytes reserved for the {read} that were read, of {}",
        frame.len()
    );
    decoded
}

/// Bytes that decoding may take for each that it has read: values are larger than what they are
/// written as, and a list is moved as it grows.
const MEMORY_FACTOR: usize = 20;
/// Bytes that it may reserve for what it has not read.
const MEMORY: usize = 64 << 10;
