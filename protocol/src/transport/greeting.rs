//! The first bytes of a stream, and of a connection.

use bytes::{BufMut, BytesMut};

use crate::WIRE_VERSION;
use crate::transport::JobId;
use crate::transport::refusal::Refusal;
use crate::transport::session::Standing;

/// What either end says first on its control stream.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | `0xB5`, [`WIRE_VERSION`], kind 1 |
/// | 4..8 | zero |
/// | 8..16 | the job, 0 if none |
/// | 16..24 | the epoch |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) job: Option<JobId>,
    pub(super) epoch: u64,
}

/// Why a greeting was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum GreetingError {
    #[error("a greeting: {0}: run the same release at both ends")]
    Opening(Refusal),
    #[error("at {}, expected {}", JobId::shown(*met), JobId::shown(*expected))]
    Job {
        met: Option<JobId>,
        expected: Option<JobId>,
    },
    #[error("in epoch {met}, expected {oldest} or later")]
    Epoch { met: u64, oldest: u64 },
}

impl Greeting {
    pub(super) fn encode(&self) -> BytesMut {
        let mut bytes = BytesMut::with_capacity(GREETING_LEN);
        bytes.put_slice(&CONTROL);
        bytes.put_u64_le(JobId::to_wire(self.job));
        bytes.put_u64_le(self.epoch);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; GREETING_LEN]) -> Result<Self, GreetingError> {
        let (opening, rest) = bytes.split_at(OPENING_LEN);
        opened(opening, CONTROL).map_err(GreetingError::Opening)?;
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

    /// Whether the one who greets so may go on. Without a job anybody may, but sends no frames.
    pub(super) fn check(&self, standing: Standing) -> Result<(), GreetingError> {
        let (met, expected) = (self.job, standing.job);
        if met.is_some() && met != expected {
            return Err(GreetingError::Job { met, expected });
        }
        let oldest = standing.oldest;
        if met.is_some() && self.epoch < oldest {
            let met = self.epoch;
            return Err(GreetingError::Epoch { met, oldest });
        }
        Ok(())
    }
}

/// Whether a stream begins as it should.
pub(super) fn opened(bytes: &[u8], expected: [u8; OPENING_LEN]) -> Result<(), Refusal> {
    if bytes == expected {
        return Ok(());
    }
    let first = |bytes: &[u8]| {
        let mut first = [0; 4];
        first.copy_from_slice(&bytes[..4]);
        first
    };
    Err(Refusal::Opening {
        met: first(bytes),
        expected: first(&expected),
    })
}

pub(super) const OPENING_LEN: usize = 8;
pub(super) const GREETING_LEN: usize = OPENING_LEN + 16;
/// How a control stream begins.
pub(super) const CONTROL: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 1, 0, 0, 0, 0, 0];
/// How the stream of a state begins.
pub(super) const STATE: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0];
