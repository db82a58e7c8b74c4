use bsp::units::Bytes;

use crate::encoding::{encoded_len, length_of};
use crate::frame::PREFIX_LEN;
use crate::message::{Address, Message};

impl Message {
    /// Bytes of the frame that [`encode`](crate::encode) would make: prefix, head and payload.
    #[must_use]
    pub fn frame_len(&self, from: Address, to: Address) -> u64 {
        let payload = self.payload().map_or(0, |payload| length_of(payload.len()));
        self.envelope_len(from, to) + payload
    }

    /// What a simulated network is charged for this message.
    ///
    /// This is the length of its frame, with one exception: the state of a process that declares its size
    /// ([`State::declared`](crate::State::declared)) is charged by that size, not by its payload. The
    /// program of a modelled application consists of a few counters; what would have to move is the memory
    /// of the application it stands for.
    #[must_use]
    pub fn wire_size(&self, from: Address, to: Address) -> Bytes {
        match self.declared() {
            Some(declared) => Bytes(self.envelope_len(from, to)) + declared,
            None => Bytes(self.frame_len(from, to)),
        }
    }

    /// Bytes of prefix and head.
    fn envelope_len(&self, from: Address, to: Address) -> u64 {
        let head = encoded_len(&(from, to, self)).expect("every message can be encoded");
        length_of(PREFIX_LEN) + head.0
    }

    fn declared(&self) -> Option<Bytes> {
        if let Self::State(state) = self {
            state.declared
        } else {
            None
        }
    }
}
