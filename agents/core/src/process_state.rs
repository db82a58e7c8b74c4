//! The state of a process between two supersteps, and its one encoding: for starts, moves and checkpoints.
//!
//! | bytes | |
//! |---|---|
//! | | the program, as `MessagePack` |
//! | | the agent |
//! | | the messages that it has not received yet: a list of [`Incoming`] as `MessagePack` |
//! | 24 | of a process that moves, how long it took to pack: [`PackingTimes`] |
//! | 8 | length of the agent, little-endian |
//! | 8 | length of the messages, little-endian |
//!
//! The program is first: agents and messages change their lengths, which would shift what follows, and the pieces of
//! checkpoints are compared chunk by chunk. Lengths and times are last, so a state is encoded once, while it is sent. It
//! ends where its chunks do.

use std::io::{self, Read, Write};
use std::time::Duration;

use bsp::Rank;
use bsp::units::Bytes;
use record::StateParts;

use crate::chunks::{ChunkReader, ChunkSink, ChunkWriter};
use crate::outcome::RunError;
use crate::programs::{HostedProgram, Incoming, ProgramType, decode as decode_value, encode_into};

/// The state of a process between two supersteps.
#[derive(Debug)]
pub struct ProcessState {
    /// The program.
    pub program: Box<dyn HostedProgram>,
    /// The encoded agent; empty before the process has started.
    pub agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub inbox: Vec<Incoming>,
}

impl ProcessState {
    /// The state in which a process starts.
    #[must_use]
    pub const fn initial(program: Box<dyn HostedProgram>) -> Self {
        Self {
            program,
            agent: Vec::new(),
            inbox: Vec::new(),
        }
    }
}

/// A state that has been decoded.
#[derive(Debug)]
pub struct DecodedState {
    /// The state.
    pub state: ProcessState,
    /// How long it took to pack, if the process moves.
    pub packing: Option<PackingTimes>,
    /// Bytes of the encoding.
    pub bytes: u64,
    /// Those of its parts.
    pub parts: StateParts,
}

/// How long a process that moves took to pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackingTimes {
    /// From the time when the process left its thread until packing began.
    pub queued: Duration,
    /// Packing, without waiting for the network.
    pub packed: Duration,
    /// From the beginning of packing until these times were written.
    pub lasted: Duration,
}

/// Encodes the state of `rank` into `sink`. `times` are those of its packing once program, agent and messages are encoded,
/// in which the sink has held it up for so long; `None` if it does not move.
///
/// # Errors
///
/// If the program or a message cannot be encoded, or `sink` takes no more.
pub fn encode(
    rank: Rank,
    program: &dyn HostedProgram,
    agent: &[u8],
    inbox: &[Incoming],
    sink: &mut dyn ChunkSink,
    times: impl FnOnce(Duration) -> Option<PackingTimes>,
) -> Result<(), RunError> {
    let mut chunks = ChunkWriter::new(sink);
    program.pack(rank, &mut chunks)?;
    let after_program = AfterProgram::new(rank, agent, inbox)?;
    let times = times(chunks.waited());
    let written = after_program.write(&mut chunks, times);
    let written = written.and_then(|()| chunks.finish());
    written.map_err(|error| problem(rank, "encoded", &error))
}

/// The encoded state in which `rank` starts, whose encoded program is `program`.
#[expect(
    clippy::missing_panics_doc,
    reason = "no messages can be encoded, and memory takes all bytes"
)]
pub fn initial(rank: Rank, program: Vec<u8>) -> Vec<u8> {
    let mut state = program;
    let after_program = AfterProgram::new(rank, &[], &[]).expect("no messages are encoded");
    let written = after_program.write(&mut state, None);
    written.expect("memory takes all bytes");
    state
}

/// Decodes the state of `rank`, which is all that follows in `chunks`. Memory is reserved as they arrive.
///
/// # Errors
///
/// If it is none, or has not arrived as a whole.
#[expect(clippy::missing_panics_doc, reason = "lengths fit 64 bits")]
pub fn decode(
    program_type: ProgramType,
    rank: Rank,
    chunks: &mut ChunkReader<'_>,
) -> Result<DecodedState, RunError> {
    let program = program_type.decode(rank, chunks)?;
    let program_len = chunks.offset();
    let mut rest = Vec::new();
    let read = chunks.read_to_end(&mut rest);
    read.map_err(|error| problem(rank, "decoded", &error))?;
    let split = split(&rest);
    let [agent, messages, times] = split.map_err(|what| problem(rank, "decoded", &what))?;
    let length = |part: &[u8]| u64::try_from(part.len()).expect("lengths fit 64 bits");
    let parts = StateParts {
        agent: Bytes(length(agent)),
        messages: Bytes(length(messages)),
        program: Bytes(program_len),
    };
    Ok(DecodedState {
        packing: (!times.is_empty()).then(|| PackingTimes::decode(times)),
        bytes: chunks.offset(),
        parts,
        state: ProcessState {
            program,
            inbox: decode_value("the messages to", rank, messages)?,
            agent: agent.to_vec(),
        },
    })
}

/// What follows the program: the agent, the messages, and the times, which may be none.
fn split(rest: &[u8]) -> Result<[&[u8]; 3], &'static str> {
    let truncated = "it is truncated";
    let (rest, messages) = rest.split_last_chunk().ok_or(truncated)?;
    let (rest, agent) = rest.split_last_chunk().ok_or(truncated)?;
    let length = |bytes: &[u8; 8]| usize::try_from(u64::from_le_bytes(*bytes)).ok();
    let agent = length(agent).and_then(|agent| rest.split_at_checked(agent));
    let (agent, rest) = agent.ok_or(truncated)?;
    let messages = length(messages).and_then(|messages| rest.split_at_checked(messages));
    let (messages, times) = messages.ok_or(truncated)?;
    if !times.is_empty() && times.len() != PackingTimes::LEN {
        return Err("bytes follow the messages");
    }
    Ok([agent, messages, times])
}

