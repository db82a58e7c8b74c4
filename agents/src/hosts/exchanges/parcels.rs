//! Messages between two nodes, put together into parcels.

use bsp::Rank;
use bsp::units::Seconds;
use protocol::{Letter, Parcel};

use crate::programs::{Content, Incoming};

/// What only the last parcel to a node says.
pub(super) struct Last {
    pub(super) is_followed: bool,
    pub(super) halted: Vec<Rank>,
}

/// `letters` in parcels of bounded length, at least one.
pub(super) fn pack(
    superstep: u64,
    sent: Seconds,
    letters: Vec<(Letter, Content)>,
    last: Last,
) -> impl Iterator<Item = Parcel> + use<> {
    let empty = || Parcel {
        superstep,
        sent,
        is_last: false,
        is_followed: false,
        halted: Vec::new(),
        letters: Vec::new(),
        payload: bytes::Bytes::new(),
    };
    let mut parcels = Vec::new();
    let (mut parcel, mut payload) = (empty(), Vec::new());
    for (letter, content) in letters {
        let length = usize::try_from(letter.bytes).expect("what is sent fits memory");
        let is_full = !payload.is_empty() && PARCEL_LEN < payload.len() + length;
        if is_full || parcel.letters.len() == LETTERS_MAX {
            parcel.payload = std::mem::take(&mut payload).into();
            parcels.push(std::mem::replace(&mut parcel, empty()));
        }
        match content {
            Content::Value(bytes) => payload.extend_from_slice(&bytes),
            // It is there to occupy the network.
            Content::Sized(_) => payload.resize(payload.len() + length, 0),
        }
        parcel.letters.push(letter);
    }
    parcel.payload = payload.into();
    parcel.is_last = true;
    parcel.is_followed = last.is_followed;
    parcel.halted = last.halted;
    parcels.push(parcel);
    parcels.into_iter()
}

/// What is in a parcel that took `took`: for whom, how many bytes, how long each took, and what.
pub(super) fn unpack(
    parcel: Parcel,
    took: Seconds,
) -> impl Iterator<Item = (Rank, u64, Seconds, Incoming)> {
    let total = u64::try_from(parcel.payload.len()).expect("lengths fit 64 bits");
    let mut payload = parcel.payload;
    parcel.letters.into_iter().map(move |letter| {
        let length = usize::try_from(letter.bytes).expect("no longer than the parcel");
        let bytes = payload.split_to(length);
        let content = if letter.is_sized {
            Content::Sized(letter.bytes)
        } else {
            Content::Value(bytes)
        };
        let incoming = Incoming {
            from: letter.from,
            content,
            late: None,
        };
        // What came together took its part of the time each.
        let part = ratio(letter.bytes, total);
        let took_alone = Seconds::new(took.get() * part).expect("a part of a time");
        (letter.to, letter.bytes, took_alone, incoming)
    })
}

/// The part that `bytes` are of `total`; all of it, if there are none.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a ratio may be rounded"
)]
fn ratio(bytes: u64, total: u64) -> f64 {
    if total == 0 {
        1.0
    } else {
        bytes as f64 / total as f64
    }
}

/// Bytes of messages that are put together into a parcel.
pub(super) const PARCEL_LEN: usize = 8 << 20;

/// Messages that are put together into a parcel, however short they are: what is said of each takes a few bytes, too.
pub(super) const LETTERS_MAX: usize = 1 << 20;
