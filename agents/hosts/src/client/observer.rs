//! What sees a job from its client.

use agents::Transferred;
use machines::JobError;
use record::Event;

/// What sees a job from its client; a function of events sees nothing else.
pub trait JobObserver {
    /// Handles an event of the record.
    ///
    /// # Errors
    ///
    /// If the job has to end.
    fn observe(&mut self, event: &Event) -> Result<(), JobError>;

    /// Handles the progress of sending processes or of receiving outputs; by default it is ignored.
    fn transferred(&mut self, _progress: TransferProgress) {}
}

impl<F: FnMut(&Event) -> Result<(), JobError>> JobObserver for F {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self(event)
    }
}

/// How far the processes of a job have been sent, or their outputs received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferProgress {
    /// Whether outputs are received; else processes are sent.
    pub is_receiving: bool,
    /// What has been sent or received.
    pub done: Transferred,
    /// The number of all processes.
    pub processes: usize,
}
