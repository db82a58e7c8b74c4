use std::num::NonZeroU64;

use protocol::transport::{CHUNK_LEN, JobId};

use super::super::piece::{Content, PieceHead};
use super::*;

fn generation(incarnation: u64, superstep: u64) -> Generation {
    Generation {
        incarnation,
        superstep,
    }
}

fn piece(generation: Generation, rank: u32, state: &[u8]) -> Piece {
    let head = PieceHead {
        job: JobId(NonZeroU64::MIN),
        generation,
        rank: Rank(rank),
        condition: Condition::Running,
        work: Instructions(rank.into()),
    };
    let content = Content::new(state.to_vec().into());
    Piece { head, content }
}

fn kept(generations: &Generations) -> Vec<(Generation, usize)> {
    let all = generations.inventory().into_iter();
    all.map(|(generation, pieces)| (generation, pieces.len()))
        .collect()
}

#[test]
fn a_complete_generation_stays_until_a_newer_one_is_complete() {
    let mut generations = Generations::default();
    let all = [(1, 0), (1, 10), (1, 20), (2, 10)].map(|(i, s)| generation(i, s));
    let [first, second, third, fourth] = all;
    for rank in 0..3 {
        generations.insert(piece(first, rank, &[1; 10])).unwrap();
    }
    assert_eq!(generations.complete_generation(), None);
    generations.complete(first);
    for of in [second, third, fourth] {
        generations.insert(piece(of, 0, &[2; 10])).unwrap();
        assert_eq!(kept(&generations), [(first, 3), (of, 1)]);
        assert_eq!(generations.complete_generation(), Some(first));
    }
    generations.complete(fourth);
    assert_eq!(kept(&generations), [(fourth, 1)]);
    generations.complete(first);
    assert_eq!(kept(&generations), [(fourth, 1)]);
    let next = generation(2, 20);
    generations.complete(next);
    assert_eq!(kept(&generations), [(next, 0)]);
    assert_eq!(generations.bytes_held(), Bytes(0));
}

#[test]
fn late_pieces_are_refused() {
    let mut generations = Generations::default();
    let [old, new] = [generation(1, 10), generation(1, 20)];
    generations.insert(piece(new, 0, &[1])).unwrap();
    generations.insert(piece(new, 0, &[2])).unwrap();
    let error = generations.insert(piece(old, 1, &[1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a piece of checkpoint 1-10 after one of 1-20"
    );
    generations.complete(new);
    let error = generations.insert(piece(new, 2, &[1])).unwrap_err();
    let expected = "another piece of p3 of checkpoint 1-20, which is complete";
    assert_eq!(error.to_string(), expected);
    let listed = KeptPiece {
        rank: Rank(0),
        is_copy: false,
        condition: Condition::Running,
        bytes: Bytes(1),
        work: Instructions(0),
    };
    assert_eq!(
        generations.inventory(),
        BTreeMap::from([(new, vec![listed])])
    );
    let newest = generations.newest(Rank(0)).unwrap();
    assert_eq!(newest, &piece(new, 0, &[2]));
    assert_eq!(generations.pieces(new).count(), 1);
    assert_eq!(generations.pieces(old).count(), 0);
}

#[test]
fn twenty_generations_of_a_state_that_changes_little_take_the_memory_of_one() {
    let chunks = 40;
    let mut state = vec![0; chunks * CHUNK_LEN];
    let (mut sender, mut buddy) = (Generations::default(), Generations::default());
    for superstep in 0..20 {
        let at = superstep * 7 % (chunks - 1) * CHUNK_LEN;
        state[at..at + 2 * CHUNK_LEN].fill(u8::try_from(superstep).unwrap());
        let of = generation(1, superstep.try_into().unwrap());
        let next = piece(of, 3, &state);
        let delta = next.delta_from(sender.newest(Rank(3)));
        let bytes: bytes::Bytes = delta.encode().collect::<Vec<_>>().concat().into();
        sender.insert_delta(delta).unwrap();
        buddy.insert_delta(Delta::decode(&bytes).unwrap()).unwrap();
        for generations in [&mut sender, &mut buddy] {
            assert_eq!(generations.piece(of, Rank(3)), Some(&next));
            let most = u64::try_from((chunks + 2) * CHUNK_LEN).unwrap();
            assert!(generations.bytes_held().0 <= most);
            generations.complete(of);
            let one = u64::try_from(state.len()).unwrap();
            assert!(generations.bytes_held().0 <= one);
        }
    }
}

#[test]
fn a_delta_without_its_previous_piece_is_refused() {
    let mut generations = Generations::default();
    let [first, second] = [generation(1, 10), generation(1, 20)].map(|of| piece(of, 0, &[1; 10]));
    let delta = second.delta_from(Some(&first));
    let error = generations.insert_delta(delta.clone()).unwrap_err();
    let expected = "the delta of p1 was made from its piece of checkpoint 1-10, found none";
    assert_eq!(error.to_string(), expected);
    let other = piece(generation(1, 15), 0, &[1; 10]);
    generations.insert(other).unwrap();
    let error = generations.insert_delta(delta.clone()).unwrap_err();
    let expected = "the delta of p1 was made from its piece of checkpoint 1-10, found that of 1-15";
    assert_eq!(error.to_string(), expected);
    let mut generations = Generations::default();
    generations.insert(first).unwrap();
    generations.complete(generation(1, 10));
    generations.insert_delta(delta).unwrap();
    assert_eq!(generations.newest(Rank(0)), Some(&second));
}
