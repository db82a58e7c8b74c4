//! Whether the fork of a program is encoded as the program is.

use std::io::{self, Write};

use bsp::Rank;
use bytes::Bytes;

use super::hosted::HostedProgram;
use crate::chunks::{ChunkSink, ChunkWriter};
use crate::error::RunError;

/// Checks that a fork of `program` is encoded as the program is, if it can be forked. `encoded` is an encoding of the
/// program; that of a program with hash tables may differ from it.
///
/// # Errors
///
/// If the encodings differ, or there is none.
pub(crate) fn check_fork(
    rank: Rank,
    program: &dyn HostedProgram,
    encoded: &[u8],
) -> Result<(), RunError> {
    let Some(fork) = program.fork() else {
        return Ok(());
    };
    let mut of_fork = Encoding::new(encoded);
    pack(rank, &*fork, &mut of_fork)?;
    if of_fork.is_expected() {
        return Ok(());
    }
    let mut of_program = Encoding::new(encoded);
    pack(rank, program, &mut of_program)?;
    if of_program.length == of_fork.length
        && of_program.checksum.clone().finalize() == of_fork.checksum.clone().finalize()
    {
        return Ok(());
    }
    let problem = "its fork is encoded otherwise than the program: see `Program::fork`";
    Err(RunError::encoding("the state of", rank, "saved", &problem))
}

fn pack(
    rank: Rank,
    program: &dyn HostedProgram,
    encoding: &mut Encoding<'_>,
) -> Result<(), RunError> {
    let mut chunks = ChunkWriter::new(encoding);
    program.pack(rank, &mut chunks)?;
    let flushed = chunks.flush();
    flushed.map_err(|error| RunError::encoding("the state of", rank, "encoded", &error))
}

/// An encoding, of which no more is kept than its length and its CRC-32.
struct Encoding<'a> {
    /// What is expected to follow, as long as it has.
    expected: Option<&'a [u8]>,
    length: u64,
    checksum: crc32fast::Hasher,
}

impl<'a> Encoding<'a> {
    fn new(expected: &'a [u8]) -> Self {
        Self {
            expected: Some(expected),
            length: 0,
            checksum: crc32fast::Hasher::new(),
        }
    }

    fn is_expected(&self) -> bool {
        self.expected.is_some_and(<[u8]>::is_empty)
    }
}

impl ChunkSink for Encoding<'_> {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        self.length += u64::try_from(chunk.len()).expect("lengths fit 64 bits");
        self.checksum.update(&chunk);
        self.expected = self.expected.and_then(|rest| rest.strip_prefix(&chunk[..]));
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
        // The encoding that is known may be another one.
        for (number, known, is_sound) in [(2, 2, true), (2, 3, true), (3, 3, false), (3, 2, false)]
        {
            let encoded = |number| rmp_serde::to_vec(&Counter(number)).unwrap();
            let program = ProgramType::new::<Counter>().decode(Rank(1), &encoded(number));
            let checked = check_fork(Rank(1), &*program.unwrap(), &encoded(known));
            assert_eq!(checked.is_ok(), is_sound, "{checked:?}");
            if let Err(error) = checked {
                assert!(error.to_string().contains("its fork"), "{error}");
            }
        }
    }
}