/// What follows the program in the encoding of a state.
struct AfterProgram<'a> {
    agent: &'a [u8],
    messages: Vec<u8>,
}

impl<'a> AfterProgram<'a> {
    fn new(rank: Rank, agent: &'a [u8], inbox: &[Incoming]) -> Result<Self, RunError> {
        let mut messages = Vec::new();
        encode_into(&mut messages, "the messages to", rank, &inbox)?;
        Ok(Self { agent, messages })
    }

    fn write(&self, bytes: &mut impl Write, times: Option<PackingTimes>) -> io::Result<()> {
        bytes.write_all(self.agent)?;
        bytes.write_all(&self.messages)?;
        if let Some(times) = times {
            bytes.write_all(&times.encode())?;
        }
        for part in [self.agent, &self.messages] {
            let length = u64::try_from(part.len()).expect("lengths fit 64 bits");
            bytes.write_all(&length.to_le_bytes())?;
        }
        Ok(())
    }
}

impl PackingTimes {
    /// Bytes of its encoding.
    const LEN: usize = 3 * size_of::<u64>();

    /// In whole nanoseconds, little-endian, in the order of the fields.
    fn encode(self) -> Vec<u8> {
        let times = [self.queued, self.packed, self.lasted];
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let encoded = times.map(|time| nanoseconds(time).to_le_bytes());
        encoded.concat()
    }

    /// From what [`Self::encode`] wrote, which is [`Self::LEN`] bytes.
    fn decode(encoded: &[u8]) -> Self {
        let (numbers, _) = encoded.as_chunks();
        let time = |index: usize| {
            let nanoseconds = numbers.get(index).copied().unwrap_or_default();
            Duration::from_nanos(u64::from_le_bytes(nanoseconds))
        };
        Self {
            queued: time(0),
            packed: time(1),
            lasted: time(2),
        }
    }
}

fn problem(rank: Rank, action: &'static str, problem: &impl ToString) -> RunError {
    RunError::encoding("the state of", rank, action, problem)
}

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use bsp::{BoxError, Program, Step, Superstep};
    use bytes::Bytes;
    use serde::{Deserialize, Serialize};

    use crate::programs::Content;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Idle(u64);

    impl Program for Idle {
        type Message = ();
        type Output = ();

        fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
            Ok(Step::Halt(()))
        }
    }

    const TIMES: PackingTimes = PackingTimes {
        queued: Duration::from_micros(7),
        packed: Duration::from_millis(12),
        lasted: Duration::from_secs(40),
    };

    fn decoded(payload: &[u8]) -> Result<DecodedState, RunError> {
        let mut chunks = vec![Bytes::copy_from_slice(payload)].into_iter();
        let program_type = ProgramType::new::<Idle>();
        decode(program_type, Rank(1), &mut ChunkReader::new(&mut chunks))
    }

    fn encoded(state: &ProcessState, times: Option<PackingTimes>) -> Vec<u8> {
        let ProcessState {
            program,
            agent,
            inbox,
        } = state;
        let mut chunks: Vec<Bytes> = Vec::new();
        encode(Rank(1), &**program, agent, inbox, &mut chunks, |_| times).unwrap();
        chunks.concat()
    }

    fn state() -> ProcessState {
        let incoming = |from, content, late| Incoming {
            from: Rank(from),
            content,
            late,
        };
        ProcessState {
            program: ProgramType::new::<Idle>()
                .decode_bytes(Rank(1), b"\x07")
                .unwrap(),
            agent: b"agent".to_vec(),
            inbox: vec![
                incoming(2, Content::Value(Bytes::from_static(b"hello")), None),
                incoming(3, Content::Sized(1 << 40), Some(Seconds::ZERO)),
            ],
        }
    }

    #[test]
    fn states_are_decoded_as_encoded_and_truncated_ones_are_refused() {
        let state = state();
        for times in [None, Some(TIMES)] {
            let payload = encoded(&state, times);
            assert_eq!(&payload[..6], b"\x07agent");
            let found = decoded(&payload).unwrap();
            assert_eq!(found.state.agent, state.agent);
            assert_eq!(found.state.inbox, state.inbox);
            assert_eq!(found.packing, times);
            assert_eq!(encoded(&found.state, times), payload);
            let StateParts {
                agent,
                messages,
                program,
            } = found.parts;
            assert_eq!((agent, program), (Bytes(5), Bytes(1)));
            let rest = if times.is_some() { 40 } else { 16 };
            assert_eq!(found.bytes, agent.0 + messages.0 + program.0 + rest);
            assert_eq!(found.bytes, u64::try_from(payload.len()).unwrap());
            for length in 0..payload.len() {
                assert!(decoded(&payload[..length]).is_err(), "{length} bytes");
            }
            let longer = [&payload[..1], &[0], &payload[1..]].concat();
            assert!(decoded(&longer).is_err());
            let mut long = payload;
            let end = long.len() - 16;
            long[end..].fill(0xff);
            assert!(decoded(&long).is_err());
        }
    }

    #[test]
    fn states_in_which_processes_start_have_no_agent_and_no_messages() {
        let initial = initial(Rank(1), b"\x07".to_vec());
        let found = decoded(&initial).unwrap();
        assert!(found.state.agent.is_empty() && found.state.inbox.is_empty());
        assert_eq!(found.packing, None);
        assert_eq!(encoded(&found.state, None), initial);
    }
}
