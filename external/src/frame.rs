//! Frames: what runtime and executor write to each other (`docs/reference/program-protocol.md`).

use std::io::{self, Read, Write};

use bytes::Bytes;

/// The only version so far.
pub(crate) const VERSION: u16 = 1;

/// The handle of the executor itself.
pub(crate) const EXECUTOR: u32 = u32::MAX;

/// The receiver of a message to all other processes.
pub(crate) const ALL: u32 = u32::MAX;

/// What is not known.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// The bytes of a frame before its body.
const HEAD: usize = 16;

/// What each part of a body is aligned to.
const ALIGNMENT: usize = 16;

/// The second half of the first word of a frame.
const MARK: [u8; 2] = *b"BS";

/// Requests.
pub(crate) mod request {
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const START: u8 = 2;
    pub(crate) const STEP: u8 = 3;
    pub(crate) const SAVE: u8 = 4;
    pub(crate) const LOAD: u8 = 5;
    pub(crate) const DROP: u8 = 6;
    pub(crate) const VERIFY: u8 = 7;
    pub(crate) const BYE: u8 = 8;
}

/// Replies.
pub(crate) mod reply {
    pub(crate) const WELCOME: u8 = 128;
    pub(crate) const READY: u8 = 129;
    pub(crate) const DONE: u8 = 130;
    pub(crate) const SAVED: u8 = 131;
    pub(crate) const VERDICT: u8 = 132;
    pub(crate) const OK: u8 = 133;
    pub(crate) const FAILED: u8 = 255;
}

/// The most bytes of a body, by its kind.
const fn limit(kind: u8) -> u64 {
    match kind {
        reply::DONE => 4 << 30,
        reply::SAVED => 16 << 30,
        reply::WELCOME | reply::VERDICT => 1 << 20,
        reply::FAILED => 64 << 10,
        _ => 4096,
    }
}

/// A frame that is written. Contents that are long are not copied.
#[derive(Debug)]
pub(crate) struct Writer {
    kind: u8,
    handle: u32,
    /// What is copied, with zeros for the head of the frame.
    copied: Vec<u8>,
    /// What is not, and where it belongs among what is.
    referred: Vec<(usize, Bytes)>,
    /// The bytes so far.
    len: usize,
}

/// The shortest content that is not copied.
const REFERRED_MIN: usize = 64 << 10;

impl Writer {
    pub(crate) fn new(kind: u8, handle: u32) -> Self {
        Self {
            kind,
            handle,
            copied: vec![0; HEAD],
            referred: Vec::new(),
            len: HEAD,
        }
    }

    pub(crate) fn u8(&mut self, number: u8) {
        self.put(&[number]);
    }

    pub(crate) fn u16(&mut self, number: u16) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, number: f64) {
        self.put(&number.to_le_bytes());
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.copied.extend_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Ends a part.
    pub(crate) fn pad(&mut self) {
        let zeros = self.len.next_multiple_of(ALIGNMENT) - self.len;
        self.put(&[0; ALIGNMENT][..zeros]);
    }

    /// A part.
    pub(crate) fn part(&mut self, content: &Bytes) {
        self.rest(content);
        self.pad();
    }

    /// The last part, after which nothing follows.
    pub(crate) fn rest(&mut self, content: &Bytes) {
        if content.len() < REFERRED_MIN {
            self.put(content);
        } else {
            self.referred.push((self.copied.len(), content.clone()));
            self.len += content.len();
        }
    }

    /// Writes the frame.
    pub(crate) fn write(mut self, mut to: impl Write) -> io::Result<()> {
        let length = bsp::numbers::length(self.len - HEAD);
        self.copied[0] = self.kind;
        self.copied[2..4].copy_from_slice(&MARK);
        self.copied[4..8].copy_from_slice(&self.handle.to_le_bytes());
        self.copied[8..HEAD].copy_from_slice(&length.to_le_bytes());
        let mut begin = 0;
        for (end, content) in &self.referred {
            to.write_all(&self.copied[begin..*end])?;
            to.write_all(content)?;
            begin = *end;
        }
        to.write_all(&self.copied[begin..])
    }
}

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) handle: u32,
    pub(crate) body: Bytes,
}

