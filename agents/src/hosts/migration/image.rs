//! What a process takes with it: its agent, what it is to receive in the superstep to come, and its program.
//!
//! | bytes | |
//! |---|---|
//! | as many as the state says | the agent |
//! | 8 | length of the messages, little-endian |
//! | so many | the messages: list of (sender, size if it is only a size, value) as MessagePack |
//! | all others | the program |

use std::io::{self, Read, Write};

use bsp::Rank;
use bsp::units::Seconds;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::chunks::{ChunkReader, ChunkWriter};
use crate::encoding::{decode, encode_into};
use crate::error::RunError;
use crate::programs::{Content, HostedProgram, Incoming, ProgramType};

/// A process that is to leave.
pub(in crate::hosts) struct OutgoingImage {
    rank: Rank,
    agent: Vec<u8>,
    messages: Vec<u8>,
    program: Box<dyn HostedProgram>,
}

/// A process that has come.
pub(in crate::hosts) struct Unpacked {
    pub(in crate::hosts) agent: Bytes,
    pub(in crate::hosts) inbox: Vec<Incoming>,
    pub(in crate::hosts) program: Box<dyn HostedProgram>,
}

#[derive(Serialize, Deserialize)]
struct Row(Rank, Option<u64>, Bytes, Option<Seconds>);

impl OutgoingImage {
    /// What `rank` takes with it; `agent` has been encoded already.
    pub(in crate::hosts) fn new(
        rank: Rank,
        agent: Vec<u8>,
        inbox: Vec<Incoming>,
        program: Box<dyn HostedProgram>,
    ) -> Result<Self, RunError> {
        let rows: Vec<Row> = inbox.into_iter().map(Row::from).collect();
        let mut messages = Vec::new();
        encode_into(&mut messages, "the messages to", rank, &rows)?;
        Ok(Self {
            rank,
            agent,
            messages,
            program,
        })
    }

    /// How long it is when it is packed.
    pub(in crate::hosts) fn len(&self) -> u64 {
        length(self.agent.len() + LENGTH_LEN + self.messages.len()) + self.program.packed_len()
    }

    /// Packs it, piece by piece.
    pub(in crate::hosts) fn pack(self, mut chunks: ChunkWriter) -> Result<(), RunError> {
        let rank = self.rank;
        let lengths = length(self.messages.len()).to_le_bytes();
        let before = [&self.agent[..], &lengths, &self.messages].concat();
        let given_up = |error: io::Error| problem(rank, "encoded", &error);
        chunks.write_all(&before).map_err(given_up)?;
        self.program.pack(rank, &mut chunks)?;
        chunks.flush().map_err(given_up)
    }
}

/// What was packed; the first `agent` bytes are the agent's.
pub(in crate::hosts) fn unpack(
    program_type: ProgramType,
    rank: Rank,
    agent: u32,
    chunks: &mut ChunkReader,
) -> Result<Unpacked, RunError> {
    let agent = take(rank, agent.into(), chunks)?;
    let mut length = [0; LENGTH_LEN];
    let read = chunks.read_exact(&mut length);
    read.map_err(|error| problem(rank, "decoded", &error))?;
    let messages = take(rank, u64::from_le_bytes(length), chunks)?;
    let rows: Vec<Row> = decode("the messages to", rank, &messages)?;
    let program = program_type.decode_from(rank, chunks)?;
    if !chunks.is_over() {
        return Err(problem(rank, "decoded", &"more bytes behind it"));
    }
    Ok(Unpacked {
        agent: agent.into(),
        inbox: rows.into_iter().map(Incoming::from).collect(),
        program,
    })
}

/// The next `length` bytes; no more is reserved than has come.
fn take(rank: Rank, length: u64, chunks: &mut ChunkReader) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let read = chunks.take(length).read_to_end(&mut bytes);
    read.map_err(|error| problem(rank, "decoded", &error))?;
    if self::length(bytes.len()) < length {
        return Err(problem(rank, "decoded", &"it ends too soon"));
    }
    Ok(bytes)
}

fn problem(rank: Rank, action: &'static str, problem: &impl ToString) -> RunError {
    RunError::encoding("the state of", rank, action, problem)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("lengths fit 64 bits")
}

impl From<Incoming> for Row {
    fn from(incoming: Incoming) -> Self {
        let Incoming {
            from,
            content,
            late,
        } = incoming;
        match content {
            Content::Value(bytes) => Self(from, None, bytes, late),
            Content::Sized(bytes) => Self(from, Some(bytes), Bytes::new(), late),
        }
    }
}

impl From<Row> for Incoming {
    fn from(Row(from, size, bytes, late): Row) -> Self {
        Self {
            from,
            content: size.map_or(Content::Value(bytes), Content::Sized),
            late,
        }
    }
}

const LENGTH_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use bsp::{Program, Step, Superstep};

    use super::*;
    use crate::chunks::channel;

    #[derive(Serialize, Deserialize)]
    struct Idle(u64);

    impl Program for Idle {
        type Message = ();
        type Output = ();

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Step<()> {
            Step::Halt(())
        }
    }

    /// What comes of one piece; the first 5 bytes are the agent's.
    fn unpacked(payload: &[u8]) -> Result<Unpacked, RunError> {
        let (sender, chunks) = channel();
        sender
            .blocking_send(Bytes::copy_from_slice(payload))
            .unwrap();
        let mut chunks = ChunkReader::new(length(payload.len()), chunks);
        unpack(ProgramType::new::<Idle>(), Rank(1), 5, &mut chunks)
    }

    fn packed(image: OutgoingImage) -> Vec<u8> {
        let (sender, mut chunks) = channel();
        image.pack(ChunkWriter::new(sender)).unwrap();
        chunks.blocking_recv().unwrap().to_vec()
    }

    #[test]
    fn what_is_packed_is_unpacked_and_what_is_cut_is_refused() {
        let program = ProgramType::new::<Idle>().decode(Rank(1), b"\x07").unwrap();
        let inbox = vec![
            Incoming {
                from: Rank(2),
                content: Content::Value(Bytes::from_static(b"hello")),
                late: None,
            },
            Incoming {
                from: Rank(3),
                content: Content::Sized(1 << 40),
                late: Some(Seconds::ZERO),
            },
        ];
        let image = |inbox, program| OutgoingImage::new(Rank(1), b"agent".to_vec(), inbox, program);
        let leaving = image(inbox.clone(), program).unwrap();
        let announced = leaving.len();
        let payload = packed(leaving);
        assert_eq!(length(payload.len()), announced);
        let come = unpacked(&payload).unwrap();
        assert_eq!((&come.agent[..], &come.inbox), (&b"agent"[..], &inbox));
        assert_eq!(packed(image(inbox, come.program).unwrap()), payload);
        for length in 0..payload.len() {
            assert!(unpacked(&payload[..length]).is_err(), "{length} bytes");
        }
        let longer = [&payload[..], &[0]].concat();
        assert!(unpacked(&longer).is_err());
        let mut long = payload;
        long[5..13].fill(0xff);
        assert!(unpacked(&long).is_err());
    }
}
