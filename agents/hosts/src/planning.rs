//! Planning on a thread of its own.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use agents::Deliberation;
use bsp::SetId;
use machines::JobError;
use machines::node::event::JobEvent;
use tokio::sync::mpsc;

/// Makes a plan for the Manager of `set` on a new thread, and sends it to `events`.
///
/// Planning time grows with the number of processes. Meanwhile the calling thread carries messages, and a job that ends
/// does not wait for the plan.
pub(super) fn plan(
    set: SetId,
    deliberation: Deliberation,
    events: mpsc::UnboundedSender<JobEvent>,
) -> Result<(), JobError> {
    let thread = thread::Builder::new().name("planning".to_owned());
    let spawned = thread.spawn(move || {
        let planned = panic::catch_unwind(AssertUnwindSafe(|| deliberation.conclude()));
        let event = planned.map_or_else(
            |_| {
                let problem =
                    format!("the Manager of {set} has failed to plan; see the log of its node");
                JobEvent::Failed(JobError::cluster(problem))
            },
            |deliberated| JobEvent::Deliberated(set, Box::new(deliberated)),
        );
        // The job may be over.
        drop(events.send(event));
    });
    spawned.map(drop).map_err(|error| {
        JobError::cluster(format!("the thread for planning cannot start: {error}"))
    })
}