/// Why there is no frame.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    /// The channel does not give one.
    #[error(transparent)]
    Channel(#[from] io::Error),
    /// The channel is closed.
    #[error("it ended")]
    End,
    /// Something else was written.
    #[error("it wrote {0}, which is no frame: does it print to the descriptor of the channel?")]
    Garbage(String),
    /// The frame is too long, or contradicts itself.
    #[error("its reply contradicts itself: {0}")]
    Contradiction(String),
}

impl Frame {
    /// Reads the next frame. Memory is taken as bytes arrive.
    ///
    /// # Errors
    ///
    /// If there is none, or it is too long for its kind.
    pub(crate) fn read(mut from: impl Read) -> Result<Self, FrameError> {
        let mut head = [0; HEAD];
        let mut read = 0;
        while read < HEAD {
            match from.read(&mut head[read..]) {
                Ok(0) if read == 0 => return Err(FrameError::End),
                Ok(0) => return Err(garbage(&head[..read])),
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let kind = head[0];
        if head[1] != 0 || head[2..4] != MARK {
            return Err(garbage(&head));
        }
        let handle = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let length = head[8..]
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        if limit(kind) < length {
            let most = limit(kind);
            let problem = format!("a body of {length} B, where {most} B are the most");
            return Err(FrameError::Contradiction(problem));
        }
        let mut body = Vec::with_capacity(bsp::numbers::position(length.min(AT_ONCE)));
        from.take(length).read_to_end(&mut body)?;
        if bsp::numbers::length(body.len()) < length {
            return Err(FrameError::End);
        }
        let body = Bytes::from(body);
        Ok(Self { kind, handle, body })
    }
}

/// The most memory that is taken for a body before its bytes arrive.
const AT_ONCE: u64 = 64 << 20;

/// What was read instead of a frame.
fn garbage(bytes: &[u8]) -> FrameError {
    FrameError::Garbage(format!("{:?}", String::from_utf8_lossy(bytes)))
}

/// The body of a frame, read part by part.
#[derive(Debug)]
pub(crate) struct Reader {
    rest: Bytes,
    /// The length of what has been read.
    read: usize,
}

impl Reader {
    pub(crate) const fn new(body: Bytes) -> Self {
        Self {
            rest: body,
            read: 0,
        }
    }

    /// The next bytes.
    pub(crate) fn bytes(&mut self, length: u64) -> Result<Bytes, FrameError> {
        let rest = bsp::numbers::length(self.rest.len());
        if rest < length {
            let problem = format!("{rest} B follow where {length} B are announced");
            return Err(FrameError::Contradiction(problem));
        }
        let length = bsp::numbers::position(length);
        self.read += length;
        Ok(self.rest.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let bytes = self.bytes(bsp::numbers::length(N))?;
        Ok(<[u8; N]>::try_from(&bytes[..]).expect("as long as was asked for"))
    }

    pub(crate) fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, FrameError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, FrameError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// The end of a part.
    pub(crate) fn end_part(&mut self) -> Result<(), FrameError> {
        let zeros = self.read.next_multiple_of(ALIGNMENT) - self.read;
        self.bytes(bsp::numbers::length(zeros)).map(drop)
    }

    /// A part of this length.
    pub(crate) fn part(&mut self, length: u64) -> Result<Bytes, FrameError> {
        let part = self.bytes(length)?;
        self.end_part()?;
        Ok(part)
    }

    /// A part of this length that is a text.
    pub(crate) fn text(&mut self, length: u64) -> Result<String, FrameError> {
        let part = self.part(length)?;
        let text = String::from_utf8(part.to_vec());
        text.map_err(|_| FrameError::Contradiction("a text is not UTF-8".to_owned()))
    }

    /// A part of this length that is a text for people.
    pub(crate) fn lossy_text(&mut self, length: u64) -> Result<String, FrameError> {
        let part = self.part(length)?;
        Ok(String::from_utf8_lossy(&part).into_owned())
    }

    /// The end of the body.
    pub(crate) fn end(&self) -> Result<(), FrameError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let problem = format!("{} B follow the last part", self.rest.len());
        Err(FrameError::Contradiction(problem))
    }
}
