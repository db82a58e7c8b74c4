use std::sync::LazyLock;

use bytes::Bytes;
use protocol::{Address, DecodeError, Limits, Message, PREFIX_LEN, Prefix, decode, encode};

use super::input::Input;

/// An example of every message.
pub(crate) static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let pinned = include_str!("../wire/pinned.txt").lines().skip(1);
    let bytes = |line: &str| {
        let (_, hex) = line.split_once(' ').unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    };
    pinned.map(bytes).collect()
});

/// Decodes a frame that `bytes` select and change.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (kind, is_announced) = (input.byte() % 8, input.below(8) != 0);
    let mut frame = match kind {
        0 => input.rest(),
        1 => [&SEEDS[0][..PREFIX_LEN], &input.rest()].concat(),
        _ => input.mutated(&SEEDS),
    };
    if kind != 0 && is_announced {
        announce(&mut frame);
    }
    accepted_frames_keep_their_meaning(&frame);
    parts_decode_as_the_whole(&frame);
}

/// Sets the lengths in the prefix of `frame`, so that its head is decoded.
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

fn accepted_frames_keep_their_meaning(frame: &[u8]) {
    match decoded(frame, &Limits::default()) {
        Ok((from, to, message)) => {
            let again = encode(from, to, &message);
            let again = [&again.head[..], &again.payload[..]].concat();
            let decoded = decoded(&again, &Limits::default());
            assert_eq!(decoded, Ok((from, to, message)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A receiver that reads prefix, head and payload separately gets the same result.
fn parts_decode_as_the_whole(frame: &[u8]) {
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
    // As text: an error may hold a NaN, which does not equal itself.
    let text = |error: DecodeError| error.to_string();
    assert_eq!(apart.map_err(text), decoded(frame, &limits).map_err(text));
}

/// Decodes `frame`, in bounded memory.
pub(crate) fn decoded(
    frame: &[u8],
    limits: &Limits,
) -> Result<(Address, Address, Message), DecodeError> {
    let bytes = Bytes::copy_from_slice(frame);
    let mut decoded = None;
    let taken = allocation_counter::measure(|| decoded = Some(decode(bytes, limits)));
    let decoded = decoded.unwrap();
    let taken = usize::try_from(taken.bytes_max).unwrap();
    let limit = MEMORY_FACTOR * frame.len() + MEMORY;
    assert!(
        taken <= limit,
        "{taken} bytes reserved for a frame of {}",
        frame.len()
    );
    decoded
}

/// Bytes that decoding may take for each byte of a frame: values take more memory than their encoding.
const MEMORY_FACTOR: usize = 24;
/// Bytes that it may reserve in addition: `serde` trusts the announced length of a list up to 1 MiB, and lists
/// nest two deep.
const MEMORY: usize = (2 << 20) + (64 << 10);
