//! The exchange of messages of a job that resumes another one.

use agents::{Incoming, Resumed};
use bsp::Rank;

use super::Exchanges;

impl Exchanges {
    /// The same when the job begins in the state of another one.
    pub(crate) fn resume(self, resumed: &Resumed) -> Self {
        Self {
            completed: resumed.superstep.checked_sub(1),
            census: self.census.resume(resumed),
            ..self
        }
    }

    /// The messages that a process has not received when the job begins. The late ones among them count no more: they
    /// were counted as sent in the other job, and nothing counts them as received any more.
    pub(crate) fn restore_inbox(&mut self, rank: Rank, mut inbox: Vec<Incoming>) {
        for incoming in &mut inbox {
            incoming.late = None;
        }
        self.inboxes.insert(rank, inbox);
    }
}
