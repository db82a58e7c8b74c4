//! The content of the piece of a running process.
//!
//! | bytes | |
//! |---|---|
//! | all but the following | the program |
//! | | the agent |
//! | | the messages: a list of [`Incoming`] as `MessagePack` |
//! | 8 | length of the agent, little-endian |
//! | 8 | length of the messages, little-endian |
//!
//! The program is first: agents and messages change their lengths, which would shift what follows, and contents are
//! compared chunk by chunk.

use std::io::Write;

use bsp::Rank;

use crate::chunks::{ChunkSink, ChunkWriter};
use crate::encoding::{decode as decode_value, encode_into};
use crate::error::RunError;
use crate::programs::{HostedProgram, Incoming, ProgramType};

/// A running process between two supersteps.
pub(crate) struct SavedProcess {
    /// The encoded agent.
    pub(crate) agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub(crate) inbox: Vec<Incoming>,
    pub(crate) program: Box<dyn HostedProgram>,
}

/// Writes the content of the piece of `rank`, with its encoded agent.
///
/// # Errors
///
/// If the program or a message cannot be encoded.
pub(crate) fn encode(
    rank: Rank,
    (agent, inbox, program): (&[u8], &[Incoming], &dyn HostedProgram),
    sink: &mut dyn ChunkSink,
) -> Result<(), RunError> {
    let mut chunks = ChunkWriter::new(sink);
    program.pack(rank, &mut chunks)?;
    let mut messages = Vec::new();
    encode_into(&mut messages, "the messages to", rank, &inbox)?;
    let lengths = [agent.len(), messages.len()].map(length).concat();
    let rest = [agent, &messages, &lengths].concat();
    let written = chunks.write_all(&rest).and_then(|()| chunks.flush());
    written.map_err(|error| problem(rank, "encoded", &error))
}

/// The process whose content is `content`.
///
/// # Errors
///
/// If `content` is not what [`encode`] writes.
pub(crate) fn decode(
    program_type: ProgramType,
    rank: Rank,
    content: &[u8],
) -> Result<SavedProcess, RunError> {
    let split = split(content).ok_or_else(|| problem(rank, "decoded", &"it is truncated"));
    let [program, agent, messages] = split?;
    Ok(SavedProcess {
        agent: agent.to_vec(),
        inbox: decode_value("the messages to", rank, messages)?,
        program: program_type.decode(rank, program)?,
    })
}

/// The program, the agent and the messages.
fn split(content: &[u8]) -> Option<[&[u8]; 3]> {
    let (content, messages) = content.split_last_chunk()?;
    let (content, agent) = content.split_last_chunk()?;
    let [agent, messages] = [agent, messages].map(|length| u64::from_le_bytes(*length));
    let (content, messages) = split_end(content, messages)?;
    let (program, agent) = split_end(content, agent)?;
    Some([program, agent, messages])
}

/// All but the last `length` bytes, and those.
fn split_end(bytes: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    let rest = bytes.len().checked_sub(usize::try_from(length).ok()?)?;
    Some(bytes.split_at(rest))
}

fn length(bytes: usize) -> [u8; 8] {
    u64::try_from(bytes)
        .expect("lengths fit 64 bits")
        .to_le_bytes()
}

fn problem(rank: Rank, action: &'static str, problem: &impl ToString) -> RunError {
    RunError::encoding("the saved state of", rank, action, problem)
}

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use bsp::{Program, Step, Superstep};
    use bytes::Bytes;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::programs::Content;

    #[derive(Serialize, Deserialize)]
    struct Idle(u64);

    impl Program for Idle {
        type Message = ();
        type Output = ();

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Step<()> {
            Step::Halt(())
        }
    }

    #[test]
    fn processes_are_decoded_as_encoded_and_truncated_ones_are_refused() {
        let program_type = ProgramType::new::<Idle>();
        let program = program_type.decode(Rank(1), b"\x07").unwrap();
        let incoming = |content, late| Incoming {
            from: Rank(2),
            content,
            late,
        };
        let inbox = vec![
            incoming(Content::Value(Bytes::from_static(b"hello")), None),
            incoming(Content::Sized(1 << 40), Some(Seconds::ZERO)),
        ];
        let encoded = |inbox: &[Incoming], program: &dyn HostedProgram| {
            let mut chunks: Vec<Bytes> = Vec::new();
            encode(Rank(1), (b"agent", inbox, program), &mut chunks).unwrap();
            chunks.concat()
        };
        let content = encoded(&inbox, &*program);
        assert_eq!(&content[..6], b"\x07agent");
        let decoded = decode(program_type, Rank(1), &content).unwrap();
        assert_eq!(
            (&decoded.agent[..], &decoded.inbox),
            (&b"agent"[..], &inbox)
        );
        assert_eq!(encoded(&inbox, &*decoded.program), content);
        for length in 0..content.len() {
            assert!(decode(program_type, Rank(1), &content[..length]).is_err());
        }
        let mut long = content;
        let end = long.len() - 16;
        long[end..].fill(0xff);
        assert!(decode(program_type, Rank(1), &long).is_err());
    }
}
