//! The first bytes of a connection and of a stream.

use bytes::{BufMut, BytesMut};

use crate::WIRE_VERSION;
use crate::transport::JobId;
use crate::transport::Refusal;
use crate::transport::session::SessionState;

/// The first message of each end on its control stream.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | `0xB5`, [`WIRE_VERSION`], kind 1 |
/// | 4..8 | zero |
/// | 8..16 | the job, 0 if none |
/// | 16..24 | the epoch |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) job: Option<JobId>,
    pub(super) epoch: u64,
}

/// Why a handshake message was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("handshake: {0}: run the same release at both ends")]
    Opening(Refusal),
    #[error("at {}, expected {}", JobId::describe(*found), JobId::describe(*expected))]
    Job {
        found: Option<JobId>,
        expected: Option<JobId>,
    },
    #[error("in epoch {found}, expected {oldest} or later")]
    Epoch { found: u64, oldest: u64 },
}

impl Handshake {
    pub(super) fn encode(&self) -> BytesMut {
        let mut bytes = BytesMut::with_capacity(HANDSHAKE_LEN);
        bytes.put_slice(&CONTROL);
        bytes.put_u64_le(JobId::to_wire(self.job));
        bytes.put_u64_le(self.epoch);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HANDSHAKE_LEN]) -> Result<Self, HandshakeError> {
        let (opening, rest) = bytes.split_at(OPENING_LEN);
        check_opening(opening, CONTROL).map_err(HandshakeError::Opening)?;
        let (job, epoch) = rest.split_at(8);
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("a word has 8 bytes");
            u64::from_le_bytes(bytes)
        };
        Ok(Self {
            job: JobId::from_wire(word(job)),
            epoch: word(epoch),
        })
    }

    /// Checks that a peer that sends this may connect. A peer without a job may always connect.
    pub(super) fn check(&self, state: SessionState) -> Result<(), HandshakeError> {
        let (found, expected) = (self.job, state.job);
        if found.is_some() && found != expected {
            return Err(HandshakeError::Job { found, expected });
        }
        let oldest = state.oldest;
        if found.is_some() && self.epoch < oldest {
            let found = self.epoch;
            return Err(HandshakeError::Epoch { found, oldest });
        }
        Ok(())
    }
}

/// Checks the first bytes of a stream.
pub(super) fn check_opening(bytes: &[u8], expected: [u8; OPENING_LEN]) -> Result<(), Refusal> {
    if bytes == expected {
        return Ok(());
    }
    let first = |bytes: &[u8]| {
        let mut first = [0; 4];
        first.copy_from_slice(&bytes[..4]);
        first
    };
    Err(Refusal::Opening {
        found: first(bytes),
        expected: first(&expected),
    })
}

pub(super) const OPENING_LEN: usize = 8;
pub(super) const HANDSHAKE_LEN: usize = OPENING_LEN + 16;
/// The first bytes of a control stream.
pub(super) const CONTROL: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 1, 0, 0, 0, 0, 0];
/// The first bytes of the stream of a state.
pub(super) const STATE: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0];
