//! A text that is compressed: a small state, whatever the length of the text.
//!
//! Libraries keep the state of a compression to themselves. Here a process may move after any superstep, so the window,
//! the chains of matches and the bits that are not written yet are values. The result is a gzip file (RFC 1951 and 1952)
//! with fixed codes, which is not kept, except for its length and checksum.

use bsp::numbers::{self, index, length};
use crc32fast::Hasher;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::Round;
use crate::parameters::whole;

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

/// The part of a text that copies may come from and the part that is not compressed yet, with the positions of
/// beginnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Matches {
    bytes: Vec<u8>,
    /// The position in `bytes` that is next.
    next: usize,
    /// The position in the text of the first of `bytes`.
    offset: u32,
    /// The last position in the text of each beginning, by its hash, and the one before of each position, modulo the
    /// window; one more than the position, or zero.
    last: Vec<u32>,
    before: Vec<u32>,
}

impl Default for Matches {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            next: 0,
            offset: 0,
            last: vec![0; HASHES],
            before: vec![0; WINDOW],
        }
    }
}

impl Matches {
    /// The number of bytes that are not compressed yet.
    const fn ahead(&self) -> usize {
        self.bytes.len() - self.next
    }

    /// Goes on with the text. Bytes that no copy can come from any more are dropped.
    fn append(&mut self, bytes: &[u8]) {
        if 2 * WINDOW < self.next {
            let dropped = self.next - WINDOW;
            self.bytes.drain(..dropped);
            self.next -= dropped;
            self.offset += position(dropped);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What the text goes on with: the longest copy among the last positions with the same beginning, or a byte. Also
    /// returns how many bytes were compared. There must be a byte.
    fn next(&mut self) -> (Found, u64) {
        let (mut best, mut compared) = ((0, 0), 1);
        let mut candidate = self.hash(self.next).map_or(0, |hash| self.last[hash]);
        for _ in 0..CHAIN {
            let Some(start) = self.start(candidate) else {
                break;
            };
            let length = self.common(start);
            compared += position(length) + 1;
            if best.0 < length {
                best = (length, self.next - start);
            }
            let earlier = self.before[slot(candidate)];
            if candidate <= earlier {
                break;
            }
            candidate = earlier;
        }
        let (length, distance) = best;
        let found = if length < LEAST {
            Found::Literal(self.bytes[self.next])
        } else {
            Found::Copy {
                length: position(length),
                distance: position(distance),
            }
        };
        for _ in 0..length.max(1).min(if length < LEAST { 1 } else { length }) {
            self.remember();
        }
        (found, compared.into())
    }

    /// The bytes of its encoding, about: a number takes the more, the larger it is.
    fn encoded(&self) -> usize {
        let of = |number: u32| match number {
            0..=0x7f => 1,
            0x80..=0xff => 2,
            0x100..=0xffff => 3,
            _ => 5,
        };
        let bytes: usize = self.bytes.iter().map(|byte| of((*byte).into())).sum();
        let positions = self.last.iter().chain(&self.before);
        bytes + positions.map(|position| of(*position)).sum::<usize>() + 64
    }

    /// Where in `bytes` a remembered position is, if a copy may come from there.
    fn start(&self, remembered: u32) -> Option<usize> {
        let start = remembered.checked_sub(1)?.checked_sub(self.offset)?;
        let start = usize::try_from(start).ok()?;
        (start < self.next && self.next - start <= WINDOW).then_some(start)
    }

    /// How many bytes are the same from `start` on as those that are next.
    fn common(&self, start: usize) -> usize {
        let ahead = &self.bytes[self.next..];
        let pairs = self.bytes[start..].iter().zip(ahead.iter().take(LONGEST));
        pairs.take_while(|(one, other)| one == other).count()
    }

    /// Remembers the position that is next, and goes on.
    fn remember(&mut self) {
        if let Some(hash) = self.hash(self.next) {
            let remembered = self.offset + position(self.next) + 1;
            self.before[slot(remembered)] = self.last[hash];
            self.last[hash] = remembered;
        }
        self.next += 1;
    }

    /// The hash of three bytes.
    fn hash(&self, at: usize) -> Option<usize> {
        let [a, b, c] = *self.bytes.get(at..at + LEAST)?.first_chunk()?;
        let number = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1);
        usize::try_from(number >> (32 - HASH_BITS)).ok()
    }
}

/// The place of a remembered position among those before.
fn slot(remembered: u32) -> usize {
    index(remembered) % WINDOW
}

fn position(number: usize) -> u32 {
    u32::try_from(number).expect("a text is shorter than 4 GB")
}

/// The farthest that a copy may come from.
const WINDOW: usize = 1 << 15;

/// The shortest and the longest copy.
const LEAST: usize = 3;
const LONGEST: usize = 258;

/// Bytes that are ahead, unless the text ends.
const LOOKAHEAD: usize = LONGEST + LEAST;

/// Positions that are compared.
const CHAIN: usize = 32;

const HASH_BITS: u32 = 13;
const HASHES: usize = 1 << HASH_BITS;

/// What the text goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// A byte.
    Literal(u8),
    /// A copy of bytes that many positions before.
    Copy {
        /// From 3 to 258.
        length: u32,
        /// From 1 to 32768.
        distance: u32,
    },
}

/// Bits that are written, and the bytes that they complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct BitWriter {
    complete: Vec<u8>,
    /// Bits that do not fill a byte yet, the first one lowest.
    pending: u32,
    number: u32,
}

