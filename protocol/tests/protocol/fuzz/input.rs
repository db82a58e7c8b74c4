/// Bytes from a fuzzer, used as decisions. After the last byte, all decisions are 0.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    /// A number less than `limit`, or 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let drawn = u32::from_le_bytes(self.array());
        usize::try_from(drawn).unwrap() % limit.max(1)
    }

    /// The remaining bytes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }

    /// One of `seeds`, with up to 15 changes.
    pub(crate) fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let seed = self.below(seeds.len());
        let mut bytes = seeds[seed].clone();
        for _ in 0..self.below(16) {
            self.change(&mut bytes, seeds);
            bytes.truncate(LENGTH_MAX);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let kind = self.byte() % 8;
        let at = self.below(bytes.len());
        let end = at + self.below(bytes.len() - at + 1);
        match kind {
            0 => self.write(bytes, at, 1),
            1 => self.write(bytes, at, 4),
            2 => {
                let critical = CRITICAL[self.below(CRITICAL.len())];
                drop(bytes.splice(at..end, critical.iter().copied()));
            }
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at),
            5 => {
                let again = bytes[at..end].repeat(1 + self.below(256));
                drop(bytes.splice(at..at, again));
            }
            6 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len());
                let to = from + self.below(other.len() - from + 1);
                drop(bytes.splice(at..end, other[from..to].iter().copied()));
            }
            _ => bytes.insert(at, self.byte()),
        }
    }

    fn write(&mut self, bytes: &mut [u8], at: usize, length: usize) {
        for byte in bytes[at..].iter_mut().take(length) {
            *byte = self.byte();
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let (taken, rest) = self.0.split_at(N.min(self.0.len()));
        array[..taken.len()].copy_from_slice(taken);
        self.0 = rest;
        array
    }
}

const LENGTH_MAX: usize = 1 << 16;

/// Critical values of `MessagePack`, DER and PEM.
const CRITICAL: [&[u8]; 20] = [
    &[0xc0],
    &[0xdc, 0xff, 0xff],
    &[0xdd, 0xff, 0xff, 0xff, 0xff],
    &[0xdb, 0xff, 0xff, 0xff, 0xff],
    &[0xdc, 0x01, 0x00],
    &[0x90],
    &[0x9f],
    &[0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0],
    &[0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0],
    &[0xcb, 0x00, 0, 0, 0, 0, 0, 0, 1],
    &[0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x30, 0x80],
    &[0x84, 0xff, 0xff, 0xff, 0xff],
    &[0x02, 0x00],
    &[0x86, 0x00],
    &[0x17, 0x00],
    b"-----BEGIN CERTIFICATE-----\n",
    b"-----END CERTIFICATE-----\n",
    b"99991231235959Z",
    b"\0",
];
