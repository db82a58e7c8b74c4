use std::fmt;
use std::num::NonZeroU64;

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
