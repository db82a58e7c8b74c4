use bsp::encoded_len;
use bsp::units::Bytes;

use crate::encoding::length_of;
use crate::frame::PREFIX_LEN;
use crate::message::{Address, AgentMessage, Message};

impl Message {
    /// Bytes of the frame that [`encode`](crate::encode) would make: prefix, head and payload.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every message can be encoded")]
    pub fn frame_len(&self, from: Address, to: Address) -> u64 {
        let payload = self.payload().map_or(0, |payload| length_of(payload.len()));
        let head = encoded_len(&(from, to, self)).expect("every message can be encoded");
        length_of(PREFIX_LEN) + head.0 + payload
    }
}

impl AgentMessage {
    /// The bytes that a simulated network is charged for this message.
    ///
    /// This is the length of its frame, with one exception: the state of a process that declares its size
    /// ([`EncodedState::declared`](crate::EncodedState::declared)) is charged by that size, not by its payload. The
    /// program of a modelled application consists of a few counters; what would have to move is the memory of the
    /// application it stands for.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every message can be encoded")]
    pub fn wire_size(&self, from: Address, to: Address) -> Bytes {
        let (head, payload) = match self {
            Self::Call(message) => (encoded_len(&(from, to, message)), Bytes::ZERO),
            Self::State(state) => {
                let payload = || Bytes(length_of(state.payload.len()));
                let payload = state.declared.unwrap_or_else(payload);
                (encoded_len(&(from, to, self)), payload)
            }
            Self::Start(_)
            | Self::Finish
            | Self::Arrived(_)
            | Self::StartCall(_)
            | Self::Measure(_)
            | Self::Evaluate(_)
            | Self::Reported(_)
            | Self::ProbeLink(_)
            | Self::Migrate(_)
            | Self::Installed(_)
            | Self::Halted(_) => (encoded_len(&(from, to, self)), Bytes::ZERO),
        };
        Bytes(length_of(PREFIX_LEN)) + head.expect("every message can be encoded") + payload
    }
}
