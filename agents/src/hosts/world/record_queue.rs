//! The part of the record that the client has not been sent yet.

use protocol::Frame;
use protocol::transport::TrySendError;

use crate::hosts::failure::JobError;

/// What has been recorded here, for a client that may be slower than the run.
#[derive(Debug, Default)]
pub(super) struct RecordQueue {
    /// One event each.
    lines: String,
    /// What the client did not take yet; it comes before the lines.
    refused: Option<Frame>,
}

impl RecordQueue {
    /// An event has been recorded.
    pub(super) fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Whether there is enough for a frame, and the client took the last one.
    pub(super) fn is_full(&self) -> bool {
        LINES_ENOUGH <= self.lines.len() && self.refused.is_none()
    }

    /// Sends the lines in frames of `encode`, as far as the client accepts them. Returns whether it has accepted all.
    ///
    /// # Errors
    ///
    /// If the client is gone, or so slow that too much would have to be kept for it.
    pub(super) fn send(
        &mut self,
        encode: impl Fn(String) -> Frame,
        mut try_send: impl FnMut(Frame) -> Result<(), TrySendError>,
    ) -> Result<bool, JobError> {
        loop {
            let frame = match self.refused.take() {
                Some(frame) => frame,
                None if self.lines.is_empty() => return Ok(true),
                None => encode(std::mem::take(&mut self.lines)),
            };
            match try_send(frame) {
                Ok(()) => {}
                Err(TrySendError::Full { frame }) => {
                    self.refused = Some(frame);
                    if LINES_MAX < self.lines.len() {
                        let problem = format!(
                            "the client takes the record slower than it is made: {} MiB wait for it",
                            LINES_MAX >> 20
                        );
                        return Err(JobError::cluster(problem));
                    }
                    return Ok(false);
                }
                Err(TrySendError::Peer(error)) => return Err(error.into()),
            }
        }
    }
}

/// Bytes of lines that are worth a frame.
const LINES_ENOUGH: usize = 32 << 10;

/// Bytes of lines that are kept for a client that is busy: less than a frame may have.
const LINES_MAX: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn encode(lines: String) -> Frame {
        Frame {
            head: lines.into(),
            payload: Bytes::new(),
        }
    }

    #[test]
    fn a_busy_client_receives_every_line_once_and_in_order() {
        let (mut recorded, mut received) = (RecordQueue::default(), String::new());
        for (number, is_accepted) in [true, false, false, true, false, true]
            .into_iter()
            .enumerate()
        {
            recorded.push(&format!("{number}"));
            let sent = recorded.send(encode, |frame| {
                if !is_accepted {
                    return Err(TrySendError::Full { frame });
                }
                received += std::str::from_utf8(&frame.head).unwrap();
                Ok(())
            });
            assert_eq!(sent, Ok(is_accepted));
        }
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
            if let Err(error) = recorded.send(encode, |frame| Err(TrySendError::Full { frame })) {
                break error;
            }
        };
        assert!(!recorded.is_full(), "a client that refused a frame");
        assert_eq!(
            error.message,
            "the client takes the record slower than it is made: 32 MiB wait for it"
        );
    }
}
