//! The length of an encoding, which is the length of a message.

use std::io;

use crate::numbers::length;

use serde::Serialize;

use crate::units::Bytes;

/// Bytes that `value` takes in compact `MessagePack`.
///
/// The value is encoded into a counter: nothing is allocated, and nothing is kept. That takes 2 to 4 times as long as
/// adding up lengths without an encoder, 60 ns for the report of a process, and a fifteenth of encoding it.
///
/// # Errors
///
/// If its type refuses to be encoded.
pub fn encoded_len(value: &impl Serialize) -> Result<Bytes, rmp_serde::encode::Error> {
    let mut length = Length(0);
    rmp_serde::encode::write(&mut length, value)?;
    Ok(Bytes(length.0))
}

/// Counts what is written into it.
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += length(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
