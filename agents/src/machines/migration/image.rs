//! The payload of a process image on hosts: the agent, the messages that it has not received yet, and the program.
//!
//! | bytes | |
//! |---|---|
//! | [`ProcessImage::agent`](protocol::ProcessImage::agent) | the agent |
//! | 8 | length of the messages, little-endian |
//! | this length | the messages: a list of [`Incoming`] as MessagePack |
//! | the rest without the end | the program |
//! | 32 | how long it took to pack: [`PackingTimes`] |

use std::io::{self, Read, Write};
use std::time::Duration;

use bsp::{Rank, units};
use bytes::Bytes;

use super::packing::PackingTimes;
use crate::chunks::{ChunkReader, ChunkSink, ChunkWriter};
use crate::encoding::{decode as decode_value, encode_into};
use crate::error::RunError;
use crate::programs::{HostedProgram, Incoming, ProgramType};
use crate::record::ImageParts;

/// The payload of an image that is to be sent.
pub(crate) struct OutgoingImage {
    rank: Rank,
    agent: Vec<u8>,
    messages: Vec<u8>,
    program: Box<dyn HostedProgram>,
}

/// The payload of an image that has been received.
pub(crate) struct DecodedImage {
    /// The encoded agent.
    pub(crate) agent: Bytes,
    pub(crate) inbox: Vec<Incoming>,
    pub(crate) program: Box<dyn HostedProgram>,
    pub(crate) packing: PackingTimes,
    pub(crate) parts: ImageParts,
}

impl OutgoingImage {
    /// The image of `rank`, with its encoded agent.
    pub(crate) fn new(
        rank: Rank,
        agent: Vec<u8>,
        inbox: &[Incoming],
        program: Box<dyn HostedProgram>,
    ) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        encode_into(&mut messages, "the messages to", rank, &inbox)?;
        Ok(Self {
            rank,
            agent,
            messages,
            program,
        })
    }

    /// The length of the payload in bytes.
    pub(crate) fn len(&self) -> u64 {
        let rest = self.agent.len() + LENGTH_LEN + self.messages.len() + PackingTimes::LEN;
        length(rest) + self.program.packed_len()
    }

    /// Encodes the payload into `sink`. `times` are those of its packing once all else has been written, in which the sink
    /// has held it up for so long.
    pub(crate) fn encode(
        self,
        sink: &mut dyn ChunkSink,
        times: impl FnOnce(Duration) -> PackingTimes,
    ) -> Result<(), RunError> {
        let rank = self.rank;
        let mut chunks = ChunkWriter::new(sink);
        let lengths = length(self.messages.len()).to_le_bytes();
        let before = [&self.agent[..], &lengths, &self.messages].concat();
        let failed = |error: io::Error| problem(rank, "encoded", &error);
        chunks.write_all(&before).map_err(failed)?;
        self.program.pack(rank, &mut chunks)?;
        let times = times(chunks.waited());
        chunks.write_all(&times.encode()).map_err(failed)?;
        chunks.flush().map_err(failed)
    }
}

/// Decodes the payload in `chunks`, which begins with `agent` bytes of the agent.
pub(crate) fn decode(
    program_type: ProgramType,
    rank: Rank,
    agent: u32,
    chunks: &mut ChunkReader<'_>,
) -> Result<DecodedImage, RunError> {
    let agent = read(rank, agent.into(), chunks)?;
    let mut length = [0; LENGTH_LEN];
    chunks
        .read_exact(&mut length)
        .map_err(|error| problem(rank, "decoded", &error))?;
    let messages = read(rank, u64::from_le_bytes(length), chunks)?;
    let inbox = decode_value("the messages to", rank, &messages)?;
    let program = program_type.decode_from(rank, chunks)?;
    let end = self::length(PackingTimes::LEN);
    if chunks.left() != end {
        return Err(problem(rank, "decoded", &"bytes follow the program"));
    }
    let packing = PackingTimes::decode(&read(rank, end, chunks)?);
    let [agent_len, messages_len] = [agent.len(), messages.len()].map(self::length);
    let rest = agent_len + self::length(LENGTH_LEN) + messages_len + end;
    Ok(DecodedImage {
        agent: agent.into(),
        inbox,
        program,
        packing,
        parts: ImageParts {
            agent: units::Bytes(agent_len),
            messages: units::Bytes(messages_len),
            program: units::Bytes(chunks.len() - rest),
        },
    })
}

/// The next `length` bytes. Memory is reserved as they arrive.
fn read(rank: Rank, length: u64, chunks: &mut ChunkReader<'_>) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let read = chunks.take(length).read_to_end(&mut bytes);
    read.map_err(|error| problem(rank, "decoded", &error))?;
    if self::length(bytes.len()) < length {
        return Err(problem(rank, "decoded", &"it is truncated"));
    }
    Ok(bytes)
}

fn problem(rank: Rank, action: &'static str, problem: &impl ToString) -> RunError {
    RunError::encoding("the state of", rank, action, problem)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("lengths fit 64 bits")
}

const LENGTH_LEN: usize = 8;

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use bsp::{Program, Step, Superstep};
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

    /// Decodes a payload in one chunk, with 5 bytes of the agent.
    fn decoded(payload: &[u8]) -> Result<DecodedImage, RunError> {
        let mut chunks = vec![Bytes::copy_from_slice(payload)].into_iter();
        let mut chunks = ChunkReader::new(length(payload.len()), &mut chunks);
        decode(ProgramType::new::<Idle>(), Rank(1), 5, &mut chunks)
    }

    /// The payload, with times of zero.
    fn encoded(image: OutgoingImage) -> Vec<u8> {
        let mut chunks = Vec::new();
        image
            .encode(&mut chunks, |_| PackingTimes::default())
            .unwrap();
        chunks.pop().unwrap().to_vec()
    }

    #[test]
    fn images_are_decoded_as_encoded_and_truncated_ones_are_refused() {
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
        let image = |inbox: &[Incoming], program| {
            OutgoingImage::new(Rank(1), b"agent".to_vec(), inbox, program)
        };
        let outgoing = image(&inbox, program).unwrap();
        let announced = outgoing.len();
        let payload = encoded(outgoing);
        assert_eq!(length(payload.len()), announced);
        let received = decoded(&payload).unwrap();
        assert_eq!(
            (&received.agent[..], &received.inbox),
            (&b"agent"[..], &inbox)
        );
        let ImageParts {
            agent,
            messages,
            program,
        } = received.parts;
        assert_eq!((agent, program), (units::Bytes(5), units::Bytes(1)));
        let rest = length(LENGTH_LEN + PackingTimes::LEN);
        assert_eq!(announced, agent.0 + messages.0 + program.0 + rest);
        assert_eq!(encoded(image(&inbox, received.program).unwrap()), payload);
        for length in 0..payload.len() {
            assert!(decoded(&payload[..length]).is_err(), "{length} bytes");
        }
        let longer = [&payload[..], &[0]].concat();
        assert!(decoded(&longer).is_err());
        let mut long = payload;
        long[5..13].fill(0xff);
        assert!(decoded(&long).is_err());
    }
}
