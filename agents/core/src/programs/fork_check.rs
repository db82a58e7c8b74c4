//! Whether the fork of a program is encoded as the program is.

use std::io;

use bsp::Rank;
use bytes::Bytes;

use super::hosted::HostedProgram;
use crate::chunks::{ChunkSink, ChunkWriter};
use crate::error::RunError;

/// Checks that a fork of `program` is encoded as the program is, if it can be forked.
///
/// # Errors
///
/// If the encodings differ, or there is none.
pub fn check_fork(rank: Rank, program: &dyn HostedProgram) -> Result<(), RunError> {
    let Some(fork) = program.fork() else {
        return Ok(());
    };
    if digest(rank, &*fork)? == digest(rank, program)? {
        return Ok(());
    }
    let problem = "its fork is encoded otherwise than the program: see `Program::fork`";
    Err(RunError::encoding("the state of", rank, "saved", &problem))
}

/// The length and the CRC-32 of the encoded program.
fn digest(rank: Rank, program: &dyn HostedProgram) -> Result<(u64, u32), RunError> {
    let mut encoding = Encoding::default();
    let mut chunks = ChunkWriter::new(&mut encoding);
    program.pack(rank, &mut chunks)?;
    let finished = chunks.finish();
    finished.map_err(|error| RunError::encoding("the state of", rank, "encoded", &error))?;
    Ok((encoding.length, encoding.checksum.finalize()))
}

/// An encoding, of which no more is kept than its length and its CRC-32.
#[derive(Default)]
struct Encoding {
    length: u64,
    checksum: crc32fast::Hasher,
}

impl ChunkSink for Encoding {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        self.length += u64::try_from(chunk.len()).expect("lengths fit 64 bits");
        self.checksum.update(&chunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bsp::{Program, Step, Superstep};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::programs::ProgramType;

    /// Its fork is the next even number.
    #[derive(Serialize, Deserialize)]
    struct Counter(u64);

    impl Program for Counter {
        type Message = ();
        type Output = ();

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Step<()> {
            Step::Halt(())
        }

        fn fork(&self) -> Option<Self> {
            Some(Self(self.0.next_multiple_of(2)))
        }
    }

    #[test]
    fn forks_that_differ_from_their_programs_are_refused() {
        for (number, is_sound) in [(2, true), (3, false)] {
            let encoded = rmp_serde::to_vec(&Counter(number)).unwrap();
            let program = ProgramType::new::<Counter>().decode_bytes(Rank(1), &encoded);
            let checked = check_fork(Rank(1), &*program.unwrap());
            assert_eq!(checked.is_ok(), is_sound, "{checked:?}");
            if let Err(error) = checked {
                assert!(error.to_string().contains("its fork"), "{error}");
            }
        }
    }
}
