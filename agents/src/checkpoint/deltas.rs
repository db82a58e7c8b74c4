//! Several deltas, one after the other, each after its length as 8 bytes, little-endian.

use std::io::Read;
use std::iter;

use bytes::Bytes;

use super::delta::{Delta, DeltaError};
use crate::chunks::ChunkReader;

/// The encoding of `deltas`, in parts. Chunks are not copied.
pub(crate) fn encode(deltas: &[Delta]) -> impl Iterator<Item = Bytes> {
    deltas.iter().flat_map(|delta| {
        let length = delta.encoded_len().to_le_bytes();
        iter::once(Bytes::copy_from_slice(&length)).chain(delta.encode())
    })
}

/// The deltas whose encoding is `chunks`, one after the other, as [`Delta::decode`] decodes each.
///
/// # Errors
///
/// [`DeltaError::Malformed`], with the offset in that delta.
pub(crate) fn decode(chunks: Vec<Bytes>) -> Result<Vec<Delta>, DeltaError> {
    let ended = || DeltaError::Malformed {
        offset: 0,
        problem: "the list of deltas ends here",
    };
    let mut source = chunks.into_iter();
    let mut reader = ChunkReader::new(&mut source);
    let mut deltas = Vec::new();
    while !reader.is_over().map_err(|_| ended())? {
        let mut bytes = [0; LENGTH_LEN];
        reader.read_exact(&mut bytes).map_err(|_| ended())?;
        let announced = u64::from_le_bytes(bytes);
        // Memory is reserved for bytes that have arrived.
        let mut delta = Vec::new();
        let read = (&mut reader).take(announced).read_to_end(&mut delta);
        if u64::try_from(read.map_err(|_| ended())?) != Ok(announced) {
            return Err(ended());
        }
        deltas.push(Delta::decode(&delta.into())?);
    }
    Ok(deltas)
}

const LENGTH_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use bsp::Rank;
    use bsp::units::Instructions;
    use protocol::transport::JobId;

    use super::*;
    use crate::checkpoint::{Condition, Content, Generation, Piece, PieceHead};

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
        let encoded: Vec<u8> = encode(&deltas).flatten().collect();
        assert_eq!(decode(vec![encoded.clone().into()]).unwrap(), deltas);
        for length in (1..encoded.len()).step_by(37) {
            let part = Bytes::copy_from_slice(&encoded[..length]);
            let decoded = decode(vec![part]);
            // It may end between two deltas.
            assert!(decoded.is_err() || decoded.unwrap().len() < deltas.len());
        }
    }
}
