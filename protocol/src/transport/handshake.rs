//! The first bytes of a connection and of a stream.

use bytes::{BufMut, BytesMut};

use crate::transport::JobId;
use crate::transport::Refusal;
use crate::transport::session::SessionState;
use crate::{Build, BuildError, WIRE_VERSION};

/// The first message of each end on its control stream.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | `0xB5`, [`WIRE_VERSION`], kind 1 |
/// | 4..8 | zero |
/// | 8..16 | the job, 0 if none |
/// | 16..24 | the epoch |
/// | 24..56 | SHA-256 of the sender's binary |
/// | 56 | length of the name of its program: 1 to [`Build::TEXT_MAX`] |
/// | 57 | length of its version: 1 to [`Build::TEXT_MAX`] |
/// | 58.. | the name, then the version |
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) job: Option<JobId>,
    pub(super) epoch: u64,
    pub(super) build: Build,
}

/// The part of a handshake message between the opening and the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HandshakeHead {
    job: Option<JobId>,
    epoch: u64,
    digest: [u8; Build::DIGEST_LEN],
    program_len: usize,
    version_len: usize,
}

/// Why a handshake message was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("handshake: {0}: run one build at both ends")]
    Opening(Refusal),
    #[error("handshake: {0}")]
    Build(#[from] BuildError),
    // Without the job of this end, which only its members know.
    #[error("it belongs to {}, this end does not", JobId::describe(*found))]
    Job { found: Option<JobId> },
    #[error("in epoch {found}, expected {oldest} or later")]
    Epoch { found: u64, oldest: u64 },
}

impl Handshake {
    pub(super) fn encode(&self) -> BytesMut {
        let (program, version) = (self.build.program(), self.build.version());
        let len = OPENING_LEN + HEAD_LEN + program.len() + version.len();
        let mut bytes = BytesMut::with_capacity(len);
        bytes.put_slice(&CONTROL);
        bytes.put_u64_le(JobId::to_wire(self.job));
        bytes.put_u64_le(self.epoch);
        bytes.put_slice(self.build.digest());
        for text in [program, version] {
            bytes.put_u8(u8::try_from(text.len()).expect("texts of a build are short"));
        }
        bytes.put_slice(program.as_bytes());
        bytes.put_slice(version.as_bytes());
        bytes
    }

    /// Checks that a peer that sends this may connect. A peer without a job may always connect; builds are compared
    /// when a job begins.
    pub(super) fn check(&self, state: SessionState) -> Result<(), HandshakeError> {
        let found = self.job;
        if found.is_some() && found != state.job {
            return Err(HandshakeError::Job { found });
        }
        let oldest = state.oldest;
        if found.is_some() && self.epoch < oldest {
            let found = self.epoch;
            return Err(HandshakeError::Epoch { found, oldest });
        }
        Ok(())
    }
}

impl HandshakeHead {
    pub(super) fn decode(bytes: &[u8; HEAD_LEN]) -> Result<Self, HandshakeError> {
        let (job, rest) = bytes.split_at(8);
        let (epoch, rest) = rest.split_at(8);
        let (digest, lengths) = rest.split_at(Build::DIGEST_LEN);
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("a word has 8 bytes");
            u64::from_le_bytes(bytes)
        };
        let length = |part, length: u8| {
            let found = usize::from(length);
            let is_valid = (1..=Build::TEXT_MAX).contains(&found);
            let problem = BuildError::Length { part, found };
            is_valid.then_some(found).ok_or(problem)
        };
        Ok(Self {
            job: JobId::from_wire(word(job)),
            epoch: word(epoch),
            digest: digest.try_into().expect("a digest has its length"),
            program_len: length("program", lengths[0])?,
            version_len: length("version", lengths[1])?,
        })
    }

    /// The number of bytes that follow.
    pub(super) const fn text_len(&self) -> usize {
        self.program_len + self.version_len
    }

    /// The whole message; `text` has the bytes that follow.
    pub(super) fn complete(self, text: &[u8]) -> Result<Handshake, HandshakeError> {
        let (program, version) = text.split_at(self.program_len);
        let read =
            |part, bytes| std::str::from_utf8(bytes).map_err(|_| BuildError::Unprintable { part });
        let (program, version) = (read("program", program)?, read("version", version)?);
        Ok(Handshake {
            job: self.job,
            epoch: self.epoch,
            build: Build::new(program, version, self.digest)?,
        })
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
/// Bytes of a handshake message between the opening and the texts.
pub(super) const HEAD_LEN: usize = 8 + 8 + Build::DIGEST_LEN + 2;
/// The first bytes of a control stream.
pub(super) const CONTROL: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 1, 0, 0, 0, 0, 0];
/// The first bytes of the stream of a state.
pub(super) const STATE: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text;

    fn decode(bytes: &[u8]) -> Option<Result<Handshake, HandshakeError>> {
        let head = bytes.get(OPENING_LEN..OPENING_LEN + HEAD_LEN)?;
        let head = HandshakeHead::decode(head.try_into().ok()?);
        let text = bytes.get(OPENING_LEN + HEAD_LEN..)?;
        match head {
            Ok(head) => {
                let text = text.get(..head.text_len())?;
                Some(head.complete(text))
            }
            Err(error) => Some(Err(error)),
        }
    }

    // `\PC` has the separators of lines and paragraphs.
    fn displayable() -> impl Strategy<Value = String> {
        "\\PC{1,16}".prop_filter("it is displayed as it is", |text| {
            text::is_displayable(text)
        })
    }

    proptest! {
        #[test]
        fn a_message_is_decoded_as_it_was_encoded(
            job in any::<u64>(),
            epoch in any::<u64>(),
            digest in any::<[u8; Build::DIGEST_LEN]>(),
            program in displayable(),
            version in displayable(),
        ) {
            let build = Build::new(&program, &version, digest).unwrap();
            let job = JobId::from_wire(job);
            let message = Handshake { job, epoch, build };
            prop_assert_eq!(decode(&message.encode()), Some(Ok(message)));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(Ok(message)) = decode(&bytes) {
                let encoded = message.encode();
                prop_assert_eq!(&encoded[OPENING_LEN..], &bytes[OPENING_LEN..encoded.len()]);
            }
        }
    }
}
