//! The job and epoch of an endpoint, and the stamps that bind frames to them.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{BufMut, BytesMut};

use crate::transport::Refusal;

/// The number of a job: one run of a program on a cluster. The client that submits the job draws it at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub NonZeroU64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {:016x}", self.0)
    }
}

impl JobId {
    /// A new job number, drawn at random.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers.
    #[must_use]
    pub fn random() -> Self {
        let random = rustls::crypto::ring::default_provider().secure_random;
        loop {
            let mut bytes = [0; 8];
            let filled = random.fill(&mut bytes);
            assert!(filled.is_ok(), "the system has random numbers");
            if let Some(job) = Self::from_wire(u64::from_le_bytes(bytes)) {
                return job;
            }
        }
    }

    pub(super) fn describe(job: Option<Self>) -> String {
        job.map_or_else(|| "no job".to_owned(), |job| job.to_string())
    }

    pub(super) fn from_wire(job: u64) -> Option<Self> {
        NonZeroU64::new(job).map(Self)
    }

    pub(super) fn to_wire(job: Option<Self>) -> u64 {
        job.map_or(0, |job| job.0.get())
    }
}

/// The job, epoch and sequence number before every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The job of the connection.
    pub job: Option<JobId>,
    /// The epoch in which the frame was sent.
    pub epoch: u64,
    /// Its number on the connection, from 0.
    pub sequence: u64,
}

impl Stamp {
    pub(super) fn put(&self, bytes: &mut BytesMut) {
        bytes.put_u64_le(JobId::to_wire(self.job));
        bytes.put_u64_le(self.epoch);
        bytes.put_u64_le(self.sequence);
    }

    pub(super) fn decode(bytes: &[u8; STAMP_LEN]) -> Self {
        let [job, epoch, sequence] = [0, 8, 16].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        });
        Self {
            job: JobId::from_wire(job),
            epoch,
            sequence,
        }
    }
}

/// The job of an endpoint, shared by all its connections.
#[derive(Debug, Default)]
pub struct Session(Mutex<SessionState>);

/// Invariant: `oldest` is no later than `epoch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionState {
    /// The job, if there is one.
    pub job: Option<JobId>,
    /// The epoch of frames that this endpoint sends.
    pub epoch: u64,
    /// The oldest epoch accepted in frames of peers: the one with which this endpoint began. A host without processes may
    /// learn of later ones much later than others.
    pub oldest: u64,
}

impl Session {
    /// Begins `job` with `epoch`.
    pub fn begin(&self, job: JobId, epoch: u64) {
        *self.lock() = SessionState {
            job: Some(job),
            epoch,
            oldest: epoch,
        };
    }

    /// Stamps frames with `epoch` from now on.
    ///
    /// # Panics
    ///
    /// If that is earlier than before.
    pub fn advance(&self, epoch: u64) {
        let mut state = self.lock();
        assert!(
            state.epoch <= epoch,
            "epoch {epoch} comes after {}",
            state.epoch
        );
        state.epoch = epoch;
    }

    /// Ends the job.
    pub fn end(&self) {
        *self.lock() = SessionState::default();
    }

    /// The job and the epochs.
    #[must_use]
    pub fn state(&self) -> SessionState {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        // Assignments leave no partial value behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the frames of one peer: they belong to its job, epochs never go back, sequence numbers have no gaps.
#[derive(Debug)]
pub struct FrameOrder {
    job: Option<JobId>,
    epoch: u64,
    next: u64,
}

impl FrameOrder {
    /// The order of frames on a new connection for `job`, whose peer sends in `epoch` or a later one.
    #[must_use]
    pub const fn new(job: Option<JobId>, epoch: u64) -> Self {
        Self {
            job,
            epoch,
            next: 0,
        }
    }

    /// Accepts the next frame.
    ///
    /// # Errors
    ///
    /// If it belongs to another job or an old epoch, or is not the next one.
    pub fn accept(&mut self, stamp: Stamp, state: SessionState) -> Result<(), Refusal> {
        // A connection ends with its job; without a job there are no epochs.
        if stamp.job != self.job {
            return Err(Refusal::Job {
                found: stamp.job,
                expected: self.job,
            });
        }
        if let Some(job) = self.job.filter(|job| Some(*job) != state.job) {
            return Err(Refusal::Over(job));
        }
        let oldest = self.job.map_or(0, |_| self.epoch.max(state.oldest));
        if stamp.epoch < oldest {
            return Err(Refusal::Epoch {
                found: stamp.epoch,
                oldest,
            });
        }
        if stamp.sequence != self.next {
            return Err(Refusal::Sequence {
                found: stamp.sequence,
                expected: self.next,
            });
        }
        self.epoch = stamp.epoch;
        self.next += 1;
        Ok(())
    }
}

/// Bytes of a stamp: job, epoch and number, little-endian.
pub(super) const STAMP_LEN: usize = 24;
