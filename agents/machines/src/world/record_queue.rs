//! The part of the record that the client has not been sent yet.

use crate::failure::JobError;

/// What has been recorded here, for a client that may be slower than the run.
#[derive(Debug, Default)]
pub(super) struct RecordQueue {
    /// One event each.
    lines: String,
    /// Whether the client has still to take the part before.
    is_waiting: bool,
}

impl RecordQueue {
    /// An event has been recorded.
    pub(super) fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Whether there is enough for a frame, and the client has taken the last one; or too much to be kept.
    pub(super) fn is_full(&self) -> bool {
        let enough = if self.is_waiting {
            LINES_MAX + 1
        } else {
            LINES_ENOUGH
        };
        enough <= self.lines.len()
    }

    /// Whether there are lines that may be sent.
    pub(super) fn has_news(&self) -> bool {
        !self.lines.is_empty() && !self.is_waiting
    }

    /// Whether the client has taken everything.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && !self.is_waiting
    }

    /// Removes the lines that are sent next, if the client has taken those before.
    ///
    /// # Errors
    ///
    /// If the client is so slow that too much would have to be kept for it.
    pub(super) fn next_lines(&mut self) -> Result<Option<String>, JobError> {
        if self.is_waiting {
            if LINES_MAX < self.lines.len() {
                return Err(JobError::cluster(format!(
                    "the client takes the record slower than it is made: {} MiB wait for it",
                    LINES_MAX >> 20
                )));
            }
            return Ok(None);
        }
        if self.lines.is_empty() {
            return Ok(None);
        }
        self.is_waiting = true;
        Ok(Some(std::mem::take(&mut self.lines)))
    }

    /// Removes all lines that have not been sent.
    pub(super) fn rest(&mut self) -> Option<String> {
        let lines = std::mem::take(&mut self.lines);
        Some(lines).filter(|lines| !lines.is_empty())
    }

    /// The client has taken the lines that were sent.
    pub(super) fn taken(&mut self) {
        self.is_waiting = false;
    }
}

/// Bytes of lines that are worth a frame.
const LINES_ENOUGH: usize = 32 << 10;

/// Bytes of lines that are kept for a client that is busy: less than a frame may have.
const LINES_MAX: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_client_receives_every_line_once_and_in_order() {
        let (mut recorded, mut received) = (RecordQueue::default(), String::new());
        for (number, is_taken) in [true, false, false, true, false, true]
            .into_iter()
            .enumerate()
        {
            recorded.push(&format!("{number}"));
            received.extend(recorded.next_lines().unwrap());
            assert!(!recorded.is_empty());
            if is_taken {
                recorded.taken();
            }
        }
        received.extend(recorded.next_lines().unwrap());
        recorded.taken();
        assert!(recorded.is_empty());
        assert_eq!(received, "0\n1\n2\n3\n4\n5\n");
    }

    #[test]
    fn a_slow_client_is_an_error() {
        let mut recorded = RecordQueue::default();
        let line = "x".repeat(LINES_ENOUGH);
        let mut pushed = 0;
        let error = loop {
            assert!(
                pushed <= LINES_MAX / LINES_ENOUGH + 2,
                "lines are not limited"
            );
            recorded.push(&line);
            pushed += 1;
            if pushed == 1 {
                assert!(recorded.next_lines().unwrap().is_some());
            } else if recorded.is_full() {
                break recorded.next_lines().unwrap_err();
            }
        };
        assert!(recorded.is_full());
        assert_eq!(
            error.message,
            "the client takes the record slower than it is made: 32 MiB wait for it"
        );
    }
}
