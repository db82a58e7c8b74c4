//! What a process takes with it: its agent, what it is to receive in the superstep to come, and its program.
//!
//! | bytes | |
//! |---|---|
//! | as many as the state says | the agent |
//! | 8 | length of the messages, little-endian |
//! | so many | the messages: list of (sender, size if it is only a size, value) as MessagePack |
//! | all others | the program |

use bsp::Rank;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::resident::{Content, Incoming, Kind, Resident};
use crate::encoding::{decode, encode_into};
use crate::error::RunError;

/// A process that has come.
pub(super) struct Unpacked {
    pub(super) agent: Bytes,
    pub(super) inbox: Vec<Incoming>,
    pub(super) resident: Box<dyn Resident>,
}

#[derive(Serialize, Deserialize)]
struct Row(Rank, Option<u64>, Bytes);

/// The payload of the state of a process; `agent` has been encoded already.
pub(super) fn pack(
    rank: Rank,
    agent: Vec<u8>,
    inbox: Vec<Incoming>,
    resident: &dyn Resident,
) -> Result<Bytes, RunError> {
    let rows: Vec<Row> = inbox.into_iter().map(Row::from).collect();
    let mut messages = Vec::new();
    encode_into(&mut messages, "the messages to", rank, &rows)?;
    let program = resident.image().data.0;
    let mut payload = agent;
    let room = usize::try_from(program).unwrap_or(0).min(RESERVED_MAX);
    payload.reserve(LENGTH_LEN + messages.len() + room);
    let length = u64::try_from(messages.len()).expect("lengths fit 64 bits");
    payload.extend_from_slice(&length.to_le_bytes());
    payload.append(&mut messages);
    resident.pack(rank, &mut payload)?;
    Ok(payload.into())
}

/// What [`pack`] packed; the first `agent` bytes are the agent's.
pub(super) fn unpack(
    kind: Kind,
    rank: Rank,
    agent: u32,
    payload: &Bytes,
) -> Result<Unpacked, RunError> {
    let short = || RunError::Encoding {
        what: "the state of",
        rank,
        action: "decoded",
        message: format!("it ends after {} bytes", payload.len()),
    };
    let agent_len = usize::try_from(agent).expect("u32 fits usize");
    let rest = payload.get(agent_len..).ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk::<LENGTH_LEN>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
    let (messages, program) = rest.split_at_checked(length).ok_or_else(short)?;
    let rows: Vec<Row> = decode("the messages to", rank, messages)?;
    Ok(Unpacked {
        agent: payload.slice(..agent_len),
        inbox: rows.into_iter().map(Incoming::from).collect(),
        resident: kind.unpack(rank, program)?,
    })
}

impl From<Incoming> for Row {
    fn from(incoming: Incoming) -> Self {
        match incoming.content {
            Content::Value(bytes) => Self(incoming.from, None, bytes),
            Content::Sized(bytes) => Self(incoming.from, Some(bytes), Bytes::new()),
        }
    }
}

impl From<Row> for Incoming {
    fn from(Row(from, size, bytes): Row) -> Self {
        let content = size.map_or(Content::Value(bytes), Content::Sized);
        Self { from, content }
    }
}

const LENGTH_LEN: usize = 8;
/// Memory that is reserved on the word of a program.
const RESERVED_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use bsp::{Program, Step, Superstep};

    use super::*;

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
    fn what_is_packed_is_unpacked_and_what_is_cut_is_refused() {
        let kind = Kind::of::<Idle>();
        let resident = kind.unpack(Rank(1), b"\x07").unwrap();
        let inbox = vec![
            Incoming {
                from: Rank(2),
                content: Content::Value(Bytes::from_static(b"hello")),
            },
            Incoming {
                from: Rank(3),
                content: Content::Sized(1 << 40),
            },
        ];
        let payload = pack(Rank(1), b"agent".to_vec(), inbox.clone(), &*resident).unwrap();
        let unpacked = unpack(kind, Rank(1), 5, &payload).unwrap();
        assert_eq!(
            (&unpacked.agent[..], &unpacked.inbox),
            (&b"agent"[..], &inbox)
        );
        let mut program = Vec::new();
        unpacked.resident.pack(Rank(1), &mut program).unwrap();
        assert_eq!(program, b"\x07");
        for length in 0..payload.len() {
            let cut = payload.slice(..length);
            assert!(unpack(kind, Rank(1), 5, &cut).is_err(), "{length} bytes");
        }
        let mut long = payload.to_vec();
        long[5..13].fill(0xff);
        assert!(unpack(kind, Rank(1), 5, &long.into()).is_err());
    }
}
