//! What happened in a fault simulation, and its identity.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

/// What happened: its digest, and lines if they are wanted.
pub(super) struct Trace {
    digest: Sha256,
    pub(super) events: u64,
    lines: Option<String>,
}

impl Trace {
    /// Nothing has happened; `has_lines` says whether lines are wanted.
    pub(super) fn new(has_lines: bool) -> Self {
        Self {
            digest: Sha256::new(),
            events: 0,
            lines: has_lines.then(String::new),
        }
    }

    /// Something has happened.
    pub(super) fn add(&mut self, at: u64, identity: [u64; 3]) {
        self.events += 1;
        let mut bytes = [0; 32];
        let words = [at].into_iter().chain(identity);
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.digest.update(bytes);
    }

    /// Adds a line about something that happened at `at`.
    pub(super) fn line(&mut self, at: u64, line: fmt::Arguments<'_>) {
        if let Some(lines) = &mut self.lines {
            let (seconds, nanoseconds) = (at / 1_000_000_000, at % 1_000_000_000);
            writeln!(lines, "{seconds}.{nanoseconds:09} {line}").unwrap_or_default();
        }
    }

    /// Adds what has happened in another simulation, after this one.
    pub(super) fn append(&mut self, other: Self) {
        self.events += other.events;
        self.digest.update(other.digest.finalize());
        if let (Some(lines), Some(others)) = (&mut self.lines, other.lines) {
            lines.push_str("The job resumes.\n");
            lines.push_str(&others);
        }
    }

    /// The digest in hexadecimal, and the lines.
    pub(super) fn finish(self) -> (String, String) {
        let digest = self.digest.finalize();
        let hex = digest.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap_or_default();
            hex
        });
        (hex, self.lines.unwrap_or_default())
    }
}
