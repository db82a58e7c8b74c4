use bsp::units::Instructions;
use proptest::prelude::*;

use super::super::piece::Condition;
use super::*;

fn piece(superstep: u64, state: &[u8]) -> Piece {
    let head = PieceHead {
        job: JobId(NonZeroU64::MAX),
        generation: Generation {
            incarnation: 3,
            superstep,
        },
        rank: Rank(5),
        condition: Condition::Halted { superstep: 2 },
        work: Instructions(7),
    };
    let content = Content::new(Bytes::copy_from_slice(state));
    Piece { head, content }
}

fn encoded(delta: &Delta) -> Bytes {
    let parts: Vec<Bytes> = delta.encode().collect();
    let bytes: Bytes = parts.concat().into();
    assert_eq!(delta.encoded_len(), length(bytes.len()));
    bytes
}

proptest! {
    /// Lengths and changes at random, over the wire and not.
    #[test]
    fn a_delta_makes_of_the_previous_piece_the_next_one(
        lengths in prop::array::uniform2(0..5 * CHUNK_LEN),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let first = vec![1; lengths[0]];
        let mut second = vec![1; lengths[1]];
        for (at, value) in changes {
            if !second.is_empty() {
                let at = at.index(second.len());
                second[at] = value;
            }
        }
        let (first, second) = (piece(10, &first), piece(20, &second));
        for previous in [Some(&first), None] {
            let delta = second.delta_from(previous);
            prop_assert_eq!(delta.base(), previous.map(|piece| piece.head.generation));
            let decoded = Delta::decode(&encoded(&delta)).unwrap();
            prop_assert_eq!(&decoded, &delta);
            prop_assert_eq!(delta.apply(previous).unwrap(), second.clone());
            prop_assert_eq!(decoded.apply(previous).unwrap(), second.clone());
        }
    }
}

#[test]
fn a_tenth_of_changes_is_a_small_delta() {
    let mut state = vec![1; 100 * CHUNK_LEN];
    let first = piece(10, &state);
    state[30 * CHUNK_LEN + 5..40 * CHUNK_LEN + 5].fill(2);
    let second = piece(20, &state);
    let delta = second.delta_from(Some(&first));
    assert!(delta.encoded_len() * 100 <= length(state.len()) * 15);
    let made = delta.apply(Some(&first)).unwrap();
    let shared = made.content.chunks().iter().zip(first.content.chunks());
    let shared = shared.filter(|(one, other)| one.bytes().as_ptr() == other.bytes().as_ptr());
    assert_eq!(shared.count(), 89);
}

#[test]
fn deltas_of_other_pieces_are_refused() {
    let (first, second) = (piece(10, &[1; 70_000]), piece(20, &[2; 70_000]));
    let check = |previous: Option<&Piece>, expected: &str| {
        let error = second.delta_from(Some(&first)).apply(previous).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let none = "the delta of p6 was made from its piece of checkpoint 3-10, found none";
    check(None, none);
    let mut other = first.clone();
    other.head.rank = Rank(4);
    check(Some(&other), none);
    check(
        Some(&piece(11, &[1; 70_000])),
        "the delta of p6 was made from its piece of checkpoint 3-10, found that of 3-11",
    );
    check(
        Some(&piece(10, &[3; 70_000])),
        "the delta of p6 was made from its piece of checkpoint 3-10, found another content",
    );
    let mut incomplete = second.delta_from(None);
    incomplete.changed.truncate(1);
    let error = incomplete.apply(None).unwrap_err();
    assert!(matches!(error, DeltaError::Checksum { .. }), "{error}");
}

#[test]
fn every_cut_and_every_flipped_bit_is_refused() {
    let delta = piece(20, &[2; 300]).delta_from(Some(&piece(10, &[1; 300])));
    let bytes = encoded(&delta);
    for cut in 0..bytes.len() {
        assert!(Delta::decode(&bytes.slice(..cut)).is_err(), "{cut}");
    }
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Delta::decode(&flipped.into()).is_err(), "{bit}");
    }
    let longer: Bytes = [&bytes[..], &[0]].concat().into();
    let error = Delta::decode(&longer).unwrap_err().to_string();
    assert_eq!(error, "byte 416 of the delta: bytes follow the last chunk");
}

#[test]
fn deltas_are_decoded_as_encoded_and_truncated_ones_are_refused() {
    let piece = |rank, length| Piece {
        head: PieceHead {
            job: JobId(NonZeroU64::MIN),
            generation: Generation::default(),
            rank: Rank(rank),
            condition: Condition::Running,
            work: Instructions(5),
        },
        content: Content::new(vec![7; length].into()),
    };
    let pieces = [piece(0, 100), piece(3, 0), piece(4, 70_000)];
    let deltas = pieces.map(|piece| piece.delta_from(None));
    let encoded: Vec<u8> = Delta::encode_all(&deltas).flatten().collect();
    assert_eq!(
        Delta::decode_all(vec![encoded.clone().into()]).unwrap(),
        deltas
    );
    for length in (1..encoded.len()).step_by(37) {
        let part = Bytes::copy_from_slice(&encoded[..length]);
        let decoded = Delta::decode_all(vec![part]);
        // It may end between two deltas.
        assert!(decoded.is_err() || decoded.unwrap().len() < deltas.len());
    }
}