impl BitWriter {
    /// Writes the lowest `number` bits of `value`, the lowest first.
    fn bits(&mut self, value: u32, number: u32) {
        for bit in 0..number {
            self.pending |= (value >> bit & 1) << self.number;
            self.number += 1;
            if self.number == 8 {
                self.complete.push(lowest(self.pending));
                self.pending = 0;
                self.number = 0;
            }
        }
    }

    /// Writes whole bytes. The bits before must fill theirs.
    fn bytes(&mut self, bytes: &[u8]) {
        self.complete.extend_from_slice(bytes);
    }

    /// Fills the byte that is begun with zeros.
    fn align(&mut self) {
        while self.number != 0 {
            self.bits(0, 1);
        }
    }

    /// Writes what the text goes on with, in fixed codes.
    fn found(&mut self, found: Found) {
        match found {
            Found::Literal(byte) => self.symbol(byte.into()),
            Found::Copy { length, distance } => {
                let (code, extra, bits) = coded(length - 3, 4, 28);
                if length == 258 {
                    // The longest has a code of its own.
                    self.symbol(285);
                } else {
                    self.symbol(257 + code);
                    self.bits(extra, bits);
                }
                let (code, extra, bits) = coded(distance - 1, 2, u32::MAX);
                self.code(code, 5);
                self.bits(extra, bits);
            }
        }
    }

    fn end_of_block(&mut self) {
        self.symbol(256);
    }

    /// The bytes that are complete; they are gone from here.
    fn take_complete(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.complete)
    }

    /// Writes the fixed code of a literal or a length.
    fn symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xc0 + symbol - 280, 8),
        }
    }

    /// Writes a code, its highest bit first.
    fn code(&mut self, code: u32, number: u32) {
        self.bits(code.reverse_bits() >> (32 - number), number);
    }
}

/// The code of a value, its extra bits, and how many these are: the first `2 · each` values have codes of their own, then
/// there are `each` codes for every power of two, up to the code `most`.
fn coded(value: u32, each: u32, most: u32) -> (u32, u32, u32) {
    if value < 2 * each {
        return (value, 0, 0);
    }
    let bits = value.ilog2() - each.ilog2();
    let code = each * (bits + 1) + (value >> bits & (each - 1));
    (code.min(most), value & ((1 << bits) - 1), bits)
}

fn lowest(bits: u32) -> u8 {
    u8::try_from(bits & 0xff).expect("eight bits")
}

/// The words of a text that are still to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Text {
    round: Round,
    /// Words so far, and bytes left.
    words: u64,
    left: u64,
}

impl Text {
    /// A text of about `bytes` bytes, at least one.
    fn new(round: Round, bytes: f64) -> Self {
        Self {
            round,
            words: 0,
            left: whole(bytes).clamp(1, BYTES_MAX),
        }
    }

    /// The next word, with the space after it; empty at the end.
    fn word(&mut self) -> Vec<u8> {
        let drawn = Round {
            number: self
                .round
                .number
                .wrapping_mul(PRIME)
                .wrapping_add(self.words),
            ..self.round
        };
        let mut numbers = drawn.numbers(WORDS);
        // The smaller of two draws: some words are frequent, others are rare.
        let number = (numbers.next_u32() % VOCABULARY).min(numbers.next_u32() % VOCABULARY);
        let mut word = spelled(number);
        word.push(b' ');
        let length = usize::try_from(self.left).map_or(word.len(), |left| left.min(word.len()));
        word.truncate(length);
        self.words += 1;
        self.left -= numbers::length(length);
        word
    }

    /// The most bytes of its encoding.
    const fn encoded(&self) -> usize {
        64
    }
}

/// A word of the vocabulary: syllables, by the digits of its number.
fn spelled(mut number: u32) -> Vec<u8> {
    let mut word = Vec::new();
    number = number.wrapping_mul(2_654_435_761) >> 18;
    while word.is_empty() || 0 < number {
        for (letters, count) in [(b"bdfgklmnprstvz".as_slice(), 14), (b"aeiou".as_slice(), 5)] {
            word.push(letters[usize::try_from(number % count).expect("a digit")]);
            number /= count;
        }
    }
    word
}

/// The stream of a text's words.
const WORDS: u8 = b'w';

/// Words of the language.
const VOCABULARY: u32 = 4096;

/// Texts are shorter than the numbers of their positions allow.
const BYTES_MAX: u64 = 4_000_000_000;

/// Makes the words of one round differ from those of the next.
const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

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

    #[test]
    fn codes_are_those_of_the_tables() {
        // RFC 1951, 3.2.5: lengths 3, 10, 11, 12, 13, 257; distances 1, 4, 5, 7, 8, 32768.
        let lengths = [
            (3, 0, 0, 0),
            (10, 7, 0, 0),
            (11, 8, 0, 1),
            (12, 8, 1, 1),
            (13, 9, 0, 1),
            (257, 27, 30, 5),
        ];
        for (length, code, extra, bits) in lengths {
            assert_eq!(coded(length - 3, 4, 28), (code, extra, bits), "{length}");
        }
        let distances = [
            (1, 0, 0, 0),
            (4, 3, 0, 0),
            (5, 4, 0, 1),
            (7, 5, 0, 1),
            (8, 5, 1, 1),
            (32768, 29, 8191, 13),
        ];
        for (distance, code, extra, bits) in distances {
            assert_eq!(
                coded(distance - 1, 2, u32::MAX),
                (code, extra, bits),
                "{distance}"
            );
        }
    }

    #[test]
    fn bits_fill_bytes_from_the_lowest() {
        let mut writer = BitWriter::default();
        writer.bits(0b1, 1);
        writer.bits(0b101, 3);
        writer.align();
        assert_eq!(writer.take_complete(), [0b0000_1011]);
        assert!(writer.take_complete().is_empty());
    }
}
