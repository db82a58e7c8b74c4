//! Codes of a compressed text, bit by bit (RFC 1951).

use serde::{Deserialize, Serialize};

/// What the text goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
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
pub(super) struct BitWriter {
    complete: Vec<u8>,
    /// Bits that do not fill a byte yet, the first one lowest.
    pending: u32,
    number: u32,
}

impl BitWriter {
    /// Writes the lowest `number` bits of `value`, the lowest first.
    pub(super) fn bits(&mut self, value: u32, number: u32) {
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
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.complete.extend_from_slice(bytes);
    }

    /// Fills the byte that is begun with zeros.
    pub(super) fn align(&mut self) {
        while self.number != 0 {
            self.bits(0, 1);
        }
    }

    /// Writes what the text goes on with, in fixed codes.
    pub(super) fn found(&mut self, found: Found) {
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

    pub(super) fn end_of_block(&mut self) {
        self.symbol(256);
    }

    /// The bytes that are complete; they are gone from here.
    pub(super) fn take_complete(&mut self) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(writer.take_complete(), []);
    }
}
