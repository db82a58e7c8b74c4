use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn::{SendStream, VarInt, WriteError};
use tokio::sync::mpsc;

use crate::frame::announce;
use crate::transport::close::PeerError;
use crate::transport::greeting::{OPENING_LEN, STATE, opened};
use crate::transport::peer::Link;
use crate::transport::session::{Order, STAMP_LEN, Stamp};
use crate::transport::source::{Fault, Source};
use crate::transport::{Refusal, chunks, rights};
use crate::{Address, AgentMessage, Message, PREFIX_LEN, Prefix, ProcessImage, encode};

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
    pub state: ProcessImage,
    /// How long it took from its first byte to its last.
    pub took: Duration,
}

/// A state that begins to come.
#[derive(Debug)]
pub struct Opened {
    /// Its sender.
    pub from: Address,
    /// Its receiver.
    pub to: Address,
    /// Itself, without its payload.
    pub state: ProcessImage,
    /// When it began to come.
    pub began: Instant,
    /// Its payload.
    pub body: Body,
}

/// The payload of a state, which is still to be read.
#[derive(Debug)]
pub struct Body {
    link: Arc<Link>,
    source: Source,
    length: u64,
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
        let link = Arc::clone(&self.link);
        self.read().await.map_err(|fault| of_fault(&link, fault))
    }

    /// The next state that begins to come: its payload is still to be read. States may be read at the same time.
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub async fn open(&mut self) -> Result<Opened, PeerError> {
        let link = Arc::clone(&self.link);
        self.begin().await.map_err(|fault| of_fault(&link, fault))
    }

    async fn read(&mut self) -> Result<Delivered, Fault> {
        let mut opened = self.begin().await?;
        let Body { source, length, .. } = &mut opened.body;
        let payload = chunks::read(source, *length).await?;
        source.end().await?;
        let state = ProcessImage {
            payload,
            ..opened.state
        };
        Ok(Delivered {
            from: opened.from,
            to: opened.to,
            state,
            took: opened.began.elapsed(),
        })
    }

    async fn begin(&mut self) -> Result<Opened, Fault> {
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
        let (from, to, message) = prefix.open_state(&head).map_err(Refusal::from)?;
        self.link.check(from, &message)?;
        let Message::Agent(AgentMessage::ProcessImage(state)) = message else {
            let role = self.link.peer.subject.role;
            return Err(rights::denied(role, from, &message).into());
        };
        let body = Body {
            link: Arc::clone(&self.link),
            source,
            length: prefix.payload_len(),
        };
        Ok(Opened {
            from,
            to,
            state: *state,
            began,
            body,
        })
    }
}

impl Body {
    /// How many bytes it has.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads it and hands on what is intact, in pieces of [`CHUNK_LEN`] but the last; waits while nobody takes them.
    ///
    /// # Errors
    ///
    /// If the connection is over, or because the peer sent what it may not.
    ///
    /// [`CHUNK_LEN`]: crate::transport::CHUNK_LEN
    pub async fn read(mut self, pieces: mpsc::Sender<Bytes>) -> Result<(), PeerError> {
        let read = async {
            chunks::read_pieces(&mut self.source, self.length, &pieces).await?;
            self.source.end().await
        };
        let read = read.await;
        read.map_err(|fault| of_fault(&self.link, fault))
    }
}

fn of_fault(link: &Link, fault: Fault) -> PeerError {
    match fault {
        Fault::Refused(refusal) => link.refuse(refusal),
        Fault::Lost(source) => link.lost(source),
        Fault::Reset => link.refuse(Refusal::ended("a state", 0, OPENING_LEN)),
    }
}

/// Sends `state` on `stream`, its payload as it is made, and waits until the peer has all of it; whether all was made.
pub(super) async fn send_pieces(
    mut stream: SendStream,
    stamp: Stamp,
    message: (Address, Address, &Message),
    (length, pieces): (u64, mpsc::Receiver<Bytes>),
) -> Result<bool, WriteError> {
    let head = announce(message, length);
    let before = before(stamp, &head);
    if !chunks::write_pieces(&mut stream, before, length, pieces).await? {
        stream.reset(VarInt::from_u32(0))?;
        return Ok(false);
    }
    finish(stream).await?;
    Ok(true)
}

/// Sends `state` on `stream`, and waits until the peer has all of it.
pub(super) async fn send(
    mut stream: SendStream,
    stamp: Stamp,
    from: Address,
    to: Address,
    state: ProcessImage,
) -> Result<(), WriteError> {
    let frame = encode(
        from,
        to,
        &Message::Agent(AgentMessage::ProcessImage(Box::new(state))),
    );
    let before = before(stamp, &frame.head);
    chunks::write(&mut stream, before, frame.payload).await?;
    finish(stream).await
}

fn before(stamp: Stamp, head: &[u8]) -> Bytes {
    let mut before = BytesMut::with_capacity(OPENING_LEN + STAMP_LEN + head.len());
    before.extend_from_slice(&STATE);
    stamp.put(&mut before);
    before.extend_from_slice(head);
    before.freeze()
}

async fn finish(mut stream: SendStream) -> Result<(), WriteError> {
    stream.finish()?;
    match stream.stopped().await {
        Ok(None) => Ok(()),
        Ok(Some(code)) => Err(WriteError::Stopped(code)),
        Err(error) => Err(error.into()),
    }
}
