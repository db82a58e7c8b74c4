use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn::{SendStream, WriteError};

use crate::transport::close::PeerError;
use crate::transport::greeting::{OPENING_LEN, STATE, opened};
use crate::transport::peer::Link;
use crate::transport::session::{Order, STAMP_LEN, Stamp};
use crate::transport::source::{Fault, Source};
use crate::transport::{Refusal, chunks, rights};
use crate::{Address, Message, PREFIX_LEN, Prefix, State, encode};

/// The migrated states that come from a peer, each on a stream of its own.
///
/// A stream begins with 8 bytes that say what it is and a stamp, as every frame does; then comes the
/// frame, its payload in chunks.
#[derive(Debug)]
pub struct StateReceiver {
    link: Arc<Link>,
    order: Order,
}

/// A state that has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    /// Its sender.
    pub from: Address,
    /// Its receiver.
    pub to: Address,
    /// Itself.
    pub state: State,
    /// How long it took from its first byte to its last.
    pub took: Duration,
}

impl StateReceiver {
    pub(super) const fn new(link: Arc<Link>, order: Order) -> Self {
        Self { link, order }
    }

    /// The next state that comes.
    ///
    /// Keep it in a task of its own: dropping the future loses the state that was coming.
    ///
    /// # Errors
    ///
    /// If the connection is over, in order or not, or because the peer sent what it may not.
    pub async fn receive(&mut self) -> Result<Delivered, PeerError> {
        match self.read().await {
            Ok(read) => Ok(read),
            Err(Fault::Refused(refusal)) => Err(self.link.refuse(refusal)),
            Err(Fault::Lost(source)) => Err(self.link.lost(source)),
            Err(Fault::Reset) => {
                let refusal = Refusal::ended("a state", 0, OPENING_LEN);
                Err(self.link.refuse(refusal))
            }
        }
    }

    async fn read(&mut self) -> Result<Delivered, Fault> {
        let stream = self.link.connection.accept_uni().await;
        let began = Instant::now();
        let mut source = Source::new(stream.map_err(Fault::Lost)?);
        opened(&source.array::<OPENING_LEN>("an opening").await?, STATE)?;
        let stamp = Stamp::decode(&source.array("a stamp").await?);
        self.order.admit(stamp, self.link.session.standing())?;
        let prefix = source.array::<PREFIX_LEN>("a prefix").await?;
        let prefix = Prefix::decode(&prefix, &self.link.bounds.state).map_err(Refusal::from)?;
        let mut head = Vec::new();
        while head.len() < prefix.head_len() {
            let left = prefix.head_len() - head.len();
            let Some(bytes) = source.some(left).await? else {
                return Err(Refusal::ended("a head", head.len(), prefix.head_len()).into());
            };
            head.extend_from_slice(&bytes);
        }
        let payload = chunks::read(&mut source, prefix.payload_len()).await?;
        source.end().await?;
        let (from, to, message) = prefix.open(&head, payload).map_err(Refusal::from)?;
        self.link.check(from, &message)?;
        if let Message::State(state) = message {
            Ok(Delivered {
                from,
                to,
                state: *state,
                took: began.elapsed(),
            })
        } else {
            let role = self.link.peer.subject.role;
            Err(rights::denied(role, from, &message).into())
        }
    }
}

/// Sends `state` on `stream`, and waits until the peer has all of it.
pub(super) async fn send(
    mut stream: SendStream,
    stamp: Stamp,
    from: Address,
    to: Address,
    state: State,
) -> Result<(), WriteError> {
    let frame = encode(from, to, &Message::State(Box::new(state)));
    let mut before = BytesMut::with_capacity(OPENING_LEN + STAMP_LEN + frame.head.len());
    before.extend_from_slice(&STATE);
    stamp.put(&mut before);
    before.extend_from_slice(&frame.head);
    chunks::write(&mut stream, before.freeze(), frame.payload).await?;
    stream.finish()?;
    match stream.stopped().await {
        Ok(None) => Ok(()),
        Ok(Some(code)) => Err(WriteError::Stopped(code)),
        Err(error) => Err(error.into()),
    }
}
