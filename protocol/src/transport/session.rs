//! Which job an endpoint is at, and the stamps that bind frames to it.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{BufMut, BytesMut};

use crate::transport::Refusal;

/// A run of a program on a cluster; drawn at random by whoever submits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub NonZeroU64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {:016x}", self.0)
    }
}

impl JobId {
    /// A job that nobody has had.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers.
    #[must_use]
    pub fn draw() -> Self {
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

    pub(super) fn shown(job: Option<Self>) -> String {
        job.map_or_else(|| "no job".to_owned(), |job| job.to_string())
    }

    pub(super) fn from_wire(job: u64) -> Option<Self> {
        NonZeroU64::new(job).map(Self)
    }

    pub(super) fn to_wire(job: Option<Self>) -> u64 {
        job.map_or(0, |job| job.0.get())
    }
}

/// What goes before every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) job: Option<JobId>,
    pub(super) epoch: u64,
    pub(super) sequence: u64,
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

/// The job of an endpoint, as all its connections see it.
#[derive(Debug, Default)]
pub(super) struct Session(Mutex<Standing>);

/// Invariant: `oldest` is no later than `epoch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) job: Option<JobId>,
    /// What our frames are stamped with.
    pub(super) epoch: u64,
    /// What frames of others have to be stamped with at least.
    pub(super) oldest: u64,
}

impl Session {
    pub(super) fn begin(&self, job: JobId, epoch: u64) {
        *self.lock() = Standing {
            job: Some(job),
            epoch,
            oldest: epoch,
        };
    }

    pub(super) fn advance(&self, epoch: u64) {
        let mut standing = self.lock();
        assert!(
            standing.epoch <= epoch,
            "epoch {epoch} comes after {}",
            standing.epoch
        );
        standing.epoch = epoch;
    }

    pub(super) fn retire(&self, oldest: u64) {
        let mut standing = self.lock();
        let (before, now) = (standing.oldest, standing.epoch);
        assert!(
            (before..=now).contains(&oldest),
            "epoch {oldest} lies between {before} and {now}"
        );
        standing.oldest = oldest;
    }

    pub(super) fn end(&self) {
        *self.lock() = Standing::default();
    }

    pub(super) fn standing(&self) -> Standing {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        // Whoever panicked left a whole value behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one peer's frames have to follow: their job, epochs that never go back, every number once.
#[derive(Debug)]
pub(super) struct Order {
    job: Option<JobId>,
    epoch: u64,
    next: u64,
}

impl Order {
    pub(super) const fn new(job: Option<JobId>, epoch: u64) -> Self {
        Self {
            job,
            epoch,
            next: 0,
        }
    }

    pub(super) fn admit(&mut self, stamp: Stamp, standing: Standing) -> Result<(), Refusal> {
        // A connection outlives no job, and one without a job has no epochs.
        let is_over = self.job.is_some() && self.job != standing.job;
        if is_over || stamp.job != self.job {
            return Err(Refusal::Job {
                met: stamp.job,
                expected: self.job.filter(|_| !is_over),
            });
        }
        let oldest = self.job.map_or(0, |_| self.epoch.max(standing.oldest));
        if stamp.epoch < oldest {
            return Err(Refusal::Epoch {
                met: stamp.epoch,
                oldest,
            });
        }
        if stamp.sequence != self.next {
            return Err(Refusal::Sequence {
                met: stamp.sequence,
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
