//! A text that is compressed: a small state, whatever the length of the text.
//!
//! Libraries keep the state of a compression to themselves. Here a process may move after any superstep, so the window,
//! the chains of matches and the bits that are not written yet are values. The result is a gzip file (RFC 1951 and 1952)
//! with fixed codes, which is not kept, except for its length and checksum.

mod bits;
mod matches;
mod text;

use bsp::numbers::length;
use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use self::bits::BitWriter;
use self::matches::{LOOKAHEAD, Matches};
use self::text::Text;
use super::rounds::Round;

/// A text that is being compressed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Gzip {
    text: Text,
    matches: Matches,
    bits: BitWriter,
    input: Checksum,
    output: Checksum,
    is_over: bool,
}

/// The CRC-32 and the length of what has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checksum {
    crc: u32,
    bytes: u64,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let mut hasher = Hasher::new_with_initial_len(self.crc, self.bytes);
        hasher.update(bytes);
        self.crc = hasher.finalize();
        self.bytes += length(bytes.len());
    }
}

impl Gzip {
    /// The text of a round.
    pub(super) fn new(round: Round, range: [f64; 2]) -> Self {
        let mut bits = BitWriter::default();
        // Deflate, no name, no time, no extra flags, unknown system.
        bits.bytes(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
        // One block, the last, with fixed codes.
        bits.bits(0b011, 3);
        Self {
            text: Text::new(round, round.bytes(range)),
            matches: Matches::default(),
            bits,
            input: Checksum::default(),
            output: Checksum::default(),
            is_over: false,
        }
    }

    /// Compresses the next part of the text with about `budget` operations, and gives what is complete of the file to
    /// `sink`. Returns how many it took.
    pub(super) fn advance(&mut self, budget: u64, sink: &mut impl FnMut(&[u8])) -> u64 {
        let mut spent = 0;
        while spent < budget && !self.is_over {
            while self.matches.ahead() < LOOKAHEAD {
                let word = self.text.word();
                if word.is_empty() {
                    break;
                }
                self.input.add(&word);
                self.matches.append(&word);
            }
            if self.matches.ahead() == 0 {
                self.finish();
            } else {
                let (found, compared) = self.matches.next();
                self.bits.found(found);
                spent += 8 * compared;
            }
        }
        let complete = self.bits.take_complete();
        self.output.add(&complete);
        sink(&complete);
        spent
    }

    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The checksums and lengths of the text and of its compression, if the first are those of the text that was drawn.
    pub(super) fn result(&self, round: Round, range: [f64; 2]) -> Result<Vec<u64>, String> {
        let mut drawn = Checksum::default();
        let mut text = Text::new(round, round.bytes(range));
        loop {
            let word = text.word();
            if word.is_empty() {
                break;
            }
            drawn.add(&word);
        }
        if drawn != self.input {
            return Err("another text was compressed than the one that was drawn".to_owned());
        }
        let Checksum { crc, bytes } = self.output;
        Ok(vec![drawn.crc.into(), drawn.bytes, crc.into(), bytes])
    }

    /// The state, as numbers to be compared.
    pub(super) fn state(&self) -> Vec<u64> {
        let sums = [self.input, self.output];
        sums.iter()
            .flat_map(|sum| [sum.crc.into(), sum.bytes])
            .collect()
    }

    /// The most bytes of its encoding.
    pub(super) fn encoded(&self) -> usize {
        self.matches.encoded() + self.text.encoded() + 512
    }

    fn finish(&mut self) {
        self.bits.end_of_block();
        self.bits.align();
        self.bits.bytes(&self.input.crc.to_le_bytes());
        let length = u32::try_from(self.input.bytes & u64::from(u32::MAX)).expect("32 bits");
        self.bits.bytes(&length.to_le_bytes());
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use flate2::read::GzDecoder;

    use super::*;

    const ROUND: Round = Round {
        seed: 23,
        rank: 0,
        number: 4,
    };

    /// The text of `bytes` bytes, and its compression in parts of `budget`.
    fn compressed(bytes: f64, budget: u64) -> (Vec<u8>, Vec<u8>, Gzip) {
        let mut text = Text::new(ROUND, bytes);
        let words = std::iter::repeat_with(|| text.word());
        let expected = words
            .take_while(|word| !word.is_empty())
            .flatten()
            .collect();
        let mut gzip = Gzip::new(ROUND, [bytes, bytes]);
        let mut file = Vec::new();
        while !gzip.is_over() {
            gzip.advance(budget, &mut |part| file.extend_from_slice(part));
            // The state may be encoded anywhere.
            let encoded = rmp_serde::to_vec(&gzip).unwrap();
            assert!(encoded.len() <= gzip.encoded());
            gzip = rmp_serde::from_slice(&encoded).unwrap();
        }
        (expected, file, gzip)
    }

    #[test]
    fn compressed_texts_inflate_to_the_text() {
        for (bytes, budget) in [(1.0, 1), (1000.0, 100), (3e5, 200_000)] {
            let (expected, file, gzip) = compressed(bytes, budget);
            let mut inflated = Vec::new();
            GzDecoder::new(&file[..])
                .read_to_end(&mut inflated)
                .unwrap();
            assert!(inflated == expected, "{bytes} bytes");
            assert_eq!(gzip.output.bytes, u64::try_from(file.len()).unwrap());
            assert_eq!(gzip.output.crc, crc32fast::hash(&file));
            assert!(gzip.result(ROUND, [bytes, bytes]).is_ok());
            if 1e5 < bytes {
                assert!(3 * file.len() < 2 * expected.len(), "{} bytes", file.len());
            }
        }
    }

    #[test]
    fn the_gzip_of_the_system_accepts_the_file() {
        let (_, file, _) = compressed(1e5, 50_000);
        let gzip = Command::new("gzip").arg("-t").stdin(Stdio::piped()).spawn();
        let Ok(mut gzip) = gzip else {
            eprintln!("skipped: this system has no gzip");
            return;
        };
        gzip.stdin.take().unwrap().write_all(&file).unwrap();
        assert!(gzip.wait().unwrap().success());
    }

    #[test]
    fn the_state_stays_small() {
        let (_, _, gzip) = compressed(4e5, 1_000_000);
        assert!(gzip.encoded() < 500_000, "{}", gzip.encoded());
    }
}
